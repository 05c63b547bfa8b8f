//! Handlers of `proc.*` and of what in `ai.*` is about processes: they decide who may reach which process;
//! [`crate::Host`] does the rest.

pub(crate) mod ai;
pub(crate) mod proc;

use protocol::router::Router;

use crate::subsystem::Processes;

/// What each handler gets besides its arguments.
pub(crate) type Cx = gateway::Cx<Processes>;

/// All handlers on one page.
pub(crate) fn router() -> Router<Cx> {
    use proc::{approval, conversation, ipc, spawn, undo};
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
        .on(undo::undo)
        .on(ai::config)
        .on(ai::transcribe)
        .on(ai::speak)
}
