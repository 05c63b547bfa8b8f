//! Parser of the head of a push: pkt-lines with the refs that a client wants changed, up to the flush before the pack.
//! Git parses them again; here it is only learned which refs they are.

use base::limits::git::COMMANDS_MAX_BYTES;
use bytes::{Bytes, BytesMut};

use super::incoming::{Cut, Incoming};

/// What a client says that takes messages for people.
const SIDE_BAND: &[u8] = b"side-band-64k";

/// The refs that a push wants changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Commands {
    names: Vec<String>,
    /// Where the client takes each of them to be.
    old: Vec<String>,
    /// Whether a pack follows: what only deletes has none.
    pub(crate) has_pack: bool,
    /// Whether the client reads messages for people.
    pub(crate) has_side_band: bool,
}

impl Commands {
    /// Reads the head of a push, and gives all that was read of the request for that.
    pub(crate) async fn read(incoming: &mut Incoming) -> Result<(Commands, Bytes), Cut> {
        let (mut ahead, mut commands) = (BytesMut::new(), Commands::default());
        let mut at = 0;
        loop {
            match packet(&ahead[at..])? {
                Packet::Line { length, .. } if at + length > COMMANDS_MAX_BYTES => return Err(Cut::TooLarge),
                Packet::Line { length, content } => {
                    commands.add(content)?;
                    at += length;
                }
                Packet::Flush => return Ok((commands, ahead.freeze())),
                Packet::Partial => match incoming.next().await? {
                    Some(piece) => ahead.extend_from_slice(&piece),
                    None => return Err(Cut::Gone),
                },
            }
        }
    }

    /// The full names of the refs.
    pub(crate) fn names(&self) -> Vec<String> {
        self.names.clone()
    }

    /// Where the client takes a ref to be that it wants changed.
    pub(crate) fn old(&self, name: &str) -> Option<&str> {
        let at = self.names.iter().position(|other| other == name)?;
        self.old.get(at).map(String::as_str)
    }

    /// One line: `old new name`, the first with capabilities behind a NUL; or `shallow oid`.
    fn add(&mut self, line: &[u8]) -> Result<(), Cut> {
        let command = line.split(|byte| *byte == 0).next().unwrap_or_default();
        let command = command.strip_suffix(b"\n").unwrap_or(command);
        if command.starts_with(b"shallow ") {
            return Ok(());
        }
        let mut words = command.splitn(3, |byte| *byte == b' ');
        let (Some(old), Some(new), Some(name)) = (words.next(), words.next(), words.next()) else {
            return Err(Cut::Unreadable);
        };
        if !is_object_id(old) || !is_object_id(new) {
            return Err(Cut::Unreadable);
        }
        self.has_pack |= new.iter().any(|digit| *digit != b'0');
        self.has_side_band |= line.windows(SIDE_BAND.len()).any(|part| part == SIDE_BAND);
        // A name that is no text is refused by git itself, and is none that anything here looks for.
        self.names.push(String::from_utf8_lossy(name).into_owned());
        self.old.push(String::from_utf8_lossy(old).to_ascii_lowercase());
        Ok(())
    }
}

enum Packet<'a> {
    Line {
        length: usize,
        content: &'a [u8],
    },
    Flush,
    /// More must come first.
    Partial,
}

/// The first pkt-line: four hex digits that count themselves, then the content.
fn packet(bytes: &[u8]) -> Result<Packet<'_>, Cut> {
    let Some(head) = bytes.first_chunk::<4>() else { return Ok(Packet::Partial) };
    if !head.iter().all(u8::is_ascii_hexdigit) {
        return Err(Cut::Unreadable);
    }
    let length = std::str::from_utf8(head).ok().and_then(|head| usize::from_str_radix(head, 16).ok());
    match length {
        Some(0) => Ok(Packet::Flush),
        Some(length @ 5..) => Ok(match bytes.get(4..length) {
            Some(content) => Packet::Line { length, content },
            None => Packet::Partial,
        }),
        _ => Err(Cut::Unreadable),
    }
}

fn is_object_id(text: &[u8]) -> bool {
    matches!(text.len(), 40 | 64) && text.iter().all(u8::is_ascii_hexdigit)
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::extract::Request;
    use base::clock::Clock;
    use proptest::prelude::*;

    use super::*;

    const OLD: &str = "0000000000000000000000000000000000000000";
    const NEW: &str = "89e6c98d92887913cadf06b2adb97f26cde4849b";

    fn line(text: &str) -> String {
        format!("{:04x}{text}", text.len() + 4)
    }

    fn read_pieces(pieces: Vec<Vec<u8>>) -> Result<(Vec<String>, Bytes), Cut> {
        let body =
            Body::from_stream(futures_util::stream::iter(pieces.into_iter().map(Ok::<_, std::io::Error>)));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut incoming = Incoming::new(Request::new(body), 1 << 30, Clock::manual(0))?;
            let (commands, ahead) = Commands::read(&mut incoming).await?;
            Ok((commands.names(), ahead))
        })
    }

    fn read(text: &str) -> Result<Vec<String>, Cut> {
        Ok(read_pieces(vec![text.as_bytes().to_vec()])?.0)
    }

    #[test]
    fn refs_are_learned_and_nothing_is_lost() {
        let text = [
            line(&format!("shallow {NEW}\n")),
            line(&format!("{OLD} {NEW} refs/heads/main\0report-status side-band-64k\n")),
            line(&format!("{NEW} {OLD} refs/heads/old")),
            "0000PACK…".to_string(),
        ];
        let text = text.concat().into_bytes();
        for size in [1, 3, 7, 1_000] {
            let (names, ahead) = read_pieces(text.chunks(size).map(<[u8]>::to_vec).collect()).unwrap();
            assert_eq!(names, ["refs/heads/main", "refs/heads/old"]);
            assert!(text.starts_with(&ahead) && ahead.ends_with(&text[text.len() - 8..][..0]));
        }
        assert_eq!(read("0000").unwrap(), Vec::<String>::new(), "what a large push sends first");
    }

    #[test]
    fn what_is_no_push_is_refused() {
        for bad in ["PACK", "zzzz", "0004", "0001", "+0a1", &line("hello"), &line("push-cert\0x")] {
            assert_eq!(read(&format!("{bad}0000")), Err(Cut::Unreadable), "{bad}");
        }
        assert_eq!(read(""), Err(Cut::Gone));
        assert_eq!(read(&line(&format!("{OLD} {NEW} refs/heads/a"))), Err(Cut::Gone));
        let many = line(&format!("{OLD} {NEW} refs/heads/a")).repeat(COMMANDS_MAX_BYTES / 50);
        assert_eq!(read(&many), Err(Cut::TooLarge));
    }

    proptest! {
        #[test]
        fn any_bytes_are_answered(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            drop(read_pieces(vec![bytes]));
        }
    }
}
