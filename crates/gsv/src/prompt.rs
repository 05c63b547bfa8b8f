//! Interactive prompts, asked only at a terminal.

use std::io::{BufRead, IsTerminal, Read, Write};

use base::limits;
use terminal::failure::{Failure, Result};
use terminal::output::Output;
use terminal::password_prompt::{self, PasswordPrompt};

/// Whether there is a person to ask; who wants JSON is a program.
pub fn is_possible(output: &Output) -> bool {
    !output.json && std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks for one line; an empty answer is the default, where there is one.
pub fn line(label: &str, default: Option<&str>) -> Result<String> {
    loop {
        match default {
            Some(default) => eprint!("{label} [{default}]: "),
            None => eprint!("{label}: "),
        }
        std::io::stderr().flush()?;
        let answer = read_line()?;
        match (answer.trim(), default) {
            ("", Some(default)) => return Ok(default.to_string()),
            ("", None) => {}
            (answer, _) => return Ok(answer.to_string()),
        }
    }
}

/// Asks yes or no; an empty answer is yes if `default` says so.
pub fn confirm(question: &str, default: bool) -> Result<bool> {
    eprint!("{question} [{}] ", if default { "Y/n" } else { "y/N" });
    std::io::stderr().flush()?;
    Ok(match read_line()?.trim().to_ascii_lowercase().as_str() {
        "" => default,
        answer => answer == "y" || answer == "yes",
    })
}

/// Asks for a password without showing it.
pub fn password(label: &str) -> Result<String> {
    password_prompt::ask(label)
}

/// Asks for a new password twice, until both are the same and long enough.
pub fn new_password(label: &str) -> Result<String> {
    // Both are typed blind, also by who pastes both at once.
    let mut prompt = PasswordPrompt::open()?;
    loop {
        let first = prompt.ask(label)?;
        if first.chars().count() < 8 {
            eprintln!("A password needs at least 8 characters.");
            continue;
        }
        if prompt.ask(&format!("{label} again"))? == first {
            return Ok(first);
        }
        eprintln!("The two are different.");
    }
}

/// The first line of stdin, for `--password-stdin`.
pub fn password_from_stdin() -> Result<String> {
    let mut text = String::new();
    let limit = limits::login::PASSWORD_MAX_BYTES as u64 + 2;
    std::io::BufReader::new(std::io::stdin().lock().take(limit)).read_line(&mut text)?;
    let password = text.trim_end_matches(['\n', '\r']);
    if password.is_empty() {
        return Err(Failure::new("there is no password on stdin"));
    }
    Ok(password.to_string())
}

fn read_line() -> Result<String> {
    let mut answer = String::new();
    if std::io::stdin().lock().read_line(&mut answer)? == 0 {
        return Err(Failure::new("no answer: stdin ended"));
    }
    Ok(answer)
}
