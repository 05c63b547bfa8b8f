//! Reconnecting connection of a chat: calls and signals at the same time, over as many sockets as it takes.

use std::collections::VecDeque;
use std::time::Duration;

use base::clock::Clock;
use base::limits;
use client::{Session, Signal, Signals};
use protocol::identity::ConnectionIdentity;
use protocol::ids::Uid;
use protocol::spec::Syscall;
use protocol::sys::ResumeStatus;
use terminal::failure::{Failure, Result};
use terminal::interrupts::Interrupts;
use terminal::output::Output;
use tokio::time::sleep;

/// A connection that is made again when it breaks.
pub struct Gateway<'a> {
    output: &'a Output,
    session: Session,
    signals: Signals,
    /// Signals that came while something else was waited for.
    backlog: VecDeque<Signal>,
    refresh: bool,
    /// Ctrl-C.
    pub interrupts: Interrupts,
    /// Who is logged in.
    pub uid: Uid,
}

/// What came over the line.
#[derive(Debug)]
pub enum Arrived {
    Signal(Signal),
    /// Signals were missed for good: what matters must be read anew.
    Refresh,
    /// Ctrl-C, or the program was told to end.
    Interrupt,
}

impl<'a> Gateway<'a> {
    /// Listens on a session.
    pub async fn open(output: &'a Output, mut session: Session) -> Result<Gateway<'a>> {
        let mut signals = Signals::new();
        let (connected, _) = session.listen(&mut signals).await?;
        let uid = match &connected.identity {
            ConnectionIdentity::User { process, .. }
            | ConnectionIdentity::Driver { process, .. }
            | ConnectionIdentity::Service { process, .. } => process.uid,
        };
        let interrupts = Interrupts::listen_to_all();
        Ok(Gateway { output, session, signals, backlog: VecDeque::new(), refresh: false, interrupts, uid })
    }

    /// Whatever comes next. Connects again when the connection was lost. Safe to cancel.
    pub async fn next(&mut self) -> Result<Arrived> {
        loop {
            if let Some(signal) = self.backlog.pop_front() {
                return Ok(Arrived::Signal(signal));
            }
            if std::mem::take(&mut self.refresh) {
                return Ok(Arrived::Refresh);
            }
            tokio::select! {
                signal = self.signals.next() => match signal {
                    Some(signal) => return Ok(Arrived::Signal(signal)),
                    None => self.reconnect().await?,
                },
                () = self.interrupts.wait() => return Ok(Arrived::Interrupt),
            }
        }
    }

    /// Reads and forgets signals until the program is told to end. A lost connection is left alone: the next call
    /// makes a new one.
    pub async fn idle(&mut self) {
        loop {
            tokio::select! {
                Some(_) = self.signals.next() => {}
                () = self.interrupts.wait() => {
                    if self.interrupts.ending() {
                        return;
                    }
                }
            }
        }
    }

    /// What came before is of no interest.
    pub fn forget(&mut self) {
        self.backlog.clear();
        self.refresh = false;
    }

    /// Signals that were looked at too early come again.
    pub fn put_back(&mut self, signals: Vec<Signal>) {
        for signal in signals.into_iter().rev() {
            self.backlog.push_front(signal);
        }
    }

    /// What was missed must be read anew, later.
    pub fn refresh_later(&mut self) {
        self.refresh = true;
    }

    /// A call that may be made twice: it is repeated when the connection breaks.
    pub async fn ask<S: Syscall>(&mut self, args: &S) -> Result<S::Result> {
        loop {
            match self.call(args, limits::client::CALL_TIMEOUT).await {
                Err(error) if is_loss(&error) && self.session.connection.is_closed() => {}
                Err(error) => return Err(error.into()),
                Ok(result) => return Ok(result),
            }
        }
    }

    /// A call that is made once.
    pub async fn call<S: Syscall>(
        &mut self,
        args: &S,
        limit: Duration,
    ) -> std::result::Result<S::Result, client::Error> {
        self.call_on(None, args, limit).await
    }

    /// The same on a device.
    pub async fn call_on<S: Syscall>(
        &mut self,
        target: Option<&str>,
        args: &S,
        limit: Duration,
    ) -> std::result::Result<S::Result, client::Error> {
        if self.session.connection.is_closed() {
            self.reconnect().await.map_err(|failure| client::Error::Closed(failure.message))?;
        }
        let connection = self.session.connection.clone();
        let call = connection.call_on(target, args, limit);
        tokio::pin!(call);
        loop {
            // Signals are read meanwhile: when too many wait, the answer behind them would not arrive.
            tokio::select! {
                answer = &mut call => return answer,
                Some(signal) = self.signals.next(), if self.backlog.len() < limits::cli::SIGNALS_AHEAD_MAX => {
                    self.backlog.push_back(signal);
                }
            }
        }
    }

    /// Ends the connection politely.
    pub async fn close(&self) {
        self.session.connection.close().await;
    }

    async fn reconnect(&mut self) -> Result<()> {
        let (since, mut pause) = (Clock::system().instant(), limits::cli::LOSS_PAUSE_FIRST);
        self.output.note("the connection to the gateway was lost; trying to go on …");
        loop {
            match self.session.listen(&mut self.signals).await {
                Ok((_, status)) => {
                    self.refresh |= status == ResumeStatus::Refresh;
                    self.output.note("connected again");
                    return Ok(());
                }
                Err(error)
                    if is_loss(&error)
                        && Clock::system().instant().saturating_duration_since(since)
                            < limits::cli::LOSS_MAX => {}
                Err(error) => {
                    return Err(Failure::from(error)
                        .with_hint("the agent goes on without you; `gsv proc history` shows what it said"));
                }
            }
            tokio::select! {
                () = sleep(pause) => {}
                () = self.interrupts.wait() => return Err(self.interrupts.failure()),
            }
            pause = (pause * 2).min(limits::cli::LOSS_PAUSE_MAX);
        }
    }
}

/// Whether the same call may work in a moment.
pub fn is_loss(error: &client::Error) -> bool {
    match error {
        client::Error::Unreachable { .. } | client::Error::Closed(_) | client::Error::Timeout { .. } => true,
        client::Error::Gateway(error) => matches!(error.code, 429 | 503 | 504),
        client::Error::Untrusted { .. } | client::Error::Decode { .. } => false,
    }
}
