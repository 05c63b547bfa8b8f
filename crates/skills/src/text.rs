//! Parser of a skill's front matter: what its text says about itself.

use base::limits;

/// A skill's name and description.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Parsed {
    pub name: String,
    pub description: String,
}

impl Parsed {
    /// Reads the block at the beginning, if there is one; the name falls back to that of the file, the
    /// description to the first line that is not a heading.
    pub fn read(content: &str, fallback: &str) -> Parsed {
        let (head, body) = split(content);
        let name = value(head, "name").filter(|name| !name.is_empty());
        let description = value(head, "description").filter(|text| !text.is_empty()).unwrap_or_else(|| {
            let said = |line: &&str| !line.is_empty() && !line.starts_with('#');
            body.lines().map(str::trim).find(said).unwrap_or_default().to_string()
        });
        Parsed { name: normal_name(name.as_deref().unwrap_or(fallback)), description: one_line(&description) }
    }
}

/// Lower case, without spaces.
pub fn normal_name(name: &str) -> String {
    name.split_whitespace().collect::<Vec<_>>().join("-").to_lowercase()
}

/// The lines between two lines of `---` at the very beginning, and what follows.
fn split(content: &str) -> (&str, &str) {
    let Some(rest) = content.strip_prefix("---\n").or_else(|| content.strip_prefix("---\r\n")) else {
        return ("", content);
    };
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return (&rest[..at], &rest[at + line.len()..]);
        }
        at += line.len();
    }
    ("", content)
}

/// `key: value`, the value in quotes or not, or a block of indented lines after `>` or `|`.
fn value(head: &str, key: &str) -> Option<String> {
    let mut lines = head.lines();
    while let Some(line) = lines.next() {
        let Some(rest) = line.strip_prefix(key).and_then(|rest| rest.strip_prefix(':')) else { continue };
        let rest = rest.trim();
        if !rest.starts_with(['>', '|']) {
            let quoted = |quote| rest.strip_prefix(quote)?.strip_suffix(quote);
            return Some(quoted('"').or_else(|| quoted('\'')).unwrap_or(rest).to_string());
        }
        let block = lines.take_while(|line| line.starts_with([' ', '\t']) || line.trim().is_empty());
        return Some(block.map(str::trim).collect::<Vec<_>>().join(" ").trim().to_string());
    }
    None
}

fn one_line(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(limits::native_shell::SKILL_DESCRIPTION_MAX_CHARS) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(content: &str) -> (String, String) {
        let Parsed { name, description } = Parsed::read(content, "Some File");
        (name, description)
    }

    #[test]
    fn a_skill_names_and_describes_itself() {
        let text = "---\nname: Deploy The Site\ndescription: \"How to: deploy\"\n---\n# Deploy\n\nFirst.\n";
        assert_eq!(parsed(text), ("deploy-the-site".to_string(), "How to: deploy".to_string()));
        let block = "---\ndescription: >\n  Two\n  lines.\nname: x\n---\nbody\n";
        assert_eq!(parsed(block), ("x".to_string(), "Two lines.".to_string()));
    }

    #[test]
    fn what_it_does_not_say_is_taken_from_file_and_text() {
        let plain = "# Heading\n\nThe first sentence.\nMore.\n";
        assert_eq!(parsed(plain), ("some-file".to_string(), "The first sentence.".to_string()));
        let open = "---\nname: x\nno end\n";
        assert_eq!(parsed(open).0, "some-file");
        let long = "a".repeat(300);
        assert_eq!(parsed(&long).1.len(), 223);
    }
}
