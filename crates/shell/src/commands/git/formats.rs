//! Forms in which a commit is printed: those with a name, and templates with placeholders.

use std::collections::BTreeMap;

use protocol::repo::{Commit, RefsResult};

use super::dates::{self, Form};
use super::patch::short;

/// How a commit is printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Oneline,
    Short,
    Medium,
    Full,
    Fuller,
    /// A template; with `ends` each commit ends with a line end, without there is one between two.
    Template {
        text: String,
        ends: bool,
    },
}

impl Format {
    /// What `--format` and `--pretty` take.
    pub(super) fn parse(text: &str) -> Option<Format> {
        Some(match text {
            "oneline" => Format::Oneline,
            "short" => Format::Short,
            "medium" | "" => Format::Medium,
            "full" => Format::Full,
            "fuller" => Format::Fuller,
            "reference" => Format::Template { text: "%h (%s, %as)".to_string(), ends: true },
            text => match (text.strip_prefix("format:"), text.strip_prefix("tformat:")) {
                (Some(text), _) => Format::Template { text: text.to_string(), ends: false },
                (_, Some(text)) => Format::Template { text: text.to_string(), ends: true },
                _ if text.contains('%') => Format::Template { text: text.to_string(), ends: true },
                _ => return None,
            },
        })
    }

    /// Whether commits have a line end between them, and not behind them.
    pub(super) fn is_separated(&self) -> bool {
        !matches!(self, Format::Oneline | Format::Template { ends: true, .. })
    }
}

/// How commits are printed, altogether.
#[derive(Clone, Debug)]
pub(super) struct Style {
    pub(super) format: Format,
    pub(super) date: Form,
    /// Whether hashes are cut where the format does not say.
    pub(super) abbreviates: bool,
    pub(super) now_ms: i64,
    /// Names by commit: `HEAD -> main`, `tag: v1`.
    pub(super) names: BTreeMap<String, Vec<String>>,
}

/// What `%d` says of commits.
pub(super) fn names(refs: &RefsResult, branch: &str, head: Option<&str>) -> BTreeMap<String, Vec<String>> {
    let mut names: BTreeMap<String, Vec<String>> = BTreeMap::new();
    if let Some(head) = head {
        let name = match refs.heads.get(branch).map(String::as_str) == Some(head) {
            true => format!("HEAD -> {branch}"),
            false => "HEAD".to_string(),
        };
        names.entry(head.to_string()).or_default().push(name);
    }
    for (tag, commit) in &refs.tags {
        names.entry(commit.clone()).or_default().push(format!("tag: {tag}"));
    }
    for (other, commit) in
        refs.heads.iter().filter(|(other, commit)| *other != branch || head != Some(commit))
    {
        names.entry(commit.clone()).or_default().push(other.clone());
    }
    names
}

/// The first paragraph of a message in one line, and what follows it.
fn parts(message: &str) -> (String, String) {
    let message = message.trim_start_matches('\n');
    let (mut subject, mut rest): (Vec<&str>, &str) = (Vec::new(), message);
    while !rest.is_empty() {
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        rest = after;
        if line.trim_end().is_empty() {
            break;
        }
        subject.push(line.trim_end());
    }
    while let Some((line, after)) = rest.split_once('\n').filter(|(line, _)| line.trim_end().is_empty()) {
        debug_assert!(line.trim_end().is_empty());
        rest = after;
    }
    (subject.join(" "), rest.to_string())
}

/// The first line of a message, as `--oneline` has it.
pub(super) fn subject(message: &str) -> String {
    parts(message).0
}

impl Style {
    /// A commit without what it changed.
    pub(super) fn print(&self, commit: &Commit) -> String {
        match &self.format {
            Format::Oneline => {
                format!("{} {}\n", self.hash(&commit.hash), subject(&commit.message))
            }
            Format::Template { text, ends } => {
                let mut out = self.expand(text, commit);
                if *ends {
                    out.push('\n');
                }
                out
            }
            named => self.headed(named, commit),
        }
    }

