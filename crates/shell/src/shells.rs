//! Registry of the commands that run in this gateway: started, polled, ended.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base::clock::Clock;
use base::limits;
use base::sync::lock;
use bashkit::BuiltinRegistry;
use gateway::Origin;
use protocol::calls::Calls;
use protocol::error::Error;
use protocol::ids::{Pid, Uid};
use protocol::shell::{Exec, ExecResult, Status};
use session::{About, Session, Tell};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use vfs::tree::SessionInfo;
use vfs::{FileKind, Follow, View};

use crate::adapter::ScriptContext;
use crate::cancellation::StopReason;
use crate::engine;
use crate::pool::{Pool, Refused};
use crate::running::{Leaving, Running};
use crate::settings::Settings;
use crate::stdin::Stdin;
use crate::watch;

/// What a command is run with, besides its text.
pub struct Order {
    /// The tree as its user sees it; the user's cwd is where the command starts.
    pub view: View,
    /// Its right to make calls.
    pub calls: Calls,
    /// What root and the user have set.
    pub settings: Settings,
    /// Told when a command that callers know ends.
    pub tell: Tell,
}

/// The commands that run in this gateway.
pub struct Shells {
    clock: Clock,
    pool: Pool,
    running: Mutex<HashMap<String, Arc<Running>>>,
    /// Commands that were given up; their threads may go on.
    lost: Arc<Mutex<Vec<Arc<Running>>>>,
}

impl Shells {
    /// None yet.
    pub fn new(clock: Clock) -> Shells {
        Shells { clock, pool: Pool::default(), running: Mutex::default(), lost: Arc::default() }
    }

    /// Starts a command and waits for it as long as the settings say. A start waits for the end, so that a short
    /// command is answered in one piece, unless it writes too much for one answer.
    pub async fn start(&self, order: Order, args: &Exec) -> Result<ExecResult, Error> {
        check(args)?;
        let wait_ms = order.settings.wait_ms;
        let (running, refused) = self.launch(order, args)?;
        let session = &running.session;
        if args.background != Some(true) {
            let limit = wait(args, wait_ms);
            tokio::select! {
                biased;
                Ok(error) = refused => {
                    self.forget(&session.id);
                    return Err(error);
                }
                () = session.wait_for_end_or_full(limit) => {}
            }
        } else if let Ok(Ok(error)) = tokio::time::timeout(limits::native_shell::GRACE, refused).await {
            self.forget(&session.id);
            return Err(error);
        }
        let (mut result, _) = session.answer(false);
        if result.status != Status::Running {
            self.forget(&session.id);
            result.session_id = None;
        }
        Ok(result)
    }

    /// Goes on with one: polls it, writes its stdin, ends it. `None` when there is no such session that the caller reaches.
    /// A caller that `is_gone` meanwhile takes no output with it.
    pub async fn go_on(
        &self,
        who: (Uid, &Origin),
        id: &str,
        args: &Exec,
        is_gone: impl Fn() -> bool,
    ) -> Option<Result<ExecResult, Error>> {
        let running = self.find(who, id)?;
        let session = &running.session;
        if !session.has_ended()
            && let Err(error) = act(&running, args)
        {
            return Some(Err(error));
        }
        let mut is_quiet = false;
        if args.background != Some(true) {
            is_quiet = !session.wait_for_news(wait(args, running.wait_ms)).await;
        }
        if is_gone() {
            return Some(Ok(session.answer_later()));
        }
        // What looked like the beginning of a character, and did not go on, was none.
        Some(Ok(session.answer(is_quiet).0))
    }

    /// Whether there is such a session that the caller reaches.
    pub fn knows(&self, who: (Uid, &Origin), id: &str) -> bool {
        self.find(who, id).is_some()
    }

    /// Whether a command has ended, or is not known any more.
    pub fn has_ended(&self, id: &str) -> bool {
        lock(&self.running).get(id).is_none_or(|running| running.session.has_ended())
    }

    /// The commands that run, of every user.
    pub fn infos(&self) -> Vec<SessionInfo> {
        lock(&self.running).values().filter_map(|running| running.info()).collect()
    }

    /// One that runs, by its id.
    pub fn info(&self, id: &str) -> Option<SessionInfo> {
        lock(&self.running).get(id).and_then(|running| running.info())
    }

    /// Commands that did not end when they were told to and still run; each costs a thread.
    pub fn lost_count(&self) -> usize {
        self.still_lost(|_| true)
    }

