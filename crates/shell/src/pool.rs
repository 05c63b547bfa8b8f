//! Thread-per-command pool: a script may keep its thread busy for as long as it likes, so none
//! of the gateway's own threads ever runs one. Each command has a thread to itself, which ends with it: what its deep
//! stack took is given back, and one that was made less urgent is never used again.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use base::limits;
use base::sync::lock;
use protocol::ids::Uid;
use tokio::runtime::Handle;

/// Work for a thread; it may make the async runtime's futures wait for it, not the other way round.
pub(crate) type Job = Box<dyn FnOnce() + Send>;

/// Threads for commands, as many as there is work for.
#[derive(Clone, Default)]
pub(crate) struct Pool {
    shared: Arc<Mutex<PoolState>>,
}

#[derive(Default)]
struct PoolState {
    queue: VecDeque<Waiting>,
    /// The jobs that run, those that were given up too.
    running: HashMap<u64, Running>,
    next_ticket: u64,
    closed: bool,
}

struct Waiting {
    ticket: u64,
    uid: Uid,
    bytes: usize,
    job: Job,
}

struct Running {
    uid: Uid,
    is_given_up: bool,
}

/// Why there is no thread for a command.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Too many wait already.
    Busy,
    /// The gateway stops, or the system gives no thread.
    Closed,
}

/// What became of a job that nobody waits for any more.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum GiveUpOutcome {
    /// It had no thread yet, and gets none.
    Waiting,
    /// It runs on; its thread ends with it.
    Running,
    /// It has ended meanwhile.
    Ended,
}

impl Pool {
    /// Has a thread do a user's work, now or once there is one for it. `bytes` is what it holds while it waits. The
    /// ticket names the work.
    pub(crate) fn submit(&self, runtime: &Handle, uid: Uid, bytes: usize, job: Job) -> Result<u64, Refused> {
        let mut state = lock(&self.shared);
        if state.closed {
            return Err(Refused::Closed);
        }
        let waiting: usize = state.queue.iter().map(|one| one.bytes).sum();
        if state.queue.len() >= limits::native_shell::QUEUE_MAX
            || waiting.saturating_add(bytes) > limits::native_shell::QUEUE_MAX_BYTES
        {
            return Err(Refused::Busy);
        }
        state.next_ticket += 1;
        let ticket = state.next_ticket;
        state.queue.push_back(Waiting { ticket, uid, bytes, job });
        self.start_what_may(&mut state, runtime);
        // With nothing that runs there is nothing whose end would start it.
        let stranded = if state.running.is_empty() { state.take_out(ticket) } else { None };
        drop(state);
        if stranded.is_some() { Err(Refused::Closed) } else { Ok(ticket) }
    }

    /// Gives every waiting job a thread that may have one. Those that cannot be started wait for another to end.
    fn start_what_may(&self, state: &mut PoolState, runtime: &Handle) {
        while let Some(waiting) = state.next() {
            let (ticket, uid, bytes) = (waiting.ticket, waiting.uid, waiting.bytes);
            // The job is handed over on its own, to be had back when there is no thread.
            let job = Arc::new(Mutex::new(Some(waiting.job)));
            let (handed, pool, runtime) = (job.clone(), self.clone(), runtime.clone());
            let thread = std::thread::Builder::new().name("shell".into());
            let started = thread.stack_size(limits::native_shell::STACK_BYTES).spawn(move || {
                let _inside = runtime.enter();
                work(take(&handed));
                pool.ended(ticket, &runtime);
            });
            if let Err(error) = started {
                tracing::error!(%error, "a thread for a command could not be started");
                if let Some(job) = take(&job) {
                    state.queue.push_front(Waiting { ticket, uid, bytes, job });
                }
                return;
            }
            state.running.insert(ticket, Running { uid, is_given_up: false });
        }
    }

    fn ended(&self, ticket: u64, runtime: &Handle) {
        let mut state = lock(&self.shared);
        state.running.remove(&ticket);
        self.start_what_may(&mut state, runtime);
    }

