//! `gsv approvals`: tool calls that wait for a person, answers to them, and what is approved for good.

mod rehearse;

use chat::approval::{coverage, name};
use chat::look::Look;
use chat::question::{self, Fold};
use chat::{done, tools, watch};
use clap::{Args, Subcommand, ValueEnum};
use client::Session;
use protocol::frame::to_json;
use protocol::ids::Pid;
use protocol::proc::List;
use protocol::proc::approval::{
    Approval, ApprovalsList, ApprovalsPending, ApprovalsRevoke, Decision, Hil, PendingApproval, Scope,
};
use serde_json::json;
use terminal::exact;
use terminal::failure::{Failure, Result};
use terminal::output::{Table, or_dash};
use terminal::times;

use crate::context::Context;
use crate::session;

/// Arguments of `gsv approvals`.
#[derive(Args, Debug)]
pub struct Approvals {
    #[command(subcommand)]
    action: Option<Action>,
}

/// Verbs of `gsv approvals`.
#[derive(Debug, Subcommand)]
enum Action {
    /// List the calls that wait, oldest first.
    List {
        /// Only those of this process.
        #[arg(long, value_name = "PID")]
        pid: Option<String>,
    },
    /// Show everything about a call that waits.
    Show {
        /// The request, or the beginning of its id.
        id: String,
    },
    /// Show questions as they come, and answer them.
    ///
    /// With --json each question is a line, and nothing is answered.
    Watch {
        /// Only of this process.
        #[arg(long, value_name = "PID")]
        pid: Option<String>,
    },
    /// Let a call run.
    Approve {
        /// The request, or the beginning of its id.
        id: String,
        /// Do not ask again for what this covers.
        #[arg(long, value_enum, value_name = "SCOPE")]
        remember: Option<Remember>,
        /// With `--remember class` for a call on a device: yes, on every device, those to come included.
        #[arg(long)]
        every_device: bool,
        /// Let it run outside the sandbox, although the question says what would have to be opened in it.
        #[arg(long)]
        outside: bool,
        /// Do not run it: put exactly what this rehearsal did in place.
        #[arg(long, value_name = "REHEARSAL", conflicts_with = "remember")]
        rehearsal: Option<String>,
    },
    /// Show what a command would do, without changing anything, and answer the question.
    Rehearse {
        /// The request, or the beginning of its id.
        id: String,
        /// Approve, and put exactly what was shown in place, without running the command again.
        #[arg(long)]
        apply: bool,
    },
    /// Refuse a call.
    Deny {
        /// The request, or the beginning of its id.
        id: String,
    },
    /// List remembered approvals.
    Rules {
        /// Only those of this process.
        #[arg(long, value_name = "PID")]
        pid: Option<String>,
    },
    /// Remove a remembered approval, so that it is asked about again.
    Revoke {
        /// The rule, or the beginning of its id.
        id: String,
        /// Only those of this process.
        #[arg(long, value_name = "PID")]
        pid: Option<String>,
    },
}

/// What is approved for good.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Remember {
    /// This program with this shape of arguments, on this one target.
    Shape,
    /// The hosts that the question shows, for all confined commands in the workspace of this target.
    Hosts,
    /// The call, on this one target.
    Target,
    /// The call, on the gateway or on every device.
    Class,
}

impl From<Remember> for Scope {
    fn from(remember: Remember) -> Scope {
        match remember {
            Remember::Shape => Scope::Shape,
            Remember::Hosts => Scope::Hosts,
            Remember::Target => Scope::Target,
            Remember::Class => Scope::Class,
        }
    }
}