    fn still_lost(&self, which: impl Fn(&Running) -> bool) -> usize {
        let mut lost = lock(&self.lost);
        lost.retain(|running| !running.has_left.load(Ordering::Acquire));
        lost.iter().filter(|running| which(running)).count()
    }

    /// Ends the commands of some users, who have lost rights that the commands run with.
    pub fn end_of(&self, is_one: impl Fn(Uid) -> bool) {
        let running = lock(&self.running);
        running
            .values()
            .filter(|one| is_one(one.uid))
            .for_each(|one| one.cancellation.cancel(StopReason::Account));
    }

    /// Ends and forgets a command whose caller never learns of it.
    pub fn end(&self, id: &str) {
        if let Some(running) = lock(&self.running).remove(id) {
            running.cancellation.cancel(StopReason::Signal(9));
        }
    }

    /// Tells every command to end and takes no more.
    pub fn stop(&self) {
        lock(&self.running).values().for_each(|running| running.cancellation.cancel(StopReason::Stopping));
        self.pool.close();
    }

    fn launch(&self, order: Order, args: &Exec) -> Result<(Arc<Running>, oneshot::Receiver<Error>), Error> {
        let uid = order.view.who().uid;
        // Whoever asks may have less time than root has set for all, not more.
        let most_ms = order.settings.timeout_ms.clamp(1, limits::shell::TIMEOUT_MAX_MS);
        let time_ms = args.timeout.unwrap_or(most_ms).clamp(1, most_ms);
        let (session, lines) = Session::begin(About {
            id: base::random::tagged("sh_"),
            cwd: order.view.who().cwd.clone(),
            pid: None,
            call_id: None,
            output_bytes_max: order.settings.max_output_bytes,
            clock: self.clock.clone(),
            tell: order.tell.clone(),
        });
        let session = Arc::new(session);
        if args.close_stdin == Some(true) {
            session.close_stdin();
        }
        let stdin =
            if args.close_stdin == Some(true) { None } else { Some(Stdin::new(session.clone(), lines)) };
        let running = Arc::new(Running {
            session,
            cancellation: Arc::default(),
            uid,
            begun_by: order.settings.pid.clone().map(Pid),
            input: args.input.clone(),
            wait_ms: order.settings.wait_ms,
            has_left: AtomicBool::new(false),
        });
        self.admit(uid, &running)?;
        let (refuse, refused) = oneshot::channel();
        let started = self.submit(order, args.input.clone(), stdin, time_ms, &running, refuse);
        if let Err(error) = started {
            self.forget(&running.session.id);
            return Err(error);
        }
        Ok((running, refused))
    }

    fn submit(
        &self,
        order: Order,
        script: String,
        stdin: Option<Stdin>,
        time_ms: u64,
        running: &Arc<Running>,
        refuse: oneshot::Sender<Error>,
    ) -> Result<(), Error> {
        let (end, ended) = oneshot::channel::<()>();
        let (held, clock, runtime) = (running.clone(), self.clock.clone(), Handle::current());
        let (uid, bytes) = (running.uid, script.len());
        let job = Box::new(move || {
            let time = Duration::from_millis(time_ms);
            let _leaving = Leaving(held.clone());
            Handle::current().block_on(carry_out(order, script, stdin, time, clock, &held, refuse));
            drop(end);
        });
        let ticket = self.pool.submit(&runtime, uid, bytes, job).map_err(|refused| match refused {
            Refused::Busy => Error::too_busy("too many commands wait for the native shell"),
            Refused::Closed => Error::stopping(),
        })?;
        let watch = watch::Watch {
            running: running.clone(),
            pool: self.pool.clone(),
            ticket,
            lost: self.lost.clone(),
            time_ms,
        };
        tokio::spawn(watch.until(ended));
        Ok(())
    }

    /// Makes room and takes a command in.
    fn admit(&self, uid: Uid, new: &Arc<Running>) -> Result<(), Error> {
        let lost = self.still_lost(|one| one.uid == uid);
        let mut running = lock(&self.running);
        running.retain(|_, one| {
            !one.session.has_ended() || one.session.untouched_for() < limits::shell::FINISHED_KEPT
        });
        // One that was told to end and has not may be lost in a moment.
        let ending = running.values().filter(|one| one.uid == uid && one.is_ending()).count();
        if lost + ending >= limits::native_shell::LOST_PER_USER_MAX {
            return Err(Error::too_busy("earlier commands of yours do not end"));
        }
        let of_user = running.values().filter(|one| one.uid == uid && !one.session.has_ended()).count();
        if of_user >= limits::native_shell::PER_USER_MAX {
            return Err(Error::too_busy(&format!("{of_user} commands of yours run in the native shell")));
        }
        make_room(&mut running, uid)?;
        running.insert(new.session.id.clone(), new.clone());
        Ok(())
    }

