//! Parser for the common subset of bash, dash and zsh: the few forms that all three read alike, and nothing else.
//!
//! Simple commands joined by `|`, `&&`, `||`, `;` and line ends; words of ASCII letters, digits and a few signs; single
//! quotes; double quotes with nothing in them that is expanded; redirections to `/dev/null` and between descriptors.
//! Everything else is refused: variables, substitutions, braces, escapes, comments, here-documents, assignments, `&`,
//! control and non-ASCII characters. `*` and `?` are let through and marked, for their programs to decide on.

use base::limits;

/// A word as a program gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    /// Its text without quotes; a leading `~` is still there.
    pub(super) text: String,
    /// Whether any part of it was quoted.
    pub(super) is_quoted: bool,
    /// Whether it begins with a `~` that a shell replaces by the home.
    pub(super) has_tilde: bool,
    /// Whether it is a pattern of file names.
    pub(super) is_glob: bool,
}

/// How a pipeline follows the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Join {
    /// `;`, a line end, or the beginning.
    Then,
    /// `&&`
    And,
    /// `||`
    Or,
}

/// Commands joined by `|`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pipeline {
    /// How it follows the one before.
    pub(super) join: Join,
    /// Never empty, and neither is any of them.
    pub(super) commands: Vec<Vec<Word>>,
}

/// Reads a script, or says what in it is not in the grammar.
pub(super) fn parse(script: &str) -> Result<Vec<Pipeline>, String> {
    if script.len() > limits::approval::SCRIPT_MAX_BYTES {
        return Err("is longer than what is looked into".to_string());
    }
    let mut parser = Parser {
        bytes: script.as_bytes(),
        at: 0,
        join: Join::Then,
        done: Vec::new(),
        commands: Vec::new(),
        words: Vec::new(),
    };
    parser.script()?;
    Ok(parser.done)
}

struct Parser<'a> {
    bytes: &'a [u8],
    at: usize,
    join: Join,
    done: Vec<Pipeline>,
    commands: Vec<Vec<Word>>,
    words: Vec<Word>,
}

