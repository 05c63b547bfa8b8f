//! Preparation of source text: what surrounds the code in a model's answer is taken off, and the code becomes a function.

/// Code without what models and editors put around it: control characters, one fence of Markdown, `export default`.
pub(super) fn clean(text: &str) -> String {
    let text = without_control(text);
    let text = without_fence(text.trim()).trim();
    text.strip_prefix("export default ").unwrap_or(text).trim().to_string()
}

/// Drops NUL, escape sequences of terminals, and characters without a width.
fn without_control(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '\u{1b}' if rest.peek() == Some(&'[') => {
                rest.next();
                // Parameters and intermediates, then one final byte.
                while rest.next_if(|next| matches!(next, ' '..='?')).is_some() {}
                rest.next_if(|next| matches!(next, '@'..='~'));
            }
            '\0' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}' => {}
            other => out.push(other),
        }
    }
    out
}

fn without_fence(text: &str) -> &str {
    const LANGUAGES: &[&str] = &["", "js", "javascript", "ts", "typescript", "tsx", "jsx"];
    let fenced = || {
        let inner = text.strip_prefix("```")?.strip_suffix("```")?;
        let (language, code) = inner.split_once('\n')?;
        LANGUAGES.contains(&language.trim().to_ascii_lowercase().as_str()).then_some(code)
    };
    fenced().unwrap_or(text)
}

/// The two ways to read code, the first that compiles is meant. Both begin in the second line of the text.
pub(super) fn readings(code: &str) -> Vec<String> {
    let body = format!("(async () => {{\n{code}\n}})");
    if !may_be_function(code) {
        return vec![body];
    }
    let expression = code.trim_end().trim_end_matches(';');
    let called = format!(
        "(async () => {{ const main = (\n{expression}\n); return typeof main === \"function\" ? main() : main; }})"
    );
    vec![called, body]
}

/// How many lines stand before the code in each of them.
pub(super) const LINES_BEFORE: usize = 1;

fn may_be_function(code: &str) -> bool {
    let is_word = |word: &str| {
        code.strip_prefix(word)
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    };
    let name = code.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '$').unwrap_or(code.len());
    let is_arrow = name > 0 && code[name..].trim_start().starts_with("=>");
    code.starts_with('(') || is_word("function") || is_word("async") || is_arrow
}

/// Whether code that does not compile looks like a command for a shell.
pub(super) fn looks_like_shell(code: &str) -> bool {
    const PROGRAMS: &[&str] = &[
        "ls",
        "cd",
        "cat",
        "git",
        "grep",
        "rg",
        "find",
        "echo",
        "npm",
        "npx",
        "pnpm",
        "yarn",
        "node",
        "python",
        "python3",
        "pip",
        "cargo",
        "make",
        "docker",
        "kubectl",
        "curl",
        "wget",
        "mkdir",
        "rm",
        "cp",
        "mv",
        "sudo",
        "apt",
        "brew",
        "sed",
        "awk",
        "head",
        "tail",
        "ps",
        "df",
        "du",
        "uname",
        "pwd",
        "export",
        "ssh",
        "systemctl",
    ];
    let first = code.lines().find(|line| !line.trim().is_empty()).unwrap_or("").trim();
    let word = first.split_whitespace().next().unwrap_or("");
    let is_command =
        PROGRAMS.contains(&word) && !first[word.len()..].trim_start().starts_with(['=', '(', '.', ',']);
    first.starts_with("#!") || first.starts_with("$ ") || is_command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_surrounds_code_is_taken_off() {
        for (text, code) in [
            ("return 1", "return 1"),
            ("\u{feff}  return\u{200b} 1\0\n", "return 1"),
            ("```js\nreturn 1\n```", "return 1"),
            ("```\nreturn 1\n```", "return 1"),
            ("```TypeScript\nreturn 1\n```", "return 1"),
            ("```bash\nls\n```", "```bash\nls\n```"),
            ("export default async () => 1", "async () => 1"),
            ("\u{1b}[31;1mreturn\u{1b}[0m 1", "return 1"),
            ("  \n ", ""),
        ] {
            assert_eq!(clean(text), code, "{text:?}");
        }
    }

    #[test]
    fn functions_are_tried_first_where_the_code_may_be_one() {
        for code in [
            "function f() {}",
            "async () => 1",
            "(a, b) => 1",
            "x => 1",
            "(async () => 1)()",
            "async function () {}",
        ] {
            assert_eq!(readings(code).len(), 2, "{code}");
        }
        for code in ["return 1", "functional()", "asynchronous = 1", "const x = () => 1", "x.y()", "=> 1", ""]
        {
            assert_eq!(readings(code).len(), 1, "{code}");
        }
    }

    #[test]
    fn commands_are_told_from_code() {
        for code in ["ls -la", "git status --short", "#!/bin/sh\nls", "$ npm test", "\ncd /tmp && ls"] {
            assert!(looks_like_shell(code), "{code}");
        }
        for code in
            ["find = 1", "node(1", "git.status(", "const ls = 1 1", "export default x y", "return 1 1"]
        {
            assert!(!looks_like_shell(code) || code.starts_with("export"), "{code}");
        }
    }
}
