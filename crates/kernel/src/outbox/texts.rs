//! Arena for small queued texts: one buffer instead of an allocation each. Most messages are small, and are written on
//! one thread and sent on another: a piece of memory for each of them would cost more than all the rest of its way.

/// Up to this size a text is a small one.
pub(crate) const TEXT_BYTES_MAX: usize = 4 * 1024;
/// So much is gathered in one piece.
const GATHERED_BYTES_MAX: usize = 16 * 1024;

/// Some texts, one behind the other.
#[derive(Debug, Default)]
pub struct Texts {
    gathered: String,
    /// Where each of them ends.
    ends: Vec<usize>,
}

impl Texts {
    /// The texts in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| self.gathered.get(start..*end).unwrap_or_default())
    }

    /// How many they are.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// How long they are together.
    pub(super) fn bytes(&self) -> usize {
        self.gathered.len()
    }

    /// Whether another one may be put behind them.
    pub(super) fn has_room(&self) -> bool {
        self.gathered.len() < GATHERED_BYTES_MAX
    }

    /// Puts one behind them that `write` writes; its size.
    pub(super) fn add(&mut self, write: impl FnOnce(&mut String)) -> usize {
        let before = self.gathered.len();
        write(&mut self.gathered);
        self.ends.push(self.gathered.len());
        self.gathered.len() - before
    }

    /// The same memory without the texts; nothing if it has grown large.
    pub(super) fn emptied(mut self) -> Option<Texts> {
        let is_small = self.gathered.capacity() <= GATHERED_BYTES_MAX + 2 * TEXT_BYTES_MAX;
        self.gathered.clear();
        self.ends.clear();
        is_small.then_some(self)
    }

    /// Takes the first one out.
    #[cfg(test)]
    pub(super) fn take_first(&mut self) -> Option<String> {
        let first = self.iter().next()?.to_string();
        self.gathered.drain(..first.len());
        self.ends.remove(0);
        self.ends.iter_mut().for_each(|end| *end -= first.len());
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_out_as_they_were_put_in() {
        let mut texts = Texts::default();
        for text in ["one", "", "drei ä"] {
            assert_eq!(texts.add(|out| out.push_str(text)), text.len());
        }
        assert_eq!(texts.iter().collect::<Vec<_>>(), ["one", "", "drei ä"]);
        assert_eq!((texts.len(), texts.bytes()), (3, 10));
        assert_eq!(texts.take_first().as_deref(), Some("one"));
        assert_eq!(texts.iter().collect::<Vec<_>>(), ["", "drei ä"]);
        let emptied = texts.emptied().unwrap();
        assert_eq!((emptied.len(), emptied.bytes(), emptied.iter().count()), (0, 0, 0));
    }

    #[test]
    fn memory_that_has_grown_large_is_not_kept() {
        let mut texts = Texts::default();
        texts.add(|out| out.push_str(&"x".repeat(10 * GATHERED_BYTES_MAX)));
        assert!(!texts.has_room() && texts.emptied().is_none());
    }
}