impl Parser<'_> {
    fn script(&mut self) -> Result<(), String> {
        loop {
            while self.peek(0) == Some(b' ') {
                self.at += 1;
            }
            match (self.peek(0), self.peek(1)) {
                (None, _) => return self.finish(),
                (Some(b'\n' | b';'), _) => self.separate()?,
                (Some(b'|'), Some(b'|')) => self.join(Join::Or)?,
                (Some(b'&'), Some(b'&')) => self.join(Join::And)?,
                (Some(b'|'), Some(b'&')) => return Err("uses |&, which not all shells know".to_string()),
                (Some(b'&'), _) => return Err("runs something in the background".to_string()),
                (Some(b'|'), _) => {
                    self.at += 1;
                    self.end_command()?;
                }
                (Some(b'>' | b'<'), _) | (Some(b'0'..=b'9'), Some(b'>' | b'<')) => self.redirection()?,
                _ => self.word()?,
            }
        }
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    fn end_command(&mut self) -> Result<(), String> {
        if self.words.is_empty() {
            return Err("has an operator with nothing before it".to_string());
        }
        self.commands.push(std::mem::take(&mut self.words));
        Ok(())
    }

    fn join(&mut self, join: Join) -> Result<(), String> {
        self.at += 2;
        self.end_pipeline()?;
        self.join = join;
        Ok(())
    }

    /// `;` must end something; empty lines between whole pipelines do not matter.
    fn separate(&mut self) -> Result<(), String> {
        let is_line_end = self.peek(0) == Some(b'\n');
        self.at += 1;
        let is_idle = self.words.is_empty() && self.commands.is_empty() && self.join == Join::Then;
        if is_line_end && is_idle {
            return Ok(());
        }
        self.end_pipeline()?;
        self.join = Join::Then;
        Ok(())
    }

    fn end_pipeline(&mut self) -> Result<(), String> {
        self.end_command()?;
        self.done.push(Pipeline { join: self.join, commands: std::mem::take(&mut self.commands) });
        Ok(())
    }

    fn finish(&mut self) -> Result<(), String> {
        if self.words.is_empty() && self.commands.is_empty() && self.join == Join::Then {
            return Ok(());
        }
        self.end_pipeline()
    }

    /// `>/dev/null`, `2>&1` and the like, at the beginning of a word and with an end behind it.
    fn redirection(&mut self) -> Result<(), String> {
        if self.words.is_empty() {
            return Err("has a redirection before the command".to_string());
        }
        let rest = &self.bytes[self.at..];
        let digits = usize::from(rest[0].is_ascii_digit());
        let (length, rest) = match &rest[digits..] {
            [b'>', b'&', b'0'..=b'2', ..] => return self.redirected(digits + 3),
            [b'>', b'>', rest @ ..] => (digits + 2, rest),
            [b'>' | b'<', rest @ ..] => (digits + 1, rest),
            _ => return Err("has a redirection that is not known".to_string()),
        };
        let blanks = rest.iter().take_while(|byte| **byte == b' ').count();
        if !rest[blanks..].starts_with(NULL) {
            return Err("redirects to or from something else than /dev/null".to_string());
        }
        self.redirected(length + blanks + NULL.len())
    }

    fn redirected(&mut self, length: usize) -> Result<(), String> {
        self.at += length;
        if self.is_at_end() { Ok(()) } else { Err("redirects to something else than /dev/null".to_string()) }
    }

    /// Whether a word ends here.
    fn is_at_end(&self) -> bool {
        matches!(self.peek(0), None | Some(b' ' | b'\n' | b';' | b'|' | b'&'))
    }

    fn word(&mut self) -> Result<(), String> {
        let start = self.at;
        let mut word = Word { text: String::new(), is_quoted: false, has_tilde: false, is_glob: false };
        while !self.is_at_end() {
            let Some(byte) = self.peek(0) else { break };
            match byte {
                b'\'' | b'"' => self.quoted(byte, &mut word)?,
                _ => self.bare(byte, self.at == start, &mut word)?,
            }
        }
        if word.is_glob && word.is_quoted {
            return Err("mixes quotes and a pattern of file names".to_string());
        }
        self.words.push(word);
        Ok(())
    }

    fn quoted(&mut self, quote: u8, word: &mut Word) -> Result<(), String> {
        word.is_quoted = true;
        self.at += 1;
        loop {
            let Some(byte) = self.peek(0) else { return Err("has a quote that is not closed".to_string()) };
            self.at += 1;
            match byte {
                _ if byte == quote => break,
                b'$' | b'`' | b'\\' | b'!' if quote == b'"' => {
                    return Err(format!("has {} between double quotes, which shells expand", byte as char));
                }
                b' '..=b'~' => word.text.push(byte as char),
                _ => return Err("has a character between quotes that is not plain ASCII".to_string()),
            }
        }
        // zsh can be told to read two of them as one.
        if quote == b'\'' && self.peek(0) == Some(b'\'') {
            return Err("has two single quotes beside each other".to_string());
        }
        Ok(())
    }

    fn bare(&mut self, byte: u8, is_first: bool, word: &mut Word) -> Result<(), String> {
        let (before, after) = (word.text.bytes().last(), self.peek(1));
        let ends = matches!(after, None | Some(b' ' | b'\n' | b';' | b'|' | b'&'));
        let is_fine = match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => true,
            b'_' | b'.' | b'/' | b',' | b':' | b'@' | b'%' | b'+' | b'-' => true,
            // zsh takes `=ls` for the path of ls; alone it is itself.
            b'=' => !is_first || ends,
            b'~' if is_first => {
                word.has_tilde = ends || after == Some(b'/');
                word.has_tilde
            }
            // `HEAD~2`
            b'~' => {
                !matches!(before, Some(b'=' | b':'))
                    && (ends || matches!(after, Some(b'0'..=b'9' | b'~' | b'^' | b'.' | b':')))
            }
            b'^' => !is_first,
            b'*' | b'?' => {
                word.is_glob = true;
                true
            }
            // The command of that name, and its last word.
            b'[' | b']' => is_first && ends,
            _ => false,
        };
        if !is_fine {
            return Err(refused(byte));
        }
        word.text.push(byte as char);
        self.at += 1;
        Ok(())
    }
}

const NULL: &[u8] = b"/dev/null";

fn refused(byte: u8) -> String {
    match byte {
        b'$' | b'`' => "has a variable or a substitution, which is known only when it runs".to_string(),
        b'\\' => "has a backslash, which shells do not all read alike".to_string(),
        b'(' | b')' | b'{' | b'}' => "has parentheses or braces".to_string(),
        b'#' => "has a comment".to_string(),
        b'!'..=b'~' => format!("has {} outside of quotes", byte as char),
        b'\t' | b'\r' => "has a tab or a carriage return".to_string(),
        0..=b' ' => "has a control character".to_string(),
        _ => "has a character that is not ASCII".to_string(),
    }
}

#[cfg(test)]
mod tests;
