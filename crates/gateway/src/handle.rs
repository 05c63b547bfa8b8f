//! Gateway handle, the interface that areas get: store, change stream, clock, randomness, files, calls on somebody's
//! behalf, signals.

use std::collections::HashMap;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base::clock::Clock;
use base::random::Random;
use base::sync::lock;
use protocol::calls::{Calling, Calls};
use protocol::confine::Confinement;
use protocol::error::Error;
use protocol::identity::{ProcessIdentity, Role};
use protocol::ids::{Gid, Pid, RunId, Uid};
use protocol::signal::Signal;
use store::Store;
use store::accounts::Account;
use store::changes::{Changes, Topic};
use vfs::tree::{GatewayInfo, RouteInfo};
use vfs::view::Work;
use vfs::{Tree, View};

use crate::caller::{Caller, Origin};
use crate::capabilities::Capabilities;
use crate::outgoing_signal::{OutgoingSignal, SignalBody};

/// Something that takes a while.
pub type Later<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Accounts that are kept ready for calls on their behalf; all are forgotten when there are more.
const STANDINGS_MAX: usize = 4_096;

/// What is behind the handle: the kernel, or a test.
pub trait Core: Send + Sync + 'static {
    /// Makes a call through the same checks and routes as a client's. `request_id` names it for [`Core::recall`].
    fn call(&self, caller: Caller, request_id: &str, name: &str, args: &str) -> Calling;

    /// What became of a call of a process that was sent to a device before the gateway stopped, or before the device
    /// was lost. Waits for the device to come back, so long at most.
    fn recall(&self, uid: Uid, pid: &Pid, request_id: &str, wait: Duration) -> Later<Recalled>;

    /// Sends a signal to whom it belongs. Never waits: a slow client does not slow whoever speaks.
    fn emit(&self, signal: OutgoingSignal);

    /// From now on the signals of a run go to the connection it came over, if there is one.
    fn follow_run(&self, _run_id: &RunId, _origin: &Origin) {}

    /// What a role may do for an account that is in these groups.
    fn capabilities(&self, role: Role, gids: &[Gid]) -> Arc<Capabilities>;

    /// Who is behind a connection now, with the rights of now; `None` when it is gone.
    fn behind(&self, _origin: &Origin) -> Option<Caller> {
        None
    }

    /// Whether a caller may make a call. What does not know refuses.
    fn check(&self, _caller: &Caller, name: &str) -> Result<(), Error> {
        Err(Error::permission_denied(name))
    }

    /// Asks the service behind a socket, as a device is asked.
    fn ask_service(&self, _socket: u64, name: &'static str, _args: &str) -> Calling {
        let error = Error::not_implemented(name);
        Box::pin(async move { Err(error) })
    }

    /// What the driver of a device that somebody may use said about agents; `None` while there is no driver.
    fn confinement(&self, _who: &ProcessIdentity, _device: &str) -> Option<Confinement> {
        None
    }

    /// Calls under way on devices, or one of them by its id.
    fn routes(&self, _id: Option<&str>) -> Vec<RouteInfo> {
        Vec::new()
    }
}

/// What is known of a call whose answer did not arrive.
#[derive(Clone, Debug)]
pub enum Recalled {
    /// The device told its result, or its error.
    Answered(Result<String, Error>),
    /// It was never sent, or never arrived: it may be made now.
    NeverSent,
    /// Nobody can tell.
    Unknown,
}

/// Where a gateway stands.
pub struct Around {
    /// The rows.
    pub store: Store,
    /// The native files.
    pub tree: Arc<Tree>,
    /// The directory of the git repositories.
    pub repos: PathBuf,
    /// The program whose children run code that is not ours: this one, but for tests.
    pub guest_program: PathBuf,
    /// The time.
    pub clock: Clock,
    /// The chance.
    pub random: Random,
    /// The gateway's version.
    pub version: String,
}

/// The gateway as its areas see it. Cheap to clone.
#[derive(Clone)]
pub struct Gateway(Arc<Inner>);

struct Inner {
    around: Around,
    core: Box<dyn Core>,
    started_at: i64,
    /// Who acts on behalf of users, as of a generation of grants and accounts.
    standings: Mutex<HashMap<Uid, Caller>>,
}

