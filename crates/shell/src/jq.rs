//! Time limit for `jq`: it looks at its own time and at nothing else, so this also bounds how
//! long one goes on that was told to end. A definition that calls itself with filters keeps a little of each call
//! until the last one has answered, and that is not counted: so such definitions are given a value of their own, which
//! is.

use std::borrow::Cow;
use std::time::Duration;

use base::limits;

/// `del` for a key of an object leaves the others in their order; `jq`'s own here puts the last one in its place.
const DEL: &str = "def del(f): reduce ([path(f)] | sort | reverse | .[]) as $p (.; \
    if ($p | length) == 0 or ($p[-1] | type) != \"string\" then delpaths([$p]) \
    else getpath($p[:-1]) as $o | if ($o | type) != \"object\" then delpaths([$p]) \
    else setpath($p[:-1]; $o | with_entries(select(.key != $p[-1]))) end end); ";

/// The program with what `jq` does differently here put right.
pub(crate) fn with_ordered_del(filter: &str) -> Cow<'_, str> {
    let is_called = words(filter).any(|word| word == "del");
    if is_called { Cow::Owned(format!("{DEL}{filter}")) } else { Cow::Borrowed(filter) }
}

/// Made anew by every call of a definition, and kept for as long as the call is.
const FRAME: &str = " [null] as $__frame |";

/// The program with a value in each call that would not be counted otherwise.
pub(crate) fn counted(filter: &str) -> Cow<'_, str> {
    if !calls_itself_with_filters(filter) {
        return Cow::Borrowed(filter);
    }
    let mut text = String::with_capacity(filter.len() * 2);
    let mut from = 0;
    for at in Bodies::of(filter) {
        text.push_str(&filter[from..at]);
        text.push_str(FRAME);
        from = at;
    }
    text.push_str(&filter[from..]);
    Cow::Owned(text)
}

/// The time of a program, counted or not. One in which not every definition could be found gets little.
pub(crate) fn time(filter: &str) -> Duration {
    let definitions = words(filter).filter(|word| *word == "def").count();
    if calls_itself_with_filters(filter) && filter.matches(FRAME).count() < definitions {
        limits::native_shell::JQ_RECURSION
    } else {
        limits::native_shell::CPU
    }
}

/// Finds where the bodies of definitions begin. Strings and comments hold none, but what is put into a string may.
struct Bodies<'a> {
    rest: &'a str,
    all: usize,
    /// For each string that has not ended, how many brackets were open where it began.
    strings: Vec<usize>,
    brackets: usize,
    in_string: bool,
}

impl Bodies<'_> {
    fn of(filter: &str) -> Vec<usize> {
        let mut bodies =
            Bodies { rest: filter, all: filter.len(), strings: Vec::new(), brackets: 0, in_string: false };
        let mut found = Vec::new();
        while !bodies.rest.is_empty() {
            if bodies.in_string { bodies.string() } else { found.extend(bodies.code()) }
        }
        found
    }

    fn take(&mut self, bytes: usize) -> &str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        taken
    }

    /// One step within a string.
    fn string(&mut self) {
        if self.rest.starts_with("\\(") {
            self.take(2);
            self.strings.push(self.brackets);
            (self.brackets, self.in_string) = (0, false);
        } else if self.rest.starts_with('\\') {
            let escaped = self.rest.chars().nth(1).map_or(0, char::len_utf8);
            self.take(1 + escaped);
        } else {
            let letter = self.rest.chars().next().unwrap_or_default();
            self.take(letter.len_utf8());
            self.in_string = letter != '"';
        }
    }

    /// One step outside of strings; the place of a body if one begins behind it.
    fn code(&mut self) -> Option<usize> {
        let letter = self.rest.chars().next()?;
        if is_part(letter) || matches!(letter, '.' | '$' | '@') {
            let prefix = usize::from(!is_part(letter));
            let end = self.rest[prefix..].find(|letter| !is_part(letter)).unwrap_or(self.rest.len() - prefix);
            let word = self.take(prefix + end.max(1 - prefix));
            return (word == "def").then(|| self.head()).flatten();
        }
        self.take(letter.len_utf8());
        match letter {
            '"' => self.in_string = true,
            '#' => drop(self.take(self.rest.find('\n').unwrap_or(self.rest.len()))),
            '(' => self.brackets += 1,
            ')' if self.brackets > 0 => self.brackets -= 1,
            ')' => {
                if let Some(brackets) = self.strings.pop() {
                    (self.brackets, self.in_string) = (brackets, true);
                }
            }
            _ => {}
        }
        None
    }

    /// Behind `def`: a name, parameters perhaps, and a colon.
    fn head(&mut self) -> Option<usize> {
        self.blank();
        let name = self.rest.find(|letter| !is_part(letter)).filter(|length| *length > 0)?;
        self.take(name);
        self.blank();
        if self.rest.starts_with('(') {
            let end = self.rest.find(')')?;
            self.take(end + 1);
            self.blank();
        }
        let is_body = self.rest.starts_with(':');
        self.take(usize::from(is_body));
        is_body.then(|| self.all - self.rest.len())
    }

    /// Blanks and comments.
    fn blank(&mut self) {
        loop {
            self.rest = self.rest.trim_start();
            if !self.rest.starts_with('#') {
                return;
            }
            self.take(self.rest.find('\n').unwrap_or(self.rest.len()));
        }
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
    fn every_call_of_a_definition_that_calls_itself_is_counted() {
        for (filter, parts) in [
            ("def f(x): f(x); f(1)", &["def f(x):", " f(x); f(1)"][..]),
            ("def a: 1; def f ( g; $h ) :f(g; $h); .", &["def a:", " 1; def f ( g; $h ) :", "f(g; $h); ."]),
            ("def f(x): # def g:\n f(x); \"def h:\"", &["def f(x):", " # def g:\n f(x); \"def h:\""]),
            ("\"a\\\"\\((def f(x): f(x); f(1)))def\"", &["\"a\\\"\\((def f(x):", " f(x); f(1)))def\""]),
            (
                ".def | {def: 1, a: $def} | def f(x):f(x);.",
                &[".def | {def: 1, a: $def} | def f(x):", "f(x);."],
            ),
        ] {
            assert_eq!(counted(filter), parts.join(FRAME), "{filter}");
        }
        for filter in [".a | map(.def)", "def f: f; f", "def twice(f): f | f; twice(.+1)", ""] {
            assert_eq!(counted(filter), filter);
        }
        assert_eq!(time(&counted("def f(x): f(x); f(1)")), limits::native_shell::CPU);
        assert_eq!(time("def f(x): f(x); f(1)"), limits::native_shell::JQ_RECURSION);
    }

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
