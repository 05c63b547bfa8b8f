//! Rehearsals for people: the exact call of a question as a dry run, and rendering of what it would do.
//!
//! Files and output were written by a command that an agent chose, so all of it goes through `terminal::exact`.

use base::limits;
use protocol::proc::approval::HilRequest;
use protocol::shell::rehearsal::{Changed, FileChange, FileFacts, Rehearsal, Rehearse, WORD};
use protocol::shell::{Exec, ExecResult};
use protocol::sys::device::Get;
use terminal::exact;
use terminal::layout::{GREEN, RED, Style, YELLOW};
use terminal::output::Output;

use crate::approval;
use crate::gateway::Gateway;
use crate::look::Look;
use crate::question::Fold;
use crate::tools::count;

/// Changes, and lines of each difference and of the output, that are shown folded.
const FOLDED_CHANGES: usize = 40;
const FOLDED_LINES: usize = 12;

/// The line that offers a rehearsal below a question.
pub const OFFER: &str = "  [r] rehearse: see what it would do; nothing changes\n";
/// The line that offers to put one in place.
pub const PUT_OFFER: &str = "  [p] put exactly this in place, without running it again\n";

/// The call of a question as a rehearsal: its target and arguments. A sentence where there is no such thing.
pub fn call_of(request: &HilRequest) -> std::result::Result<(String, Exec), String> {
    let target = approval::target(request);
    let text = |name: &str| request.args.get(name).and_then(|value| value.as_str()).map(str::to_string);
    if request.syscall != "shell.exec" || target == "gsv" {
        return Err("only commands on a device can be rehearsed".to_string());
    }
    if text("sessionId").is_some_and(|id| !id.trim().is_empty()) {
        return Err("text for a running command cannot be rehearsed".to_string());
    }
    let target = request.target.clone().unwrap_or(target);
    let exec = Exec {
        input: text("input").unwrap_or_default(),
        cwd: text("cwd"),
        timeout: request.args.get("timeout").and_then(serde_json::Value::as_u64),
        rehearse: Some(Rehearse::Run),
        ..Exec::default()
    };
    Ok((target, exec))
}

/// Whether a question can be rehearsed where its call would run.
pub(crate) async fn is_offered(gateway: &mut Gateway<'_>, request: &HilRequest) -> bool {
    let Ok((device_id, _)) = call_of(request) else { return false };
    let found = gateway.call(&Get { device_id }, limits::client::CALL_TIMEOUT).await;
    let device = found.ok().and_then(|found| found.device);
    device.and_then(|device| device.confine).is_some_and(|words| words.iter().any(|word| word == WORD))
}

/// Rehearses the call of a question: what it would do, or why that cannot be told.
pub(crate) async fn run(
    gateway: &mut Gateway<'_>,
    request: &HilRequest,
) -> std::result::Result<ExecResult, String> {
    let (target, exec) = call_of(request)?;
    let limit = limits::client::CALL_TIMEOUT;
    gateway.call_on(Some(&target), &exec, limit).await.map_err(|error| error.to_string())
}

/// What is said when a rehearsal was approved.
pub const PUT_IN_PLACE: &str = "approved: what was rehearsed is put in place";

/// How far the rehearsal of a question is.
pub(crate) enum Rehearsed {
    /// Not rehearsed, and whether it can be.
    Not(bool),
    /// What it would do.
    Did(Box<ExecResult>),
}

impl Rehearsed {
    /// Rehearses the question; what cannot be is said.
    pub(crate) async fn again(&mut self, gateway: &mut Gateway<'_>, request: &HilRequest, output: &Output) {
        match run(gateway, request).await {
            Ok(result) => *self = Rehearsed::Did(Box::new(result)),
            Err(why) => output.note(&exact::line(&why)),
        }
    }

    /// The keys that go with it.
    pub(crate) fn keys(&self) -> &'static [char] {
        match self {
            Rehearsed::Not(false) => &[],
            Rehearsed::Not(true) => &['r'],
            Rehearsed::Did(result) if applicable(result).is_some() => &['p', 'r'],
            Rehearsed::Did(_) => &['r'],
        }
    }

    /// What the keys do.
    pub(crate) fn offer(&self) -> &'static str {
        match self {
            Rehearsed::Not(false) => "",
            Rehearsed::Not(true) => OFFER,
            Rehearsed::Did(result) if applicable(result).is_some() => PUT_OFFER,
            Rehearsed::Did(_) => "",
        }
    }

    /// The id of what can be put in place.
    pub(crate) fn applicable(&self) -> Option<String> {
        match self {
            Rehearsed::Not(_) => None,
            Rehearsed::Did(result) => applicable(result).map(str::to_string),
        }
    }
}

