//! The native target: the file tree and the shell as a caller sees them.

use std::sync::Arc;

use protocol::calls::Calls;
use protocol::identity::ProcessIdentity;
use vfs::View;
use vfs::tree::{Facts, RouteFact, SessionFact};
use vfs::view::Work;

use crate::caller::{Caller, Origin};
use crate::{Kernel, routes};

/// The tree as a caller sees it, for use on the async runtime; relative paths start at the caller's cwd.
pub(crate) fn view(kernel: &Arc<Kernel>, caller: &Caller) -> View {
    view_at(kernel, caller, caller.identity.clone())
}

/// The same with another cwd than the caller's own.
pub(crate) fn view_at(kernel: &Arc<Kernel>, caller: &Caller, who: Arc<ProcessIdentity>) -> View {
    View::new(kernel.tree.clone(), who, calls(kernel, caller), kernel.clone(), Work::Aside)
}

/// The caller's right to make further calls, from within the gateway.
pub(crate) fn calls(kernel: &Arc<Kernel>, caller: &Caller) -> Calls {
    let origin = match &caller.origin {
        Origin::Process(pid) => Origin::Process(pid.clone()),
        Origin::Connection(_) | Origin::Inside => Origin::Inside,
    };
    let caller = Caller { origin, ..caller.clone() };
    let kernel = kernel.clone();
    Calls::new(move |name, args| {
        let (kernel, caller) = (kernel.clone(), caller.clone());
        let (name, args) = (name.to_string(), args.to_string());
        Box::pin(async move {
            let id = base::random::uuid();
            kernel.call(caller, &id, &name, &args).await
        })
    })
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

    fn shell_sessions(&self) -> Vec<SessionFact> {
        self.shells.facts()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use base::clock::Clock;
    use protocol::identity::Role;
    use protocol::ids::{Gid, Uid};
    use store::devices::Registration;
    use vfs::VPath;

    use super::*;
    use crate::calls::sys::connect::identity_of;

    async fn kernel_with_many_things(data: &tempfile::TempDir) -> Arc<Kernel> {
        let options = store::Options { data: data.path().to_path_buf(), url: None };
        let store = store::Store::open(&options).await.unwrap();
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

    #[tokio::test]
    async fn a_listing_of_live_things_makes_one_call_however_many_there_are() {
        let data = tempfile::tempdir().unwrap();
        let kernel = kernel_with_many_things(&data).await;
        let root = kernel.store.account("root").await.unwrap().unwrap();
        let caller = Caller {
            identity: Arc::new(identity_of(&root)),
            role: Role::User,
            capabilities: kernel.grants.of(&[Gid::ROOT]),
            origin: Origin::Inside,
        };
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
