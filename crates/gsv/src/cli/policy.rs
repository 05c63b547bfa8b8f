//! `gsv policy test`: a dry run of the policy decision point, on the policy and the device as they are now. Nothing runs.

use chat::done;
use clap::Subcommand;
use client::{Session, Signals};
use policy::{Action, Call, Circumstances, Judgement, Known, Policy as Rules, Remembered, Way};
use protocol::config;
use protocol::confine::Confinement;
use protocol::identity::{ConnectionIdentity, ProcessIdentity};
use protocol::ids::Pid;
use protocol::proc::approval::{Approval, ApprovalsList};
use protocol::sys::ConfigGet;
use protocol::sys::device::Get;
use serde_json::{Map, Value, json};
use terminal::exact;
use terminal::failure::{Failure, Result};
use terminal::output::pairs;

use crate::context::Context;
use crate::{quote, session};

/// Verbs of `gsv policy`.
#[derive(Debug, Subcommand)]
pub enum Policy {
    /// Say how a command of an agent would be judged, why, and where it would run. Nothing runs.
    Test {
        /// The device; the gateway itself when absent.
        #[arg(long, value_name = "DEVICE")]
        target: Option<String>,
        /// The directory it would run in.
        #[arg(long, value_name = "DIR")]
        cwd: Option<String>,
        /// The profile of the agent; `init` is the one you talk to.
        #[arg(long, value_name = "PROFILE", default_value = "init")]
        profile: String,
        /// Count in what this process remembers.
        #[arg(long, value_name = "PID")]
        pid: Option<String>,
        /// One word is shell text; several are each quoted.
        #[arg(last = true, required = true, value_name = "COMMAND")]
        words: Vec<String>,
    },
}

/// A command, and what there is to know about where it would run.
struct Trial {
    args: Map<String, Value>,
    who: ProcessIdentity,
    /// `sys.device.get` of the target, as it came; `None` for the gateway itself.
    device: Option<Value>,
    profile: String,
    policy: String,
    /// The hosts that confined commands may reach.
    hosts: Vec<String>,
    remembered: Vec<Approval>,
}

/// Carries one out.
pub async fn run(context: &Context, policy: Policy) -> Result<u8> {
    let Policy::Test { target, cwd, profile, pid, words } = policy;
    let mut session = session::open(context).await?;
    let (connected, _) = session.listen(&mut Signals::new()).await?;
    let who = match connected.identity {
        ConnectionIdentity::User { process, .. }
        | ConnectionIdentity::Driver { process, .. }
        | ConnectionIdentity::Service { process, .. } => process,
    };
    let target = target.filter(|target| target != "gsv");
    let device = match &target {
        Some(id) => Some(device(&session, id).await?),
        None => None,
    };
    let remembered = match pid {
        Some(pid) => done(session.call(&ApprovalsList { pid: Some(Pid(pid)) }).await?.value)?.approvals,
        None => Vec::new(),
    };
    let mut args = Map::new();
    args.insert("input".to_string(), quote::command(&words).into());
    let given = [("target", target), ("cwd", cwd)];
    args.extend(given.into_iter().filter_map(|(name, value)| Some((name.to_string(), value?.into()))));
    let policy = policy_of(&session, &who, &profile).await?;
    let network = [config::AGENTS_NETWORK.own(who.uid), config::AGENTS_NETWORK.name().to_string()];
    let hosts = vec![first_set(&session, network).await?];
    let trial = Trial { args, who, device, profile, policy, hosts, remembered };
    let judgement = judge(&trial);
    let told = explain(&trial, &judgement);
    context.output.answer(&to_json(&trial, &judgement).to_string(), || {
        let told: Vec<(&str, String)> =
            told.iter().map(|(name, value)| (*name, exact::line(value))).collect();
        pairs(&told)
    })?;
    Ok(0)
}

/// Judges a trial as the gateway would.
fn judge(trial: &Trial) -> Judgement {
    let told = trial.device.clone().unwrap_or_default();
    let told: Confinement = serde_json::from_value(told).unwrap_or_default();
    let call = Call {
        profile: &trial.profile,
        syscall: "shell.exec",
        args: &trial.args,
        who: &trial.who,
        target: &told.into(),
        session: None,
        known: &|_, _| Known::Unknown,
    };
    let remembered = trial.remembered.iter().map(|rule| Remembered {
        syscall: &rule.syscall,
        scope: rule.scope,
        target: &rule.target,
        shape: rule.shape.as_deref(),
    });
    let given = Circumstances { hosts: &trial.hosts, ..Circumstances::default() };
    Rules::parse(&trial.policy).judge_given(call, remembered, given)
}

