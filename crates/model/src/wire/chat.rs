//! Codec of OpenAI's Chat Completions, as many servers speak it; see `encode.rs` and `reader.rs`.

pub(super) mod encode;
mod reader;

use super::{Decoder, Wire};
use crate::failure::Failure;
use crate::http::Call;
use crate::message::Request;
use crate::provider::Endpoint;

/// Its name in messages.
const API: &str = "openai-completions";

pub(crate) struct Chat {
    /// With OpenRouter's additions.
    openrouter: bool,
}

impl Chat {
    pub(crate) const PLAIN: Chat = Chat { openrouter: false };
    pub(crate) const OPENROUTER: Chat = Chat { openrouter: true };
}

impl Wire for Chat {
    fn api(&self) -> &'static str {
        API
    }

    fn call(&self, request: &Request, endpoint: &Endpoint) -> Result<Call, Failure> {
        encode::call(request, endpoint, self.openrouter)
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::<reader::Reader>::default()
    }
}
