//! `sed`: whether a script does more than print. The `e` command runs programs and `w` writes files.

use crate::programs::Word;

use super::tags::Tags;

/// What a `sed` with these arguments does; `None` when that cannot be told.
pub(super) fn effect(args: &[Word]) -> Option<Tags> {
    let mut tags = Tags::NONE;
    let (mut scripts, mut operands, mut at): (Vec<&str>, Vec<&Word>, usize) = (Vec::new(), Vec::new(), 0);
    let mut only_operands = false;
    while let Some(word) = args.get(at) {
        at += 1;
        if only_operands || !word.may_be_option() {
            operands.push(word);
            continue;
        }
        let text = word.text.as_deref()?;
        match text {
            "--" => only_operands = true,
            "-e" | "--expression" => {
                scripts.push(args.get(at)?.text.as_deref()?);
                at += 1;
            }
            "--version" | "--help" => return Some(Tags::NONE),
            "--quiet" | "--silent" | "--regexp-extended" | "--separate" | "--null-data" | "--unbuffered"
            | "--posix" | "--debug" | "--sandbox" => {}
            _ if text.starts_with("--expression=") => scripts.push(&text["--expression=".len()..]),
            _ if text.starts_with("--in-place") => tags |= Tags::DESTRUCTIVE | Tags::MUTATING,
            _ if text.starts_with("--") => return None,
            _ => {
                let letters = &text[1..];
                let (flags, rest) = match letters.find(['i', 'I', 'e', 'f', 'l']) {
                    Some(found) => (&letters[..found], &letters[found..]),
                    None => (letters, ""),
                };
                if !flags.bytes().all(|letter| b"nErszu".contains(&letter)) {
                    return None;
                }
                match rest.bytes().next() {
                    None => {}
                    // What follows is a suffix, or the next word is, elsewhere; a script as far as one can tell.
                    Some(b'i' | b'I') => tags |= Tags::DESTRUCTIVE | Tags::MUTATING,
                    Some(b'e') if rest.len() == 1 => {
                        scripts.push(args.get(at)?.text.as_deref()?);
                        at += 1;
                    }
                    _ => return None,
                }
            }
        }
    }
    if scripts.is_empty() {
        // On some systems `-i` takes the next word, so the script may be the second.
        let first = operands.first()?.text.as_deref()?;
        scripts.push(first);
        if first.is_empty() {
            scripts.push(operands.get(1)?.text.as_deref()?);
        }
    }
    for script in scripts {
        tags |= read(script)?;
    }
    Some(tags)
}

/// Goes through a script, command by command.
fn read(script: &str) -> Option<Tags> {
    let mut tags = Tags::NONE;
    let mut rest = script;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\n', ';', '}', '{']);
        if rest.is_empty() {
            return Some(tags);
        }
        rest = address(rest)?;
        let mut characters = rest.chars();
        let command = characters.next()?;
        rest = characters.as_str();
        match command {
            '{' | '}' | '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x' | 'z' | 'F' => {
            }
            '#' => rest = rest.split_once('\n').map_or("", |(_, rest)| rest),
            'q' | 'Q' | 'l' | 'L' => {
                rest =
                    rest.trim_start_matches(|character: char| character.is_ascii_digit() || character == ' ');
            }
            ':' | 'b' | 't' | 'T' => rest = rest.find([';', '\n', '}']).map_or("", |at| &rest[at..]),
            // Text to the end of the line; a backslash may carry it on, and then it is text again, or not.
            'a' | 'i' | 'c' => {
                let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
                let is_carried = line.trim_end().ends_with('\\') && !matches!(line.trim(), "\\");
                rest = match line.trim() {
                    "\\" => after.split_once('\n').map_or("", |(_, rest)| rest),
                    _ if is_carried => return None,
                    _ => after,
                };
            }
            'r' | 'R' => rest = rest.split_once('\n').map_or("", |(_, rest)| rest),
            'w' | 'W' => return None,
            's' => (rest, tags) = substitute(rest, tags)?,
            'y' => rest = delimited(rest, 2)?,
            _ => return None,
        }
    }
}

