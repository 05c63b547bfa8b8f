//! Rule-based stand-in for a model, the `demo` provider: a small fixed interpreter of plain requests, so that a
//! newcomer without a key sees the whole loop: streaming, a tool call on a device, an approval, the result.

mod interpret;
mod summary;

use std::time::Duration;

use base::clock::Clock;
use protocol::signal::stream::DoneReason;

use crate::cancel::Cancel;
use crate::draft::{Output, Step};
use crate::failure::Failure;
use crate::message::{Message, Request, words};
use crate::models::Tokens;
use crate::provider::Provider;
use crate::repair::repair;
use crate::stream::{EventStream, Sink};
use interpret::{Action, interpret};

/// The pause between two words, so that one sees them come.
const PACE: Duration = Duration::from_millis(15);

/// The `demo` provider.
#[derive(Clone, Debug)]
pub struct Demo {
    clock: Clock,
    pace: Duration,
}

impl Demo {
    /// A demo that speaks as fast as a model.
    pub fn new(clock: Clock) -> Demo {
        Demo { clock, pace: PACE }
    }

    /// A demo that pauses this long between two words.
    pub fn with_pace(clock: Clock, pace: Duration) -> Demo {
        Demo { clock, pace }
    }
}

impl Provider for Demo {
    fn stream(&self, mut request: Request, cancel: Cancel) -> EventStream {
        request.messages = repair(std::mem::take(&mut request.messages), &request.model);
        let reply = reply(&request);
        let tokens = Tokens { input: estimate(&request), output: reply.tokens(), ..Tokens::default() };
        let pace = self.pace;
        EventStream::over(&request, "demo", self.clock.now_ms(), cancel, move |sink| async move {
            speak(reply, tokens, pace, &sink).await
        })
    }
}

/// What the demo answers: words, and perhaps a tool call.
#[derive(Debug, PartialEq)]
struct Reply {
    text: String,
    call: Option<(&'static str, String)>,
}

impl Reply {
    fn tokens(&self) -> u64 {
        let call = self.call.as_ref().map_or(0, |(_, json)| json.len());
        (self.text.len() + call).div_ceil(4) as u64
    }
}

fn reply(request: &Request) -> Reply {
    let results = summary::last_results(&request.messages);
    if !results.is_empty() {
        return Reply { text: summary::summarise(&results), call: None };
    }
    let asked = request.messages.iter().rev().find_map(|message| match message {
        Message::User { content } => Some(words(content)),
        _ => None,
    });
    match interpret(asked.as_deref().unwrap_or_default()) {
        Action::Explain => Reply { text: interpret::EXPLANATION.to_owned(), call: None },
        Action::Call { tool, arguments, intro } => {
            if request.tools.iter().any(|offered| offered.name == tool) {
                return Reply { text: intro, call: Some((tool, arguments.to_string())) };
            }
            let text = format!("That needs the tool `{tool}`, which this process may not use.");
            Reply { text, call: None }
        }
    }
}

/// Four bytes are about a token.
fn estimate(request: &Request) -> u64 {
    let said = request.messages.iter().map(|message| match message {
        Message::User { content } => words(content).len(),
        Message::ToolResult(result) => words(&result.content).len(),
        Message::Assistant(answer) => answer.usage.output as usize * 4,
    });
    (request.system.len() + said.sum::<usize>()).div_ceil(4) as u64
}

async fn speak(reply: Reply, tokens: Tokens, pace: Duration, sink: &Sink) -> Result<(), Failure> {
    let mut out = Output::default();
    let block = out.open_text()?;
    for word in reply.text.split_inclusive([' ', '\n']) {
        out.append(block, word);
        pass(sink, out.take(), pace).await?;
    }
    out.close(block);
    let reason = match reply.call {
        None => DoneReason::Stop,
        Some((tool, json)) => {
            let block = out.open_tool("", tool)?;
            for piece in json.split_inclusive([',', ' ']) {
                out.append(block, piece);
                pass(sink, out.take(), pace).await?;
            }
            out.close(block);
            DoneReason::ToolUse
        }
    };
    out.count(tokens);
    out.done(reason);
    pass(sink, out.take(), Duration::ZERO).await
}

/// Passes steps on and waits a moment.
pub(crate) async fn pass(sink: &Sink, steps: Vec<Step>, pause: Duration) -> Result<(), Failure> {
    if sink.send(steps).await.is_err() {
        return Err(Failure::aborted());
    }
    if !pause.is_zero() {
        tokio::time::sleep(pause).await;
    }
    Ok(())
}