/// Runs one verb of `gsv approvals`.
pub async fn run(context: &Context, approvals: Approvals) -> Result<u8> {
    let session = session::open(context).await?;
    match approvals.action.unwrap_or(Action::List { pid: None }) {
        Action::List { pid } => {
            let answer = session.call(&ApprovalsPending { pid: pid.map(Pid) }).await?;
            context.output.table(&answer.raw, || listed(&answer.value.pending))?;
        }
        Action::Show { id } => {
            let pending = find(&session, &id).await?;
            let look = Look { colour: context.output.colour, columns: None };
            let text = || question::render(&pending.request, look, Fold::Whole).trim_end().to_string();
            context.output.answer(&to_json(&pending), text)?;
        }
        Action::Watch { pid } => return watch::run(&context.output, session, pid.map(Pid)).await,
        Action::Approve { id, remember, every_device, outside, rehearsal } => {
            let pending = find(&session, &id).await?;
            let scope = remember.map(Scope::from);
            let is_wide = scope == Some(Scope::Class) && pending.request.target.as_deref() != Some("gsv");
            if is_wide && !every_device {
                let what = coverage(&pending.request, Scope::Class);
                return Err(Failure::usage(format!("this would allow {what}, those to come included"))
                    .with_hint("--remember shape or target, or add --every-device"));
            }
            let given = Given { decision: Decision::Approve, remember_scope: scope, outside, rehearsal };
            decide(context, &session, pending, given).await?;
        }
        Action::Deny { id } => {
            let pending = find(&session, &id).await?;
            let given =
                Given { decision: Decision::Deny, remember_scope: None, outside: false, rehearsal: None };
            decide(context, &session, pending, given).await?;
        }
        Action::Rehearse { id, apply } => {
            let pending = find(&session, &id).await?;
            return rehearse::run(context, &session, pending, apply).await;
        }
        Action::Rules { pid } => {
            let rules = rules(&session, pid.map(Pid)).await?;
            let raw: Vec<_> =
                rules.iter().map(|(pid, rule)| json!({ "pid": pid, "approval": rule })).collect();
            context.output.table(&json!({ "approvals": raw }).to_string(), || ruled(&rules))?;
        }
        Action::Revoke { id, pid } => revoke(context, &session, &id, pid.map(Pid)).await?,
    }
    Ok(0)
}

/// What a person answers.
struct Given {
    decision: Decision,
    remember_scope: Option<Scope>,
    /// Outside the sandbox.
    outside: bool,
    /// The rehearsal to put in place of running it.
    rehearsal: Option<String>,
}

async fn decide(
    context: &Context,
    session: &Session,
    pending: PendingApproval,
    Given { decision, remember_scope, outside, rehearsal }: Given,
) -> Result<()> {
    if remember_scope == Some(Scope::Hosts) && pending.request.hosts_text.is_none() {
        return Err(Failure::usage("this call needs no hosts alone that could be remembered")
            .with_hint("--remember shape or target"));
    }
    if remember_scope == Some(Scope::Shape) && pending.request.shape.is_none() {
        return Err(Failure::usage("this call has no shape to remember").with_hint("--remember target"));
    }
    let hil = Hil {
        pid: Some(pending.pid.clone()),
        request_id: pending.request.request_id.clone(),
        decision,
        outside: outside.then_some(true),
        remember: remember_scope.map(|_| true),
        remember_scope,
        rehearsal,
    };
    let answer = session.call(&hil).await?;
    done(answer.value)?;
    context.output.answer(&answer.raw, || {
        let what = tools::summary(&pending.request.syscall, &pending.request.args);
        match (decision, remember_scope) {
            (Decision::Deny, _) => format!("denied: {what}"),
            (Decision::Approve, None) if outside => format!("approved, outside the sandbox: {what}"),
            (Decision::Approve, None) => match &pending.request.widening_text {
                Some(words) => {
                    format!("approved, inside the sandbox, which may {}: {what}", exact::line(words))
                }
                None => format!("approved: {what}"),
            },
            (Decision::Approve, Some(scope)) => {
                format!("approved: {what}; from now on {}", coverage(&pending.request, scope))
            }
        }
    })
}

