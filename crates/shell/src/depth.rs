//! Nesting limit for what `jq` prints. It indents a deep value with more text than there is memory for, and looks at
//! the amount only afterwards; so a program that can make such a value is first run without indentation.

use base::limits;

/// Words of programs that nest values no deeper than their input and their own text do.
#[rustfmt::skip]
const FLAT: &[&str] = &[
    "add", "all", "and", "any", "as", "ascii_downcase", "ascii_upcase", "base64", "base64d", "capture", "catch",
    "contains", "csv", "del", "elif", "else", "empty", "end", "endswith", "env", "error", "explode", "false", "first",
    "flatten", "floor", "from_entries", "fromdate", "gmtime", "group_by", "gsub", "has", "html", "if", "implode",
    "in", "index", "indices", "inside", "join", "json", "keys", "keys_unsorted", "last", "length", "ltrimstr", "map",
    "map_values", "match", "max", "max_by", "min", "min_by", "mktime", "not", "now", "null", "or", "range", "reverse",
    "rtrimstr", "scan", "select", "sh", "sort", "sort_by", "split", "splits", "sqrt", "startswith", "strftime",
    "strptime", "sub", "test", "text", "then", "to_entries", "todate", "tojson", "tonumber", "tostring", "true",
    "try", "tsv", "type", "unique", "unique_by", "uri", "values", "with_entries",
];

/// Whether a program may nest values deeply. Words in its strings count too, which costs only time.
pub(crate) fn may_nest(filter: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut before = ' ';
    let mut rest = filter;
    while let Some(start) = rest.find(is_part) {
        before = rest[..start].chars().next_back().unwrap_or(before);
        let word = &rest[start..];
        let word = &word[..word.find(|letter| !is_part(letter)).unwrap_or(word.len())];
        let is_name = before == '.' || before == '$' || word.starts_with(|first: char| first.is_numeric());
        if !is_name && !FLAT.contains(&word) {
            return true;
        }
        before = ' ';
        rest = &rest[start + word.len()..];
    }
    filter.matches(['[', '{', '.']).count() > limits::native_shell::JQ_DEPTH_MAX
}

/// The options with which the same program prints every value on one line, strings in quotes. `None` when it does
/// not indent anyway.
pub(crate) fn compact(args: &[String]) -> Option<Vec<String>> {
    let mut words = vec!["-c".to_string()];
    let mut rest = args.iter();
    while let Some(word) = rest.next() {
        match word.as_str() {
            "--" => {
                words.push(word.clone());
                words.extend(rest.by_ref().cloned());
            }
            "--indent" => drop(rest.next()),
            "--tab" | "--raw-output" | "--join-output" | "--raw-output0" => {}
            "--arg" | "--argjson" | "--slurpfile" | "--rawfile" => {
                words.push(word.clone());
                words.extend(rest.by_ref().take(2).cloned());
            }
            "--compact-output" => return None,
            short if short.len() > 1 && short.starts_with('-') && !short.starts_with("--") => {
                let kept: String = short.chars().filter(|letter| !matches!(letter, 'r' | 'j')).collect();
                words.extend((kept.len() > 1).then_some(kept));
            }
            _ => words.push(word.clone()),
        }
    }
    Some(words)
}

/// How deep the values in a text of JSON are nested.
pub(crate) fn of(text: &[u8]) -> usize {
    let (mut depth, mut deepest, mut in_string, mut is_escaped) = (0usize, 0, false, false);
    for byte in text {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_programs_that_can_nest_are_run_twice() {
        for filter in [".", ".a[0].b", "[.[] | select(.reduce == $def)] | map(.x) | length", "1 + 2"] {
            assert!(!may_nest(filter), "{filter}");
        }
        for filter in ["reduce .[] as $i (0; [.])", "def f: f; f", "setpath([0]; 1)", "fromjson"] {
            assert!(may_nest(filter), "{filter}");
        }
        assert!(may_nest(&"[".repeat(2_000)));
    }

    #[test]
    fn the_first_run_prints_lines_of_json() {
        let of = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_string).collect();
            compact(&words).map(|words| words.join(" "))
        };
        assert_eq!(of("-rn --indent 4 --arg r j . f").as_deref(), Some("-c -n --arg r j . f"));
        assert_eq!(of("-r -- -r").as_deref(), Some("-c -- -r"));
        assert_eq!(of("--compact-output ."), None);
    }

    #[test]
    fn depth_is_that_outside_of_strings() {
        for (text, depth) in [("1", 0), ("[[1],{\"a\":[]}]", 3), ("[\"[[[\\\"[\"]", 1)] {
            assert_eq!(super::of(text.as_bytes()), depth, "{text}");
        }
    }
}
