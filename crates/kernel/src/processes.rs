//! What processes get of the kernel: signals, calls, files, and who they act as. Also who has an init process.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use base::limits;
use process::{Later, Note, Outside, Recalled};
use protocol::args::Members;
use protocol::calls::{Calling, Calls};
use protocol::error::Error;
use protocol::identity::{ProcessIdentity, Role};
use protocol::ids::{DeviceId, Pid, Uid};
use store::accounts::Account;
use store::processes::ProcessRow;
use vfs::View;
use vfs::tree::{Facts, RouteFact, SessionFact};
use vfs::view::Work;

use crate::caller::{Caller, Origin};
use crate::{Kernel, access, recall, signals, store_error, tasks};

/// Accounts of processes that are kept ready; all are forgotten when there are more.
const STANDINGS_MAX: usize = 4_096;

/// The kernel as processes see it. They are part of it, so they must not keep it alive.
#[derive(Clone)]
pub(crate) struct Surroundings {
    kernel: Weak<Kernel>,
    tree: Arc<vfs::Tree>,
}

impl Surroundings {
    pub(crate) fn new(kernel: Weak<Kernel>, tree: Arc<vfs::Tree>) -> Surroundings {
        Surroundings { kernel, tree }
    }

    fn kernel(&self) -> Result<Arc<Kernel>, Error> {
        self.kernel.upgrade().ok_or_else(Error::stopping)
    }
}

impl Outside for Surroundings {
    fn emit(&self, note: Note) {
        if let Some(kernel) = self.kernel.upgrade() {
            signals::note(&kernel, note);
        }
    }

    fn call(&self, process: &ProcessRow, request_id: &str, name: &str, args: &str) -> Calling {
        let (kernel, process) = (self.kernel(), process.clone());
        let (id, name, args) = (request_id.to_string(), name.to_string(), args.to_string());
        Box::pin(async move {
            let kernel = kernel?;
            let mut caller = caller_of(&kernel, &process).await?;
            if let Some(device) = device_to_come(&kernel, &caller, &args) {
                wait_for(&kernel, &caller, &device).await;
                caller = caller_of(&kernel, &process).await?;
            }
            kernel.call(caller, &id, &name, &args).await
        })
    }

    fn recall(&self, process: &ProcessRow, request_id: &str, wait: Duration) -> Later<Recalled> {
        let (kernel, process, id) = (self.kernel(), process.clone(), request_id.to_string());
        Box::pin(async move {
            match kernel {
                Ok(kernel) => recall::recall(&kernel, process.uid, &process.pid, &id, wait).await,
                Err(_) => Recalled::Unknown,
            }
        })
    }

    fn identity(&self, process: &ProcessRow) -> Later<Result<ProcessIdentity, Error>> {
        let (kernel, process) = (self.kernel(), process.clone());
        Box::pin(async move {
            let kernel = kernel?;
            let caller = caller_of(&kernel, &process).await?;
            Ok(ProcessIdentity::clone(&caller.identity))
        })
    }

    fn generation(&self) -> [u64; 2] {
        // Without a kernel nothing changes any more.
        self.kernel()
            .map(|kernel| [kernel.grants.generation(), kernel.devices.generation()])
            .unwrap_or_default()
    }

    fn view(&self, process: &ProcessRow, identity: Arc<ProcessIdentity>) -> View {
        let (outside, pid) = (self.clone(), process.pid.clone());
        let process = process.clone();
        let calls = Calls::new(move |name, args| outside.call(&process, &base::random::uuid(), name, args));
        View::new(self.tree.clone(), identity, calls, Arc::new(self.clone()), Work::Aside).of_process(pid)
    }
}

/// The facts of a kernel that may be gone: then there are none.
impl Facts for Surroundings {
    fn version(&self) -> String {
        self.kernel().map(|kernel| Facts::version(&*kernel)).unwrap_or_default()
    }