    fn hash<'a>(&self, hash: &'a str) -> &'a str {
        if self.abbreviates { short(hash) } else { hash }
    }

    fn headed(&self, format: &Format, commit: &Commit) -> String {
        let mut out = format!("commit {}\n", self.hash(&commit.hash));
        if commit.parents.len() > 1 {
            let parents: Vec<&str> = commit.parents.iter().map(|parent| short(parent)).collect();
            out += &format!("Merge: {}\n", parents.join(" "));
        }
        let date = |seconds| dates::shown(seconds, self.date, self.now_ms);
        let (author, committer) = (
            format!("{} <{}>", commit.author, commit.author_email),
            format!("{} <{}>", commit.committer, commit.committer_email),
        );
        out += &match format {
            Format::Short => format!("Author: {author}\n"),
            Format::Full => format!("Author: {author}\nCommit: {committer}\n"),
            Format::Fuller => format!(
                "Author:     {author}\nAuthorDate: {}\nCommit:     {committer}\nCommitDate: {}\n",
                date(commit.author_time),
                date(commit.commit_time)
            ),
            _ => format!("Author: {author}\nDate:   {}\n", date(commit.author_time)),
        };
        out.push('\n');
        let message = commit.message.trim_start_matches('\n').trim_end();
        let is_whole = *format != Format::Short;
        let lines = message.split('\n').map(str::trim_end);
        for line in lines.take_while(|line| is_whole || !line.is_empty()) {
            out += &format!("    {}\n", untabbed(line));
        }
        out
    }

    fn expand(&self, template: &str, commit: &Commit) -> String {
        let mut out = String::new();
        let mut rest = template;
        while let Some(at) = rest.find('%') {
            out += &rest[..at];
            rest = &rest[at + 1..];
            match self.placeholder(rest, commit) {
                Some((text, used)) => {
                    out += &text;
                    rest = &rest[used..];
                }
                None => out.push('%'),
            }
        }
        out + rest
    }

    /// What a placeholder stands for, and how long it is.
    fn placeholder(&self, rest: &str, commit: &Commit) -> Option<(String, usize)> {
        if let Some(after) = rest.strip_prefix("C(") {
            return Some((String::new(), 3 + after.find(')')?));
        }
        if let Some(color) =
            ["Creset", "Cred", "Cgreen", "Cblue"].iter().find(|color| rest.starts_with(**color))
        {
            return Some((String::new(), color.len()));
        }
        if let Some(code) = rest.strip_prefix('x').and_then(|code| code.get(..2)) {
            return Some((char::from(u8::from_str_radix(code, 16).ok()?).to_string(), 3));
        }
        if let Some(found) = rest.get(..2).and_then(|name| self.person(name, commit)) {
            return Some((found, 2));
        }
        let parents = |shown: &dyn Fn(&str) -> String| {
            commit.parents.iter().map(|parent| shown(parent)).collect::<Vec<_>>().join(" ")
        };
        let names = self.names.get(&commit.hash).map(|names| names.join(", ")).unwrap_or_default();
        let text = match rest.chars().next()? {
            'H' => commit.hash.clone(),
            'h' => short(&commit.hash).to_string(),
            'T' => commit.tree_hash.clone(),
            't' => short(&commit.tree_hash).to_string(),
            'P' => parents(&str::to_string),
            'p' => parents(&|parent| short(parent).to_string()),
            's' => subject(&commit.message),
            'b' => ended(parts(&commit.message).1),
            'B' => ended(commit.message.clone()),
            'd' if names.is_empty() => String::new(),
            'd' => format!(" ({names})"),
            'D' => names,
            'n' => "\n".to_string(),
            '%' => "%".to_string(),
            _ => return None,
        };
        Some((text, 1))
    }

    /// `an`, `ae`, `ad` and so on; `c` for the committer.
    fn person(&self, name: &str, commit: &Commit) -> Option<String> {
        let (who, what) = name.split_at_checked(1)?;
        let (person, email, seconds) = match who {
            "a" => (&commit.author, &commit.author_email, commit.author_time),
            "c" => (&commit.committer, &commit.committer_email, commit.commit_time),
            _ => return None,
        };
        let date = |form| dates::shown(seconds, form, self.now_ms);
        Some(match what {
            "n" | "N" => person.clone(),
            "e" | "E" => email.clone(),
            "l" | "L" => email.split('@').next().unwrap_or_default().to_string(),
            "d" => date(self.date),
            "D" => date(Form::Rfc),
            "r" => date(Form::Relative),
            "t" => date(Form::Unix),
            "i" => date(Form::Iso),
            "I" => date(Form::IsoStrict),
            "s" => date(Form::Short),
            _ => return None,
        })
    }
}

/// A text with its last line end, which `repo.log` leaves out.
fn ended(mut text: String) -> String {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// Tabs of a message as blanks, to every eighth column.
fn untabbed(line: &str) -> String {
    let mut out = String::new();
    let mut column = 0;
    for letter in line.chars() {
        let width = if letter == '\t' { 8 - column % 8 } else { 1 };
        match letter {
            '\t' => out.push_str(&" ".repeat(width)),
            letter => out.push(letter),
        }
        column += width;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_a_subject_and_a_body() {
        assert_eq!(parts("one\ntwo\n\n\nbody\n\nmore\n"), ("one two".into(), "body\n\nmore\n".into()));
        assert_eq!(parts("\n\nonly"), ("only".into(), String::new()));
        assert_eq!(parts(""), (String::new(), String::new()));
    }

    #[test]
    fn the_forms_have_names() {
        let template = |text: &str, ends| Some(Format::Template { text: text.to_string(), ends });
        assert_eq!(Format::parse("%h"), template("%h", true));
        assert_eq!(Format::parse("format:%h"), template("%h", false));
        assert_eq!(Format::parse("nothing"), None);
    }
}
