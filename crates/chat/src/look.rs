//! Terminal capabilities: the colours and the width that output is formatted for.

use terminal::layout::{self, Style};

/// How things look here.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Whether colours are possible.
    pub colour: bool,
    /// The width of the terminal, if it is one.
    pub columns: Option<usize>,
}

impl Look {
    /// Text in a style, where colours are possible.
    pub fn paint(self, style: Style, text: &str) -> String {
        if self.colour { style.paint(text) } else { text.to_string() }
    }

    /// Text in what is left of a line after `taken` columns.
    pub fn cut(self, text: &str, taken: usize) -> String {
        match self.columns {
            Some(columns) => layout::cut(text, columns.saturating_sub(taken).max(10)),
            None => text.to_string(),
        }
    }
}
