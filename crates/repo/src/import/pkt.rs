//! Packet lines of git's wire protocol: four hex digits of length, then so much data; 0 to 2 are marks.

use base::limits::repo as limits;

/// One packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Packet {
    /// The end of a message.
    Flush,
    /// The end of a section.
    Delimiter,
    /// The end of an answer.
    ResponseEnd,
    Data(Vec<u8>),
}

impl Packet {
    /// The text of a line, without its end.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Packet::Data(data) => std::str::from_utf8(data).ok().map(|text| text.trim_end_matches('\n')),
            _ => None,
        }
    }
}

/// Packets that are not what git sends.
#[derive(Debug, thiserror::Error)]
#[error("the other side does not speak git's protocol")]
pub(crate) struct Malformed;

/// Bytes that came, and the packets in them.
#[derive(Default)]
pub(crate) struct Packets {
    buffer: Vec<u8>,
    at: usize,
}

impl Packets {
    /// More has come.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if self.at > 0 {
            self.buffer.drain(..self.at);
            self.at = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The next packet, if all of it is there.
    pub(crate) fn next(&mut self) -> Result<Option<Packet>, Malformed> {
        let rest = &self.buffer[self.at..];
        let Some(head) = rest.get(..4) else { return Ok(None) };
        let head = std::str::from_utf8(head).map_err(|_| Malformed)?;
        let length = usize::from_str_radix(head, 16).map_err(|_| Malformed)?;
        let (packet, length) = match length {
            0 => (Packet::Flush, 4),
            1 => (Packet::Delimiter, 4),
            2 => (Packet::ResponseEnd, 4),
            3 => return Err(Malformed),
            length if length > limits::PACKET_MAX_BYTES => return Err(Malformed),
            length => match rest.get(4..length) {
                Some(data) => (Packet::Data(data.to_vec()), length),
                None => return Ok(None),
            },
        };
        self.at += length;
        Ok(Some(packet))
    }

    /// Whether nothing is left of a packet that did not end.
    pub(crate) fn is_empty(&self) -> bool {
        self.at == self.buffer.len()
    }
}

/// Writes a line.
pub(crate) fn line(out: &mut Vec<u8>, text: &str) {
    out.extend(format!("{:04x}{text}\n", text.len() + 5).into_bytes());
}

pub(crate) fn delimiter(out: &mut Vec<u8>) {
    out.extend(b"0001");
}

pub(crate) fn flush(out: &mut Vec<u8>) {
    out.extend(b"0000");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_read_from_pieces_of_any_size() {
        let mut sent = Vec::new();
        line(&mut sent, "command=ls-refs");
        delimiter(&mut sent);
        line(&mut sent, "peel");
        flush(&mut sent);
        for size in 1..sent.len() {
            let (mut packets, mut seen) = (Packets::default(), Vec::new());
            for piece in sent.chunks(size) {
                packets.push(piece);
                while let Some(packet) = packets.next().expect("packets") {
                    seen.push(packet);
                }
            }
            assert!(packets.is_empty());
            assert_eq!(seen[0].text(), Some("command=ls-refs"));
            assert_eq!(
                (&seen[1], seen[2].text(), &seen[3]),
                (&Packet::Delimiter, Some("peel"), &Packet::Flush)
            );
        }
    }

    #[test]
    fn what_git_does_not_send_is_refused() {
        for bad in ["0003", "zzzz", "ffff", "<htm", "fff1x"] {
            let mut packets = Packets::default();
            packets.push(bad.as_bytes());
            assert!(packets.next().is_err(), "{bad}");
        }
    }
}
