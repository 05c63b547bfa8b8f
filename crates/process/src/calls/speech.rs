//! Service of `ai.transcription.create` and `ai.speech.create`.

#[cfg(test)]
mod tests;

use model::{Cancel, Cause, Failure};
use protocol::ai::{Speak, Speech, Transcribe, Transcription};
use protocol::error::Error;
use protocol::ids::Uid;

use crate::host::Host;
use crate::speech::{speaker, transcriber};

impl Host {
    /// Turns speech into text for a user.
    pub async fn transcribe(&self, uid: Uid, args: Transcribe) -> Result<Transcription, Error> {
        let (client, by) = transcriber(&self.world, uid).await.map_err(unavailable)?;
        client.transcribe(&by, args, &Cancel::new()).await.map_err(failed)
    }

    /// Turns text into speech for a user.
    pub async fn speak(&self, uid: Uid, args: Speak) -> Result<Speech, Error> {
        let (client, by) = speaker(&self.world, uid).await.map_err(unavailable)?;
        client.speak(&by, args, &Cancel::new()).await.map_err(failed)
    }
}

fn unavailable(text: String) -> Error {
    Error::new(503, text)
}

/// A failure as callers see it: their own mistakes are 400, what took too long 504, everything else 503.
fn failed(failure: Failure) -> Error {
    let code = match failure.cause {
        Cause::Request => 400,
        Cause::Timeout => 504,
        _ => 503,
    };
    Error::new(code, failure.message)
}
