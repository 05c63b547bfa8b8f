//! How long a `jq` may go on. It looks at its own time and at nothing else, so this also bounds how long one goes on
//! that was told to end. A definition that calls itself with filters keeps a little of each call until the last one
//! has answered, uncounted: programs with such definitions get less time.

use std::time::Duration;

use base::limits;

/// The time of a program.
pub(crate) fn time(filter: &str) -> Duration {
    if calls_itself_with_filters(filter) {
        limits::NATIVE_SHELL_JQ_RECURSION
    } else {
        limits::NATIVE_SHELL_CPU
    }
}

/// Whether the body of a definition with parameters names the definition. Words in strings count too.
fn calls_itself_with_filters(filter: &str) -> bool {
    let mut rest = filter;
    while let Some(at) = rest.find("def") {
        let is_word = !rest[..at].ends_with(is_part) && !rest[at + 3..].starts_with(is_part);
        rest = &rest[at + 3..];
        if !is_word {
            continue;
        }
        let name: &str = rest.trim_start();
        let name = &name[..name.find(|letter| !is_part(letter)).unwrap_or(name.len())];
        let after = rest.trim_start()[name.len()..].trim_start();
        if !name.is_empty() && after.starts_with('(') && words(body(after)).any(|word| word == name) {
            return true;
        }
    }
    false
}

fn is_part(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter| !is_part(letter)).filter(|word| !word.is_empty())
}

/// From the parameters of a definition to its end: the `;` outside of brackets that ends no inner definition.
/// Where brackets do not match, or are in strings, it may be longer.
fn body(text: &str) -> &str {
    let (mut depth, mut inner, mut word) = (0usize, 0usize, String::new());
    for (at, letter) in text.char_indices() {
        if is_part(letter) {
            word.push(letter);
            continue;
        }
        inner += usize::from(std::mem::take(&mut word) == "def");
        match letter {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            ';' if depth == 0 && inner == 0 => {
                // The parameters themselves are in brackets; a body without brackets begins behind them.
                return &text[text.find(')').map_or(0, |end| end + 1)..at];
            }
            ';' if depth == 0 => inner -= 1,
            _ => {}
        }
    }
    &text[text.find(')').map_or(0, |end| end + 1)..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_that_call_themselves_with_filters_are_found() {
        for filter in [
            "def f(x): f(x); f(1)",
            "def f($x; g): if . > $x then . else f($x; g) end; f(1; 2)",
            "def a: 1; def w(f): map_values(w(f)) | f; w(.)",
            "def f(x): def g(y): f(y); g(x); f(1)",
            "def  f ( x ) : [f(x)]; f(.)",
        ] {
            assert!(calls_itself_with_filters(filter), "{filter}");
        }
        for filter in [
            ".a | map(.def)",
            "def f: f; f",
            "def add(x): . + x; def twice(f): f | f; twice(add(2))",
            "def f(x): x; f(f(1))",
            "undefined(x)",
            "def f(x): def g: g; x; f(1)",
        ] {
            assert!(!calls_itself_with_filters(filter), "{filter}");
        }
    }
}