    fn uptime_ms(&self) -> i64 {
        self.kernel().map(|kernel| kernel.uptime_ms()).unwrap_or_default()
    }

    fn routes(&self) -> Vec<RouteFact> {
        self.kernel().map(|kernel| kernel.routes()).unwrap_or_default()
    }

    fn route(&self, id: &str) -> Option<RouteFact> {
        self.kernel().ok().and_then(|kernel| kernel.route(id))
    }

    fn shell_sessions(&self) -> Vec<SessionFact> {
        self.kernel().map(|kernel| kernel.shell_sessions()).unwrap_or_default()
    }

    fn shell_session(&self, id: &str) -> Option<SessionFact> {
        self.kernel().ok().and_then(|kernel| kernel.shell_session(id))
    }
}

/// What the kernel itself remembers about processes.
pub(crate) struct Registry {
    /// Who acts behind processes, as of a generation of grants and accounts.
    standings: Mutex<HashMap<Uid, Caller>>,
    /// Users whose init process is known to be there.
    settled: Mutex<HashSet<Uid>>,
    /// When the time of the next call between processes is up, in milliseconds.
    ipc_due_ms: AtomicI64,
    /// Whether somebody looks after such calls just now.
    ipc_tended: AtomicBool,
}

impl Default for Registry {
    fn default() -> Registry {
        Registry {
            standings: Mutex::default(),
            settled: Mutex::default(),
            // At once: calls of an earlier gateway may be overdue.
            ipc_due_ms: AtomicI64::new(i64::MIN),
            ipc_tended: AtomicBool::new(false),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// After a restart processes go on sooner than devices come back. The target of a call, if it was connected before and
/// is not yet.
fn device_to_come(kernel: &Kernel, caller: &Caller, args: &str) -> Option<DeviceId> {
    if kernel.uptime_ms() > limits::PROCESS_DEVICE_RETURN_WAIT.as_millis() as i64 {
        return None;
    }
    let device = DeviceId(Members::parse(args)?.text("target")?.into_owned());
    kernel.devices.went_with_the_gateway(&device, &caller.identity, kernel.started_at).then_some(device)
}

/// Waits for it a while. If it does not come, the call will say so.
async fn wait_for(kernel: &Kernel, caller: &Caller, device: &DeviceId) {
    let coming = async {
        while kernel.devices.went_with_the_gateway(device, &caller.identity, kernel.started_at) {
            tokio::time::sleep(recall::TICK).await;
        }
    };
    drop(tokio::time::timeout(limits::PROCESS_DEVICE_RETURN_WAIT, coming).await);
}

/// The caller behind a process, with the account as it is now; 403 when it was locked or removed.
pub(crate) async fn caller_of(kernel: &Kernel, process: &ProcessRow) -> Result<Caller, Error> {
    let as_of = kernel.grants.generation();
    let known =
        lock(&kernel.registry.standings).get(&process.uid).filter(|known| known.as_of == as_of).cloned();
    let standing = match known {
        Some(known) => known,
        None => {
            let account = open_account(kernel, process.uid).await?;
            let standing = Caller {
                capabilities: access::capabilities_for(kernel, Role::User, &account.gids),
                identity: Arc::new(account.identity()),
                role: Role::User,
                as_of,
                origin: Origin::Inside,
            };
            let mut standings = lock(&kernel.registry.standings);
            if standings.len() >= STANDINGS_MAX {
                standings.clear();
            }
            standings.insert(process.uid, standing.clone());
            standing
        }
    };
    let identity = ProcessIdentity {
        cwd: process.cwd.clone(),
        workspace_id: process.workspace_id.clone(),
        ..ProcessIdentity::clone(&standing.identity)
    };
    Ok(Caller { identity: Arc::new(identity), origin: Origin::Process(process.pid.clone()), ..standing })
}

/// The account behind a uid, unless it was locked or removed.
pub(crate) async fn open_account(kernel: &Kernel, uid: Uid) -> Result<Account, Error> {
    let account = kernel.store.account_by_uid(uid).await.map_err(store_error)?;
    account
        .filter(|account| !account.locked)
        .ok_or_else(|| Error::forbidden("Permission denied: the account was locked or removed"))
}

/// The process every user has.
pub(crate) fn init_pid(uid: Uid) -> Pid {
    Pid(format!("init:{uid}"))
}

/// A user logs in: there is an init process to talk to. A login is good without one; `proc.send` tries again.
pub(crate) async fn welcome(kernel: &Kernel, account: &Account) {
    if let Err(error) = settle_init(kernel, &account.identity()).await {
        tracing::warn!(username = account.username, %error, "the init process could not be made");
    }
}

/// Sees to it that a user has an init process. True when it was made just now. Costs nothing when that is known.
pub(crate) async fn settle_init(kernel: &Kernel, who: &ProcessIdentity) -> Result<bool, Error> {
    settle_init_with(kernel, who, "[]").await
}

/// The same; a new one gets these context files.
pub(crate) async fn settle_init_with(
    kernel: &Kernel,
    who: &ProcessIdentity,
    context_files: &str,
) -> Result<bool, Error> {
    if lock(&kernel.registry.settled).contains(&who.uid) {
        return Ok(false);
    }
    let pid = init_pid(who.uid);
    let made = match kernel.store.process(&pid).await.map_err(store_error)? {
        // One that was killed comes back with its next message.
        Some(_) => false,
        None => {
            let row = ProcessRow {
                context_files: context_files.to_string(),
                ..new_row(kernel, pid, who, "init", Some(format!("init ({})", who.username)))
            };
            kernel.store.process_create(&row).await.map_err(store_error)?
        }
    };
    lock(&kernel.registry.settled).insert(who.uid);
    Ok(made)
}

/// A process that has done nothing yet, in the home of its user.
pub(crate) fn new_row(
    kernel: &Kernel,
    pid: Pid,
    who: &ProcessIdentity,
    profile: &str,
    label: Option<String>,
) -> ProcessRow {
    let now_ms = kernel.clock.now_ms();
    ProcessRow { label, ..ProcessRow::idle(pid, who.uid, profile, &who.home, now_ms) }
}

/// Takes up what an earlier gateway left, beside the start: clients need not wait for it.
pub(crate) fn recover(kernel: &Arc<Kernel>) {
    let kernel = kernel.clone();
    tokio::spawn(async move {
        kernel.processes.recover().await;
        if let Err(error) = kernel.processes.recover_ipc().await {
            tracing::error!(%error, "replies between processes could not be taken up again");
        }
    });
}

/// A call between processes waits until then.
pub(crate) fn expect_reply(kernel: &Kernel, deadline_ms: i64) {
    kernel.registry.ipc_due_ms.fetch_min(deadline_ms, Ordering::AcqRel);
}

/// Ends calls between processes whose time is up. Asks the store only when the time of one may be.
pub(crate) fn tend_replies(kernel: &Arc<Kernel>) {
    let (registry, now_ms) = (&kernel.registry, kernel.clock.now_ms());
    if registry.ipc_due_ms.load(Ordering::Acquire) > now_ms
        || registry.ipc_tended.swap(true, Ordering::AcqRel)
    {
        return;
    }
    let kernel = kernel.clone();
    tasks::run(async move {
        let registry = &kernel.registry;
        // Before the store is asked: a call that begins meanwhile sets its own time.
        registry.ipc_due_ms.store(i64::MAX, Ordering::Release);
        let next_ms = match kernel.processes.tend_ipc(now_ms).await {
            Ok(next_ms) => next_ms.unwrap_or(i64::MAX),
            Err(error) => {
                tracing::warn!(%error, "calls between processes could not be looked after");
                now_ms
            }
        };
        registry.ipc_due_ms.fetch_min(next_ms, Ordering::AcqRel);
        registry.ipc_tended.store(false, Ordering::Release);
    });
}
