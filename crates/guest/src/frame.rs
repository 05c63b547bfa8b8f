//! Length-prefixed frames: four bytes of length, least significant first, then so many bytes. Both sides refuse what is
//! longer than the limit before they make room for it.

use std::io::{self, ErrorKind, Read, Write};

use base::limits::guest::FRAME_MAX_BYTES;
use bytes::{Buf, BytesMut};

const HEAD: usize = 4;

/// A frame as it is sent.
pub(crate) fn encode(text: &[u8]) -> Option<Vec<u8>> {
    let length = u32::try_from(text.len()).ok().filter(|_| text.len() <= FRAME_MAX_BYTES)?;
    let mut frame = Vec::with_capacity(HEAD + text.len());
    frame.extend_from_slice(&length.to_le_bytes());
    frame.extend_from_slice(text);
    Some(frame)
}

/// Takes the first whole frame out of what was read so far; an error when what comes is longer than allowed.
pub(crate) fn take(read: &mut BytesMut) -> Result<Option<BytesMut>, usize> {
    let Some(head) = read.first_chunk::<HEAD>() else { return Ok(None) };
    let length = u32::from_le_bytes(*head) as usize;
    if length > FRAME_MAX_BYTES {
        return Err(length);
    }
    if read.len() < HEAD + length {
        return Ok(None);
    }
    read.advance(HEAD);
    Ok(Some(read.split_to(length)))
}

/// Writes a frame, waiting as long as it takes.
pub(crate) fn write(to: &mut impl Write, text: &[u8]) -> io::Result<()> {
    let frame =
        encode(text).ok_or_else(|| io::Error::new(ErrorKind::InvalidInput, "longer than a frame may be"))?;
    to.write_all(&frame)
}

/// Reads a frame, waiting as long as it takes.
pub(crate) fn read(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = [0; HEAD];
    from.read_exact(&mut head)?;
    let length = u32::from_le_bytes(head) as usize;
    if length > FRAME_MAX_BYTES {
        return Err(io::Error::new(ErrorKind::InvalidData, "longer than a frame may be"));
    }
    let mut text = vec![0; length];
    from.read_exact(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_out_whole_and_in_order_however_they_arrive() {
        let mut sent = encode(b"one").unwrap();
        sent.extend(encode(b"").unwrap());
        sent.extend(encode(b"three").unwrap());
        let (mut read, mut out) = (BytesMut::new(), Vec::new());
        for byte in sent {
            read.extend_from_slice(&[byte]);
            while let Some(frame) = take(&mut read).unwrap() {
                out.push(frame.to_vec());
            }
        }
        assert_eq!(out, [b"one".to_vec(), b"".to_vec(), b"three".to_vec()]);
    }

    #[test]
    fn what_is_too_long_is_refused_by_its_head() {
        let mut read = BytesMut::from(&u32::MAX.to_le_bytes()[..]);
        assert_eq!(take(&mut read), Err(u32::MAX as usize));
        assert_eq!(encode(&vec![0; FRAME_MAX_BYTES + 1]), None);
        let head = u32::MAX.to_le_bytes();
        assert_eq!(super::read(&mut &head[..]).unwrap_err().kind(), ErrorKind::InvalidData);
    }
}
