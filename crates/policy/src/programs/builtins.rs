//! Builtins that evaluate their words: what they make of variables.

use bashkit::parser::{Word as Parsed, WordPart};

use super::Word;
use super::walk::Walk;

/// Takes note of what a command does to variables.
pub(super) fn note(walk: &mut Walk<'_>, words: &[Word], args: &[Parsed]) {
    let Some(name) = words.first().and_then(|word| word.text.as_deref()) else { return };
    let known = &words[1..];
    match name {
        "declare" | "typeset" | "local" | "export" | "readonly" => declare(walk, known, args),
        "let" => args.iter().zip(known).for_each(|(word, known)| walk.arithmetic.evaluate(word, known)),
        "read" | "mapfile" | "readarray" | "getopts" => {
            for word in known {
                match &word.text {
                    Some(text) => walk.arithmetic.taint(text),
                    None => walk.arithmetic.give_up(),
                }
                walk.arithmetic.place(Some(word));
            }
            walk.arithmetic.taint("REPLY");
            walk.arithmetic.taint("MAPFILE");
            walk.arithmetic.taint("OPTARG");
        }
        "unset" => known.iter().for_each(|word| walk.arithmetic.place(Some(word))),
        "printf" | "test" | "[" | "wait" => {
            for (at, word) in known.iter().enumerate() {
                let text = word.text.as_deref().unwrap_or_default();
                let is_place = match name {
                    "printf" => at == 0 && text.starts_with("-v"),
                    "wait" => text.starts_with("-p"),
                    _ => text == "-v",
                };
                if is_place {
                    place(walk, text, known.get(at + 1));
                }
            }
        }
        _ => {}
    }
}

/// `-v NAME` or `-vNAME`.
fn place(walk: &mut Walk<'_>, option: &str, next: Option<&Word>) {
    let attached = Word::known(&option[2..]);
    let place = if attached.start.is_empty() { next } else { Some(&attached) };
    walk.arithmetic.place(place);
    if let Some(text) = place.and_then(|word| word.text.as_deref()) {
        walk.arithmetic.taint(text);
    }
}

fn declare(walk: &mut Walk<'_>, known: &[Word], args: &[Parsed]) {
    for (word, parsed) in known.iter().zip(args) {
        // `-i` makes every value an expression, `-n` makes every value a name.
        let is_option = word.start.starts_with(['-', '+']);
        if is_option && word.start.contains(['i', 'n']) || word.start.is_empty() {
            let is_compound = matches!(parsed.parts.as_slice(), [WordPart::CompoundAssignment { .. }]);
            if !is_compound {
                walk.arithmetic.give_up();
            }
        }
        let Some((name, _)) = word.start.split_once('=') else { continue };
        walk.arithmetic.subscript(name);
        walk.arithmetic.assign(name.trim_end_matches('+'), parsed, word);
    }
}
