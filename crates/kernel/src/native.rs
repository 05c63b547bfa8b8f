//! The native target: the file tree and the shell as a caller sees them.

use std::sync::{Arc, Mutex, PoisonError};

use protocol::calls::Calls;
use protocol::error::Error;
use protocol::identity::ProcessIdentity;
use protocol::ids::Gid;
use vfs::View;
use vfs::tree::{Facts, RouteFact, SessionFact};
use vfs::view::Work;

use crate::caller::{Caller, Origin};
use crate::{Kernel, access, routes, store_error};

/// The tree as a caller sees it, for use on the async runtime; relative paths start at the caller's cwd.
pub(crate) fn view(kernel: &Arc<Kernel>, caller: &Caller) -> View {
    view_at(kernel, caller, caller.identity.clone())
}

/// The same with another cwd than the caller's own.
pub(crate) fn view_at(kernel: &Arc<Kernel>, caller: &Caller, who: Arc<ProcessIdentity>) -> View {
    let view = View::new(kernel.tree.clone(), who, calls(kernel, caller), kernel.clone(), Work::Aside);
    match &caller.origin {
        Origin::Process(pid) => view.of_process(pid.clone()),
        Origin::Connection(_) | Origin::Inside => view,
    }
}

/// The caller's right to make further calls, from within the gateway.
pub(crate) fn calls(kernel: &Arc<Kernel>, caller: &Caller) -> Calls {
    let origin = match &caller.origin {
        Origin::Process(pid) => Origin::Process(pid.clone()),
        Origin::Connection(_) | Origin::Inside => Origin::Inside,
    };
    let standing = Arc::new(Mutex::new(Caller { origin, ..caller.clone() }));
    let kernel = kernel.clone();
    Calls::new(move |name, args| {
        let (kernel, standing) = (kernel.clone(), standing.clone());
        let (name, args) = (name.to_string(), args.to_string());
        Box::pin(async move {
            let lock = || standing.lock().unwrap_or_else(PoisonError::into_inner);
            let known = lock().clone();
            let caller = match renewed(&kernel, &known).await? {
                None => known,
                Some(now) => {
                    *lock() = now.clone();
                    now
                }
            };
            let id = base::random::uuid();
            kernel.call(caller, &id, &name, &args).await
        })
    })
}

/// The caller with the groups and capabilities it has now; `None` when nothing has changed since it was looked
/// at. Whoever was locked or removed since then may do nothing any more.
pub(crate) async fn renewed(kernel: &Kernel, caller: &Caller) -> Result<Option<Caller>, Error> {
    let as_of = kernel.grants.generation();
    if as_of == caller.as_of {
        return Ok(None);
    }
    let account = kernel.store.account_by_uid(caller.uid()).await.map_err(store_error)?;
    let account = account
        .filter(|account| !account.locked)
        .ok_or_else(|| Error::forbidden("Permission denied: the account was changed"))?;
    let capabilities = access::capabilities_for(kernel, caller.role, &account.gids);
    let identity = ProcessIdentity { gids: account.gids, ..ProcessIdentity::clone(&caller.identity) };
    Ok(Some(Caller { identity: Arc::new(identity), capabilities, as_of, ..caller.clone() }))
}

/// Whether an account that was in some groups has left none of them.
pub(crate) fn keeps_rights(before: &[Gid], now: &[Gid]) -> bool {
    before.iter().all(|gid| now.contains(gid))
}

impl Facts for Kernel {
    fn version(&self) -> String {
        self.version.clone()
    }

    fn uptime_ms(&self) -> i64 {
        (self.clock.now_ms() - self.started_at).max(0)
    }

    fn routes(&self) -> Vec<RouteFact> {
        self.devices.drivers().iter().flat_map(|driver| routes::facts(driver)).collect()
    }

    fn route(&self, id: &str) -> Option<RouteFact> {
        self.devices.drivers().iter().find_map(|driver| routes::fact(driver, id))
    }

    fn shell_sessions(&self) -> Vec<SessionFact> {
        self.shells.facts()
    }

