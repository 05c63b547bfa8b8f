//! Shared, lazily encoded signal with a finished payload: its frame is written once for each generation of the
//! protocol among its receivers.

use std::sync::Arc;

use bytes::Bytes;

use crate::codec::{Codec, Frames};

/// About what a frame has around name and payload.
const FRAME_BYTES: usize = 64;

/// A signal's name and the JSON of its payload, shared by everybody who keeps or sends it.
#[derive(Clone, Debug)]
pub(crate) struct SignalText {
    pub(crate) name: &'static str,
    pub(crate) payload: Arc<String>,
}

impl SignalText {
    /// About how long its frame is.
    pub(crate) fn size(&self) -> usize {
        FRAME_BYTES + self.name.len() + self.payload.len()
    }
}

/// One such signal at its place in the user's sequence.
#[derive(Debug)]
pub(crate) struct TextSignal {
    pub(crate) said: SignalText,
    seq: u64,
    frames: Frames,
}

impl TextSignal {
    pub(crate) fn new(seq: u64, said: SignalText) -> TextSignal {
        TextSignal { said, seq, frames: Frames::default() }
    }

    /// The whole frame.
    pub(crate) fn text(&self, codec: &dyn Codec) -> Bytes {
        self.frames.of(codec, || {
            let SignalText { name, payload } = &self.said;
            let mut out = codec.signal_head(name, payload.len());
            out.push_str(payload);
            codec.signal_tail(&mut out, Some(self.seq));
            out
        })
    }
}
