//! Patch of one changed file: the head with modes and objects, and the hunks.

use super::content::Content;
use super::hunks;
use super::quote::quoted_with;
use super::trees::{Change, Entry};

/// Letters of a hash that are shown.
pub(super) const SHORT: usize = 7;

/// How much of a file is looked at to tell text from what is none.
const PROBED: usize = 8_000;

/// A hash as it is shown.
pub(super) fn short(hash: &str) -> &str {
    hash.get(..SHORT).unwrap_or(hash)
}

/// Whether something is no text, as git sees it.
pub(super) fn is_binary(content: &Content) -> bool {
    match content {
        Content::Bytes(bytes) => bytes[..bytes.len().min(PROBED)].contains(&0),
        Content::TooLarge(_) => true,
    }
}

/// `diff --git a/x b/x` and all that follows.
pub(super) fn print(out: &mut Vec<u8>, change: &Change, old: &Content, new: &Content, around: usize) {
    // What becomes a link is deleted and made anew.
    if let (Some(before), Some(after)) = (&change.old, &change.new)
        && before.kind() != after.kind()
    {
        let nothing = Content::Bytes(Vec::new());
        one(out, &change.path, (Some(before), old), (None, &nothing), around);
        return one(out, &change.path, (None, &nothing), (Some(after), new), around);
    }
    one(out, &change.path, (change.old.as_ref(), old), (change.new.as_ref(), new), around);
}

type Side<'a> = (Option<&'a Entry>, &'a Content);

fn one(out: &mut Vec<u8>, path: &str, (before, old): Side<'_>, (after, new): Side<'_>, around: usize) {
    let (a, b) = (quoted_with("a/", path), quoted_with("b/", path));
    let mut head = format!("diff --git {a} {b}\n");
    match (before, after) {
        (None, Some(after)) => head += &format!("new file mode {}\n", after.mode),
        (Some(before), None) => head += &format!("deleted file mode {}\n", before.mode),
        (Some(before), Some(after)) if before.mode != after.mode => {
            head += &format!("old mode {}\nnew mode {}\n", before.mode, after.mode);
        }
        _ => {}
    }
    let hash = |side: Option<&Entry>| side.map_or("0".repeat(SHORT), |entry| short(&entry.hash).to_string());
    let is_same = before.map(|entry| &entry.hash) == after.map(|entry| &entry.hash);
    if !is_same {
        head += &format!("index {}..{}", hash(before), hash(after));
        match (before, after) {
            (Some(before), Some(after)) if before.mode == after.mode => {
                head += &format!(" {}\n", after.mode);
            }
            _ => head.push('\n'),
        }
    }
    out.extend_from_slice(head.as_bytes());
    if is_same {
        return;
    }
    let (from, to) = (
        before.map_or("/dev/null".to_string(), |_| a.clone()),
        after.map_or("/dev/null".to_string(), |_| b.clone()),
    );
    let (Content::Bytes(old_text), Content::Bytes(new_text), false) =
        (old, new, is_binary(old) || is_binary(new))
    else {
        return out.extend_from_slice(format!("Binary files {from} and {to} differ\n").as_bytes());
    };
    if old_text != new_text {
        // A blank in a name would end it for those who read patches.
        let end = |name: &str| if name.contains(' ') { "\t" } else { "" };
        out.extend_from_slice(format!("--- {from}{}\n+++ {to}{}\n", end(&from), end(&to)).as_bytes());
        hunks::print(out, old_text, new_text, around);
    }
}