    /// Gives a job up. One that runs loses its place to another, and `let_go` is done while it certainly runs.
    pub(crate) fn give_up(&self, ticket: u64, runtime: &Handle, let_go: impl FnOnce()) -> GiveUpOutcome {
        let mut state = lock(&self.shared);
        if let Some(waiting) = state.take_out(ticket) {
            // What a job holds may want the pool when it goes.
            drop(state);
            drop(waiting);
            return GiveUpOutcome::Waiting;
        }
        let Some(running) = state.running.get_mut(&ticket) else { return GiveUpOutcome::Ended };
        running.is_given_up = true;
        let_go();
        let lost = state.running.values().filter(|one| one.is_given_up).count();
        tracing::warn!(lost, "a command does not end; its thread is given up");
        self.start_what_may(&mut state, runtime);
        GiveUpOutcome::Running
    }

    /// Takes no more work. What waits is let go of.
    pub(crate) fn close(&self) {
        let waiting = {
            let mut state = lock(&self.shared);
            state.closed = true;
            std::mem::take(&mut state.queue)
        };
        drop(waiting);
    }
}

impl PoolState {
    /// The job whose turn it is: the oldest of the user with the fewest that run. The queue is short.
    fn next(&mut self) -> Option<Waiting> {
        let mut of_user: HashMap<Uid, usize> = HashMap::new();
        self.running.values().for_each(|one| *of_user.entry(one.uid).or_default() += 1);
        let lost = self.running.values().filter(|one| one.is_given_up).count();
        let replaced = lost.min(limits::native_shell::LOST_MAX);
        let threads = self.running.len().saturating_sub(replaced);
        let room = limits::native_shell::THREADS_MAX.saturating_sub(threads);
        let may = |one: &Waiting| {
            let reserved = if one.uid.is_root() { 0 } else { limits::native_shell::THREADS_OF_ROOT };
            let mine = of_user.get(&one.uid).copied().unwrap_or_default();
            (room > reserved && mine < limits::native_shell::RUNNING_PER_USER_MAX).then_some(mine)
        };
        let next = self.queue.iter().enumerate().filter_map(|(at, one)| Some((may(one)?, at))).min()?;
        self.queue.remove(next.1)
    }

    fn take_out(&mut self, ticket: u64) -> Option<Waiting> {
        let at = self.queue.iter().position(|one| one.ticket == ticket)?;
        self.queue.remove(at)
    }
}

/// What a script does to the interpreter ends the script, not the gateway.
fn work(job: Option<Job>) {
    let Some(job) = job else { return };
    if std::panic::catch_unwind(std::panic::AssertUnwindSafe(job)).is_err() {
        tracing::error!("the interpreter failed; the command has ended");
    }
}

