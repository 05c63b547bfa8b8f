//! Limits of a rehearsal in words: what the command wanted that a rehearsal does not have.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use base::limits::device as limit;
use egress::Proxy;
use protocol::shell::ExecResult;

use super::Stage;

/// The hosts that a command wanted to reach.
pub(super) fn tried(proxy: &Proxy, since_ms: i64) -> Vec<String> {
    let named =
        proxy.log().into_iter().filter(|tried| tried.at_ms >= since_ms).map(|tried| match tried.port {
            Some(port) => format!("{}:{port}", tried.host),
            None => tried.host,
        });
    let mut hosts: Vec<String> = named.collect();
    hosts.sort();
    hosts.dedup();
    // A name that was looked up and then connected to is told once.
    let all = hosts.clone();
    hosts.retain(|host| {
        !all.iter().any(|other| other.strip_prefix(host.as_str()).is_some_and(|rest| rest.starts_with(':')))
    });
    hosts.truncate(limit::REHEARSAL_TRIED_MAX);
    hosts
}

/// What could not be rehearsed.
pub(super) fn sentences(stage: &Stage, result: &ExecResult, tried: &[String]) -> Vec<String> {
    let mut told: Vec<String> = stage.ended.iter().cloned().collect();
    if result.timed_out == Some(true) {
        told.push("It was ended by its time limit: what it would have done then is not known.".to_string());
    }
    if !tried.is_empty() {
        let hosts = tried.join(", ");
        told.push(format!(
            "It wanted to reach {hosts}: a rehearsal has no network, so what would follow is not known."
        ));
    }
    if let Some(why) = &stage.narrowed {
        told.push(format!("Only the workspace could be changed, no more could be copied: {why}."));
    }
    if let Some(first) = stage.left_out.first() {
        told.push(format!(
            "What lies directly in {}{} could not be changed: other file systems, or the driver's own files, are below.",
            first.display(),
            if stage.left_out.len() > 1 { " and in some directories like it" } else { "" }
        ));
    }
    if let Some(name) = first_name(stage.tmp.path(), &stage.targets) {
        told.push(format!("It left files in /tmp, such as {name}: a rehearsal has an empty /tmp of its own, and they are not kept."));
    }
    let has_failed = result.exit_code != Some(0) && result.timed_out != Some(true) && stage.ended.is_none();
    if has_failed {
        told.push(
            "A rehearsal has no network, devices, services and other users' rights (sudo), and secret places are hidden: \
             a command that fails for want of them may do something else when it runs."
                .to_string(),
        );
    }
    told
}

/// A name in the private `/tmp` that the command made: directories in which trees are shown are not.
fn first_name(tmp: &Path, targets: &[PathBuf]) -> Option<String> {
    let mut names = std::fs::read_dir(tmp).ok()?.filter_map(|entry| Some(entry.ok()?.file_name()));
    let is_made = |name: &OsString| {
        let shown = |at: &str| targets.iter().any(|target| target.starts_with(Path::new(at).join(name)));
        !shown("/tmp") && !shown("/var/tmp")
    };
    names.find(is_made).map(|name| name.to_string_lossy().into_owned())
}