impl Gateway {
    /// A handle on a gateway that starts now. The live tree shows it from now on.
    pub fn new(around: Around, core: impl Core) -> Gateway {
        let (started_at, version) = (around.clock.now_ms(), around.version.clone());
        let standings = Mutex::default();
        let inner = Arc::new(Inner { around, core: Box::new(core), started_at, standings });
        // The tree is part of what the handle holds, so it must not keep the handle alive.
        let weak = Arc::downgrade(&inner);
        let routes =
            move |id: Option<&str>| weak.upgrade().map(|inner| inner.core.routes(id)).unwrap_or_default();
        inner.around.tree.show_gateway(GatewayInfo { version, started_at, routes: Box::new(routes) });
        Gateway(inner)
    }

    /// The rows.
    pub fn store(&self) -> &Store {
        &self.0.around.store
    }

    /// The native files; [`Gateway::view`] is how somebody sees them.
    pub fn tree(&self) -> &Arc<Tree> {
        &self.0.around.tree
    }

    /// The directory of the git repositories, which may not be there yet.
    pub fn repos(&self) -> &Path {
        &self.0.around.repos
    }

    /// The program that guests are run by.
    pub fn guest_program(&self) -> &Path {
        &self.0.around.guest_program
    }

    /// The time.
    pub fn clock(&self) -> &Clock {
        &self.0.around.clock
    }

    /// Wall time, in milliseconds since the Unix epoch.
    pub fn now_ms(&self) -> i64 {
        self.clock().now_ms()
    }

    /// The chance.
    pub fn random(&self) -> &Random {
        &self.0.around.random
    }

    /// The gateway's version.
    pub fn version_text(&self) -> &str {
        &self.0.around.version
    }

    /// When the gateway started, in milliseconds since the Unix epoch.
    pub fn started_at(&self) -> i64 {
        self.0.started_at
    }

    /// Makes a call as somebody. `request_id` names it for [`Gateway::recall`].
    pub fn call(&self, caller: Caller, request_id: &str, name: &str, args: &str) -> Calling {
        self.0.core.call(caller, request_id, name, args)
    }

    /// Asks the service behind a socket, by the socket's number, as a device is asked: under an id of the gateway's own,
    /// with a deadline, and only that socket can answer.
    pub fn ask_service(&self, socket: u64, name: &'static str, args: &str) -> Calling {
        self.0.core.ask_service(socket, name, args)
    }

    /// See [`Core::recall`].
    pub fn recall(&self, uid: Uid, pid: &Pid, request_id: &str, wait: Duration) -> Later<Recalled> {
        self.0.core.recall(uid, pid, request_id, wait)
    }

    /// See [`Core::confinement`].
    pub fn confinement(&self, who: &ProcessIdentity, device: &str) -> Option<Confinement> {
        self.0.core.confinement(who, device)
    }

    /// Sends a signal to its owner. Never waits.
    pub fn emit(&self, signal: OutgoingSignal) {
        self.0.core.emit(signal);
    }

    /// Sends a signal to all connections of a user, but those of a run (`proc.run.*`) to the one that started it.
    pub fn signal<S: Signal>(&self, uid: Uid, run_id: Option<&RunId>, payload: &S) {
        let body = SignalBody::Text(protocol::frame::to_json(payload));
        self.emit(OutgoingSignal { uid, run_id: run_id.cloned(), name: S::SPEC.name, body });
    }

    /// See [`Core::follow_run`].
    pub fn follow_run(&self, run_id: &RunId, origin: &Origin) {
        self.0.core.follow_run(run_id, origin);
    }

    /// The change stream: what is kept in memory is judged by its numbers.
    pub fn changes(&self) -> &Changes {
        self.store().changes()
    }

    /// Another number after every change of accounts and grants, which decide who may do what: both of theirs only
    /// grow, so that their sum tells every change of either. What was asked for afterwards is as new as it says.
    pub fn standing_generation(&self) -> u64 {
        self.changes().generation(Topic::Accounts) + self.changes().generation(Topic::Grants)
    }

    /// The account behind a uid; 403 when it was locked or removed.
    pub async fn account(&self, uid: Uid) -> Result<Account, Error> {
        let account = self.store().accounts().by_uid(uid).await?;
        account
            .filter(|account| !account.locked)
            .ok_or_else(|| Error::forbidden("Permission denied: the account was locked or removed"))
    }

