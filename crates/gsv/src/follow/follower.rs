//! Poll loop of a running command: output, input, signals, and retries with a growing pause while the gateway is away.

use std::time::{Duration, Instant};

use base::clock::Clock;
use base::limits;
use client::Session;
use protocol::shell::{Exec, ExecResult, Status};
use terminal::failure::{Failure, Result};
use terminal::interrupts::{Interrupts, KILL};
use tokio::time::{sleep, timeout_at};

use super::stdin::{Chunk, Stdin};
use super::stream::Stream;
use super::{Ended, ended, is_loss, unless_interrupted};
use crate::context::Context;

/// Where output goes.
pub type Sink<'a> = dyn FnMut(&str) -> Result<()> + Send + 'a;

/// Follows one running command.
pub struct Follower<'a> {
    /// Where to tell about losses.
    pub context: &'a Context,
    /// The connection.
    pub session: &'a mut Session,
    /// The command's session.
    pub id: String,
    /// What was shown so far.
    pub stream: Stream,
    /// Ctrl-C.
    pub interrupts: &'a mut Interrupts,
    /// The command's input.
    pub stdin: &'a mut Stdin,
    /// The last input was refused for want of room.
    pub full: bool,
    /// Whether the gateway is away.
    pub loss: Outage,
    /// Until when a command that was told to be killed is waited for.
    pub killed: Option<Instant>,
}

/// Why the session is spoken to. Only input cannot be said twice.
#[derive(Clone, Copy, PartialEq)]
enum Purpose {
    Poll,
    Signal,
    Input,
    Close,
}

/// Since when the gateway or the device is away, if so.
#[derive(Default)]
pub struct Outage {
    since: Option<Instant>,
    pause: Duration,
}

impl Outage {
    /// Notes a failed attempt and gives the pause before the next; `None` when it has been too long.
    fn next_pause(&mut self) -> Option<Duration> {
        match self.since {
            None => {
                (self.since, self.pause) = (Some(Clock::system().instant()), limits::cli::LOSS_PAUSE_FIRST)
            }
            Some(since)
                if Clock::system().instant().saturating_duration_since(since) > limits::cli::LOSS_MAX =>
            {
                return None;
            }
            Some(_) => self.pause = (self.pause * 2).min(limits::cli::LOSS_PAUSE_MAX),
        }
        Some(self.pause)
    }
}

/// Connects again if the connection was lost while nothing ran; tries as long as a followed command would.
pub async fn ensure_connected(
    context: &Context,
    session: &mut Session,
    interrupts: &mut Interrupts,
) -> Result<()> {
    let mut loss = Outage::default();
    while session.connection.is_closed() {
        let Err(error) = session.reconnect().await else { break };
        let first = loss.since.is_none();
        let pause = if is_loss(&error) { loss.next_pause() } else { None };
        let Some(pause) = pause else { return Err(error.into()) };
        if first {
            context.output.note(&format!("{}; trying again …", Failure::from(error).message));
        }
        tokio::select! {
            () = sleep(pause) => {}
            () = interrupts.wait() => return Err(interrupts.failure()),
        }
    }
    Ok(())
}

