//! Network provider with retries and backoff: sends a request, reads the answer, tries again while nothing was heard.

use std::time::Duration;

use crate::cancel::Cancel;
use crate::draft::{Output, Step};
use crate::failure::{Failure, Retry};
use crate::http::{Call, Client, lost, presentable};
use crate::message::Request;
use crate::provider::{Endpoint, Provider};
use crate::repair::repair;
use crate::sse::Splitter;
use crate::stream::{EventStream, Sink};
use crate::wire::{Decoder, Wire};

pub(super) struct Remote {
    client: Client,
    endpoint: Endpoint,
    wire: &'static dyn Wire,
}

impl Remote {
    pub fn new(client: Client, endpoint: Endpoint, wire: &'static dyn Wire) -> Remote {
        Remote { client, endpoint, wire }
    }
}

impl Provider for Remote {
    fn stream(&self, mut request: Request, cancel: Cancel) -> EventStream {
        request.messages = repair(std::mem::take(&mut request.messages), &request.model);
        let call = self.wire.call(&request, &self.endpoint);
        let (client, wire, endpoint) = (self.client.clone(), self.wire, self.endpoint.clone());
        let now_ms = self.client.clock.now_ms();
        EventStream::over(&request, wire.api(), now_ms, cancel, move |sink| async move {
            let generated = match call {
                Ok(call) => generate(&client, wire, &call, &sink).await,
                Err(failure) => Err(failure),
            };
            generated.map_err(|failure| endpoint.hinted(failure))
        })
    }
}

/// Asks until something was heard, or asking again is of no use.
async fn generate(client: &Client, wire: &dyn Wire, call: &Call, sink: &Sink) -> Result<(), Failure> {
    let mut attempt = 1;
    loop {
        let mut output = Output::default();
        let Err(failure) = answer(client, wire, call, sink, &mut output).await else { return Ok(()) };
        let pause = pause(client, attempt, failure.retry).filter(|_| !output.is_started());
        let Some(pause) = pause else { return Err(failure) };
        tracing::info!(attempt, cause = ?failure.cause, pause_ms = pause.as_millis() as u64, "asking the model again");
        tokio::time::sleep(pause).await;
        attempt += 1;
    }
}

/// How long to wait before asking again; `None` when it is of no use.
fn pause(client: &Client, attempt: u32, retry: Retry) -> Option<Duration> {
    let limits = &client.limits;
    if attempt >= limits.attempts_max {
        return None;
    }
    let usual = limits.retry_pause_first.saturating_mul(1 << (attempt - 1).min(16));
    match retry {
        Retry::Never => None,
        Retry::After(asked) if asked > limits.retry_after_max => None,
        Retry::After(asked) if asked > usual => Some(asked),
        Retry::After(_) | Retry::Soon => {
            // Up to half is left to chance, so that many who failed together do not come back together.
            let chance_us = base::random::below(usual.as_micros() as u64 / 2 + 1);
            Some(usual / 2 + Duration::from_micros(chance_us))
        }
    }
}

/// One attempt: the request, and the answer event by event.
async fn answer(
    client: &Client,
    wire: &dyn Wire,
    call: &Call,
    sink: &Sink,
    output: &mut Output,
) -> Result<(), Failure> {
    let mut body = client.send(call).await?;
    let mut splitter = Splitter::new(wire.framing());
    let mut decoder = wire.decoder();
    let mut texts = Vec::new();
    let mut over = false;
    while !over {
        match body.next().await.map_err(|error| lost(&error))? {
            Some(piece) => splitter.feed(&piece, &mut texts)?,
            None => {
                splitter.finish(&mut texts);
                over = true;
            }
        }
        let decoded = decode(decoder.as_mut(), &mut texts, over, output);
        let steps = output.take();
        if output.is_ended() {
            // Whoever hears the last event drops everything here, so the rest is read elsewhere.
            body.drain();
            return pass(sink, steps).await;
        }
        // What came before a failure was said all the same.
        pass(sink, steps).await?;
        decoded.map_err(|failure| scrubbed(failure, call))?;
    }
    Err(Failure::broken_off())
}

async fn pass(sink: &Sink, steps: Vec<Step>) -> Result<(), Failure> {
    if !steps.is_empty() && sink.send(steps).await.is_err() {
        return Err(Failure::aborted());
    }
    Ok(())
}

fn decode(
    decoder: &mut dyn Decoder,
    texts: &mut Vec<String>,
    over: bool,
    output: &mut Output,
) -> Result<(), Failure> {
    for text in texts.drain(..) {
        if output.is_ended() {
            return Ok(());
        }
        decoder.decode(&text, output)?;
    }
    if over && !output.is_ended() { decoder.finish(output) } else { Ok(()) }
}

/// Errors inside a stream are the provider's own words too.
fn scrubbed(failure: Failure, call: &Call) -> Failure {
    Failure { message: presentable(&failure.message, call.key.as_ref()), ..failure }
}
