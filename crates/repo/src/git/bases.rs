//! Cache of delta bases: objects of packs as they were decoded, for the short time that one piece of work is done. What
//! stands near each other in a history shares its bases.

use std::collections::HashMap;

use base::limits::repo as limits;
use gix_object::Kind;
use gix_pack::cache::DecodeEntry;

/// By pack and place. When it is full it begins anew.
#[derive(Default)]
pub(crate) struct Bases {
    known: HashMap<(u32, u64), Base>,
    bytes: usize,
}

struct Base {
    content: Vec<u8>,
    kind: Kind,
    compressed_size: usize,
}

impl DecodeEntry for Bases {
    fn put(&mut self, pack_id: u32, offset: u64, data: &[u8], kind: Kind, compressed_size: usize) {
        if data.len() > limits::BASE_MAX_BYTES {
            return;
        }
        if self.bytes + data.len() > limits::BASES_MAX_BYTES {
            *self = Bases::default();
        }
        let base = Base { content: data.to_vec(), kind, compressed_size };
        let before = self.known.insert((pack_id, offset), base).map_or(0, |base| base.content.len());
        self.bytes = self.bytes + data.len() - before;
    }

    fn get(&mut self, pack_id: u32, offset: u64, out: &mut Vec<u8>) -> Option<(Kind, usize)> {
        let base = self.known.get(&(pack_id, offset))?;
        out.clear();
        out.extend_from_slice(&base.content);
        Some((base.kind, base.compressed_size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_is_there_until_it_is_full() {
        let (mut bases, mut out) = (Bases::default(), b"old".to_vec());
        bases.put(1, 2, b"abc", Kind::Blob, 9);
        assert_eq!(bases.get(1, 2, &mut out), Some((Kind::Blob, 9)));
        assert_eq!((out.as_slice(), bases.get(2, 2, &mut Vec::new())), (b"abc".as_slice(), None));
        bases.put(1, 3, &vec![0; limits::BASE_MAX_BYTES + 1], Kind::Blob, 9);
        assert_eq!(bases.get(1, 3, &mut out), None, "it is too large");
        let large = vec![0; limits::BASE_MAX_BYTES];
        for offset in 0..=(limits::BASES_MAX_BYTES / large.len()) as u64 {
            bases.put(3, offset, &large, Kind::Tree, 1);
            assert!(bases.bytes <= limits::BASES_MAX_BYTES);
        }
        assert_eq!(bases.get(1, 2, &mut out), None);
    }
}
