//! LRU cache of pictures in base 64, so that each turn of a run need not read them again.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use base::limits;
use base::sync::lock;

/// Pictures in base 64, by key. The one that was used longest ago goes first.
#[derive(Default)]
pub(crate) struct Pictures(Mutex<Entries>);

#[derive(Default)]
struct Entries {
    /// The newest last.
    pictures: VecDeque<(String, Arc<str>)>,
    bytes: usize,
}

impl Pictures {
    /// A picture, if it is here.
    pub(super) fn find(&self, key: &str) -> Option<Arc<str>> {
        let mut kept = lock(&self.0);
        let place = kept.pictures.iter().position(|(known, _)| known == key)?;
        let found = kept.pictures.remove(place)?;
        let data = found.1.clone();
        kept.pictures.push_back(found);
        Some(data)
    }

    /// Keeps a picture.
    pub(super) fn keep(&self, key: &str, data: &str) {
        let (count_max, bytes_max) = (limits::process::PICTURES_KEPT, limits::process::PICTURES_KEPT_BYTES);
        if data.len() > bytes_max / 2 {
            return;
        }
        let mut kept = lock(&self.0);
        kept.drop_where(|known| known == key);
        kept.bytes += data.len();
        kept.pictures.push_back((key.to_string(), Arc::from(data)));
        while kept.pictures.len() > count_max || kept.bytes > bytes_max {
            let Some((_, data)) = kept.pictures.pop_front() else { break };
            kept.bytes -= data.len();
        }
    }

    /// Forgets those below a directory.
    pub(super) fn forget(&self, directory: &str) {
        let below = |key: &str| key.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'));
        lock(&self.0).drop_where(below);
    }
}

impl Entries {
    fn drop_where(&mut self, gone: impl Fn(&str) -> bool) {
        self.pictures.retain(|(key, _)| !gone(key));
        self.bytes = self.pictures.iter().map(|(_, data)| data.len()).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_used_longest_ago_goes_first() {
        let pictures = Pictures::default();
        for number in 0..limits::process::PICTURES_KEPT {
            pictures.keep(&format!("a/{number}"), "x");
        }
        assert!(pictures.find("a/0").is_some());
        pictures.keep("a/new", "y");
        assert!(pictures.find("a/1").is_none() && pictures.find("a/0").is_some());
        assert_eq!(pictures.find("a/new").as_deref(), Some("y"));
        pictures.keep("a/new", "z");
        assert_eq!(pictures.find("a/new").as_deref(), Some("z"));
        pictures.keep("ab/1", "x");
        pictures.forget("a");
        assert!(pictures.find("a/0").is_none() && pictures.find("ab/1").is_some());
        assert_eq!(lock(&pictures.0).bytes, 1);
    }

    #[test]
    fn they_take_no_more_room_than_they_may() {
        let pictures = Pictures::default();
        let large = "x".repeat(limits::process::PICTURES_KEPT_BYTES / 2);
        for key in ["a", "b", "c"] {
            pictures.keep(key, &large);
        }
        assert!(pictures.find("a").is_none() && pictures.find("b").is_some() && pictures.find("c").is_some());
        pictures.keep("huge", &format!("{large}x"));
        assert!(pictures.find("huge").is_none() && pictures.find("b").is_some());
    }
}
