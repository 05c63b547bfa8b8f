//! Polling client of a shell session: runs a command on a target to its end, hands out its output as it comes, forwards
//! stdin and Ctrl-C, and goes on after the gateway was away. `gsv run` and `gsv shell` are built on it.

use base::limits;
use client::Session;
use protocol::error::Reason;
use protocol::shell::{Exec, ExecResult, Status};
use terminal::failure::{Failure, Result};

use crate::context::Context;

mod follower;
pub mod stdin;
mod stream;

pub use follower::ensure_connected;
use follower::{Follower, Outage, Sink};
use stdin::Stdin;
use stream::Stream;
use terminal::interrupts::Interrupts;

/// A command to run.
pub struct Command {
    /// Where; the gateway itself when absent.
    pub target: Option<String>,
    /// Shell text.
    pub text: String,
    /// In which directory.
    pub cwd: Option<String>,
    /// Ended after this long.
    pub timeout_ms: Option<u64>,
}

/// How a command ended.
#[derive(Debug)]
pub struct Ended {
    /// The command's own exit code.
    pub code: u8,
    /// Why, where the exit code does not say it all.
    pub why: Option<String>,
    /// Where it ran.
    pub cwd: Option<String>,
    /// Whether output was dropped before it could be read.
    pub truncated: bool,
}

impl Ended {
    /// What the program exits with when it passes this on: lost output is a failure.
    pub fn exit(&self) -> u8 {
        if self.truncated { self.code.max(1) } else { self.code }
    }
}

/// Starts a command and does not wait for it: the session's id, or how it ended already.
pub async fn start(session: &Session, command: &Command) -> Result<ExecResult> {
    let exec = Exec { background: Some(true), ..first_call(command) };
    Ok(session.connection.call_on(command.target.as_deref(), &exec, limits::client::CALL_TIMEOUT).await?)
}

/// Runs a command to its end. `sink` gets the output.
pub async fn follow(
    context: &Context,
    session: &mut Session,
    command: &Command,
    stdin: &mut Stdin,
    interrupts: &mut Interrupts,
    sink: &mut Sink<'_>,
) -> Result<Ended> {
    let target = command.target.as_deref();
    let close_stdin = (!stdin.is_open()).then_some(true);
    let call = Exec { close_stdin, ..first_call(command) };
    let first = session.connection.call_on(target, &call, limits::client::CALL_TIMEOUT);
    let Some(first) = unless_interrupted(first, interrupts).await else {
        return Err(interrupts.failure().with_hint("the command may have been started"));
    };
    let result = first.map_err(|error| {
        let started = may_have_started(&error);
        let failure = Failure::from(error);
        if started {
            failure.with_hint("the command may have been started: look before running it again")
        } else {
            failure
        }
    })?;
    let mut stream = Stream::default();
    let written = sink(stream.take(&result));
    if result.status != Status::Running {
        if let Some(warning) = stream.warning() {
            context.output.note(&warning);
        }
        return written.map(|()| ended(&result, &stream));
    }
    let Some(id) = result.session_id.clone() else {
        return Err(Failure::new("the command runs on, but the target did not say how to follow it"));
    };
    let loss = Outage::default();
    let mut follower =
        Follower { context, session, id, stream, interrupts, stdin, full: false, loss, killed: None };
    let outcome = match written {
        Ok(()) => follower.follow(sink).await,
        Err(failure) => Err(Failure { ends_command: true, ..failure }),
    };
    let ending = follower.interrupts.ending();
    if outcome.as_ref().is_err_and(|failure| ending || failure.silent || failure.ends_command) {
        follower.end_quietly().await;
    }
    outcome
}

/// Waits for an answer. A first Ctrl-C is for the command and waits its turn; with a second one the person has
/// no patience left, and there is no answer. When the program is told to end, the answer is waited for a little:
/// without it the command cannot be ended.
async fn unless_interrupted<T>(call: impl Future<Output = T>, interrupts: &mut Interrupts) -> Option<T> {
    tokio::pin!(call);
    loop {
        tokio::select! {
            answer = &mut call => return Some(answer),
            () = interrupts.wait(), if interrupts.unsent() < 2 => {}
        }
        if interrupts.ending() {
            return tokio::time::timeout(limits::cli::END_TIMEOUT, call).await.ok();
        }
        if interrupts.unsent() >= 2 {
            return None;
        }
    }
}