/// The id of a rehearsal that can be put in place.
pub fn applicable(result: &ExecResult) -> Option<&str> {
    let rehearsal = result.rehearsal.as_ref()?;
    rehearsal.blocked.is_none().then_some(rehearsal.id.as_str())
}

/// What a command would do: files with differences, hosts, output, how it ended, and what could not be rehearsed.
pub fn render(result: &ExecResult, look: Look, fold: Fold) -> String {
    let none = Rehearsal::default();
    let rehearsal = result.rehearsal.as_ref().unwrap_or(&none);
    let title = match rehearsal.total {
        0 => "rehearsed: it would change no files".to_string(),
        total => format!(
            "rehearsed: it would change {}",
            count(usize::try_from(total).unwrap_or(usize::MAX), "file")
        ),
    };
    let mut out = format!("{}\n", look.paint(Style { bold: true, ..Style::PLAIN }, &title));
    let most = if fold == Fold::Whole { usize::MAX } else { FOLDED_CHANGES };
    for change in rehearsal.changes.iter().take(most) {
        render_change(change, look, fold, &mut out);
    }
    let shown = rehearsal.changes.len().min(most) as u64;
    if shown < rehearsal.total {
        out.push_str(&format!("  … and {} more\n", rehearsal.total - shown));
    }
    for host in &rehearsal.tried {
        out.push_str(&format!("  tried to reach {}\n", exact::line(host)));
    }
    if !result.output.is_empty() {
        out.push_str("  output:\n");
        let text = result.output.strip_suffix('\n').unwrap_or(&result.output);
        block(text, Style::PLAIN, look, fold, &mut out);
    }
    out.push_str(&format!("  {}\n", ending(result)));
    for sentence in &rehearsal.cannot {
        let text = format!("not rehearsed: {}", exact::line(sentence));
        out.push_str(&format!("  {}\n", look.paint(Style::colour(YELLOW), &text)));
    }
    if let Some(why) = &rehearsal.blocked {
        let text = format!("it cannot be put in place as it is: {}", exact::line(why));
        out.push_str(&format!("  {}\n", look.paint(Style::colour(YELLOW), &text)));
    }
    out
}

/// How it ended.
fn ending(result: &ExecResult) -> String {
    match (result.exit_code, &result.signal) {
        _ if result.timed_out == Some(true) => "ended by its time limit".to_string(),
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("ended by {}", exact::line(signal)),
        (None, None) => exact::line(result.error.as_deref().unwrap_or("it did not end by itself")),
    }
}

fn render_change(change: &FileChange, look: Look, fold: Fold, out: &mut String) {
    let (word, colour) = match change.change {
        Changed::Created => ("created", GREEN),
        Changed::Changed => ("changed", YELLOW),
        Changed::Deleted => ("deleted", RED),
    };
    let facts = match (&change.before, &change.after) {
        (Some(before), Some(after)) => difference(before, after),
        (None, Some(one)) | (Some(one), None) => facts(one),
        (None, None) => String::new(),
    };
    let later = if change.runs_later == Some(true) { "  (runs later)" } else { "" };
    let word = look.paint(Style::colour(colour), word);
    out.push_str(&format!("  {word} {}{facts}{later}\n", exact::line(&change.path)));
    if let Some(diff) = &change.diff {
        let text = diff.strip_suffix('\n').unwrap_or(diff);
        differences(text, look, fold, out);
    }
    if let Some(note) = &change.note {
        out.push_str(&format!("    {}\n", look.paint(Style::DIM, &exact::line(note))));
    }
}

fn facts(one: &FileFacts) -> String {
    match (one.file_type.as_str(), one.size, &one.to) {
        ("file", Some(size), _) => {
            format!("  ({})", count(usize::try_from(size).unwrap_or(usize::MAX), "byte"))
        }
        ("link", _, Some(to)) => format!("  (link to {})", exact::line(to)),
        (kind, ..) => format!("  ({})", exact::line(kind)),
    }
}

