//! Mapping of a model's tool call to a syscall: which one it is, whether it may run, and making it at most once.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use base::limits;
use model::ToolCall;
use policy::{Action, Call, Circumstances, Judgement, Known, Policy, Remembered, Target};
use protocol::calls::Calls;
use protocol::capability;
use protocol::confine::{Way, Widening};
use protocol::error::{Error, Reason};
use protocol::proc::approval::ScriptFile;
use protocol::spec::Spec;
use serde_json::{Map, Value};
use store::approvals::{ApprovalRow, RuleRow};
use store::processes::ProcessRow;
use store::sessions::ShellSession;

use crate::approval::Details;
use crate::known_files::KnownFiles;
use crate::media;
use crate::process_gateway::ProcessGateway;
use crate::refused_hosts::RefusedHosts;
use crate::results::{RenderedResult, render};
use crate::script_files;
use crate::setup::Setup;
use crate::world::World;
use gateway::{Permit, Recalled};

/// What a model is told of a call that was under way when the gateway stopped.
const UNKNOWN: &str = "The gateway stopped while this call was under way. It is not known whether it took effect: \
                       check before you repeat it.";

/// What a model is told of a call whose device was lost and did not come back in time.
const LOST: &str = "The device was lost while this call was under way, and what became of it could not be found out. It \
                    is not known whether it took effect: check before you repeat it.";

/// The gateway itself, as a target.
const NATIVE: &str = "gsv";

/// What a model is told of a call that a person allowed when it was another one.
pub(crate) const NOT_APPROVED: &str = "The call is not the one that was approved: its target, arguments or working \
                                       directory changed. Make it again to have it approved.";

/// Told with a question about a call that a device can take back.
const CAN_BE_UNDONE: &str = "It can be undone: the device keeps what is there now (`gsv undo`).";

/// The call that runs commands.
pub(crate) const SHELL: &str = "shell.exec";

/// What is allowed, as it stands at the moment.
pub(crate) struct PolicyInForce<'a> {
    pub(crate) policy: Policy,
    /// Where devices are asked about.
    pub(crate) gateway: &'a ProcessGateway,
    /// What the conversation knows of files.
    pub(crate) known: &'a KnownFiles,
    /// What the process remembers.
    pub(crate) rules: Vec<RuleRow>,
    /// The hosts that its commands were kept from.
    pub(crate) refused: &'a RefusedHosts,
    /// The commands of the process that the calls go on with, by their ids.
    pub(crate) sessions: HashMap<String, ShellSession>,
}

impl PolicyInForce<'_> {
    /// The command that a call goes on with, if the process started it.
    fn session(&self, args: &Map<String, Value>) -> Option<&ShellSession> {
        self.sessions.get(session_id(args)?)
    }
}

/// The command that a call goes on with.
pub(crate) fn session_id(args: &Map<String, Value>) -> Option<&str> {
    args.get("sessionId").and_then(Value::as_str).map(str::trim).filter(|id| !id.is_empty())
}

/// What the device of a call said about agents. Of one that said nothing nothing is known: what is not proved asks.
fn target_of(gateway: &ProcessGateway, setup: &Setup, device: Option<&str>) -> Target {
    let told = device.and_then(|device| gateway.confinement(&setup.identity, device));
    told.unwrap_or_default().into()
}

/// The device that a call names.
fn device_of(args: &Map<String, Value>) -> Option<&str> {
    args.get("target").and_then(Value::as_str).filter(|name| !name.is_empty())
}

/// The device and the resolved path of a call about a file; `None` for the gateway's own files.
pub(crate) fn place_of(
    setup: &Setup,
    process: &ProcessRow,
    call: &ToolCall,
    gateway: &ProcessGateway,
) -> Option<(String, String)> {
    let spec = syscall(&call.name)?;
    let target = target_of(gateway, setup, device_of(&call.arguments));
    let seen = Call {
        profile: &process.profile,
        syscall: spec.name,
        args: &call.arguments,
        who: &setup.identity,
        target: &target,
        session: None,
        known: &|_, _| Known::Unknown,
    };
    let judgement = setup.policy.judge(seen, []);
    (judgement.target != NATIVE).then_some(())?;
    Some((judgement.target, judgement.path?))
}

/// What is done with a call.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// It runs.
    Go(Checked),
    /// A person is asked.
    Ask(Checked),
    /// The model is told why not.
    Refuse(String),
    /// There is no such tool; the model is told so.
    Unknown(String),
}

