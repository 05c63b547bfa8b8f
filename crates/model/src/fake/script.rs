//! Scripted provider: turns that are played as if a model had thought of them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base::clock::Clock;
use base::sync::lock;
use protocol::signal::stream::DoneReason;
use serde_json::Value;
use tokio::sync::Notify;

use crate::cancel::Cancel;
use crate::demo::pass;
use crate::draft::Output;
use crate::failure::{Cause, Failure};
use crate::message::Request;
use crate::models::Tokens;
use crate::provider::Provider;
use crate::repair::repair;
use crate::stream::{EventStream, Sink};

/// One answer of a model.
#[derive(Clone, Debug, Default)]
pub struct Turn {
    pub(super) pieces: Vec<Piece>,
    pub(super) tokens: (u64, u64),
    pub(super) cut: bool,
}

/// A piece of an answer.
#[derive(Clone, Debug)]
pub enum Piece {
    /// Text, one delta for each of the texts.
    Text(Vec<String>),
    /// Thoughts, one delta for each of the texts.
    Thinking(Vec<String>),
    /// A tool call with the JSON of its arguments, which may be broken.
    Tool {
        id: String,
        /// The tool.
        name: String,
        /// The JSON.
        arguments: String,
    },
    /// Nothing for a while.
    Pause(Duration),
    /// Nothing until somebody notifies.
    Gate(Arc<Notify>),
    /// The answer breaks off with these words.
    Fail(String),
    /// Nothing, ever.
    Hang,
}

impl Turn {
    /// A turn that says nothing yet.
    pub fn new() -> Turn {
        Turn::default()
    }

    /// A turn that says `text`, a word at a time.
    pub fn text(text: &str) -> Turn {
        Turn::new().say(text)
    }

    /// A turn that makes one tool call.
    pub fn tool(id: &str, name: &str, arguments: Value) -> Turn {
        Turn::new().call(id, name, arguments)
    }

    /// Adds words.
    pub fn say(self, text: &str) -> Turn {
        self.piece(Piece::Text(pieces(text)))
    }

    /// Adds thoughts.
    pub fn think(self, text: &str) -> Turn {
        self.piece(Piece::Thinking(pieces(text)))
    }

    /// Adds a tool call.
    pub fn call(self, id: &str, name: &str, arguments: Value) -> Turn {
        self.call_raw(id, name, &arguments.to_string())
    }

    /// Adds a tool call whose arguments are any text.
    pub fn call_raw(self, id: &str, name: &str, arguments: &str) -> Turn {
        let (id, name, arguments) = (id.to_owned(), name.to_owned(), arguments.to_owned());
        self.piece(Piece::Tool { id, name, arguments })
    }

    /// Adds a failure.
    pub fn fail(self, message: &str) -> Turn {
        self.piece(Piece::Fail(message.to_owned()))
    }

    /// Adds any piece.
    pub fn piece(mut self, piece: Piece) -> Turn {
        self.pieces.push(piece);
        self
    }

    /// Says how many tokens were read and written.
    pub fn tokens(mut self, input: u64, output: u64) -> Turn {
        self.tokens = (input, output);
        self
    }

    /// Ends the turn because it is as long as it may be.
    pub fn cut(mut self) -> Turn {
        self.cut = true;
        self
    }

    pub(super) fn has_tool(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, Piece::Tool { .. }))
    }
}

fn pieces(text: &str) -> Vec<String> {
    text.split_inclusive(' ').map(str::to_owned).collect()
}

type Answers = dyn Fn(&Request) -> Turn + Send + Sync;

/// A provider in process that plays turns and remembers what it was asked.
#[derive(Clone)]
pub struct Script {
    clock: Clock,
    answers: Arc<Answers>,
    asked: Arc<Mutex<Vec<Request>>>,
    keeps: bool,
}

impl Script {
    /// Plays the turns one after the other; after the last it fails with `The script has ended`.
    pub fn new(turns: impl IntoIterator<Item = Turn>) -> Script {
        let turns = Mutex::new(turns.into_iter().collect::<VecDeque<_>>());
        let next = move |_: &Request| {
            let next = lock(&turns).pop_front();
            next.unwrap_or_else(|| Turn::new().fail("The script has ended"))
        };
        Script { keeps: true, ..Script::answering(next) }
    }

    /// Answers each request with what `answers` makes of it, and remembers none of them.
    pub fn answering(answers: impl Fn(&Request) -> Turn + Send + Sync + 'static) -> Script {
        let asked = Arc::new(Mutex::new(Vec::new()));
        Script { clock: Clock::system(), answers: Arc::new(answers), asked, keeps: false }
    }

    /// With another clock.
    pub fn with_clock(self, clock: Clock) -> Script {
        Script { clock, ..self }
    }

    /// What it was asked, oldest first, each with its repaired messages.
    pub fn requests(&self) -> Vec<Request> {
        lock(&self.asked).clone()
    }
}

impl Provider for Script {
    fn stream(&self, mut request: Request, cancel: Cancel) -> EventStream {
        request.messages = repair(std::mem::take(&mut request.messages), &request.model);
        let turn = (self.answers)(&request);
        if self.keeps {
            lock(&self.asked).push(request.clone());
        }
        EventStream::over(&request, "script", self.clock.now_ms(), cancel, move |sink| async move {
            play(turn, &sink).await
        })
    }
}

async fn play(turn: Turn, sink: &Sink) -> Result<(), Failure> {
    let reason = match (turn.cut, turn.has_tool()) {
        (true, _) => DoneReason::Length,
        (false, true) => DoneReason::ToolUse,
        (false, false) => DoneReason::Stop,
    };
    let mut out = Output::default();
    for piece in turn.pieces {
        match piece {
            Piece::Text(deltas) => {
                let block = out.open_text()?;
                deltas.iter().for_each(|delta| out.append(block, delta));
                out.close(block);
            }
            Piece::Thinking(deltas) => {
                let block = out.open_thinking()?;
                deltas.iter().for_each(|delta| out.append(block, delta));
                out.close(block);
            }
            Piece::Tool { id, name, arguments } => {
                let block = out.open_tool(&id, &name)?;
                out.append(block, &arguments);
                out.close(block);
            }
            Piece::Pause(pause) => pass(sink, out.take(), pause).await?,
            Piece::Gate(gate) => {
                pass(sink, out.take(), Duration::ZERO).await?;
                gate.notified().await;
            }
            Piece::Fail(message) => {
                pass(sink, out.take(), Duration::ZERO).await?;
                return Err(Failure::new(Cause::Provider, message));
            }
            Piece::Hang => {
                pass(sink, out.take(), Duration::ZERO).await?;
                std::future::pending::<()>().await;
            }
        }
    }
    out.count(Tokens { input: turn.tokens.0, output: turn.tokens.1, ..Tokens::default() });
    out.done(reason);
    pass(sink, out.take(), Duration::ZERO).await
}
