//! Rendering of an approval question: why it is asked, then every character of what would run, behind a bar that nothing
//! in it can imitate. What is long is folded until it is asked for.

use base::limits;
use protocol::proc::approval::{HilRequest, Scope, ScriptFile, ScriptFileState};
use serde_json::Value;
use terminal::exact;
use terminal::layout::{self, Style, YELLOW};

use crate::approval;
use crate::diff;
use crate::look::Look;
use crate::tools::count;

/// What stands before each row of what an agent wrote, and before what did not fit into one.
const BAR: &str = "  │ ";
const CONTINUED: &str = "  ┆ ";
/// Lines that are shown of the end of what is folded.
const LAST_LINES: usize = 3;

/// How much of a question is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fold {
    /// What fits; the rest is counted.
    Folded,
    /// Everything.
    Whole,
}

impl Fold {
    /// The other way.
    pub fn other(self) -> Fold {
        match self {
            Fold::Folded => Fold::Whole,
            Fold::Whole => Fold::Folded,
        }
    }
}

/// The keys that a question has besides the answers.
pub fn keys(request: &HilRequest) -> &'static [char] {
    if is_folded(request) { &['f', '?'] } else { &[] }
}

/// The question with what is asked about and what the answers cover.
pub fn render(request: &HilRequest, look: Look, fold: Fold) -> String {
    let mut out = subject(request, look, fold);
    out.push_str(match request.widening {
        Some(_) => "  [y] approve once, with exactly that   [n] deny\n",
        None => "  [y] approve once   [n] deny\n",
    });
    for scope in approval::scopes(request) {
        let how = match (scope, &request.widening) {
            (Scope::Target | Scope::Class, Some(_)) => {
                out.push_str(&format!("  [{}] approve once, outside the sandbox\n", approval::OUTSIDE));
                "always, outside the sandbox"
            }
            _ => "always",
        };
        let (key, what) = (approval::key(scope), approval::coverage(request, scope));
        out.push_str(&format!("  [{key}] {how}: {what}\n"));
    }
    if fold == Fold::Folded && is_folded(request) {
        let lines = body(request).len();
        let lines = if lines > 1 { format!("all {lines} lines") } else { "the whole line".to_string() };
        out.push_str(&format!("  [f] show {lines}\n"));
    }
    out
}

/// The question without the answers, for those who cannot be asked here.
pub fn subject(request: &HilRequest, look: Look, fold: Fold) -> String {
    let name = if request.tool_name.is_empty() { &request.syscall } else { &request.tool_name };
    let tags = request.tags.as_ref().filter(|tags| !tags.is_empty());
    let why = tags.map_or_else(String::new, |tags| format!(" ({})", exact::line(&tags.join(", "))));
    let title = format!("? {} on {} asks for approval{why}", exact::line(name), approval::target(request));
    let mut out = format!("{}\n", look.paint(Style { bold: true, ..Style::colour(YELLOW) }, &title));
    for reason in request.reasons.iter().flatten() {
        out.push_str(&format!("  {}\n", exact::line(reason)));
    }
    if let Some(words) = &request.widening_text {
        out.push_str(&format!("  It would run inside the sandbox, and may there {}.\n", exact::line(words)));
    }
    if let Some(cwd) = &request.cwd {
        out.push_str(&format!("  in {}\n", exact::line(cwd)));
    }
    let lines = body(request);
    let lines = if fold == Fold::Folded { folded(lines) } else { lines };
    for (style, line) in lines {
        rows(&line, style, look, &mut out);
    }
    for file in request.files.iter().flatten() {
        out.push_str(&format!("  {}\n", of_file(file)));
    }
    for note in notes(request) {
        out.push_str(&format!("  {}\n", look.paint(Style::colour(YELLOW), &note)));
    }
    out
}

/// Whether something of a question is shown only when it is asked for.
pub fn is_folded(request: &HilRequest) -> bool {
    let lines = body(request);
    let most = limits::approval::FOLDED_LINE_MAX_CHARS;
    lines.len() > limits::approval::FOLDED_LINES_MAX
        || lines.iter().any(|(_, line)| line.chars().count() > most)
}