/// A call that passed its checks.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) syscall: &'static str,
    /// How it may run on a device.
    pub(crate) way: Way,
    /// What is opened in the sandbox for it alone.
    pub(crate) widening: Widening,
    pub(crate) judgement: Judgement,
}

impl Checked {
    /// Whether nothing can be changed by it, so that it need not wait for anybody.
    pub(crate) fn only_reads(&self) -> bool {
        self.way == Way::Proved || only_reads(self.syscall)
    }
}

/// Whether a call only reads, whatever its arguments are.
pub(crate) fn only_reads(syscall: &str) -> bool {
    protocol::spec(syscall).is_some_and(Spec::only_reads)
}

/// The syscall behind a tool.
pub(crate) fn syscall(tool: &str) -> Option<&'static Spec> {
    protocol::spec_of_tool(tool)
}

/// Decides on a call. `place` counts the calls of one answer; `refusal` is why its device refused it.
pub(crate) fn judge(
    setup: &Setup,
    process: &ProcessRow,
    call: &ToolCall,
    (place, refusal): (usize, Option<&str>),
    in_force: &PolicyInForce<'_>,
) -> Verdict {
    let most = limits::process::TOOLS_PER_TURN_MAX;
    if place >= most {
        return Verdict::Refuse(format!(
            "Too many tool calls at once: only the first {most} were looked at. Ask again for the others."
        ));
    }
    let offered = setup.tools.iter().find(|tool| tool.name == call.name);
    let (Some(tool), Some(spec)) = (offered, syscall(&call.name)) else {
        return Verdict::Unknown(format!("Unknown tool \"{}\"", call.name));
    };
    if let Some(why) = broken(&call.arguments, &tool.input_schema) {
        return Verdict::Refuse(why);
    }
    let session = in_force.session(&call.arguments);
    let device = session.map(|session| session.device_id.0.as_str());
    let target = target_of(in_force.gateway, setup, device.or_else(|| device_of(&call.arguments)));
    let seen = Call {
        profile: &process.profile,
        syscall: spec.name,
        args: &call.arguments,
        who: &setup.identity,
        target: &target,
        session: session.and_then(|session| session.way).map(session_way),
        known: &|target, path| in_force.known.of(target, path),
    };
    let refused_hosts = in_force.refused.of(&call.arguments);
    let given = Circumstances { hosts: &setup.hosts, refused_hosts, refusal };
    let judgement = in_force.policy.judge_given(seen, in_force.rules.iter().map(remembered), given);
    match judgement.action {
        Action::Auto => Verdict::Go(checked(spec.name, judgement)),
        Action::Deny => Verdict::Refuse("Tool execution denied by policy".to_string()),
        Action::Ask if setup.interactive => Verdict::Ask(checked(spec.name, judgement)),
        Action::Ask => Verdict::Refuse(
            "Tool execution requires interactive approval, which is unavailable for this profile".to_string(),
        ),
    }
}

fn checked(syscall: &'static str, judgement: Judgement) -> Checked {
    let (way, widening) = match judgement.way {
        policy::Way::Proved => (Way::Proved, None),
        policy::Way::Confined => (Way::Confined, None),
        policy::Way::Asked if judgement.is_widened => (Way::Confined, judgement.widening.clone()),
        // It runs only when a person, or a rule or an approval of theirs, says so.
        policy::Way::Asked => (Way::Approved, None),
    };
    Checked { syscall, way, widening: widening.unwrap_or_default(), judgement }
}

/// How a command was started, for the policy.
fn session_way(way: Way) -> policy::Way {
    match way {
        Way::Proved => policy::Way::Proved,
        Way::Confined => policy::Way::Confined,
        Way::Approved => policy::Way::Asked,
    }
}

