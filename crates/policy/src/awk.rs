//! `awk`: whether a program does more than print.

use crate::programs::Word;

use super::tags::Tags;

/// What an `awk` with these arguments does; `None` when that cannot be told.
pub(super) fn effect(args: &[Word]) -> Option<Tags> {
    let mut at = 0;
    while let Some(word) = args.get(at) {
        let text = word.text.as_deref()?;
        at += 1;
        match text {
            "--version" | "-V" | "--help" => return Some(Tags::NONE),
            "--" => return program(args.get(at)?.text.as_deref()?),
            // The value may be anything, but it is data.
            "-v" | "-F" => at += 1,
            _ if text.starts_with("-v") || text.starts_with("-F") => {}
            "-P" | "-r" | "--posix" | "--re-interval" | "--traditional" | "-c" => {}
            _ if text.starts_with('-') => return None,
            _ => return program(text),
        }
    }
    None
}

/// Pipes, `system` and files of more program are not looked into. A file that is printed to is.
fn program(text: &str) -> Option<Tags> {
    let is_calling =
        ["system", "getline", "@", "extension", "close", "fflush"].iter().any(|word| text.contains(word));
    let has_pipe = text.replace("||", "").contains('|');
    if is_calling || has_pipe {
        return None;
    }
    let prints_to_file =
        |statement: &str| statement.find("print").is_some_and(|at| statement[at..].contains('>'));
    // A string may hold a brace or a semicolon, so that a statement would seem to end before its `>`.
    let is_plain = !text.contains('"');
    let writes = match is_plain {
        true => text.split([';', '{', '}', '\n']).any(prints_to_file),
        false => prints_to_file(text),
    };
    Some(if writes { Tags::MUTATING } else { Tags::NONE })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_printing_is_harmless() {
        let words = |texts: &[&str]| texts.iter().map(|text| Word::known(*text)).collect::<Vec<_>>();
        for (args, tags) in [
            (&["{print $1}"][..], Some(Tags::NONE)),
            (&["-F:", "$3 > 5 {print $1}", "f"], Some(Tags::NONE)),
            (&["-v", "x=1", "BEGIN{print x}"], Some(Tags::NONE)),
            (&["{print > \"out\"}"], Some(Tags::MUTATING)),
            (&["{print \";\" > \"out\"}"], Some(Tags::MUTATING)),
            (&["a || b"], Some(Tags::NONE)),
            (&["{print | \"sh\"}"], None),
            (&["BEGIN{system(\"rm x\")}"], None),
            (&["-f", "prog.awk"], None),
            (&["-vx=1"], None),
            (&["-E", "f"], None),
        ] {
            assert_eq!(effect(&words(args)), tags, "{args:?}");
        }
        assert_eq!(effect(&[Word::unknown()]), None);
        assert_eq!(effect(&[Word::known("-v"), Word::unknown(), Word::known("1")]), Some(Tags::NONE));
    }
}