/// What would run, every character of it, line by line.
fn body(request: &HilRequest) -> Vec<(Style, String)> {
    let mut rest = request.args.clone();
    let mut take = |name: &str| match rest.get(name) {
        Some(Value::String(_)) => rest.remove(name).and_then(|value| value.as_str().map(str::to_string)),
        _ => None,
    };
    let mut lines = Vec::new();
    // The title has the target; a call that would not go there shows it as it is.
    if request.args.get("target").and_then(Value::as_str) == request.target.as_deref() {
        take("target");
    }
    match request.syscall.as_str() {
        "shell.exec" => {
            if request.cwd.is_some()
                && request.args.get("cwd").and_then(Value::as_str) == request.cwd.as_deref()
            {
                take("cwd");
            }
            if let Some(input) = take("input") {
                let text = input.strip_suffix('\n').unwrap_or(&input);
                lines.extend(text.split('\n').map(|line| (Style::BOLD, exact::line(line))));
            }
        }
        "fs.edit" => {
            lines.extend(take("path").map(|path| (Style::BOLD, exact::line(&path))));
            let is_text = |name: &str| request.args.get(name).is_some_and(Value::is_string);
            // Half an edit is shown as what it is.
            if is_text("oldString") && is_text("newString") {
                let (old, new) = (take("oldString"), take("newString"));
                lines.extend(diff::whole(&old.unwrap_or_default(), &new.unwrap_or_default()));
            }
        }
        "fs.write" => {
            lines.extend(take("path").map(|path| (Style::BOLD, exact::line(&path))));
            if let Some(content) = take("content") {
                lines.extend(diff::whole("", &content));
            }
        }
        call if call.starts_with("fs.") => {
            lines.extend(take("path").map(|path| (Style::BOLD, exact::line(&path))));
        }
        _ => {}
    }
    for (name, value) in &rest {
        let text = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let mut parts = text.split('\n');
        let first = parts.next().unwrap_or_default();
        lines.push((Style::PLAIN, format!("{}: {}", exact::line(name), exact::line(first))));
        lines.extend(parts.map(|part| (Style::PLAIN, format!("  {}", exact::line(part)))));
    }
    lines
}

/// The beginning and the end, and how much is between them.
fn folded(lines: Vec<(Style, String)>) -> Vec<(Style, String)> {
    let most = limits::approval::FOLDED_LINE_MAX_CHARS;
    let shorten = |(style, line): (Style, String)| match line.char_indices().nth(most) {
        Some((end, _)) => {
            let left = line[end..].chars().count();
            (style, format!("{} … {}", &line[..end], count(left, "more character")))
        }
        None => (style, line),
    };
    let (all, most) = (lines.len(), limits::approval::FOLDED_LINES_MAX);
    if all <= most {
        return lines.into_iter().map(shorten).collect();
    }
    let first = most - LAST_LINES - 1;
    let hidden = all - first - LAST_LINES;
    let note = (Style::DIM, format!("… {} of {all}", count(hidden, "more line")));
    let mut lines: Vec<_> = lines.into_iter().map(shorten).collect();
    lines.splice(first..first + hidden, [note]);
    lines
}

/// A line behind its bar; what does not fit into a row goes on in the next one.
fn rows(line: &str, style: Style, look: Look, out: &mut String) {
    let room = look.columns.map_or(usize::MAX, |columns| columns.saturating_sub(layout::width(BAR)).max(10));
    let (mut row, mut taken, mut bar) = (String::new(), 0, BAR);
    for c in line.chars() {
        let columns = layout::width(c.encode_utf8(&mut [0; 4]));
        if taken + columns > room {
            out.push_str(&format!("{bar}{}\n", look.paint(style, &row)));
            (row, taken, bar) = (String::new(), 0, CONTINUED);
        }
        row.push(c);
        taken += columns;
    }
    out.push_str(&format!("{bar}{}\n", look.paint(style, &row)));
}

/// What is covered of a script file.
fn of_file(file: &ScriptFile) -> String {
    let path = exact::line(&file.path);
    let why = exact::line(file.why.as_deref().unwrap_or("nothing is known of it"));
    match file.state {
        ScriptFileState::Read => {
            let size = file.size.map_or_else(String::new, |size| format!(" ({size} bytes)"));
            format!("runs {path}{size}: the approval holds only while it stays as it is")
        }
        ScriptFileState::Unread => format!("runs {path}, which was not read: {why}"),
        ScriptFileState::Unknown => {
            format!(
                "runs {path}, of which nothing is known ({why}): the approval is for the text above alone"
            )
        }
    }
}

/// What a reader should know of the letters.
fn notes(request: &HilRequest) -> Vec<String> {
    let text = Value::Object(request.args.clone()).to_string();
    let mut notes: Vec<String> = exact::deceptive_words(&text)
        .iter()
        .map(|word| format!("note: \"{}\" has letters that look like others", exact::line(word)))
        .collect();
    if exact::runs_right_to_left(&text) {
        notes.push(
            "note: some letters run from right to left; their order may be another one than it seems"
                .to_string(),
        );
    }
    if request.args.values().any(|value| value.as_str().is_some_and(|text| exact::block(text) != text)) {
        notes.push("note: ⟨U+…⟩ stands for a character that cannot be seen".to_string());
    }
    notes
}

#[cfg(test)]
mod tests;
