//! Substitutions that the parser may have overlooked. It does not find all of those between quotes in the middle of
//! a word, and drops some words of arrays. So everything in the source that looks like a substitution must have become
//! one, or be text between single quotes.

use bashkit::parser::{Word as Parsed, WordPart};

/// How often text looks like a substitution, and how often it was one.
#[derive(Default)]
pub(super) struct Marks {
    /// Plain texts with such marks in them.
    texts: Vec<String>,
    /// Marks in here-documents that are not expanded, in halves.
    in_documents: usize,
    /// Substitutions and arithmetic that were found.
    pub(super) found: usize,
}

impl Marks {
    /// Plain text was found.
    pub(super) fn text(&mut self, text: &str) {
        if halves(text) > 0 {
            self.texts.push(text.to_string());
        }
    }

    /// The text found last was that of a here-document that is not expanded.
    pub(super) fn are_quoted(&mut self, word: &Parsed) {
        if let [WordPart::Literal(text)] = word.parts.as_slice()
            && self.texts.last() == Some(text)
        {
            self.texts.pop();
            self.in_documents += halves(text);
        }
    }

    /// Whether every mark of a substitution in the source is accounted for.
    pub(super) fn are_clear(&self, source: &str) -> bool {
        let are_quoted = self.texts.iter().all(|text| source.contains(&format!("'{text}'")));
        let in_texts: usize = self.texts.iter().map(|text| halves(text)).sum();
        are_quoted && halves(source) == in_texts + self.in_documents + 2 * self.found
    }
}

/// `$(` counts two, a backtick one: it takes two of them.
fn halves(text: &str) -> usize {
    let count = |mark: &str| text.matches(mark).count();
    2 * (count("$(") + count("<(") + count(">(")) + count("`")
}
