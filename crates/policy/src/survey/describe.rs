//! Builder of the shape of a command, from its programs.

use crate::programs::Word;

use super::Surveyor;
use crate::catalogue::Style;
use crate::{paths, shape};

impl Surveyor<'_> {
    /// A program and its arguments.
    pub(super) fn describe(&mut self, base: &str, args: &[Word], style: Style) {
        match style {
            Style::Free if args.is_empty() => self.shape.add([base]),
            Style::Free => self.shape.add([base, "…"]),
            Style::Verbatim => self.verbatim(base, args),
            Style::Places => match self.places(base, args) {
                Some(words) => self.shape.add(std::iter::once(base).chain(words.iter().map(String::as_str))),
                None => self.shape.lose(),
            },
        }
    }

    /// A program and its words, all of them.
    pub(super) fn verbatim(&mut self, base: &str, args: &[Word]) {
        let words: Option<Vec<&str>> = args.iter().map(|word| word.text.as_deref()).collect();
        match words {
            Some(words) => self.shape.add(std::iter::once(base).chain(words)),
            None => self.shape.lose(),
        }
    }

    /// Options as they are, and the directories of everything else.
    fn places(&self, base: &str, args: &[Word]) -> Option<Vec<String>> {
        let is_deep = base == "mv" || args.iter().any(|word| is_recursive(&word.start));
        let (mut words, mut only_operands): (Vec<String>, bool) = (Vec::new(), false);
        for word in args {
            let place = match word.text.as_deref() {
                Some(option) if option.starts_with('-') && !only_operands => {
                    only_operands = option == "--";
                    option.to_string()
                }
                // Everything below goes along, so what is beside it is something else.
                Some(path) if is_deep => self.path(path)?,
                _ => self.where_is(word)?,
            };
            let is_again = words.last() == Some(&place) && !place.starts_with('-');
            if !is_again {
                words.push(place);
            }
        }
        Some(words)
    }

    /// The directory of what a word means, in so far as that is known.
    pub(super) fn where_is(&self, word: &Word) -> Option<String> {
        let text = word.text.as_deref().or(word.pattern.as_deref())?;
        let path = self.path(text)?;
        let directory = paths::directory(&path);
        // What is right below the root, or is the home itself, is like nothing else; nor are hidden files.
        let is_single = matches!(directory, "/" | ".") || path == "~" || directory.starts_with("/dev");
        let is_itself = is_single || word.pattern.is_some() || shape::is_hidden(&path);
        Some(if is_itself { path } else { format!("{directory}/*") })
    }

    fn path(&self, path: &str) -> Option<String> {
        if self.paths.is_lost(path) {
            return None;
        }
        if path.starts_with(['/', '~']) || !self.has_moved {
            return Some(self.paths.resolve(path));
        }
        // It starts wherever the script has gone to; above that, it is anywhere.
        let leads_up = path.split('/').any(|part| part == "..");
        (!leads_up).then(|| format!(".{}", paths::collapse(path)))
    }
}

/// `-r`, `-Rf`, `--recursive`
fn is_recursive(word: &str) -> bool {
    word.starts_with("--rec")
        || (word.starts_with('-') && !word.starts_with("--") && word.contains(['r', 'R']))
}
