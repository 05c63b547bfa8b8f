//! Report of the longest files and functions, as advice.

use super::source::Source;

const SHOWN: usize = 8;

/// Prints the longest files and functions outside tests.
pub fn print(sources: &[Source]) {
    let sources: Vec<&Source> = sources.iter().filter(|source| !source.path.contains("/tests")).collect();
    let files = sources.iter().map(|source| (source.code.lines().count(), source.path.clone())).collect();
    print_longest("files", files);
    let functions = sources.iter().flat_map(|source| {
        functions(&source.code)
            .into_iter()
            .map(|(lines, name)| (lines, format!("{} in {}", name, source.path)))
    });
    print_longest("functions", functions.collect());
}

fn print_longest(what: &str, mut items: Vec<(usize, String)>) {
    items.sort_by_key(|(lines, _)| std::cmp::Reverse(*lines));
    println!("longest {what}:");
    for (lines, name) in items.into_iter().take(SHOWN) {
        println!("  {lines:>5}  {name}");
    }
}

/// Every function with a body: its lines and its name.
fn functions(code: &str) -> Vec<(usize, String)> {
    let mut out = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        let name: String = code[at + 3..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let before = code[..at].chars().next_back();
        if name.is_empty() || before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
            continue;
        }
        if let Some(end) = end_of_body(&code[at..]) {
            out.push((code[at..at + end].lines().count(), name));
        }
    }
    out
}

/// Where the body that follows a signature ends; nothing when there is no body.
fn end_of_body(code: &str) -> Option<usize> {
    let mut braces = 0;
    let mut brackets = 0;
    for (at, next) in code.char_indices() {
        match next {
            '(' | '[' => brackets += 1,
            ')' | ']' => brackets -= 1,
            ';' if braces == 0 && brackets == 0 => return None,
            '{' => braces += 1,
            '}' => {
                braces -= 1;
                if braces == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_measured_and_signatures_are_not() {
        let code = "fn a(x: [u8; 2]) {\n    if x {\n    }\n}\ntrait T {\n    fn b();\n    fn c() {}\n}\n";
        assert_eq!(functions(code), [(4, "a".to_string()), (1, "c".to_string())]);
    }
}
