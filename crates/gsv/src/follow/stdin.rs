//! Bounded reader of this program's stdin, on its way to a command on a target. Calls carry text, so it must be UTF-8.

use std::io::Read;
use std::sync::mpsc;

use base::limits;

/// What comes next.
#[derive(Debug, PartialEq)]
pub enum Chunk {
    /// Text for the command.
    Text(String),
    /// There is no more; said once.
    End,
    /// The rest cannot be sent, and why; said once. What the command has got is not all there is.
    Broken(String),
    /// Nothing yet.
    Later,
    /// All has been said.
    Never,
}

/// Where a command's stdin comes from.
pub struct Stdin {
    chunks: Option<mpsc::Receiver<std::io::Result<String>>>,
    refused: Option<String>,
    ended: bool,
}

impl Stdin {
    /// A command without input: its stdin is closed from the start.
    pub fn empty() -> Stdin {
        Stdin { chunks: None, refused: None, ended: true }
    }

    /// Whether there is input or may be.
    pub fn is_open(&self) -> bool {
        !self.ended
    }

    /// This program's stdin, read by a thread of its own: a read cannot be given up.
    pub fn own() -> Stdin {
        Stdin::from_reader(std::io::stdin())
    }

    fn from_reader(mut reader: impl Read + Send + 'static) -> Stdin {
        let (sender, chunks) = mpsc::sync_channel(limits::cli::STDIN_CHUNKS_MAX);
        std::thread::spawn(move || {
            let mut carry = Vec::new();
            loop {
                let chunk = read_chunk(&mut reader, &mut carry);
                let last = !matches!(&chunk, Ok(text) if !text.is_empty());
                if sender.send(chunk).is_err() || last {
                    return;
                }
            }
        });
        Stdin { chunks: Some(chunks), refused: None, ended: false }
    }

    /// Text that the command's target did not take: it comes again.
    pub fn put_back(&mut self, text: String) {
        self.refused = Some(text);
    }

    /// That there is no more did not get through: it is said again.
    pub fn end_again(&mut self) {
        self.ended = false;
    }

    /// No more input goes to the command.
    pub fn stop(&mut self) {
        self.chunks = None;
        self.refused = None;
        self.ended = true;
    }

    /// What to send now; does not wait.
    pub fn next(&mut self) -> Chunk {
        if self.ended {
            return Chunk::Never;
        }
        if let Some(text) = self.refused.take() {
            return Chunk::Text(text);
        }
        let next = match &self.chunks {
            None => Err(mpsc::TryRecvError::Disconnected),
            Some(chunks) => chunks.try_recv(),
        };
        match next {
            Ok(Ok(text)) if !text.is_empty() => return Chunk::Text(text),
            Ok(Err(error)) => {
                self.stop();
                return Chunk::Broken(error.to_string());
            }
            Err(mpsc::TryRecvError::Empty) => return Chunk::Later,
            Ok(Ok(_)) | Err(mpsc::TryRecvError::Disconnected) => {}
        }
        self.stop();
        Chunk::End
    }
}

/// The next whole characters; empty at the end. Part of a character stays in `carry`.
fn read_chunk(reader: &mut impl Read, carry: &mut Vec<u8>) -> std::io::Result<String> {
    let mut buffer = vec![0; limits::cli::STDIN_CHUNK_MAX_BYTES];
    loop {
        let kept = carry.len();
        buffer[..kept].copy_from_slice(carry);
        let got = match reader.read(&mut buffer[kept..]) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            got => got?,
        };
        let bytes = &buffer[..kept + got];
        let valid = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            // An unfinished character at the end may be finished by the next read.
            Err(error) if error.error_len().is_none() && got > 0 => {
                std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()
            }
            Err(_) => {
                return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, "not UTF-8 text"));
            }
        };
        let text = valid.to_string();
        *carry = bytes[text.len()..].to_vec();
        if !text.is_empty() || got == 0 {
            return Ok(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives out its bytes one read at a time.
    struct Pieces(Vec<&'static [u8]>);

    impl Read for Pieces {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            if self.0.is_empty() {
                return Ok(0);
            }
            let piece = self.0.remove(0);
            buffer[..piece.len()].copy_from_slice(piece);
            Ok(piece.len())
        }
    }

    fn all(pieces: Vec<&'static [u8]>) -> Vec<Chunk> {
        let mut stdin = Stdin::from_reader(Pieces(pieces));
        let mut chunks = Vec::new();
        loop {
            match stdin.next() {
                Chunk::Later => std::thread::yield_now(),
                Chunk::Never => return chunks,
                chunk => chunks.push(chunk),
            }
        }
    }

    #[test]
    fn characters_are_never_torn() {
        let chunks = all(vec![b"a\xc3", b"\xbc", b"b"]);
        let text = |text: &str| Chunk::Text(text.to_string());
        assert_eq!(chunks, [text("a"), text("ü"), text("b"), Chunk::End]);
    }

    #[test]
    fn bytes_that_are_no_text_are_no_end_of_the_input() {
        let broken = || Chunk::Broken("not UTF-8 text".into());
        assert_eq!(all(vec![b"a", b"\xff\xfe"]), [Chunk::Text("a".into()), broken()]);
        assert_eq!(all(vec![b"\xc3"]), [broken()]);
    }

    #[test]
    fn refused_text_comes_again_before_the_rest() {
        let mut stdin = Stdin::from_reader(Pieces(vec![]));
        stdin.put_back("first".into());
        assert_eq!(stdin.next(), Chunk::Text("first".into()));
        assert!(stdin.is_open() && !Stdin::empty().is_open());
        stdin.stop();
        assert_eq!((stdin.next(), Stdin::empty().next()), (Chunk::Never, Chunk::Never));
    }
}