/// What a question about a call shows besides it.
pub(crate) fn details(
    setup: &Setup,
    syscall: &str,
    call: &ToolCall,
    judgement: &Judgement,
    files: Vec<ScriptFile>,
) -> Details {
    let given = call.arguments.get("cwd").and_then(Value::as_str).filter(|cwd| !cwd.is_empty());
    // Where a device starts commands is not known here.
    let own = (judgement.target == "gsv").then_some(setup.identity.cwd.as_str());
    let cwd = given.or(own).filter(|_| syscall == SHELL).map(str::to_string);
    let mut reasons: Vec<String> = judgement.reasons.iter().map(|reason| format!("It {reason}.")).collect();
    let is_lost = reasons.iter().any(|reason| reason.contains("could not be undone"));
    if !is_lost && keeps_old(setup, syscall, &judgement.target) {
        reasons.push(CAN_BE_UNDONE.to_string());
    }
    let (widening, widened_shape) = (judgement.widening.clone(), judgement.widened_shape.clone());
    Details { reasons, cwd, files, widening, widened_shape, host_shapes: judgement.host_shapes.clone() }
}

/// Whether a call changes a file on a device that keeps what was there before.
fn keeps_old(setup: &Setup, syscall: &str, target: &str) -> bool {
    let device = setup.devices.iter().find(|device| device.id.as_str() == target);
    matches!(syscall, "fs.write" | "fs.edit" | "fs.delete")
        && device.is_some_and(|device| capability::covers(&device.implements, "fs.undo"))
}

/// What an approval is bound to: the call, the widening that was shown with it, and the script files it names.
pub(crate) fn digest(judgement: &Judgement, widening: Option<&Widening>, files: &[ScriptFile]) -> String {
    script_files::digest(&policy::digest_with_widening(&judgement.digest, widening), files)
}

/// A row of the store as the policy sees it.
fn remembered(row: &RuleRow) -> Remembered<'_> {
    let RuleRow { syscall, scope, target, shape, .. } = row;
    Remembered { syscall, scope: *scope, target, shape: shape.as_deref() }
}

/// Decides on a call that a person allowed: it must be the very call that was shown to them, with the widening that was
/// shown, and the script files it names must say what they said then.
pub(crate) fn confirm(
    checked: Checked,
    (approved, outside): &(ApprovalRow, bool),
    now: &[ScriptFile],
) -> Verdict {
    let Details { files: asked, widening, .. } = Details::of(approved);
    if digest(&checked.judgement, widening.as_ref(), &asked) != approved.digest {
        return Verdict::Refuse(NOT_APPROVED.to_string());
    }
    let (way, widening) = match widening.filter(|_| !outside) {
        Some(widening) => (Way::Confined, widening),
        None => (Way::Approved, Widening::default()),
    };
    match script_files::changed(&asked, now).as_slice() {
        [] => Verdict::Go(Checked { way, widening, ..checked }),
        changed => Verdict::Refuse(format!(
            "The call is not the one that was approved: {} changed since it was shown. Make it again to have it \
             approved.",
            changed.join(", ")
        )),
    }
}

/// Says what is wrong with arguments that were no JSON object: these come as a lone `value`.
fn broken(arguments: &Map<String, Value>, schema: &Map<String, Value>) -> Option<String> {
    let value = arguments.get("value").filter(|_| arguments.len() == 1)?;
    let known = schema.get("properties").and_then(Value::as_object);
    if known.is_some_and(|known| known.contains_key("value")) {
        return None;
    }
    let names: Vec<&str> = known.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    let sent: String =
        value.as_str().map_or_else(|| value.to_string(), str::to_string).chars().take(200).collect();
    Some(format!(
        "The arguments were not a JSON object, so the tool did not run. Send one JSON object with: {}. What came \
         began with: {sent}",
        names.join(", ")
    ))
}

/// What became of a call, with its pictures kept.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) result: RenderedResult,
    /// JSON: `StoredMedia[]`.
    pub(crate) media: Option<String>,
    /// Why its device did nothing of it, where a person may say yes to it.
    pub(crate) refusal: Option<String>,
    /// What was answered to a call of a block, as it came.
    pub(crate) raw: Option<Result<String, Error>>,
}

impl Finished {
    /// Without pictures.
    pub(crate) fn plain(result: RenderedResult) -> Finished {
        Finished { result, media: None, refusal: None, raw: None }
    }
}

/// A call that is to be made, or to be asked about.
#[derive(Clone)]
pub(crate) struct Invocation {
    pub(crate) world: World,
    pub(crate) process: Arc<ProcessRow>,
    pub(crate) request_id: String,
    pub(crate) syscall: String,
    pub(crate) target: String,
    /// How it may run on a device.
    pub(crate) permit: Permit,
    /// JSON.
    pub(crate) args: String,
    /// What the calls of a block go through.
    pub(crate) door: Option<Calls>,
    /// Whether a block makes it, which wants the answer as it comes.
    pub(crate) is_nested: bool,
}

