//! Unified differences between two contents, coloured on a terminal.

use imara_diff::{Algorithm, BasicLineDiffPrinter, Diff, InternedInput, UnifiedDiffConfig};
use serde_json::json;
use terminal::escape;
use terminal::failure::Result;
use terminal::layout::{CYAN, GREEN, RED, Style};

use super::content::Bytes;
use crate::cli::cp::Remote;
use crate::context::Context;

/// Prints what is different; the exit code is 1 where something is, as that of `diff`.
pub(super) fn print(context: &Context, at: &Remote, old: (&str, &Bytes), new: (&str, &Bytes)) -> Result<u8> {
    let is_same = old.1 == new.1;
    let text = if is_same { String::new() } else { shown(at, old, new) };
    if context.output.json {
        let raw = json!({ "path": at.path, "from": old.0, "to": new.0, "same": is_same, "diff": text });
        context.output.raw_json(&raw.to_string())?;
    } else {
        let (colour, is_seen) = (context.output.colour, context.output.terminal);
        context.output.text(&painted(&text, colour, is_seen))?;
    }
    Ok(u8::from(!is_same))
}

fn shown(at: &Remote, (old_name, old): (&str, &Bytes), (new_name, new): (&str, &Bytes)) -> String {
    let head = |sign: &str, name: &str, bytes: &Bytes| match bytes {
        Bytes::Nothing => format!("{sign} /dev/null\n"),
        _ => format!("{sign} {at} ({name})\n"),
    };
    let heads = head("---", old_name, old) + &head("+++", new_name, new);
    let text = |bytes: &Bytes| match bytes {
        Bytes::Nothing => Some(String::new()),
        Bytes::Exactly(bytes) => String::from_utf8(bytes.clone()).ok().filter(|text| !text.contains('\0')),
        Bytes::Binary(_) => None,
    };
    match (text(old), text(new)) {
        (Some(old), Some(new)) => heads + &unified(&old, &new),
        _ => heads + &format!("Binary contents differ ({} and {})\n", size(old), size(new)),
    }
}

fn size(bytes: &Bytes) -> String {
    match bytes {
        Bytes::Nothing => "no file".to_string(),
        Bytes::Exactly(bytes) => format!("{} bytes", bytes.len()),
        Bytes::Binary(size) => format!("{size} bytes"),
    }
}

fn unified(old: &str, new: &str) -> String {
    let input = InternedInput::new(old, new);
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let printer = BasicLineDiffPrinter(&input.interner);
    diff.unified_diff(&printer, UnifiedDiffConfig::default(), &input).to_string()
}

fn painted(text: &str, has_colour: bool, is_seen: bool) -> String {
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        // A terminal obeys nothing that is in a file; a program gets the lines as they are.
        let line = if is_seen { escape::line(line) } else { line.to_string() };
        let style = match line.as_bytes().first() {
            Some(b'+') if line.starts_with("+++") => Some(Style::BOLD),
            Some(b'-') if line.starts_with("---") => Some(Style::BOLD),
            Some(b'+') => Some(Style::colour(GREEN)),
            Some(b'-') => Some(Style::colour(RED)),
            Some(b'@') => Some(Style::colour(CYAN)),
            _ => None,
        };
        match style.filter(|_| has_colour) {
            Some(style) => out.push_str(&style.paint(&line)),
            None => out.push_str(&line),
        }
        out.push_str(end);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_unified_and_escaped_for_terminals() {
        let at = Remote { target: "mac".into(), path: "/f".into() };
        let bytes = |text: &str| Bytes::Exactly(text.as_bytes().to_vec());
        let text = shown(&at, ("1~", &bytes("a\nb\n")), ("now", &bytes("a\nc\u{1b}[2J\n")));
        assert!(text.starts_with("--- mac:/f (1~)\n+++ mac:/f (now)\n@@"), "{text}");
        assert!(text.contains("-b\n") && text.contains("+c\u{1b}[2J\n"), "{text}");
        assert!(!painted(&text, false, true).contains('\u{1b}'));
        assert_eq!(painted(&text, false, false), text);
        let gone = shown(&at, ("1", &bytes("a\n")), ("2", &Bytes::Nothing));
        assert!(gone.contains("+++ /dev/null\n") && gone.contains("-a"), "{gone}");
        let binary = shown(&at, ("1", &Bytes::Binary(7)), ("now", &bytes("x")));
        assert!(binary.ends_with("Binary contents differ (7 bytes and 1 bytes)\n"), "{binary}");
    }
}
