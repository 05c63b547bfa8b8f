//! Reader of git's index (versions 2 to 4): which files git tracks. They are not ignored, whatever the rules say.

use std::collections::BTreeMap;
use std::ops::Bound;

use base::limits::checkpoint as limits;

use crate::snapshot::Name;

/// Sorted names of an index.
#[derive(Default)]
pub(super) struct Tracked(Vec<Name>);

/// Times, owner, length and the like before an entry's digest.
const STAT_BYTES: usize = 40;
const EXTENDED: u16 = 0x4000;

impl Tracked {
    /// The names in an index. What cannot be read lists nothing more: then what is ignored stays ignored.
    pub(super) fn of_index(bytes: &[u8], is_sha256: bool) -> Tracked {
        let mut names = Vec::new();
        read_names(bytes, if is_sha256 { 32 } else { 20 }, &mut names);
        if !names.is_sorted() {
            names.sort_unstable();
        }
        Tracked(names)
    }

    pub(super) fn has(&self, path: &[u8]) -> bool {
        self.0.binary_search_by(|name| name.as_slice().cmp(path)).is_ok()
    }

    pub(super) fn has_below(&self, dir: &[u8]) -> bool {
        let prefix = [dir, b"/"].concat();
        let at = self.0.partition_point(|name| *name < prefix);
        self.0.get(at).is_some_and(|name| name.starts_with(&prefix))
    }
}

/// Whether a map by path has something below a directory.
pub(super) fn has_below<V>(names: &BTreeMap<Name, V>, dir: &[u8]) -> bool {
    let prefix = [dir, b"/"].concat();
    let mut from = names.range::<[u8], _>((Bound::Included(prefix.as_slice()), Bound::Unbounded));
    from.next().is_some_and(|(name, _)| name.starts_with(&prefix))
}

fn read_names(bytes: &[u8], digest_bytes: usize, names: &mut Vec<Name>) -> Option<()> {
    let number = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let version = number(4)?;
    if !bytes.starts_with(b"DIRC") || !(2..=4).contains(&version) {
        return None;
    }
    let count = number(8)?;
    let mut at = 12;
    let mut previous = Vec::new();
    let mut named = 0;
    for _ in 0..count {
        let start = at;
        let flags_at = at + STAT_BYTES + digest_bytes;
        let flags = u16::from_be_bytes(bytes.get(flags_at..flags_at + 2)?.try_into().ok()?);
        at = flags_at + if flags & EXTENDED != 0 { 4 } else { 2 };
        let kept = if version == 4 { previous.len().checked_sub(variable(bytes, &mut at)?)? } else { 0 };
        let length = bytes.get(at..)?.iter().position(|byte| *byte == 0)?;
        let mut name: Name = previous.get(..kept)?.to_vec();
        name.extend(&bytes[at..at + length]);
        at += length + 1;
        if version < 4 {
            // Padded with zeros to a multiple of eight.
            at = start + (at - start).next_multiple_of(8);
        }
        // Names that share their beginnings (version 4) can be far longer than the file.
        named += name.len() as u64;
        if named > limits::INDEX_BYTES_MAX {
            return None;
        }
        names.push(name.clone());
        previous = name;
    }
    Some(())
}

/// Git's number of variable length, in which each further byte also adds one.
fn variable(bytes: &[u8], at: &mut usize) -> Option<usize> {
    let mut byte = *bytes.get(*at)?;
    *at += 1;
    let mut value = usize::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        byte = *bytes.get(*at)?;
        *at += 1;
        value = (value + 1).checked_shl(7)?.checked_add(usize::from(byte & 0x7f))?;
    }
    Some(value)
}
