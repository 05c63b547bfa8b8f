//! Sidecar file of a checkpoint: modes, owners, sizes and times, which git's trees do not hold, and what was not kept.

use crate::label::Why;
use crate::record::{Decoder, Encoder};
use crate::snapshot::{Noted, Snapshot};
use crate::state::Key;

const MAGIC: &[u8; 8] = b"GSVside1";

/// The bytes of the side file of a snapshot.
pub(crate) fn encode(snapshot: &Snapshot) -> Vec<u8> {
    let mut out = Encoder::new(MAGIC);
    out.u32(snapshot.entries.len() as u32);
    for (name, entry) in &snapshot.entries {
        out.bytes(name);
        out.u32(entry.mode);
        out.u32(entry.uid);
        out.u32(entry.gid);
        out.u64(entry.size);
        out.i64(entry.mtime_ns);
    }
    out.u32(snapshot.noted.len() as u32);
    for (name, noted) in &snapshot.noted {
        out.bytes(name);
        out.u8(noted.why.code());
        out.u8(u8::from(noted.is_dir));
        noted.key.encode(&mut out);
    }
    out.u8(u8::from(snapshot.has_more));
    out.finish()
}

/// Completes a snapshot that was read from trees. What only one of the two knows makes it `None`.
pub(crate) fn decode(bytes: &[u8], snapshot: &mut Snapshot) -> Option<()> {
    let mut from = Decoder::new(bytes, MAGIC)?;
    let count = from.u32()? as usize;
    if count != snapshot.entries.len() {
        return None;
    }
    for _ in 0..count {
        let entry = snapshot.entries.get_mut(from.bytes()?)?;
        entry.mode = from.u32()?;
        entry.uid = from.u32()?;
        entry.gid = from.u32()?;
        entry.size = from.u64()?;
        entry.mtime_ns = from.i64()?;
    }
    for _ in 0..from.u32()? {
        let name = from.bytes()?.to_vec();
        let (why, is_dir) = (Why::of_code(from.u8()?)?, from.u8()? == 1);
        snapshot.noted.insert(name, Noted { why, is_dir, key: Key::decode(&mut from)? });
    }
    snapshot.has_more = from.u8()? == 1;
    Some(())
}
