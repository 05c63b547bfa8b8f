//! Output formatting: aligned tables for people, raw JSON for programs.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use serde_json::{Value, json};

use crate::escape;
use crate::failure::{Failure, Result};

/// Knows who reads: a person at a terminal, a pipe, or a program that asked for JSON.
#[derive(Clone, Debug)]
pub struct Output {
    pub json: bool,
    /// Whether stdout is a terminal.
    pub terminal: bool,
    /// Whether colours are wanted.
    pub colour: bool,
}

impl Output {
    /// Looks at stdout and the environment.
    pub fn new(json: bool) -> Output {
        let terminal = std::io::stdout().is_terminal();
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Output { json, terminal, colour: terminal && !plain }
    }

    /// One line for a person, or the raw JSON of the answer.
    pub fn answer(&self, raw: &str, line: impl FnOnce() -> String) -> Result<()> {
        if self.json { self.raw_json(raw) } else { self.line(&line()) }
    }

    /// A table for a person, or the raw JSON of the answer.
    pub fn table(&self, raw: &str, table: impl FnOnce() -> Table) -> Result<()> {
        if self.json { self.raw_json(raw) } else { self.text(&table().render(self.colour)) }
    }

    /// JSON: indented on a terminal, one line otherwise.
    pub fn raw_json(&self, raw: &str) -> Result<()> {
        if self.terminal
            && let Ok(value) = serde_json::from_str::<Value>(raw)
            && let Ok(pretty) = serde_json::to_string_pretty(&value)
        {
            return self.line(&pretty);
        }
        self.line(raw)
    }

    /// One line on stdout.
    pub fn line(&self, line: &str) -> Result<()> {
        self.text(&format!("{line}\n"))
    }

    /// Text on stdout as it is, at once.
    pub fn text(&self, text: &str) -> Result<()> {
        let mut stdout = std::io::stdout().lock();
        stdout.write_all(text.as_bytes())?;
        stdout.flush()?;
        Ok(())
    }

    /// A line on stderr that is no error: progress, a warning.
    pub fn note(&self, line: &str) {
        // While a prompt is open the terminal does not return to the left by itself, and the prompt's line is begun.
        if crossterm::terminal::is_raw_mode_enabled().unwrap_or(false) {
            complain(&format!("\r\n{}\r\n", clean(line)));
        } else {
            complain(&format!("{}\n", clean(line)));
        }
    }

    /// Text that matters less, where colours are possible.
    pub fn dim(&self, text: &str) -> String {
        if self.colour {
            nu_ansi_term::Style::new().dimmed().paint(text).to_string()
        } else {
            text.to_string()
        }
    }

    /// Says on stderr why a command failed, and gives the exit code.
    pub fn failure(&self, failure: &Failure) -> ExitCode {
        if failure.silent {
            return ExitCode::from(failure.exit);
        }
        if self.json {
            let mut error = json!({ "code": failure.code, "message": failure.message });
            if let Some(hint) = &failure.hint {
                error["hint"] = json!(hint);
            }
            complain(&format!("{}\n", json!({ "error": error })));
        } else {
            let hint = failure.hint.iter().map(|hint| format!("hint: {}\n", clean(hint)));
            complain(&format!("error: {}\n{}", clean(&failure.message), hint.collect::<String>()));
        }
        ExitCode::from(failure.exit)
    }
}

/// Text on stderr. A terminal that is gone is no reason to panic; there is nobody left to tell.
fn complain(text: &str) {
    drop(std::io::stderr().write_all(text.as_bytes()));
}

/// Rows under headings, aligned with spaces.
#[derive(Debug)]
pub struct Table {
    headings: Vec<&'static str>,
    rows: Vec<Vec<String>>,
    empty: &'static str,
}

impl Table {
    /// A table without rows; `empty` is what is printed when none come.
    pub fn new(headings: &[&'static str], empty: &'static str) -> Table {
        Table { headings: headings.to_vec(), rows: Vec::new(), empty }
    }

    /// Adds a row.
    pub fn row<const N: usize>(&mut self, cells: [String; N]) {
        debug_assert_eq!(N, self.headings.len(), "a row as wide as its headings");
        self.rows.push(cells.iter().map(|cell| clean(cell)).collect());
    }

    /// The text, one line per row.
    pub fn render(&self, colour: bool) -> String {
        if self.rows.is_empty() {
            return format!("({})\n", self.empty);
        }
        let widths: Vec<usize> = (0..self.headings.len())
            .map(|column| {
                let cells = self.rows.iter().map(|row| row[column].chars().count());
                cells.chain([self.headings[column].len()]).max().unwrap_or(0)
            })
            .collect();
        let headings: Vec<String> = self.headings.iter().map(|heading| heading.to_string()).collect();
        let head = align(&headings, &widths);
        let head = if colour { nu_ansi_term::Style::new().bold().paint(head).to_string() } else { head };
        let mut out = head + "\n";
        for row in &self.rows {
            out.push_str(&align(row, &widths));
            out.push('\n');
        }
        out
    }
}

/// Two columns without headings: names and values.
pub fn pairs(rows: &[(&str, String)]) -> String {
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let lines: Vec<String> = rows
        .iter()
        .map(|(name, value)| format!("{name:<width$}  {}", clean(value)).trim_end().to_string())
        .collect();
    lines.join("\n")
}

fn align(cells: &[String], widths: &[usize]) -> String {
    let padded: Vec<String> =
        cells.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
    padded.join("  ").trim_end().to_string()
}

/// Text of others on one line, without anything a terminal would obey.
pub fn clean(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\n' | '\r' | '\t' => ' ',
            c => escape::character(c).unwrap_or('\u{fffd}'),
        })
        .collect()
}

/// A value that may be missing, for a table cell.
pub fn or_dash<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| "-".to_string(), |value| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_lines_end_clean() {
        let mut table = Table::new(&["ID", "NOTE"], "nothing");
        table.row(["a".into(), "".into()]);
        table.row(["longer".into(), "über".into()]);
        assert_eq!(table.render(false), "ID      NOTE\na\nlonger  über\n");
        assert_eq!(Table::new(&["ID"], "nothing").render(false), "(nothing)\n");
    }

    #[test]
    fn the_text_of_others_cannot_steer_the_terminal() {
        assert_eq!(clean("a\nb\u{1b}[2J\u{9b}c\u{202e}d"), "a b␛[2J\u{fffd}c\u{fffd}d");
    }
}