    fn find(&self, (uid, origin): (Uid, &Origin), id: &str) -> Option<Arc<Running>> {
        let is_theirs =
            |running: &&Arc<Running>| running.uid == uid && origin.may_continue(running.begun_by.as_ref());
        lock(&self.running).get(id).filter(is_theirs).cloned()
    }

    fn forget(&self, id: &str) {
        lock(&self.running).remove(id);
    }
}

/// Forgets ended commands, a user's own first, until there is room for one more.
fn make_room(running: &mut HashMap<String, Arc<Running>>, uid: Uid) -> Result<(), Error> {
    loop {
        let mine = running.values().filter(|one| one.uid == uid && one.session.has_ended()).count();
        let has_many = mine >= limits::native_shell::ENDED_PER_USER_MAX;
        if !has_many && running.len() < limits::native_shell::SESSIONS_MAX {
            return Ok(());
        }
        let ended = running.values().filter(|one| one.session.has_ended() && (mine == 0 || one.uid == uid));
        let Some(oldest) = ended.min_by_key(|one| one.session.touched()).map(|one| one.session.id.clone())
        else {
            return Err(Error::too_busy(&format!("{} commands run in the native shell", running.len())));
        };
        running.remove(&oldest);
    }
}

impl Drop for Shells {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Runs a command on the thread that asks. The caller is told when it cannot even begin.
async fn carry_out(
    order: Order,
    script: String,
    stdin: Option<Stdin>,
    time: Duration,
    clock: Clock,
    held: &Running,
    refuse: oneshot::Sender<Error>,
) {
    let Running { session, cancellation, .. } = held;
    cancellation.begin();
    let view = order.view.here();
    if let Some((why, _)) = cancellation.cancelled() {
        return session.finish(why.end());
    }
    if let Err(error) = check_cwd(&view).await {
        let end = session::End { error: Some(error.message.clone()), ..Default::default() };
        // Whoever asked is told before it hears of an end. It may have gone; then the session says it.
        drop(refuse.send(error));
        return session.finish(end);
    }
    drop(refuse);
    let registry = BuiltinRegistry::new();
    if let Some(stdin) = stdin {
        stdin.wrap(&script, &registry);
    }
    let (calls, settings) = (order.calls, order.settings);
    let script_context = ScriptContext { view, calls, settings, clock, meter: Arc::default() };
    let end = engine::run(script_context, &script, registry, time, session, cancellation).await;
    session.finish(end);
}

async fn check_cwd(view: &View) -> Result<(), Error> {
    let cwd = &view.who().cwd;
    let bad = |why: &str| Error::bad_argument("shell.exec", "cwd", &format!("'{cwd}': {why}"));
    let path = view.path(cwd).map_err(|fault| bad(fault.code.shell_words()))?;
    let stat = view.stat(&path, Follow::Yes).await.map_err(|fault| bad(fault.code.shell_words()))?;
    if stat.kind != FileKind::Directory {
        return Err(bad("Not a directory"));
    }
    match view.may(&path, 1).await {
        Ok(true) => Ok(()),
        Ok(false) => Err(bad("Permission denied")),
        Err(fault) => Err(bad(fault.code.shell_words())),
    }
}

fn check(args: &Exec) -> Result<(), Error> {
    if args.input.trim().is_empty() {
        return Err(Error::missing_argument("shell.exec", "input"));
    }
    if args.input.contains('\0') {
        return Err(Error::bad_argument("shell.exec", "input", "contains a NUL byte"));
    }
    if args.signal.is_some() {
        return Err(Error::missing_argument("shell.exec with signal", "sessionId"));
    }
    Ok(())
}

fn act(running: &Running, args: &Exec) -> Result<(), Error> {
    if let Some(name) = &args.signal {
        running.cancellation.cancel(StopReason::Signal(session::signal_number(name)?));
    }
    running.session.feed(args)
}

fn wait(args: &Exec, settings_ms: u64) -> Duration {
    let asked = args.yield_ms.map(|ms| ms.clamp(limits::shell::WAIT_MIN_MS, limits::shell::WAIT_MAX_MS));
    Duration::from_millis(asked.unwrap_or(settings_ms))
}
