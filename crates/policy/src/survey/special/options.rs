//! Options among the words of a program, in so far as they can be told.

use crate::programs::Word;

/// Whether an option is there, or may be: its letter alone or among others, its name whole or cut short.
pub(super) fn has(args: &[Word], letter: char, long: &str) -> bool {
    let is_it = |word: &Word| {
        let Some(text) = word.text.as_deref() else { return word.may_be_option() };
        match text.strip_prefix("--") {
            Some("") => false,
            Some(name) => {
                let name = name.split('=').next().unwrap_or(name);
                !long.is_empty() && name.len() > 1 && long.starts_with(name)
            }
            None => text.starts_with('-') && text.contains(letter),
        }
    };
    let end = args.iter().position(|word| word.text.as_deref() == Some("--")).unwrap_or(args.len());
    args[..end].iter().any(is_it)
}

/// The words that are no options.
pub(super) fn operands(args: &[Word]) -> impl Iterator<Item = &Word> {
    args.iter().filter(|word| !word.start.starts_with('-'))
}