fn difference(before: &FileFacts, after: &FileFacts) -> String {
    let mut parts = Vec::new();
    if before.file_type != after.file_type {
        parts.push(format!("{} → {}", exact::line(&before.file_type), exact::line(&after.file_type)));
    }
    if let (Some(old), Some(new)) = (before.size, after.size)
        && old != new
    {
        parts.push(format!("{old} → {new} bytes"));
    }
    if let (Some(old), Some(new)) = (before.mode, after.mode)
        && old != new
    {
        parts.push(format!("mode {old:o} → {new:o}"));
    }
    if let Some(to) = after.to.as_ref().filter(|_| before.to != after.to) {
        parts.push(format!("link to {}", exact::line(to)));
    }
    if parts.is_empty() { String::new() } else { format!("  ({})", parts.join(", ")) }
}

/// The lines of a difference, in the colours people know.
fn differences(text: &str, look: Look, fold: Fold, out: &mut String) {
    let style = |line: &str| match line.as_bytes().first() {
        Some(b'+') => Style::colour(GREEN),
        Some(b'-') => Style::colour(RED),
        Some(b'@') => Style::DIM,
        _ => Style::PLAIN,
    };
    lines(text, style, look, fold, out);
}

fn block(text: &str, style: Style, look: Look, fold: Fold, out: &mut String) {
    lines(text, |_| style, look, fold, out);
}

/// Lines behind a bar that nothing in them can imitate.
fn lines(text: &str, style: impl Fn(&str) -> Style, look: Look, fold: Fold, out: &mut String) {
    let all: Vec<&str> = text.split('\n').collect();
    let most = if fold == Fold::Whole { usize::MAX } else { FOLDED_LINES };
    for line in all.iter().take(most) {
        out.push_str(&format!("  │ {}\n", look.paint(style(line), &exact::line(line))));
    }
    if all.len() > most {
        let more = format!("… {}", count(all.len() - most, "more line"));
        out.push_str(&format!("  │ {}\n", look.paint(Style::DIM, &more)));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PLAIN: Look = Look { colour: false, columns: None };

    fn result() -> ExecResult {
        serde_json::from_value(json!({
            "status": "completed", "output": "done \u{1b}[2J\n", "exitCode": 0,
            "rehearsal": {
                "id": "r1", "total": 3, "truncated": false, "tried": ["example.org:443"],
                "cannot": ["It wanted to reach example.org:443."],
                "changes": [
                    { "path": "/w/a\u{202e}", "change": "created", "after": { "type": "file", "mode": 420, "size": 1 } },
                    { "path": "/w/b", "change": "changed", "before": { "type": "file", "mode": 420, "size": 4 },
                      "after": { "type": "file", "mode": 493, "size": 4 }, "diff": "@@ -1 +1 @@\n-old\n+new\n" },
                    { "path": "/w/.git/hooks/x", "change": "deleted", "before": { "type": "directory" }, "runsLater": true },
                ],
            },
        }))
        .unwrap()
    }

    #[test]
    fn everything_is_shown_and_nothing_of_it_is_obeyed() {
        let shown = render(&result(), PLAIN, Fold::Whole);
        let expected = "rehearsed: it would change 3 files\n  created /w/a⟨U+202E⟩  (1 byte)\n  changed /w/b  (mode 644 → 755)\n  \
                        │ @@ -1 +1 @@\n  │ -old\n  │ +new\n  deleted /w/.git/hooks/x  (directory)  (runs later)\n  tried to reach \
                        example.org:443\n  output:\n  │ done ⟨U+001B⟩[2J\n  exit code 0\n  not rehearsed: It wanted to reach \
                        example.org:443.\n";
        assert_eq!(shown, expected);
        assert_eq!(applicable(&result()), Some("r1"));
    }

    #[test]
    fn only_commands_on_a_device_are_rehearsed() {
        let request = |syscall: &str, args: serde_json::Value| -> HilRequest {
            serde_json::from_value(json!({
                "requestId": "a", "runId": "r", "callId": "c", "toolName": "Shell", "syscall": syscall,
                "target": args["target"], "args": args, "createdAt": 1,
            }))
            .unwrap()
        };
        let (target, exec) =
            call_of(&request("shell.exec", json!({ "input": "rm x", "target": "desk", "cwd": "/w" })))
                .unwrap();
        assert_eq!((target.as_str(), exec.input.as_str(), exec.cwd.as_deref()), ("desk", "rm x", Some("/w")));
        assert_eq!(exec.rehearse, Some(Rehearse::Run));
        assert!(call_of(&request("shell.exec", json!({ "input": "rm x", "target": "gsv" }))).is_err());
        assert!(call_of(&request("fs.delete", json!({ "path": "x", "target": "desk" }))).is_err());
        let session = json!({ "input": "y", "target": "desk", "sessionId": "s" });
        assert!(call_of(&request("shell.exec", session)).is_err());
    }
}
