//! Threads for commands. A script may keep its thread busy for as long as it likes, so none of the gateway's own
//! threads ever runs one.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use base::limits;
use tokio::runtime::Handle;

/// Work for a thread; it may make the async runtime's futures wait for it, not the other way round.
pub(crate) type Job = Box<dyn FnOnce(&Seat) + Send>;

/// Threads for commands, as many as there is work for.
#[derive(Clone, Default)]
pub(crate) struct Pool {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    work: Condvar,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Job>,
    threads: usize,
    idle: usize,
    lost: usize,
    next_seat: u64,
    /// The seats that were given up while their threads went on.
    given_up: Vec<u64>,
    closed: bool,
}

/// The place of one thread in the pool.
pub(crate) struct Seat {
    /// Its number.
    pub(crate) number: u64,
}

/// Why there is no thread for a command.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Too many wait already.
    Busy,
    /// The gateway stops, or the system gives no thread.
    Closed,
}

impl Pool {
    /// Has a thread do the work, now or once one is free.
    pub(crate) fn submit(&self, runtime: &Handle, job: Job) -> Result<(), Refused> {
        let mut state = self.shared.lock();
        if state.closed {
            return Err(Refused::Closed);
        }
        if state.queue.len() >= limits::NATIVE_SHELL_QUEUE_MAX {
            return Err(Refused::Busy);
        }
        state.queue.push_back(job);
        if state.idle >= state.queue.len() {
            self.shared.work.notify_one();
            return Ok(());
        }
        if state.threads >= limits::NATIVE_SHELL_THREADS_MAX {
            return Ok(());
        }
        if let Err(error) = self.start(&mut state, runtime.clone()) {
            tracing::error!(%error, "a thread for a command could not be started");
            if state.threads == 0 {
                state.queue.pop_back();
                return Err(Refused::Closed);
            }
        }
        Ok(())
    }

    fn start(&self, state: &mut State, runtime: Handle) -> std::io::Result<()> {
        let shared = self.shared.clone();
        state.next_seat += 1;
        let seat = Seat { number: state.next_seat };
        std::thread::Builder::new().name("shell".into()).stack_size(limits::NATIVE_SHELL_STACK_BYTES).spawn(
            move || {
                let _inside = runtime.enter();
                work(&shared, &seat);
            },
        )?;
        state.threads += 1;
        Ok(())
    }

    /// Gives a thread up that does not come back; another may take its place.
    pub(crate) fn give_up(&self, seat: u64) {
        let mut state = self.shared.lock();
        state.given_up.push(seat);
        state.lost += 1;
        if state.lost <= limits::NATIVE_SHELL_LOST_MAX {
            state.threads -= 1;
        }
        tracing::warn!(lost = state.lost, "a command does not end; its thread is given up");
    }

    /// Takes no more work and lets threads without work end.
    pub(crate) fn close(&self) {
        self.shared.lock().closed = true;
        self.shared.work.notify_all();
    }
}

/// The life of one thread.
fn work(shared: &Shared, seat: &Seat) {
    while let Some(job) = shared.next() {
        // What a script does to the interpreter ends the script, not the thread.
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| job(seat))).is_err() {
            tracing::error!("the interpreter failed; the command has ended");
        }
        if shared.is_given_up(seat) {
            return;
        }
    }
}

impl Shared {
    /// The next job; `None` when the thread is to end.
    fn next(&self) -> Option<Job> {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.queue.pop_front() {
                return Some(job);
            }
            if state.closed {
                state.threads -= 1;
                return None;
            }
            state.idle += 1;
            let waited = self.work.wait_timeout(state, limits::NATIVE_SHELL_IDLE);
            let (woken, time) = waited.unwrap_or_else(PoisonError::into_inner);
            state = woken;
            state.idle -= 1;
            if time.timed_out() && state.queue.is_empty() {
                state.threads -= 1;
                return None;
            }
        }
    }

    /// Whether somebody has stopped waiting for this thread; then it is no longer counted.
    fn is_given_up(&self, seat: &Seat) -> bool {
        let mut state = self.lock();
        let Some(at) = state.given_up.iter().position(|number| *number == seat.number) else { return false };
        state.given_up.swap_remove(at);
        // One that had not been replaced still counts as a thread, and goes now.
        if state.lost > limits::NATIVE_SHELL_LOST_MAX {
            state.threads -= 1;
        }
        state.lost -= 1;
        true
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
