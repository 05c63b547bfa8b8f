//! The native target: the file tree and the shell as a caller sees them.

use std::sync::Arc;

use protocol::calls::Calls;
use protocol::identity::ProcessIdentity;
use vfs::View;
use vfs::tree::{Facts, RouteFact, SessionFact};
use vfs::view::Work;

use crate::Kernel;
use crate::caller::{Caller, Origin};

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
        Vec::new()
    }

    fn shell_sessions(&self) -> Vec<SessionFact> {
        Vec::new()
    }
}
