//! Refs of a repository: loose files over `packed-refs`, branches and tags, and what a word of a caller stands for.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::Path;

use base::limits::repo as limits;
use gix_hash::ObjectId;
use gix_object::Kind;
use gix_object::bstr::ByteSlice;

use super::bare::Bare;
use super::fault::Fault;

const HEADS: &str = "refs/heads/";
const TAGS: &str = "refs/tags/";

/// The name of a branch, checked.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Branch(String);

impl Branch {
    /// The one that is meant when none is named.
    pub(crate) fn main() -> Branch {
        Branch("main".to_string())
    }

    /// Reads a name, with or without `refs/heads/`.
    pub(crate) fn parse(text: &str) -> Result<Branch, Fault> {
        let name = text.strip_prefix(HEADS).unwrap_or(text);
        let whole = format!("{HEADS}{name}");
        // A branch that is called like another namespace, or like `HEAD`, would be mistaken for it.
        let is_odd = name.starts_with("refs/") || name == "HEAD" || name.starts_with('-');
        if is_odd || !is_valid(&whole) {
            return Err(Fault::Bad(format!("Invalid branch ref: {text}")));
        }
        Ok(Branch(name.to_string()))
    }

    /// Without `refs/heads/`.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// With `refs/heads/`.
    pub(crate) fn full(&self) -> String {
        format!("{HEADS}{}", self.0)
    }
}

fn is_valid(whole: &str) -> bool {
    whole.len() <= limits::REF_MAX_BYTES && gix_validate::reference::name(whole.as_bytes().as_bstr()).is_ok()
}

/// Branches and tags with the commits they are at; tags that are objects of their own are followed to theirs.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Refs {
    pub heads: BTreeMap<String, ObjectId>,
    pub tags: BTreeMap<String, ObjectId>,
}

impl Bare {
    /// All branches and tags.
    pub(crate) fn refs(&self) -> Result<Refs, Fault> {
        let mut all = self.packed_refs()?;
        for namespace in [HEADS, TAGS] {
            let name = namespace.trim_end_matches('/');
            self.loose_refs(&self.path().join(name), name, 0, &mut all)?;
        }
        let mut refs = Refs::default();
        for (name, id) in all {
            if let Some(head) = name.strip_prefix(HEADS) {
                refs.heads.insert(head.to_string(), id);
            } else if let Some(tag) = name.strip_prefix(TAGS) {
                refs.tags.insert(tag.to_string(), self.peeled(id)?.unwrap_or(id));
            }
        }
        Ok(refs)
    }

    fn loose_refs(
        &self,
        dir: &Path,
        prefix: &str,
        depth: usize,
        all: &mut BTreeMap<String, ObjectId>,
    ) -> Result<(), Fault> {
        let entries = match fs::read_dir(dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let Ok(file_name) = entry.file_name().into_string() else { continue };
            let name = format!("{prefix}/{file_name}");
            if all.len() >= limits::REFS_MAX {
                return Err(Fault::TooLarge(format!(
                    "more than {} refs: clone the repository with git",
                    limits::REFS_MAX
                )));
            }
            if entry.file_type()?.is_dir() {
                if depth < limits::DEPTH_MAX {
                    self.loose_refs(&entry.path(), &name, depth + 1, all)?;
                }
            } else if is_valid(&name)
                && let Some(id) = self.reference(&name)?
            {
                all.insert(name, id);
            }
        }
        Ok(())
    }

    /// Where a ref is, by its whole name; `None` when there is none.
    pub(crate) fn reference(&self, name: &str) -> Result<Option<ObjectId>, Fault> {
        let mut name = name.to_string();
        // A ref may name another one, as HEAD does.
        for _ in 0..limits::SYMBOLIC_REFS_MAX {
            let Some(text) = read_small(&self.path().join(&name))? else {
                return Ok(self.packed_refs()?.get(&name).copied());
            };
            match text.trim_end().strip_prefix("ref:") {
                Some(other) if is_valid(other.trim()) => name = other.trim().to_string(),
                Some(_) => return Ok(None),
                None => {
                    let id = ObjectId::from_hex(text.trim_end().as_bytes());
                    return id
                        .map(Some)
                        .map_err(|_| Fault::Damaged(format!("the ref {name} can not be read")));
                }
            }
        }
        Ok(None)
    }