/// What came out, line by line.
fn explain(trial: &Trial, judgement: &Judgement) -> Vec<(&'static str, String)> {
    let input = trial.args["input"].as_str().unwrap_or_default();
    let decision = match judgement.action {
        Action::Auto => "it runs unasked",
        Action::Ask => "a person is asked",
        Action::Deny => "it is refused",
    };
    let mut told = vec![
        ("command", input.to_string()),
        ("decision", decision.to_string()),
        ("where", place(trial, judgement)),
    ];
    if !judgement.tags.is_empty() {
        told.push(("tags", judgement.tags.join(", ")));
    }
    told.push(("way", way(judgement).to_string()));
    if let Some(widening) = &judgement.widening {
        told.push(("opening", format!("it may be approved inside the sandbox, to {}", widening.words())));
    }
    told.extend(judgement.reasons.iter().map(|reason| ("because", format!("it {reason}"))));
    let files = policy::script_files(input, trial.args.get("cwd").and_then(Value::as_str));
    told.extend(
        files.paths.into_iter().map(|path| ("runs", format!("{path} (an approval covers its content)"))),
    );
    told.extend(files.unknown.into_iter().map(|name| ("runs", format!("{name} (known only when it runs)"))));
    let shape = match judgement.widening {
        Some(_) => &judgement.widened_shape,
        None => &judgement.shape,
    };
    told.push(match shape {
        Some(shape) => ("remember", format!("{shape} on {}", judgement.target)),
        None => ("remember", "not by its shape: it is asked about every time".to_string()),
    });
    told
}

/// How it would run.
fn way(judgement: &Judgement) -> &'static str {
    match judgement.way {
        Way::Proved => "proved to only read",
        Way::Confined => "confined: inside the sandbox",
        Way::Asked if judgement.is_widened => "confined: inside the sandbox, opened as remembered",
        Way::Asked if judgement.widening.is_some() => {
            "after an approval, inside the opened sandbox or outside it"
        }
        Way::Asked => "after an approval, outside the sandbox",
    }
}

/// Where a command would run, as far as the driver has said.
fn place(trial: &Trial, judgement: &Judgement) -> String {
    let Some(device) = &trial.device else {
        return format!("on the gateway, in {}", trial.who.cwd);
    };
    let text = |name: &str| device[name].as_str().filter(|text| !text.is_empty());
    let cwd = trial.args.get("cwd").and_then(Value::as_str).or(text("workspace"));
    let mut place = format!("on {}", judgement.target);
    if let Some(cwd) = cwd {
        place += &format!(", in {cwd}");
    }
    let confine =
        device["confine"].as_array().map(|all| all.iter().filter_map(Value::as_str).collect::<Vec<_>>());
    place += &match confine.as_deref() {
        None | Some([]) => ", which has no sandbox".to_string(),
        Some(all) => format!(", whose sandbox confines {}", all.join(", ")),
    };
    if let Some(agents) = text("agents") {
        place += &format!(" (--agents {agents})");
    }
    if device["online"] != Value::Bool(true) {
        place += ", which is offline";
    }
    place
}

/// The same for programs.
fn to_json(trial: &Trial, judgement: &Judgement) -> Value {
    let way = match judgement.way {
        Way::Proved => "proved",
        Way::Confined => "confined",
        Way::Asked => "asked",
    };
    let action = match judgement.action {
        Action::Auto => "auto",
        Action::Ask => "ask",
        Action::Deny => "deny",
    };
    json!({
        "action": action, "target": judgement.target, "way": way, "tags": judgement.tags, "reasons": judgement.reasons,
        "shape": judgement.shape, "widening": judgement.widening, "where": place(trial, judgement),
    })
}