async fn revoke(context: &Context, session: &Session, id: &str, pid: Option<Pid>) -> Result<()> {
    let rules = rules(session, pid).await?;
    let (pid, rule) = only(rules, id, |(_, rule)| rule.approval_id.as_str(), "rule", "gsv approvals rules")?;
    let call = ApprovalsRevoke { pid: Some(pid), approval_id: rule.approval_id.clone() };
    let answer = session.call(&call).await?;
    let revoked = done(answer.value)?.revoked;
    context.output.answer(&answer.raw, || {
        if revoked { format!("revoked {}", rule.approval_id) } else { "it was revoked already".to_string() }
    })
}

async fn find(session: &Session, id: &str) -> Result<PendingApproval> {
    let pending = session.call(&ApprovalsPending::default()).await?.value.pending;
    only(pending, id, |pending| pending.request.request_id.as_str(), "call that waits", "gsv approvals")
}

/// The rules of one process, or of all that live.
async fn rules(session: &Session, pid: Option<Pid>) -> Result<Vec<(Pid, Approval)>> {
    let pids = match pid {
        Some(pid) => vec![pid],
        None => {
            let processes = session.call(&List::default()).await?.value.processes;
            processes
                .into_iter()
                .filter(|process| process.state != "exited")
                .map(|process| process.pid)
                .collect()
        }
    };
    let mut rules = Vec::new();
    for pid in pids {
        let approvals = done(session.call(&ApprovalsList { pid: Some(pid.clone()) }).await?.value)?.approvals;
        rules.extend(approvals.into_iter().map(|rule| (pid.clone(), rule)));
    }
    Ok(rules)
}

/// The one whose id is this or begins so.
fn only<T>(all: Vec<T>, id: &str, id_of: impl Fn(&T) -> &str, what: &str, lists: &str) -> Result<T> {
    let exact = all.iter().any(|one| id_of(one) == id);
    let fits = |one: &T| if exact { id_of(one) == id } else { !id.is_empty() && id_of(one).starts_with(id) };
    let mut found: Vec<T> = all.into_iter().filter(fits).collect();
    match (found.pop(), found.len()) {
        (Some(one), 0) => Ok(one),
        (None, _) => {
            Err(Failure::new(format!("there is no {what} {id}")).with_hint(format!("`{lists}` lists them")))
        }
        (Some(_), more) => Err(Failure::usage(format!("{id} may be any of {}", more + 1))
            .with_hint(format!("`{lists}` lists them; give more of the id"))),
    }
}

fn listed(pending: &[PendingApproval]) -> Table {
    let mut table = Table::new(&["ID", "PROCESS", "SINCE", "CALL", "TARGET", "WHY", "WHAT"], "nothing waits");
    for PendingApproval { pid, request } in pending {
        let target = request.target.as_deref().or_else(|| tools::target(&request.syscall, &request.args));
        table.row([
            request.request_id.clone(),
            pid.to_string(),
            times::show(request.created_at),
            request.syscall.clone(),
            or_dash(target),
            or_dash(request.tags.as_ref().map(|tags| tags.join(","))),
            terminal::layout::cut(&tools::summary(&request.syscall, &request.args), 60),
        ]);
    }
    table
}

fn ruled(rules: &[(Pid, Approval)]) -> Table {
    let headings = ["ID", "PROCESS", "CALL", "SCOPE", "TARGET", "SHAPE", "SINCE"];
    let mut table = Table::new(&headings, "nothing is approved for good");
    for (pid, rule) in rules {
        table.row([
            rule.approval_id.clone(),
            pid.to_string(),
            rule.syscall.clone(),
            name(rule.scope).to_string(),
            rule.target.clone(),
            or_dash(rule.shape.clone()),
            times::show(rule.created_at),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_may_be_shortened_as_long_as_it_is_clear() {
        let find = |id: &str| only(vec!["ab1", "ab2", "ab"], id, |id| id, "call", "gsv approvals");
        assert_eq!(find("ab1").unwrap(), "ab1");
        assert_eq!(find("ab").unwrap(), "ab");
        assert_eq!(find("a").unwrap_err().exit, 2);
        assert!(find("c").unwrap_err().message.contains("no call c"));
        assert!(find("").is_err());
    }
}