impl Invocation {
    /// Makes the call. If its device is lost on the way, the device is asked for the result once it is back.
    pub(crate) async fn run(self) -> Finished {
        let gateway = &self.world.gateway;
        let (process, permit) = (&self.process, self.permit.clone());
        let (id, name, args) = (&self.request_id, &self.syscall, &self.args);
        let answer = match &self.door {
            Some(door) => gateway.call_through(process, permit, door.clone(), (id, name, args)).await,
            None => gateway.call_permitted(process, permit, id, name, args).await,
        };
        let answer = match answer {
            Err(lost) if lost.reason == Reason::device_disconnected => {
                match self.ask_device(limits::process::DEVICE_RETURN_WAIT).await {
                    Recalled::Answered(answer) => answer,
                    // Nothing has happened.
                    Recalled::NeverSent => Err(lost),
                    Recalled::Unknown if self.only_reads() => Err(lost),
                    Recalled::Unknown => return self.finish(RenderedResult::error(LOST)).await,
                }
            }
            answer => answer,
        };
        self.answered(answer).await
    }

    /// What a device answered. One that has to have a person's word first has done nothing.
    async fn answered(&self, answer: Result<String, Error>) -> Finished {
        let refusal = match &answer {
            Err(error) if error.reason == Reason::approval_required && self.permit.way != Way::Approved => {
                let prefix = Error::approval_required("").message;
                Some(error.message.strip_prefix(&prefix).unwrap_or(&error.message).to_string())
            }
            _ => None,
        };
        if self.is_nested {
            let mut result = render(&self.syscall, answer.clone());
            result.pictures.clear();
            return Finished { refusal, raw: Some(answer), ..Finished::plain(result) };
        }
        Finished { refusal, ..self.finish(render(&self.syscall, answer)).await }
    }

    /// Finds out what became of a call that was under way when the gateway stopped. What only reads is made again.
    pub(crate) async fn recall(self) -> Finished {
        if self.only_reads() {
            return self.run().await;
        }
        if self.target == "gsv" {
            return self.finish(RenderedResult::error(UNKNOWN)).await;
        }
        match self.ask_device(limits::process::RECALL_WAIT).await {
            Recalled::Answered(answer) => self.answered(answer).await,
            Recalled::NeverSent => self.run().await,
            Recalled::Unknown => self.finish(RenderedResult::error(UNKNOWN)).await,
        }
    }

    fn only_reads(&self) -> bool {
        only_reads(&self.syscall)
    }

    async fn ask_device(&self, wait: Duration) -> Recalled {
        let recalled = self.world.gateway.recall(&self.process, &self.request_id, wait);
        // The gateway has a limit of its own; this one is for the case that it forgets.
        let recalled = self.world.clock.timeout(limits::process::RECALL_WAIT * 2, recalled).await;
        recalled.unwrap_or(Recalled::Unknown)
    }

    async fn finish(&self, mut result: RenderedResult) -> Finished {
        let pictures = std::mem::take(&mut result.pictures);
        if pictures.is_empty() {
            return Finished::plain(result);
        }
        match media::keep(&self.world, &self.process, pictures).await {
            Ok(kept) => Finished { media: Some(protocol::frame::to_json(&kept)), ..Finished::plain(result) },
            Err(why) => {
                result.text += &format!("\nThe picture could not be kept: {why}");
                Finished::plain(result)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap()
    }

    #[test]
    fn tools_have_their_calls() {
        assert_eq!(syscall("Shell").map(|spec| spec.name), Some("shell.exec"));
        assert_eq!(syscall("Read").map(|spec| spec.name), Some("fs.read"));
        assert!(syscall("fs.read").is_none());
    }

    #[test]
    fn broken_arguments_are_told_to_the_model() {
        let schema = object(json!({ "properties": { "path": {}, "target": {} } }));
        let why = broken(&object(json!({ "value": "{\"path\": " })), &schema).unwrap();
        assert!(why.contains("path, target") && why.contains("{\"path\": "), "{why}");
        assert_eq!(broken(&object(json!({ "path": "/x" })), &schema), None);
        assert_eq!(broken(&Map::new(), &schema), None);
        let own = object(json!({ "properties": { "value": {} } }));
        assert_eq!(broken(&object(json!({ "value": 1 })), &own), None);
    }
}