    fn shell_session(&self, id: &str) -> Option<SessionFact> {
        self.shells.fact(id)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use base::clock::Clock;
    use protocol::identity::Role;
    use protocol::ids::Uid;
    use store::accounts::{Account, NewAccount};
    use store::devices::Registration;
    use vfs::VPath;

    use super::*;

    async fn kernel_with_many_things(data: &tempfile::TempDir) -> Arc<Kernel> {
        let options = store::Options { data: data.path().to_path_buf(), url: None };
        let store = store::Store::open(&options).await.unwrap();
        store.provision(1).await.unwrap();
        for number in 0..100 {
            let registration = Registration {
                device_id: format!("d{number:03}").into(),
                owner_uid: Uid::ROOT,
                owner_gid: Gid::ROOT,
                implements: vec!["fs.*".to_string()],
                platform: "linux".to_string(),
                version: "1".to_string(),
                now_ms: 1,
            };
            store.device_register(registration).await.unwrap();
            store.config_set(&format!("config/many/key{number:03}"), "v").await.unwrap();
        }
        Kernel::start(store, &data.path().join("files"), Clock::system(), "test").await.unwrap()
    }

    async fn fresh_kernel(data: &tempfile::TempDir) -> Arc<Kernel> {
        let options = store::Options { data: data.path().to_path_buf(), url: None };
        let store = store::Store::open(&options).await.unwrap();
        Kernel::start(store, &data.path().join("files"), Clock::system(), "test").await.unwrap()
    }

    fn new(username: &str) -> NewAccount {
        NewAccount {
            username: username.to_string(),
            hash: "!".to_string(),
            groups: vec![Gid::USERS],
            now_ms: 1,
        }
    }

    fn caller(kernel: &Kernel, account: &Account) -> Caller {
        Caller {
            identity: Arc::new(account.identity()),
            role: Role::User,
            capabilities: kernel.grants.of(&account.gids),
            as_of: kernel.grants.generation(),
            origin: Origin::Inside,
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn an_edit_of_the_accounts_keeps_whoever_was_added_meanwhile() {
        let data = tempfile::tempdir().unwrap();
        let kernel = fresh_kernel(&data).await;
        let root = kernel.store.account("root").await.unwrap().unwrap();
        let view = view(&kernel, &caller(&kernel, &root));
        let add_bob = {
            let (store, runtime) = (kernel.store.clone(), tokio::runtime::Handle::current());
            move |text: Vec<u8>| {
                let added = runtime.block_on(store.account_create(new("bob")));
                added.map(|_| ([&text, &b"eve:x:::::\n"[..]].concat(), ()))
            }
        };
        let edit = move |text| tokio::task::block_in_place(|| add_bob(text));
        view.edit(&VPath::absolute("/etc/passwd").unwrap(), edit).await.unwrap().unwrap();
        let accounts = kernel.store.accounts().await.unwrap();
        let names: Vec<&str> = accounts.iter().map(|account| account.username.as_str()).collect();
        assert_eq!(names, ["root", "bob", "eve"]);
    }

    #[tokio::test]
    async fn calls_from_within_are_made_with_the_rights_of_now() {
        let data = tempfile::tempdir().unwrap();
        let kernel = fresh_kernel(&data).await;
        let ann = kernel.store.account_create(new("ann")).await.unwrap();
        let calls = calls(&kernel, &caller(&kernel, &ann));
        let list = async || calls.raw("sys.device.list", "{}").await.map_err(|error| error.code).map(drop);
        assert_eq!(list().await, Ok(()));
        kernel.store.account_set_groups(ann.uid, &[]).await.unwrap();
        kernel.grants.outdate();
        assert_eq!(list().await, Err(403), "ann left the group that may");
        kernel.store.account_set_groups(ann.uid, &[Gid::USERS]).await.unwrap();
        kernel.grants.outdate();
        assert_eq!(list().await, Ok(()));
        kernel.grants.remove(Gid::USERS, "sys.device.list");
        assert_eq!(list().await, Err(403), "the group may no more");
        kernel.grants.add(Gid::USERS, "sys.device.list");
        assert_eq!(list().await, Ok(()));
        kernel.store.account_set_locked(ann.uid, true).await.unwrap();
        kernel.grants.outdate();
        assert_eq!(list().await, Err(403), "ann was locked");
        kernel.store.account_remove(ann.uid).await.unwrap();
        kernel.grants.outdate();
        assert_eq!(list().await, Err(403), "ann was removed");
    }

    #[tokio::test]
    async fn a_listing_of_live_things_makes_one_call_however_many_there_are() {
        let data = tempfile::tempdir().unwrap();
        let kernel = kernel_with_many_things(&data).await;
        let root = kernel.store.account("root").await.unwrap().unwrap();
        let caller = caller(&kernel, &root);
        let made = Arc::new(AtomicUsize::new(0));
        let (inner, count) = (calls(&kernel, &caller), made.clone());
        let counted = Calls::new(move |name, args| {
            count.fetch_add(1, Ordering::Relaxed);
            let (inner, name, args) = (inner.clone(), name.to_string(), args.to_string());
            Box::pin(async move { inner.raw(&name, &args).await })
        });
        let view =
            View::new(kernel.tree.clone(), caller.identity.clone(), counted, kernel.clone(), Work::Aside);
        for path in ["/sys/devices", "/sys/config/many"] {
            made.store(0, Ordering::Relaxed);
            let names = view.list(&VPath::absolute(path).unwrap()).await.unwrap();
            assert_eq!((names.len(), made.load(Ordering::Relaxed)), (100, 1), "{path}");
        }
    }
}
