//! Pretty-printer for the simple commands of a script: the parts of which each can be judged and shown by itself.

use base::limits;

use super::programs::{self, RedirectionKind, Simple, Word};

/// The simple commands of a script as text, in order and each once. What is known only when it runs stands as `…`.
pub fn simple_commands(command: &str) -> Vec<String> {
    let mut parts = Vec::new();
    for simple in programs::read(command).commands.iter().take(limits::approval::COMMANDS_MAX) {
        let part = print(simple);
        if !part.is_empty() && !parts.contains(&part) {
            parts.push(part);
        }
    }
    parts
}

fn print(simple: &Simple) -> String {
    let assignments = simple.assignments.iter().map(|(name, value)| format!("{name}={}", quoted(value)));
    let words = simple.words.iter().map(quoted);
    let redirections = simple.redirections.iter().map(|redirection| {
        let operator = match redirection.kind {
            RedirectionKind::Read => "<",
            RedirectionKind::Write => ">",
            RedirectionKind::Append => ">>",
        };
        format!("{operator} {}", quoted(&redirection.target))
    });
    assignments.chain(words).chain(redirections).collect::<Vec<_>>().join(" ")
}

/// A word as it could stand in a script.
fn quoted(word: &Word) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./~=:@%+,-".contains(c);
    match (&word.pattern, &word.text) {
        (Some(pattern), _) => pattern.clone(),
        (None, Some(text)) if !text.is_empty() && text.chars().all(is_plain) => text.clone(),
        (None, Some(text)) => format!("'{}'", text.replace('\'', r"'\''")),
        (None, None) => format!("{}…", word.start),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_falls_into_its_commands() {
        let parts =
            simple_commands("cd x && A=b rm -rf 'a b' *.o > \"$out\" | tee log; rm -rf 'a b'\nls; ls");
        assert_eq!(parts, ["cd x", "A=b rm -rf 'a b' *.o > …", "tee log", "rm -rf 'a b'", "ls"]);
        assert_eq!(simple_commands("echo 'open"), Vec::<String>::new());
    }
}
