//! Stat cache: which object a file was when its state was last seen, so that unchanged files are not read again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

use base::limits::checkpoint as limits;

use crate::atomic;
use crate::faults::step;
use crate::objects::Oid;
use crate::record::{Decoder, Encoder};
use crate::snapshot::Name;
use crate::state::Key;

const MAGIC: &[u8; 8] = b"GSVstat1";

/// What the last walk saw.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Cache {
    /// By path; a file that may have changed after it was read has the default key, which no file has.
    pub(crate) files: BTreeMap<Name, (Key, Oid)>,
    /// Directories that were ignored, and not looked into.
    pub(crate) ignored_dirs: BTreeSet<Name>,
    /// Whether the walk came to its end.
    pub(crate) is_complete: bool,
}

impl Cache {
    /// The cache of a store. It can always be made again, so one that is torn or too large is an empty one.
    pub(crate) fn load(path: &Path) -> Cache {
        let read = atomic::read(path, limits::CACHE_BYTES_MAX).ok().flatten();
        read.and_then(|bytes| decode(&bytes)).unwrap_or_default()
    }

    /// Keeps it. Not synced: after a crash the digest tells whether all of it arrived.
    pub(crate) fn save(&self, path: &Path) -> io::Result<()> {
        let mut out = Encoder::new(MAGIC);
        out.u8(u8::from(self.is_complete));
        out.u32(self.files.len() as u32);
        for (name, (key, oid)) in &self.files {
            out.bytes(name);
            key.encode(&mut out);
            out.raw(&oid.0);
        }
        out.u32(self.ignored_dirs.len() as u32);
        self.ignored_dirs.iter().for_each(|name| out.bytes(name));
        let temporary = path.with_extension("tmp");
        step("cache")?;
        fs::write(&temporary, out.finish())?;
        fs::rename(&temporary, path)
    }

    /// The object that a file in this state was.
    pub(crate) fn find(&self, name: &[u8], key: &Key) -> Option<Oid> {
        self.files.get(name).filter(|(known, _)| known == key).map(|(_, oid)| *oid)
    }
}

fn decode(bytes: &[u8]) -> Option<Cache> {
    let mut from = Decoder::new(bytes, MAGIC)?;
    let is_complete = from.u8()? == 1;
    let mut files = Vec::new();
    for _ in 0..from.u32()? {
        let name = from.bytes()?.to_vec();
        files.push((name, (Key::decode(&mut from)?, Oid(from.array()?))));
    }
    let mut ignored_dirs = BTreeSet::new();
    for _ in 0..from.u32()? {
        ignored_dirs.insert(from.bytes()?.to_vec());
    }
    Some(Cache { files: files.into_iter().collect(), ignored_dirs, is_complete })
}