    /// Somebody to make calls as: the account with the groups and rights it has now; 403 when it was locked or removed.
    pub async fn on_behalf_of(&self, uid: Uid, origin: Origin) -> Result<Caller, Error> {
        let as_of = self.standing_generation();
        let known = lock(&self.0.standings).get(&uid).filter(|known| known.as_of == as_of).cloned();
        let standing = match known {
            Some(known) => known,
            None => {
                let account = self.account(uid).await?;
                let standing = Caller {
                    capabilities: self.0.core.capabilities(Role::User, &account.gids),
                    identity: Arc::new(account.identity()),
                    role: Role::User,
                    as_of,
                    may_approve: false,
                    origin: Origin::Inside,
                    permit: None,
                    door: None,
                };
                let mut standings = lock(&self.0.standings);
                if standings.len() >= STANDINGS_MAX {
                    standings.clear();
                }
                standings.insert(uid, standing.clone());
                standing
            }
        };
        Ok(Caller { origin, ..standing })
    }

    /// A user is gone.
    pub fn forget_user(&self, uid: Uid) {
        lock(&self.0.standings).remove(&uid);
    }

    /// The caller with the groups and capabilities it has now; `None` when nothing has changed since it was looked
    /// at. Whoever was locked or removed since then may do nothing any more.
    pub async fn renewed(&self, caller: &Caller) -> Result<Option<Caller>, Error> {
        let as_of = self.standing_generation();
        if as_of == caller.as_of {
            return Ok(None);
        }
        let account = self.store().accounts().by_uid(caller.uid()).await?;
        let account = account
            .filter(|account| !account.locked)
            .ok_or_else(|| Error::forbidden("Permission denied: the account was changed"))?;
        let capabilities = self.0.core.capabilities(caller.role, &account.gids);
        let identity = ProcessIdentity { gids: account.gids, ..ProcessIdentity::clone(&caller.identity) };
        Ok(Some(Caller { identity: Arc::new(identity), capabilities, as_of, ..caller.clone() }))
    }

    /// Who is behind a connection now, if it may still make that call: what takes hours asks anew at its end.
    pub fn recheck(&self, origin: &Origin, name: &str) -> Result<Caller, Error> {
        let now = self.0.core.behind(origin).ok_or_else(Error::not_connected)?;
        self.0.core.check(&now, name)?;
        Ok(now)
    }

    /// The caller's right to make further calls, from within the gateway, with the rights of the moment.
    pub fn calls(&self, caller: &Caller) -> Calls {
        if let Some(door) = &caller.door {
            return door.clone();
        }
        let standing = Arc::new(Mutex::new(Caller { origin: caller.origin.inward(), ..caller.clone() }));
        let gateway = self.clone();
        Calls::new(move |name, args| {
            let (gateway, standing) = (gateway.clone(), standing.clone());
            let (name, args) = (name.to_string(), args.to_string());
            Box::pin(async move {
                let known = lock(&standing).clone();
                let caller = match gateway.renewed(&known).await? {
                    None => known,
                    Some(now) => {
                        *lock(&standing) = now.clone();
                        now
                    }
                };
                let id = gateway.random().uuid();
                gateway.call(caller, &id, &name, &args).await
            })
        })
    }

    /// The file tree as a caller sees it, for use on the async runtime; relative paths start at the caller's cwd.
    pub fn view(&self, caller: &Caller) -> View {
        self.view_as(caller, caller.identity.clone())
    }

    /// The same as another identity sees it, or with another cwd; live files make their calls as the caller.
    pub fn view_as(&self, caller: &Caller, who: Arc<ProcessIdentity>) -> View {
        let view = self.view_over(who, caller.origin.pid(), self.calls(caller));
        let view = match caller.permit.as_ref().and_then(|permit| permit.run.clone()) {
            Some(run) => view.in_run(run),
            None => view,
        };
        if caller.origin.is_program() { view.of_program() } else { view }
    }

    /// The file tree as somebody sees it whose live files make their calls through a door of its own.
    pub fn view_calling(
        &self,
        who: Arc<ProcessIdentity>,
        pid: Option<&Pid>,
        door: impl Fn(&str, &str) -> Calling + Send + Sync + 'static,
    ) -> View {
        self.view_over(who, pid, Calls::new(door))
    }

    fn view_over(&self, who: Arc<ProcessIdentity>, pid: Option<&Pid>, calls: Calls) -> View {
        let view = View::new(self.tree().clone(), who, calls, Work::Aside);
        match pid {
            Some(pid) => view.of_process(pid.clone()),
            None => view,
        }
    }
}
