//! Handler registry of the kernel: every call it answers itself, on one page.

pub(crate) mod ai;
pub(crate) mod sys;

use std::sync::Arc;

use gateway::{Call, Caller, Subsystem};
use protocol::router::Router;
use protocol::spec::{Access, Route, Spec};

use crate::Kernel;

/// What each handler gets besides its arguments.
#[derive(Clone)]
pub struct Cx {
    pub(crate) kernel: Arc<Kernel>,
    pub(crate) caller: Caller,
}

/// The handlers of every area.
pub(crate) fn of_areas(areas: &[Arc<dyn Subsystem>]) -> Router<Call> {
    areas.iter().fold(Router::new(), |router, area| router.and(area.clone().handlers()))
}

/// Every call the kernel itself answers after login. `sys.connect` and `sys.setup` come before it and are
/// called from `receive`.
pub(crate) fn router() -> Router<Cx> {
    use sys::{account, config, device, token};
    Router::new()
        .on(ai::tools)
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

/// Documented calls that the gateway itself does not carry out yet; they answer 501. What is
/// answered inside a process is not one, nor are calls that only the kernel makes: nobody can send them, and it hands over what they stand for without a frame.
pub fn not_implemented() -> Vec<&'static str> {
    let (mut built, before_login) = (crate::subsystems::calls(), ["sys.connect", "sys.setup"]);
    built.extend(router().names());
    let missing = |spec: &&Spec| {
        spec.route != Route::Local
            && spec.access != Access::Kernel
            && !built.contains(&spec.name)
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
        "notification.create",
        "notification.dismiss",
        "notification.list",
        "notification.mark_read",
        "pkg.add",
        "pkg.checkout",
        "pkg.install",
        "pkg.list",
        "pkg.public.list",
        "pkg.remote.add",
        "pkg.remote.list",
        "pkg.remote.remove",
        "pkg.remove",
        "pkg.review.approve",
        "pkg.sync",
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
        "sys.setup.assist",
        "sys.unlink",
    ];

    #[test]
    fn the_list_of_calls_not_carried_out_yet_is_exact() {
        let mut missing = super::not_implemented();
        missing.sort_unstable();
        assert_eq!(missing, NOT_IMPLEMENTED, "a call that works now leaves the list; no call may join it");
    }
}