    /// The branches and tags that git has gathered in one file.
    pub(crate) fn packed_refs(&self) -> Result<BTreeMap<String, ObjectId>, Fault> {
        let text = match fs::read_to_string(self.path().join("packed-refs")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
            text => text?,
        };
        let of_line = |line: &str| {
            let (id, name) = line.split_once(' ')?;
            Some((name.to_string(), ObjectId::from_hex(id.as_bytes()).ok()?))
        };
        Ok(text.lines().filter(|line| !line.starts_with(['#', '^'])).filter_map(of_line).collect())
    }

    /// The commit that a word stands for: a whole ref, a branch, a tag, or a whole hash, in this order.
    pub(crate) fn resolve(&self, word: &str) -> Result<ObjectId, Fault> {
        let missing = || Fault::Missing(format!("Ref not found: {word}"));
        if word.is_empty() || word.contains("..") {
            return Err(Fault::Bad(format!("Invalid ref: {word}")));
        }
        for whole in [word.to_string(), format!("{HEADS}{word}"), format!("{TAGS}{word}")] {
            let is_ref = whole.starts_with(HEADS) || whole.starts_with(TAGS) || whole == "HEAD";
            if is_ref
                && is_valid_or_head(&whole)
                && let Some(id) = self.reference(&whole)?
            {
                return self.peeled(id)?.ok_or_else(missing);
            }
        }
        match ObjectId::from_hex(word.as_bytes()) {
            Ok(id) if id.kind() == gix_hash::Kind::Sha1 => self.peeled(id)?.ok_or_else(missing),
            _ => Err(missing()),
        }
    }

    /// The commit behind an object: itself, or what a tag leads to.
    pub(crate) fn peeled(&self, mut id: ObjectId) -> Result<Option<ObjectId>, Fault> {
        for _ in 0..limits::SYMBOLIC_REFS_MAX {
            match self.header(&id)? {
                Some((Kind::Commit, _)) => return Ok(Some(id)),
                Some((Kind::Tag, _)) => {
                    let content = self.object(&id, Kind::Tag)?;
                    let tag = gix_object::TagRef::from_bytes(&content, gix_hash::Kind::Sha1);
                    id = tag.map_err(Fault::damaged)?.target();
                }
                _ => return Ok(None),
            }
        }
        Ok(None)
    }
}

fn is_valid_or_head(whole: &str) -> bool {
    whole == "HEAD" || is_valid(whole)
}

/// The text of a small file; `None` when it is not there, or is a directory.
fn read_small(path: &Path) -> Result<Option<String>, Fault> {
    use io::ErrorKind::{IsADirectory, NotADirectory, NotFound};
    let mut text = String::new();
    let read =
        fs::File::open(path).and_then(|file| file.take(limits::REF_FILE_MAX_BYTES).read_to_string(&mut text));
    match read {
        Ok(_) => Ok(Some(text)),
        Err(error) if matches!(error.kind(), NotFound | IsADirectory | NotADirectory) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_names_of_branches_are_refused() {
        for good in ["main", "refs/heads/main", "feature/x", "a.b", "ä"] {
            assert!(Branch::parse(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "..",
            "a..b",
            "a/../b",
            "/a",
            "a/",
            "a//b",
            ".a",
            "a.lock",
            "a/.b",
            "a b",
            "a~1",
            "a^",
            "a:b",
            "a\\b",
            "a?",
            "a*",
            "a[",
            "@{",
            "a@{b",
            "HEAD",
            "-x",
            "refs/tags/x",
            "refs/remotes/x",
            "a\0",
            "a\n",
            &"x".repeat(300),
        ] {
            assert!(Branch::parse(bad).is_err(), "{bad:?}");
        }
    }
}
