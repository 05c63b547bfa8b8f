//! Choice between the three ways to run a call: proved to only read, confined, or asked about.
//!
//! The order of strength is: what the kernel refuses, the sandbox, the policy, remembered approvals. This file is about
//! the second: what can run without a question because it only reads, or because the target keeps it where it belongs.

mod files;

use protocol::confine::Widening;
use protocol::hosts::Allow;
use protocol::spec::Spec;

use super::call_analysis::CallAnalysis;
use super::findings::{Findings, Need};
use super::paths::PathContext;
use super::prove::{self, Ground};
use super::tags::Tags;
use super::target::Target;
use protocol::confine::AgentMode;

/// How a call would run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// It only reads, and no secret. Where there is a sandbox it runs inside it all the same, so that a proof that is
    /// wrong costs nothing there.
    Proved,
    /// Inside the sandbox of the target, or within what the gateway itself keeps it to.
    Confined,
    /// After a question, outside the sandbox or with exactly the widening that was shown.
    Asked,
}

/// What the conversation knows of a file that a call would replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// It was read or written in this conversation.
    Read,
    /// It is not there: the target was asked.
    Absent,
    /// It is there, and was not read.
    Unread,
    /// Nobody has asked the target.
    Unknown,
}

/// The way of a call, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Course {
    pub(super) way: Way,
    /// Sentences without a subject, the most important first.
    pub(super) reasons: Vec<String>,
    /// Whether it could run inside the sandbox, if nobody minds what it destroys there.
    pub(super) is_confinable: bool,
    pub(super) widening: Option<Widening>,
}

impl Course {
    fn new(way: Way, reasons: Vec<String>) -> Course {
        Course { way, reasons, is_confinable: false, widening: None }
    }

    fn asked(reason: impl Into<String>) -> Course {
        Course::new(Way::Asked, vec![reason.into()])
    }

    /// The device would not do it unasked, whatever way was chosen for it: only outside of the sandbox is left.
    pub(super) fn refused_by_device(&mut self, why: &str) {
        (self.way, self.is_confinable, self.widening) = (Way::Asked, false, None);
        self.reasons.insert(0, format!("was refused by the device without approval: {why}"));
    }
}

/// What the choice rests on besides the analysis of the call.
pub(super) struct Setting<'a> {
    pub(super) target: &'a Target,
    pub(super) paths: &'a PathContext,
    /// How the running command was started that the call types into.
    pub(super) session: Option<Way>,
    /// Of a resolved path on the target.
    pub(super) known: &'a dyn Fn(&str) -> Known,
    /// The hosts that confined commands may reach.
    pub(super) hosts: &'a Allow,
    /// Those that the call was kept from before.
    pub(super) refused_hosts: &'a [String],
}

/// Chooses for a call.
pub(super) fn choose(
    syscall: &str,
    input: Option<&str>,
    analysis: &CallAnalysis,
    setting: &Setting<'_>,
) -> Course {
    if !analysis.is_native() && setting.target.mode() == AgentMode::Ask {
        return Course::asked("is on a machine whose owner wants to be asked about everything");
    }
    match syscall {
        "shell.exec" if analysis.is_session => typed(input, analysis, setting),
        "shell.exec" => match input {
            Some(input) if analysis.is_native() => native(input, analysis, setting),
            Some(input) => command(input, analysis, setting),
            None => Course::asked("has no command that could be looked at"),
        },
        _ if syscall.starts_with("fs.") => files::choose(syscall, analysis, setting),
        _ => kernel(syscall, analysis),
    }
}

/// A command on a device.
fn command(input: &str, analysis: &CallAnalysis, setting: &Setting<'_>) -> Course {
    let Setting { target, paths, .. } = *setting;
    let ground = Ground { paths, shell: target.shell.as_deref(), has_quiet_git: target.confine.is_some() };
    let Err(unproved) = prove::prove(input, ground) else {
        return Course::new(Way::Proved, vec!["only reads".to_string()]);
    };
    if target.mode() == AgentMode::Proved {
        return Course::asked(unproved);
    }
    if !target.is_confining() {
        let mut reasons = grave(&analysis.findings, false);
        reasons.push(unproved);
        reasons.push("runs on a device that has no sandbox for it".to_string());
        return Course::new(Way::Asked, reasons);
    }
    confined(unproved, analysis, setting)
}

/// A command that is not proved, on a device with a whole sandbox.
fn confined(unproved: String, analysis: &CallAnalysis, setting: &Setting<'_>) -> Course {
    let findings = within(&analysis.findings, setting);
    let findings = &findings;
    let mut reasons = grave(findings, true);
    let needs_more = !reasons.is_empty();
    reasons.extend(findings.destroys.iter().cloned());
    for path in &findings.overwrites {
        match (setting.known)(path) {
            Known::Unread => {
                reasons.push(format!("writes over {path}, which was not read in this conversation"))
            }
            Known::Unknown if is_data(path) => {
                reasons.push(format!("may write over data that no checkpoint keeps: {path}"))
            }
            _ => {}
        }
    }
    if reasons.is_empty() {
        return Course { is_confinable: true, ..Course::new(Way::Confined, vec![unproved]) };
    }
    Course { is_confinable: !needs_more, widening: widening(findings), ..Course::new(Way::Asked, reasons) }
}

/// The findings of a command without the hosts that it may reach anyway, and with those that it was kept from before.
fn within(findings: &Findings, setting: &Setting<'_>) -> Findings {
    let mut findings = findings.clone();
    findings.needs.retain(|need| !matches!(need, Need::Host(host) if setting.hosts.covers(host)));
    for host in setting.refused_hosts.iter().filter(|host| !setting.hosts.covers(host)) {
        Findings::note(&mut findings.needs, Need::Host(host.clone()));
    }
    findings
}