fn first_call(command: &Command) -> Exec {
    Exec {
        input: command.text.clone(),
        cwd: command.cwd.clone(),
        yield_ms: Some(limits::cli::FIRST_WAIT_MS),
        timeout: Some(command.timeout_ms.unwrap_or(limits::shell::TIMEOUT_MAX_MS)),
        ..Exec::default()
    }
}

/// Whether the same call may work in a moment: the gateway or the device is away.
fn is_loss(error: &client::Error) -> bool {
    match error {
        client::Error::Unreachable { .. } | client::Error::Closed(_) | client::Error::Timeout { .. } => true,
        client::Error::Gateway(error) => matches!(error.code, 429 | 503 | 504),
        client::Error::Untrusted { .. } | client::Error::Decode { .. } => false,
    }
}

/// Whether a failed call that starts a command may have started it all the same.
fn may_have_started(error: &client::Error) -> bool {
    match error {
        client::Error::Gateway(error) => error.reason == Reason::device_disconnected || error.code == 504,
        client::Error::Decode { .. } | client::Error::Closed(_) | client::Error::Timeout { .. } => true,
        client::Error::Unreachable { .. } | client::Error::Untrusted { .. } => false,
    }
}

fn ended(result: &ExecResult, stream: &Stream) -> Ended {
    let by_signal =
        result.signal.as_deref().and_then(|signal| signal.trim_start_matches("SIG").parse::<u8>().ok());
    let code = match (result.exit_code, by_signal) {
        (Some(code), _) => u8::try_from(code & 0xff).unwrap_or(1),
        (None, Some(signal)) => 128u8.saturating_add(signal),
        (None, None) => u8::from(result.status == Status::Failed),
    };
    // An exit code speaks for itself.
    let why = if result.timed_out == Some(true) {
        Some("the command was ended by its time limit".to_string())
    } else if result.exit_code.is_none() {
        result.error.clone()
    } else {
        None
    };
    Ended { code, why, cwd: result.cwd.clone(), truncated: stream.dropped() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(json: &str) -> Ended {
        super::ended(&serde_json::from_str(json).unwrap(), &Stream::default())
    }

    #[test]
    fn lost_output_is_a_failure() {
        let done = ended(r#"{"ok":true,"status":"completed","output":"","exitCode":0}"#);
        assert_eq!((done.exit(), Ended { truncated: true, ..done }.exit()), (0, 1));
        let failed = ended(r#"{"ok":true,"status":"failed","output":"","exitCode":7}"#);
        assert_eq!(Ended { truncated: true, ..failed }.exit(), 7);
    }

    #[test]
    fn it_is_known_when_a_command_may_have_started() {
        use protocol::error::Error;
        let gateway = |error: Error| may_have_started(&client::Error::Gateway(error));
        assert!(gateway(Error::device_disconnected("desk")));
        assert!(gateway(Error::route_timeout("shell.exec", "desk")));
        assert!(!gateway(Error::device_offline("desk")) && !gateway(Error::no_connection("desk")));
        assert!(!gateway(Error::stopping()));
    }

    #[test]
    fn exit_codes_and_signals_are_passed_on() {
        let exit = ended(r#"{"ok":true,"status":"failed","output":"","exitCode":7,"error":"x"}"#);
        assert_eq!((exit.code, exit.why), (7, None));
        let signal = ended(r#"{"ok":true,"status":"failed","output":"","signal":"SIG15","error":"x"}"#);
        assert_eq!((signal.code, signal.why.as_deref()), (143, Some("x")));
        let done = ended(r#"{"ok":true,"status":"completed","output":""}"#);
        assert_eq!((done.code, done.why), (0, None));
        let late = ended(r#"{"ok":true,"status":"failed","output":"","signal":"SIG9","timedOut":true}"#);
        assert_eq!((late.code, late.why.is_some()), (137, true));
    }
}
