//! All handlers on one page.

pub(crate) mod ai;
pub(crate) mod fs;
pub(crate) mod proc;
pub(crate) mod shell;
pub(crate) mod sys;
pub(crate) mod transfer;

use std::sync::Arc;
use std::time::Instant;

use protocol::router::Router;
use protocol::spec::{Access, Route, Spec};

use crate::Kernel;
use crate::caller::Caller;

/// What each handler gets besides its arguments.
#[derive(Clone)]
pub struct Cx {
    pub(crate) kernel: Arc<Kernel>,
    pub(crate) caller: Caller,
    /// The call was made by then: what was seen later is new enough for it.
    pub(crate) since: Instant,
}

/// Every call the kernel itself answers after login. `sys.connect` and `sys.setup` come before it and are
/// called from `receive`.
pub(crate) fn router() -> Router<Cx> {
    use proc::{approval, conversation, ipc, spawn};
    use sys::{account, config, device, token};
    Router::new()
        .on(proc::list)
        .on(proc::profiles)
        .on(spawn::spawn)
        .on(proc::send)
        .on(proc::abort)
        .on(proc::kill)
        .on(proc::reset)
        .on(proc::history)
        .on(proc::media_read)
        .on(proc::cost)
        .on(approval::hil)
        .on(approval::list)
        .on(approval::pending)
        .on(approval::revoke)
        .on(conversation::open)
        .on(conversation::list)
        .on(conversation::get)
        .on(conversation::close)
        .on(conversation::reset)
        .on(conversation::policy_get)
        .on(conversation::policy_set)
        .on(conversation::compact)
        .on(conversation::fork)
        .on(conversation::segments)
        .on(conversation::segment_read)
        .on(ipc::send)
        .on(ipc::call)
        .on(ai::tools)
        .on(ai::config)
        .on(ai::transcribe)
        .on(ai::speak)
        .on_quick(fs::read_now, fs::read)
        .on(fs::write)
        .on(fs::edit)
        .on(fs::delete)
        .on(fs::search)
        .on(transfer::pull)
        .on(transfer::push)
        .on(shell::exec)
        .on(config::get)
        .on(config::set)
        .on_now(device::list)
        .on_now(device::get)
        .on(device::update)
        .on(device::access)
        .on(token::create)
        .on(token::list)
        .on(token::revoke)
        .on(account::user_create)
        .on(account::user_list)
        .on(account::user_update)
        .on(account::user_remove)
        .on(account::group_list)
        .on(account::group_create)
        .on(account::group_remove)
        .on(account::capability_list)
        .on(account::grant)
        .on(account::revoke)
}

/// Documented calls that the gateway itself does not carry out yet; they answer 501. `codemode.exec` is not one:
/// it runs inside a process and never reaches the gateway. Nor are calls that only the kernel makes: nobody can send
/// them, and it hands over what they stand for without a frame.
pub fn not_implemented() -> Vec<&'static str> {
    let (router, before_login) = (router(), ["sys.connect", "sys.setup"]);
    let missing = |spec: &&Spec| {
        spec.route != Route::Local
            && spec.access != Access::Kernel
            && !router.has(spec.name)
            && !before_login.contains(&spec.name)
    };
    protocol::calls().filter(missing).map(|spec| spec.name).collect()
}

#[cfg(test)]
mod tests {
    /// This list only ever shrinks.
    const NOT_IMPLEMENTED: &[&str] = &[
        "adapter.connect",
        "adapter.disconnect",
        "adapter.inbound",
        "adapter.send",
        "adapter.state.update",
        "adapter.status",
        "codemode.run",
        "notification.create",
        "notification.dismiss",
        "notification.list",
        "notification.mark_read",
        "pkg.add",
        "pkg.checkout",
        "pkg.install",
        "pkg.list",
        "pkg.public.list",
        "pkg.public.set",
        "pkg.remote.add",
        "pkg.remote.list",
        "pkg.remote.remove",
        "pkg.remove",
        "pkg.review.approve",
        "pkg.sync",
        "repo.apply",
        "repo.compare",
        "repo.create",
        "repo.diff",
        "repo.import",
        "repo.list",
        "repo.log",
        "repo.read",
        "repo.refs",
        "repo.search",
        "sched.add",
        "sched.list",
        "sched.remove",
        "sched.run",
        "sched.update",
        "signal.unwatch",
        "signal.watch",
        "sys.bootstrap",
        "sys.link",
        "sys.link.consume",
        "sys.link.list",
        "sys.mcp.add",
        "sys.mcp.call",
        "sys.mcp.list",
        "sys.mcp.refresh",
        "sys.mcp.remove",
        "sys.oauth.forget",
        "sys.oauth.list",
        "sys.oauth.start",
        "sys.setup.assist",
        "sys.unlink",
        "sys.workspace.list",
    ];

    #[test]
    fn the_list_of_calls_not_carried_out_yet_is_exact() {
        let mut missing = super::not_implemented();
        missing.sort_unstable();
        assert_eq!(missing, NOT_IMPLEMENTED, "a call that works now leaves the list; no call may join it");
    }
}