impl Follower<'_> {
    /// Goes on until the command ends.
    pub async fn follow(&mut self, sink: &mut Sink<'_>) -> Result<Ended> {
        loop {
            if self.interrupts.ending() {
                return Err(self.interrupts.failure());
            }
            let (exec, purpose) = self.next_call()?;
            let asked = Clock::system().instant();
            let call = self.session.connection.call_on(None, &exec, limits::client::CALL_TIMEOUT);
            let answer = match self.killed {
                // Drivers of other clients do not know signals, and the person has asked twice.
                Some(until) => {
                    timeout_at(until.into(), unless_interrupted(call, self.interrupts)).await.unwrap_or(None)
                }
                None => unless_interrupted(call, self.interrupts).await,
            };
            let Some(answer) = answer else {
                return Err(self.interrupts.failure().with_hint(self.goes_on()));
            };
            match answer {
                Ok(result) => {
                    let quiet = self.show(&result, sink)?;
                    if result.status != Status::Running {
                        return Ok(ended(&result, &self.stream));
                    }
                    if quiet && purpose == Purpose::Poll {
                        sleep(
                            limits::cli::IDLE_PAUSE
                                .saturating_sub(Clock::system().instant().saturating_duration_since(asked)),
                        )
                        .await;
                    }
                }
                Err(error) => self.handle(error, exec, purpose).await?,
            }
        }
    }

    /// Shows what an answer brings; true when that is nothing.
    fn show(&mut self, result: &ExecResult, sink: &mut Sink<'_>) -> Result<bool> {
        if self.loss.since.is_some() {
            self.loss = Outage::default();
            self.context.output.note("connected again");
        }
        let text = self.stream.take(result);
        // A command whose output nobody can see must not go on unseen.
        sink(text).map_err(|failure| Failure { ends_command: true, ..failure })?;
        let quiet = text.is_empty();
        if let Some(warning) = self.stream.warning() {
            self.context.output.note(&warning);
        }
        Ok(quiet)
    }

    async fn handle(&mut self, error: client::Error, exec: Exec, purpose: Purpose) -> Result<()> {
        match (&error, purpose) {
            // The command does not read as fast as we write: it gets time, and its output is looked at.
            (client::Error::Gateway(answer), Purpose::Input) if answer.code == 429 => {
                self.stdin.put_back(exec.input);
                self.full = true;
                sleep(limits::cli::IDLE_PAUSE).await;
                Ok(())
            }
            (_, Purpose::Input) if is_loss(&error) => {
                let hint = format!("input was being sent and may be incomplete; {}", self.goes_on());
                Err(Failure::from(error).with_hint(hint))
            }
            _ if is_loss(&error) => {
                match purpose {
                    Purpose::Signal => self.interrupts.send_again(),
                    Purpose::Close => self.stdin.end_again(),
                    Purpose::Poll | Purpose::Input => {}
                }
                self.lost(error).await
            }
            // A command that just ended takes no input and no signal; the next poll says how it ended.
            (client::Error::Gateway(answer), Purpose::Input | Purpose::Close | Purpose::Signal)
                if answer.code != 404 =>
            {
                self.stdin.stop();
                Ok(())
            }
            _ => Err(Failure::from(error).while_doing(format!("session {}", self.id))),
        }
    }

    fn next_call(&mut self) -> Result<(Exec, Purpose)> {
        let soon = Some(limits::cli::FIRST_WAIT_MS);
        let exec = Exec { session_id: Some(self.id.clone()), yield_ms: soon, ..Exec::default() };
        if let Some(signal) = self.interrupts.next_signal() {
            if signal == KILL {
                self.killed.get_or_insert_with(|| Clock::system().instant() + limits::cli::END_TIMEOUT);
            }
            return Ok((Exec { signal: Some(signal.to_string()), ..exec }, Purpose::Signal));
        }
        if std::mem::take(&mut self.full) {
            return Ok((exec, Purpose::Poll));
        }
        Ok(match self.stdin.next() {
            Chunk::Text(input) => (Exec { input, background: Some(true), ..exec }, Purpose::Input),
            Chunk::End => (Exec { close_stdin: Some(true), ..exec }, Purpose::Close),
            Chunk::Later => (exec, Purpose::Poll),
            Chunk::Never => (Exec { yield_ms: Some(limits::cli::POLL_WAIT_MS), ..exec }, Purpose::Poll),
            Chunk::Broken(why) => {
                let failure = Failure::new(format!("stdin: {why}; the command was ended"));
                return Err(Failure { ends_command: true, ..failure }
                    .with_hint("calls carry text; `gsv cp` copies any bytes"));
            }
        })
    }

    /// Waits a little and connects again where that is needed; gives up after `limits::cli::LOSS_MAX`.
    async fn lost(&mut self, error: client::Error) -> Result<()> {
        self.stream.answer_lost();
        let first = self.loss.since.is_none();
        let Some(pause) = self.loss.next_pause() else {
            return Err(Failure::from(error).with_hint(self.goes_on()));
        };
        // A gateway that does not answer may have gone without a word.
        let gone = self.session.connection.is_closed() || matches!(error, client::Error::Timeout { .. });
        if first {
            self.context.output.note(&format!("{}; trying to go on …", Failure::from(error).message));
        }
        tokio::select! {
            () = sleep(pause) => {}
            () = self.interrupts.wait() => {
                return Err(self.interrupts.failure().with_hint(self.goes_on()));
            }
        }
        match if gone { self.session.reconnect().await } else { Ok(()) } {
            Err(error) if !is_loss(&error) => Err(Failure::from(error).while_doing("connecting again")),
            _ => Ok(()),
        }
    }

    fn goes_on(&self) -> String {
        let id = &self.id;
        format!(
            "the command may go on; `gsv call shell.exec --session-id {id} --input ''` asks how it stands"
        )
    }

    /// Ends the command because nobody reads its output any more, or because its input cannot be sent; a local
    /// one would be ended in the same way.
    pub async fn end_quietly(&mut self) {
        let signal = Some("TERM".to_string());
        let exec = Exec {
            session_id: Some(self.id.clone()),
            signal,
            yield_ms: Some(limits::cli::FIRST_WAIT_MS),
            ..Exec::default()
        };
        let sent = self.session.connection.call_on(None, &exec, limits::cli::END_TIMEOUT).await;
        if let Err(error) = sent {
            tracing::debug!("the command was not ended: {error}");
        }
    }
}
