//! Registry of the uploads under way on one machine, and how the partial files of uploads are named.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex};

use base::sync::lock;
use tokio::sync::Notify;

/// The suffix of partial files.
pub const PARTIAL: &str = "gsv-part";

/// Hex digits of the digest that go into the name of a partial file.
const TAG_DIGITS: usize = 16;

/// What of the digest goes into the name of a partial file.
pub fn partial_tag(sha256: &str) -> String {
    sha256.chars().take(TAG_DIGITS).map(|digit| digit.to_ascii_lowercase()).collect()
}

/// Whether a name is `.name.0123456789abcdef.gsv-part`, as uploads name their partial files.
pub fn is_partial(name: &str) -> bool {
    let Some(name) = name.strip_prefix('.') else { return false };
    let mut parts = name.rsplitn(3, '.');
    let is_tag = |tag: &str| tag.len() == TAG_DIGITS && tag.bytes().all(|byte| byte.is_ascii_hexdigit());
    parts.next() == Some(PARTIAL) && parts.next().is_some_and(is_tag) && parts.next().is_some()
}

/// Uploads under way, by partial file: a newer one of the same file ends an older one that lost its caller.
pub struct Uploads<K> {
    running: Mutex<HashMap<K, Arc<Notify>>>,
}

impl<K> Default for Uploads<K> {
    fn default() -> Self {
        Uploads { running: Mutex::default() }
    }
}

/// An upload in the table; dropping it takes it out.
pub struct Running<K: Hash + Eq> {
    uploads: Arc<Uploads<K>>,
    partial: K,
    ended: Arc<Notify>,
}

impl<K: Hash + Eq + Clone> Running<K> {
    /// Enters an upload and ends an older one of the same partial file.
    pub fn enter(uploads: &Arc<Uploads<K>>, partial: K) -> Running<K> {
        let ended = Arc::new(Notify::new());
        if let Some(older) = lock(&uploads.running).insert(partial.clone(), ended.clone()) {
            older.notify_one();
        }
        Running { uploads: uploads.clone(), partial, ended }
    }

    /// Told when a newer upload takes over.
    pub fn ended(&self) -> &Notify {
        &self.ended
    }
}

impl<K: Hash + Eq> Drop for Running<K> {
    fn drop(&mut self) {
        let mut running = lock(&self.uploads.running);
        if running.get(&self.partial).is_some_and(|ended| Arc::ptr_eq(ended, &self.ended)) {
            running.remove(&self.partial);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partial_files_are_known_by_name() {
        let tag = partial_tag(&"AB".repeat(32));
        assert_eq!(tag, "abababababababab");
        assert!(is_partial(&format!(".notes.txt.{tag}.{PARTIAL}")));
        for other in ["notes.txt", ".gsv-part", ".x.gsv-part", ".abababababababab.gsv-part"] {
            assert!(!is_partial(other), "{other}");
        }
    }

    #[tokio::test]
    async fn a_newer_upload_ends_an_older_one() {
        let uploads = Arc::new(Uploads::default());
        let older = Running::enter(&uploads, "file");
        let newer = Running::enter(&uploads, "file");
        older.ended().notified().await;
        drop(older);
        let newest = Running::enter(&uploads, "file");
        newer.ended().notified().await;
        drop((newer, newest));
        assert!(lock(&uploads.running).is_empty());
    }
}
