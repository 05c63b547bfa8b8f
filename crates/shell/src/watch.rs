//! Looks after one command from outside: its time, its CPU, and whether it ends when it is told to.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base::limits;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

use crate::engine;
use crate::leash::Why;
use crate::pool::Pool;
use crate::shells::Running;

/// What is needed to look after a command.
pub(crate) struct Watch {
    pub(crate) running: Arc<Running>,
    pub(crate) pool: Pool,
    /// Where commands go that are given up.
    pub(crate) lost: Arc<Mutex<Vec<Arc<Running>>>>,
    pub(crate) time_ms: u64,
}

impl Watch {
    /// Until it has ended or is given up. `seat` says on which thread it runs, once it does.
    pub(crate) async fn until(self, mut seat: oneshot::Receiver<u64>, mut ended: oneshot::Receiver<()>) {
        let deadline = Instant::now() + Duration::from_millis(self.time_ms);
        loop {
            tokio::select! {
                // The thread lets go of its end when the command has ended, by a panic too.
                _ = &mut ended => return self.has_left(),
                () = sleep(limits::NATIVE_SHELL_TICK) => {}
            }
            let leash = &self.running.leash;
            if Instant::now() >= deadline {
                leash.pull(Why::Time(self.time_ms));
            } else if leash.busy_for() > limits::NATIVE_SHELL_CPU {
                leash.pull(Why::Cpu);
            }
            let Some((why, since)) = leash.pulled() else { continue };
            if since.elapsed() < limits::NATIVE_SHELL_GRACE {
                continue;
            }
            self.give_up(why, &mut seat);
            return;
        }
    }

    /// The command does not end: its callers need not wait for it.
    fn give_up(&self, why: Why, seat: &mut oneshot::Receiver<u64>) {
        let end = why.end();
        engine::complain(&self.running.session, end.error.as_deref());
        self.running.session.finish(end);
        // One that still waits for a thread has none to lose.
        if let Ok(number) = seat.try_recv() {
            self.running.leash.let_go();
            self.lost.lock().unwrap_or_else(PoisonError::into_inner).push(self.running.clone());
            self.pool.give_up(number);
        }
    }

    /// A command whose thread has left without a word has failed with the interpreter.
    fn has_left(&self) {
        let error = Some("Command failed: the interpreter failed".to_string());
        self.running.session.finish(session::End { exit_code: Some(1), error, ..Default::default() });
    }
}