/// `s/x/y/flags`; the flag `e` runs the result, `w` writes it.
fn substitute(rest: &str, tags: Tags) -> Option<(&str, Tags)> {
    let rest = delimited(rest, 2)?;
    let end = rest.find([';', '\n', '}', ' ', '#']).unwrap_or(rest.len());
    let (flags, rest) = rest.split_at(end);
    let is_harmless = |flag: u8| flag.is_ascii_digit() || b"gpiImM".contains(&flag);
    flags.bytes().all(is_harmless).then_some((rest, tags))
}

/// What follows `parts` texts with a delimiter before, between and after.
fn delimited(text: &str, parts: usize) -> Option<&str> {
    let delimiter = text
        .chars()
        .next()
        .filter(|character| !character.is_alphanumeric() && !"\\\n ".contains(*character))?;
    let (mut found, mut is_escaped, mut is_class) = (0, false, false);
    for (at, character) in text.char_indices().skip(1) {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            // A delimiter in brackets is one to some and none to others.
            '[' if delimiter != '[' => is_class = true,
            ']' => is_class = false,
            _ if character == delimiter && is_class && found == 0 => return None,
            _ if character == delimiter => {
                is_class = false;
                found += 1;
                if found == parts {
                    return Some(&text[at + character.len_utf8()..]);
                }
            }
            _ => {}
        }
    }
    None
}

/// What follows the addresses of a command.
fn address(mut rest: &str) -> Option<&str> {
    loop {
        rest = match rest.as_bytes().first()? {
            b'0'..=b'9' | b'$' | b',' | b'+' | b'~' | b'!' | b' ' => &rest[1..],
            b'/' => delimited(rest, 1)?.trim_start_matches(['I', 'M']),
            b'\\' => return None,
            _ => return Some(rest),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_prints_is_harmless() {
        let words = |texts: &[&str]| texts.iter().map(|text| Word::known(*text)).collect::<Vec<_>>();
        let bad = Tags::DESTRUCTIVE | Tags::MUTATING;
        for (args, tags) in [
            (&["s/a/b/"][..], Some(Tags::NONE)),
            (&["-n", "1,10p", "f"], Some(Tags::NONE)),
            (&["-E", "s#(a)/b#\\1#g;s/x/y/2", "f"], Some(Tags::NONE)),
            (&["-ne", "/x/,/y/p", "f"], Some(Tags::NONE)),
            (&["$!N;P;D"], Some(Tags::NONE)),
            (&["/^#/d;s/ *$//"], Some(Tags::NONE)),
            (&["-e", "s/a/b/", "-e", "5q", "f"], Some(Tags::NONE)),
            (&["-i", "s/a/b/", "f"], Some(bad)),
            (&["-i.bak", "s/a/b/", "f"], Some(bad)),
            (&["-i", "", "s/a/b/", "f"], Some(bad)),
            (&["-ni", "s/a/b/", "f"], Some(bad)),
            (&["--in-place=.x", "s/a/b/", "f"], Some(bad)),
            (&["s/a/b/", "-i", "f"], Some(bad)),
            (&["s/a/rm x/e"], None),
            (&["1e rm x"], None),
            (&["e"], None),
            (&["w out"], None),
            (&["s/a/b/w out"], None),
            (&["s/a/b/;1e rm x"], None),
            (&["s/[/]/b/;e rm"], None),
            (&["a hello"], Some(Tags::NONE)),
            (&["a\\\nhello\ne rm x"], None),
            (&["a hello\\\ne rm x"], None),
            (&["-f", "x.sed"], None),
            (&["-l", "5", "e rm"], None),
        ] {
            assert_eq!(effect(&words(args)), tags, "{args:?}");
        }
        assert_eq!(effect(&[Word::unknown(), Word::known("f")]), None);
    }
}
