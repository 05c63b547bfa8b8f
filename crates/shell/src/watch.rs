//! Watchdog of one command: its time, its CPU, its memory, and whether it ends when it is told to.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use base::clock::Clock;
use base::limits;
use base::sync::lock;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::sleep;

use crate::cancellation::StopReason;
use crate::engine;
use crate::memory::Share;
use crate::pool::{GiveUpOutcome, Pool};
use crate::running::Running;

/// What is needed to look after a command.
pub(crate) struct Watch {
    pub(crate) running: Arc<Running>,
    pub(crate) pool: Pool,
    /// What the pool calls it.
    pub(crate) ticket: u64,
    /// Where commands go that are given up.
    pub(crate) lost: Arc<Mutex<Vec<Arc<Running>>>>,
    pub(crate) time_ms: u64,
}

impl Watch {
    /// Until it has ended or is given up.
    pub(crate) async fn until(self, mut ended: oneshot::Receiver<()>) {
        let mut memory = Share::of(&self.running.cancellation);
        let deadline = Clock::system().instant() + Duration::from_millis(self.time_ms);
        loop {
            tokio::select! {
                biased;
                // The thread lets go of its end when the command has ended, by a panic too.
                _ = &mut ended => return self.has_left(),
                () = sleep(limits::native_shell::TICK) => {}
            }
            let cancellation = &self.running.cancellation;
            if Clock::system().instant() >= deadline {
                cancellation.cancel(StopReason::Time(self.time_ms));
            } else if cancellation.busy_for() > limits::native_shell::CPU {
                cancellation.cancel(StopReason::Cpu);
            } else if memory.is_too_much() {
                cancellation.cancel(StopReason::Memory);
            }
            let Some((why, since)) = cancellation.cancelled() else { continue };
            if Clock::system().instant().saturating_duration_since(since) < limits::native_shell::GRACE {
                continue;
            }
            return self.give_up(why);
        }
    }

    /// The command does not end: its callers need not wait for it.
    fn give_up(&self, why: StopReason) {
        let let_go = || {
            self.running.cancellation.lower_priority();
            lock(&self.lost).push(self.running.clone());
        };
        // One that has ended in this moment has said itself how; to be told so twice does nothing.
        if self.pool.give_up(self.ticket, &Handle::current(), let_go) != GiveUpOutcome::Ended {
            let end = why.end();
            engine::complain(&self.running.session, end.error.as_deref());
            self.running.session.finish(end);
        } else {
            self.has_left();
        }
    }

    /// A command whose thread has left without a word has failed with the interpreter.
    fn has_left(&self) {
        if let Some((why, _)) = self.running.cancellation.cancelled() {
            return self.running.session.finish(why.end());
        }
        let error = Some("Command failed: the interpreter failed".to_string());
        self.running.session.finish(session::End { exit_code: Some(1), error, ..Default::default() });
    }
}
