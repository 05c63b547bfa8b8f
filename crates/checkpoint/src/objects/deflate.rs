//! Zlib compression with states that are used again: a fresh one per file costs more than most files.

use std::io;

use flate2::{Compress, Compression, FlushCompress, Status};

/// A file shorter than this is compressed without asking whether that helps.
const PROBED_BYTES: usize = 16 * 1024;

/// Compresses one object after the other.
pub(super) struct Deflater {
    fast: Compress,
    stored: Compress,
    is_stored: bool,
    buffer: Vec<u8>,
}

impl Deflater {
    pub(super) fn new() -> Deflater {
        Deflater {
            fast: Compress::new(Compression::fast(), true),
            stored: Compress::new(Compression::none(), true),
            is_stored: false,
            buffer: vec![0; 64 * 1024],
        }
    }

    /// Starts an object. What does not get smaller, by the look of its first piece, is stored as it is.
    pub(super) fn start(&mut self, first_piece: &[u8]) -> io::Result<()> {
        self.is_stored = false;
        if first_piece.len() >= PROBED_BYTES {
            self.fast.reset();
            let mut size = 0;
            self.push(&first_piece[..PROBED_BYTES], true, &mut |piece| {
                size += piece.len();
                Ok(())
            })?;
            self.is_stored = size > PROBED_BYTES / 10 * 9;
        }
        self.state().reset();
        Ok(())
    }

    /// Compresses the next piece; `last` ends the object.
    pub(super) fn push(
        &mut self,
        mut piece: &[u8],
        last: bool,
        to: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let state = self.state();
        let flush = if last { FlushCompress::Finish } else { FlushCompress::None };
        let done = loop {
            let (consumed, produced) = (state.total_in(), state.total_out());
            let status = match state.compress(piece, &mut buffer, flush) {
                Ok(status) => status,
                Err(error) => break Err(io::Error::other(error)),
            };
            piece = &piece[(state.total_in() - consumed) as usize..];
            let made = (state.total_out() - produced) as usize;
            if let Err(error) = to(&buffer[..made]) {
                break Err(error);
            }
            if status == Status::StreamEnd || (!last && piece.is_empty() && made < buffer.len()) {
                break Ok(());
            }
        };
        self.buffer = buffer;
        done
    }

    fn state(&mut self) -> &mut Compress {
        if self.is_stored { &mut self.stored } else { &mut self.fast }
    }
}
