//! Deduplicating buffer of one answer: the same text may come in pieces, whole, or from its start again, and is shown once.

use std::collections::BTreeMap;

/// One kind of text of one answer.
#[derive(Debug, Default)]
pub(super) struct StreamedText {
    blocks: BTreeMap<u64, String>,
    printed: String,
}

impl StreamedText {
    /// More of a block.
    pub(super) fn add(&mut self, block: u64, delta: &str) {
        self.blocks.entry(block).or_default().push_str(delta);
    }

    /// All of a block.
    pub(super) fn set(&mut self, block: u64, text: &str) {
        self.blocks.insert(block, text.to_string());
    }

    /// All of the text.
    pub(super) fn replace(&mut self, text: &str) {
        self.blocks = BTreeMap::from([(0, text.to_string())]);
    }

    /// The answer comes from its start again.
    pub(super) fn begin_again(&mut self) {
        self.blocks.clear();
    }

    /// Whether nothing was said and nothing shown.
    pub(super) fn is_empty(&self) -> bool {
        self.printed.is_empty() && self.blocks.values().all(String::is_empty)
    }

    /// Whether what was shown ends a line.
    pub(super) fn ends_line(&self) -> bool {
        self.printed.is_empty() || self.printed.ends_with('\n')
    }

    /// What is new; true before it when it does not continue what was shown, but takes its place.
    pub(super) fn show(&mut self) -> (bool, String) {
        let said: String = self.blocks.values().map(String::as_str).collect();
        if self.printed.starts_with(&said) {
            return (false, String::new());
        }
        let (again, new) = match said.strip_prefix(&self.printed) {
            Some(new) => (false, new.to_string()),
            None => (true, said.clone()),
        };
        self.printed = said;
        (again, new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_and_wholes_are_shown_once() {
        let mut said = StreamedText::default();
        said.add(0, "Hel");
        assert_eq!(said.show(), (false, "Hel".into()));
        said.set(0, "Hello");
        assert_eq!(said.show(), (false, "lo".into()));
        said.add(2, " you");
        assert_eq!(said.show(), (false, " you".into()));
        said.replace("Hello you");
        assert_eq!(said.show(), (false, String::new()));
    }

    #[test]
    fn the_same_answer_again_is_not_repeated() {
        let mut said = StreamedText::default();
        said.add(0, "Hello");
        said.show();
        said.begin_again();
        said.add(0, "Hel");
        assert_eq!(said.show(), (false, String::new()));
        said.add(0, "lo world");
        assert_eq!(said.show(), (false, " world".into()));
    }

    #[test]
    fn another_answer_is_shown_whole() {
        let mut said = StreamedText::default();
        said.add(0, "Hello");
        said.show();
        said.begin_again();
        said.add(0, "He");
        assert_eq!(said.show(), (false, String::new()));
        said.add(0, "y you");
        assert_eq!(said.show(), (true, "Hey you".into()));
    }
}