fn take(job: &Mutex<Option<Job>>) -> Option<Job> {
    lock(job).take()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    const ANN: Uid = Uid(1_000);
    const BOB: Uid = Uid(1_001);

    /// A job that says its name when it starts and ends when it is told to.
    fn held(name: usize, says: &mpsc::SyncSender<usize>) -> (Job, mpsc::SyncSender<()>) {
        let (end, told) = mpsc::sync_channel::<()>(1);
        let says = says.clone();
        let job = Box::new(move || {
            says.send(name).unwrap();
            told.recv().ok();
        });
        (job, end)
    }

    fn threads(pool: &Pool) -> usize {
        lock(&pool.shared).running.len()
    }

    fn until(pool: &Pool, count: usize) {
        while threads(pool) != count {
            std::thread::yield_now();
        }
    }

    #[tokio::test]
    async fn a_job_that_ends_while_it_is_given_up_is_counted_once() {
        let (pool, runtime) = (Pool::default(), Handle::current());
        let (says, said) = mpsc::sync_channel(1_000);
        for turn in 0..200 {
            let (job, end) = held(turn, &says);
            let ticket = pool.submit(&runtime, ANN, 1, job).unwrap();
            said.recv().unwrap();
            // It ends in every order with its being given up.
            if turn % 3 == 0 {
                drop(end);
                until(&pool, 0);
                assert_eq!(pool.give_up(ticket, &runtime, || panic!("it has ended")), GiveUpOutcome::Ended);
            } else if turn % 3 == 1 {
                assert_eq!(pool.give_up(ticket, &runtime, || {}), GiveUpOutcome::Running);
                assert_eq!(pool.give_up(ticket, &runtime, || {}), GiveUpOutcome::Running, "twice is once");
                drop(end);
            } else {
                drop(end);
                pool.give_up(ticket, &runtime, || {});
            }
            until(&pool, 0);
        }
        let (job, _end) = held(1, &says);
        pool.submit(&runtime, ANN, 1, job).unwrap();
        said.recv().unwrap();
    }

    #[tokio::test]
    async fn a_user_with_much_work_leaves_room_for_others_and_for_root() {
        let (pool, runtime) = (Pool::default(), Handle::current());
        let (says, said) = mpsc::sync_channel(1_000);
        let mut ends = Vec::new();
        let mut submit = |uid: Uid, name: usize| {
            let (job, end) = held(name, &says);
            ends.push(end);
            pool.submit(&runtime, uid, 1, job).unwrap()
        };
        let most = limits::native_shell::RUNNING_PER_USER_MAX;
        for _ in 0..most + 4 {
            submit(ANN, 1);
        }
        assert_eq!(threads(&pool), most);
        submit(BOB, 2);
        assert_eq!(threads(&pool), most + 1, "bob does not wait behind ann");
        for user in 0..40 {
            for _ in 0..4 {
                submit(Uid(2_000 + user), 3);
            }
        }
        let of_users = limits::native_shell::THREADS_MAX - limits::native_shell::THREADS_OF_ROOT;
        assert_eq!(threads(&pool), of_users);
        submit(Uid::ROOT, 4);
        assert_eq!(threads(&pool), of_users + 1);
        for _ in 0..=of_users {
            said.recv().unwrap();
        }
        // The waiting ones start as others end, and all of them end.
        ends.clear();
        until(&pool, 0);
        assert!(lock(&pool.shared).queue.is_empty());
    }

    #[tokio::test]
    async fn what_waits_can_be_given_up_and_is_bounded_in_bytes() {
        let (pool, runtime) = (Pool::default(), Handle::current());
        let (says, said) = mpsc::sync_channel(1_000);
        let mut ends = Vec::new();
        for _ in 0..limits::native_shell::RUNNING_PER_USER_MAX {
            let (job, end) = held(1, &says);
            ends.push(end);
            pool.submit(&runtime, ANN, 1, job).unwrap();
        }
        let (job, _end) = held(2, &says);
        let big = limits::native_shell::QUEUE_MAX_BYTES;
        let ticket = pool.submit(&runtime, ANN, big, job).unwrap();
        let (job, _end) = held(3, &says);
        assert_eq!(pool.submit(&runtime, ANN, 1, job).unwrap_err(), Refused::Busy);
        assert_eq!(pool.give_up(ticket, &runtime, || panic!("it has no thread")), GiveUpOutcome::Waiting);
        let (job, end) = held(4, &says);
        pool.submit(&runtime, ANN, 1, job).unwrap();
        drop((ends, end));
        until(&pool, 0);
        drop(says);
        let said: Vec<usize> = said.iter().collect();
        assert_eq!(said.len(), limits::native_shell::RUNNING_PER_USER_MAX + 1);
        assert!(!said.contains(&2) && said.contains(&4));
    }

    #[tokio::test]
    async fn a_lost_thread_is_replaced() {
        let (pool, runtime) = (Pool::default(), Handle::current());
        let (says, said) = mpsc::sync_channel(1_000);
        let mut ends = Vec::new();
        let of_users = limits::native_shell::THREADS_MAX - limits::native_shell::THREADS_OF_ROOT;
        let mut tickets = Vec::new();
        for number in 0..=of_users {
            let (job, end) = held(number, &says);
            ends.push(end);
            let uid = Uid(2_000 + u32::try_from(number).unwrap());
            tickets.push(pool.submit(&runtime, uid, 1, job).unwrap());
        }
        assert_eq!(threads(&pool), of_users);
        assert_eq!(pool.give_up(tickets[0], &runtime, || {}), GiveUpOutcome::Running);
        assert_eq!(threads(&pool), of_users + 1, "the one that waited has the place");
        ends.clear();
        until(&pool, 0);
        drop(said);
    }
}