async fn device(session: &Session, id: &str) -> Result<Value> {
    let raw = session.call(&Get { device_id: id.to_string() }).await?.raw;
    let answer: Value = serde_json::from_str(&raw).unwrap_or_default();
    let device = answer["device"].clone();
    if device.is_null() {
        let unknown = Failure::new(format!("there is no device {id} that you may use"));
        return Err(unknown.with_hint("`gsv devices` lists them"));
    }
    Ok(device)
}

/// The text of the policy in force: the user's own, the profile's, or everybody's; blank means the built-in one.
async fn policy_of(session: &Session, who: &ProcessIdentity, profile: &str) -> Result<String> {
    let own = config::AI_TOOLS_APPROVAL.own(who.uid);
    let profile = config::AI_PROFILE_TOOLS_APPROVAL.with(&[profile]);
    first_set(session, [own, profile, config::AI_TOOLS_APPROVAL.name().to_string()]).await
}

/// The first of these settings that is not blank.
async fn first_set<const N: usize>(session: &Session, keys: [String; N]) -> Result<String> {
    for key in keys {
        let entries = session.call(&ConfigGet { key: Some(key.clone()) }).await?.value.entries;
        let found = entries.into_iter().find(|entry| entry.key == key).map(|entry| entry.value);
        if let Some(text) = found.filter(|text| !text.trim().is_empty()) {
            return Ok(text);
        }
    }
    Ok(String::new())
}

#[cfg(test)]
mod tests {
    use protocol::ids::{Gid, Uid};

    use super::*;

    fn trial(args: Value, device: Option<Value>) -> Trial {
        let who = ProcessIdentity {
            uid: Uid(1000),
            gid: Gid(1000),
            gids: vec![],
            username: "ann".into(),
            home: "/home/ann".into(),
            cwd: "/home/ann".into(),
            workspace_id: None,
        };
        let args = args.as_object().cloned().unwrap();
        let (profile, policy) = ("init".to_string(), String::new());
        Trial { args, who, device, profile, policy, hosts: vec![], remembered: vec![] }
    }

    fn told(trial: &Trial) -> String {
        let told = explain(trial, &judge(trial));
        told.iter().map(|(name, value)| format!("{name}: {value}\n")).collect()
    }

    #[test]
    fn a_command_is_explained() {
        let text = told(&trial(json!({ "input": "rm x" }), None));
        assert_eq!(
            text,
            "command: rm x\ndecision: a person is asked\nwhere: on the gateway, in /home/ann\n\
             tags: destructive, mutating\nway: after an approval, outside the sandbox\n\
             because: it deletes or overwrites something for good\n\
             remember: rm of a single plain file in /home/ann on gsv\n"
        );
        let text = told(&trial(json!({ "input": "sh x.sh" }), None));
        assert!(text.contains("runs: x.sh") && text.contains("asked about every time"), "{text}");
    }

    #[test]
    fn what_the_driver_says_is_told() {
        let on = |device: Value| {
            let trial = trial(json!({ "input": "ls", "target": "desk" }), Some(device));
            place(&trial, &judge(&trial))
        };
        assert_eq!(on(json!({ "online": true })), "on desk, which has no sandbox");
        assert_eq!(
            on(json!({ "online": false, "confine": ["fs", "network"], "workspace": "/w", "agents": "ask" })),
            "on desk, in /w, whose sandbox confines fs, network (--agents ask), which is offline"
        );
    }

    #[test]
    fn what_would_be_opened_is_told_and_the_profile_counts() {
        let desk = json!({
            "online": true, "confine": ["fs", "secrets", "network", "processes"], "workspace": "/w", "home": "/home/a",
            "shell": "/bin/bash",
        });
        let mut curl = trial(json!({ "input": "curl https://example.org", "target": "desk" }), Some(desk));
        let text = told(&curl);
        assert!(
            text.contains("opening: it may be approved inside the sandbox, to reach example.org"),
            "{text}"
        );
        curl.hosts = vec!["example.org".to_string()];
        assert!(told(&curl).contains("decision: it runs unasked"), "{}", told(&curl));
        curl.policy =
            json!({ "rules": [{ "match": "shell.exec", "when": { "profile": "cron" }, "action": "deny" }] })
                .to_string();
        curl.profile = "cron".to_string();
        assert!(told(&curl).contains("decision: it is refused"), "{}", told(&curl));
    }
}