/// What no sandbox gives: secrets, then the rest.
fn grave(findings: &Findings, is_confined: bool) -> Vec<String> {
    let secrets = findings.secrets.iter().filter(|secret| !(is_confined && secret.is_readable_confined));
    let secrets = secrets.map(|secret| format!("reads {}: {}", secret.words, secret.path));
    let mut reasons: Vec<String> = secrets.chain(findings.needs.iter().map(Need::sentence)).collect();
    if !is_confined {
        reasons.extend(findings.destroys.iter().cloned());
    }
    reasons
}

/// The widening with which a command would run inside the sandbox, if paths and hosts are all it needs.
fn widening(findings: &Findings) -> Option<Widening> {
    let secrets = findings.secrets.iter().filter(|secret| !secret.is_readable_confined);
    let mut widening =
        Widening { read: secrets.map(|secret| secret.path.clone()).collect(), ..Widening::default() };
    for need in &findings.needs {
        match need {
            Need::Write { path, .. } => widening.write.push(path.clone()),
            Need::Host(host) => widening.hosts.push(host.clone()),
            Need::Other(_) => return None,
        }
    }
    // What is known only in part cannot be opened exactly.
    let is_whole = |path: &String| path.starts_with('/') && !path.contains(['*', '?', '[', '{']);
    let is_exact = widening.write.iter().chain(&widening.read).all(is_whole)
        && widening.hosts.iter().all(|host| is_host(host));
    (is_exact && !widening.is_empty()).then_some(widening)
}

/// Whether a list of hosts can name it, and it alone.
fn is_host(host: &str) -> bool {
    let is_one = !host.contains(|c: char| c == ',' || c == '*' || c == '!' || c.is_whitespace());
    is_one && host.contains('.') && Allow::parse(host).is_ok()
}

/// Names of files that are data more often than not, and that git is often told to ignore.
fn is_data(path: &str) -> bool {
    let end = path.rsplit_once('.').map(|(_, end)| end.to_ascii_lowercase()).unwrap_or_default();
    [
        "db", "sqlite", "sqlite3", "db3", "sql", "dump", "bak", "backup", "tar", "gz", "zip", "key", "pem",
        "p12", "pfx", "keystore", "parquet", "xlsx", "docx",
    ]
    .contains(&end.as_str())
}

/// A command on the gateway itself. Its shell is a sandbox of its own, which runs only builtins.
fn native(input: &str, analysis: &CallAnalysis, setting: &Setting<'_>) -> Course {
    // The git of that shell has no settings that name programs.
    let ground = Ground { paths: setting.paths, shell: Some("bash"), has_quiet_git: true };
    let findings = &analysis.findings;
    let mut reasons: Vec<String> =
        findings.secrets.iter().map(|secret| format!("reads {}: {}", secret.words, secret.path)).collect();
    if analysis.tags.intersects(Tags::PRIVILEGED) {
        reasons.push("changes the gateway or uses the rights of another user".to_string());
    }
    if analysis.tags.intersects(Tags::DESTRUCTIVE) {
        reasons.push("deletes or overwrites something for good".to_string());
    }
    if analysis.tags.intersects(Tags::OPAQUE) {
        reasons.push("does something that cannot be told beforehand".to_string());
    }
    reasons.extend(findings.unknown.iter().map(|name| format!("runs a program that is not known: {name}")));
    if !reasons.is_empty() {
        return Course::new(Way::Asked, reasons);
    }
    match prove::prove(input, ground) {
        Ok(()) => Course::new(Way::Proved, vec!["only reads".to_string()]),
        Err(_) => Course::new(Way::Confined, vec!["runs in the gateway's own shell".to_string()]),
    }
}

/// Text for a command that runs already. One that was confined stays so.
fn typed(input: Option<&str>, analysis: &CallAnalysis, setting: &Setting<'_>) -> Course {
    if !analysis.tags.intersects(Tags::OPAQUE) {
        return Course::new(Way::Proved, vec!["only asks how a command stands".to_string()]);
    }
    let is_inside = matches!(setting.session, Some(Way::Proved | Way::Confined));
    let may_confine = matches!(setting.target.mode(), AgentMode::Confined);
    if input.is_none() || analysis.is_native() || !is_inside || !may_confine || !setting.target.is_confining()
    {
        return Course::asked("types into a program that is running");
    }
    // A sandbox that stands is not opened any more.
    Course {
        widening: None,
        ..confined("types into a program that runs confined".to_string(), analysis, setting)
    }
}

/// Calls that the gateway answers itself.
fn kernel(syscall: &str, analysis: &CallAnalysis) -> Course {
    let spec = protocol::spec(syscall);
    if spec.is_none() {
        return Course::asked(format!("makes a call that is not known: {syscall}"));
    }
    if analysis.tags.intersects(Tags::PRIVILEGED) {
        return Course::asked(format!("changes the gateway itself: {syscall}"));
    }
    if analysis.tags.intersects(Tags::DESTRUCTIVE) {
        return Course::asked(format!("deletes something for good: {syscall}"));
    }
    match spec.is_some_and(Spec::only_reads) {
        true => Course::new(Way::Proved, vec!["only reads".to_string()]),
        false => Course::new(Way::Confined, vec!["does what the gateway lets every agent do".to_string()]),
    }
}

#[cfg(test)]
mod tests;
