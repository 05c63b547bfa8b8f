//! Text search over the files of a commit: plain words in any case, everything else exactly.

use base::limits::repo as limits;
use gix_hash::ObjectId;
use memchr::memmem::Finder;

use super::bare::{Bare, is_text};
use super::fault::Fault;
use super::paths::TreePath;

/// A matching line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Match {
    pub path: String,
    /// From 1.
    pub line: u64,
    pub content: String,
}

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Matches {
    pub found: Vec<Match>,
    /// Whether there may be more.
    pub truncated: bool,
}

/// What is looked for.
struct Needle {
    text: String,
    /// Whether small and capital letters are the same.
    any_case: bool,
}

impl Needle {
    /// Words of letters and digits are found in any case; what has other characters, or `lit:` in front, exactly.
    fn new(query: &str) -> Needle {
        if let Some(text) = query.strip_prefix("lit:") {
            return Needle { text: text.to_string(), any_case: false };
        }
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '"' | '*');
        match query.chars().all(is_word) {
            true => Needle { text: query.to_lowercase(), any_case: true },
            false => Needle { text: query.to_string(), any_case: false },
        }
    }

    fn is_in(&self, content: &str, finder: &Finder<'_>) -> bool {
        match self.any_case {
            true => finder.find(content.to_lowercase().as_bytes()).is_some(),
            false => finder.find(content.as_bytes()).is_some(),
        }
    }
}

/// A search under way.
struct Search<'a> {
    bare: &'a Bare,
    needle: Needle,
    prefix: Vec<Vec<u8>>,
    /// Bytes that may still be looked at.
    bytes_left: u64,
    /// Files and directories that may still be looked at.
    entries_left: usize,
    matches: Matches,
}

impl Bare {
    /// The lines of a tree that hold a text, below a path.
    pub(crate) fn search(&self, tree: ObjectId, query: &str, prefix: &TreePath) -> Result<Matches, Fault> {
        let prefix = prefix.names().into_iter().map(<[u8]>::to_vec).collect();
        let needle = Needle::new(query);
        let (bytes_left, entries_left) = (limits::SEARCH_MAX_BYTES, limits::SEARCH_ENTRIES_MAX);
        let mut search =
            Search { bare: self, needle, prefix, bytes_left, entries_left, matches: Matches::default() };
        search.directory(&tree, "", 0)?;
        Ok(search.matches)
    }
}

impl Search<'_> {
    fn directory(&mut self, tree: &ObjectId, path: &str, depth: usize) -> Result<(), Fault> {
        if depth > limits::DEPTH_MAX {
            self.matches.truncated = true;
            return Ok(());
        }
        for entry in self.bare.tree(tree)? {
            if self.matches.truncated {
                return Ok(());
            }
            self.matches.truncated = self.entries_left == 0;
            self.entries_left = self.entries_left.saturating_sub(1);
            if self.prefix.get(depth).is_some_and(|name| *name != entry.filename.as_slice()) {
                continue;
            }
            let name = String::from_utf8_lossy(&entry.filename);
            let path = if path.is_empty() { name.into_owned() } else { format!("{path}/{name}") };
            if entry.mode.is_tree() {
                self.directory(&entry.oid, &path, depth + 1)?;
            } else if entry.mode.is_blob() && self.prefix.len() <= depth + 1 {
                self.file(&entry.oid, &path)?;
            }
        }
        Ok(())
    }

    fn file(&mut self, id: &ObjectId, path: &str) -> Result<(), Fault> {
        let size = self.bare.blob_size(id)?;
        if size > limits::SEARCH_FILE_MAX_BYTES {
            return Ok(());
        }
        let Some(left) = self.bytes_left.checked_sub(size) else {
            self.matches.truncated = true;
            return Ok(());
        };
        self.bytes_left = left;
        let content = self.bare.blob(id)?;
        if !is_text(&content) {
            return Ok(());
        }
        let content = String::from_utf8_lossy(&content);
        let finder = Finder::new(self.needle.text.as_bytes());
        if !self.needle.is_in(&content, &finder) {
            return Ok(());
        }
        for (index, line) in content.split('\n').enumerate() {
            if !self.needle.is_in(line, &finder) {
                continue;
            }
            if self.matches.found.len() >= limits::SEARCH_MATCHES_MAX {
                self.matches.truncated = true;
                return Ok(());
            }
            let content = clipped(line).to_string();
            self.matches.found.push(Match { path: path.to_string(), line: index as u64 + 1, content });
        }
        Ok(())
    }
}

/// The beginning of a long line.
fn clipped(line: &str) -> &str {
    let mut end = line.len().min(limits::SEARCH_LINE_MAX_BYTES);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    &line[..end]
}
