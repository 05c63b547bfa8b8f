//! Call context: what a handler gets besides its arguments.

use std::sync::{Arc, Weak};
use std::time::Instant;

use crate::caller::Caller;

/// A call on its way to a handler.
#[derive(Clone)]
pub struct Call {
    /// Who makes it.
    pub caller: Caller,
    /// It was made by then: what was seen later is new enough for it.
    pub since: Instant,
    /// Held by whoever waits for the answer inside the program; `None` for a socket.
    pub waiting: Option<Weak<()>>,
}

/// What a handler of an area gets besides its arguments.
pub struct Cx<A> {
    pub area: Arc<A>,
    /// Who makes the call.
    pub caller: Caller,
    /// It was made by then: what was seen later is new enough for it.
    pub since: Instant,
    waiting: Option<Weak<()>>,
}

impl<A> Cx<A> {
    /// The call at an area.
    pub fn new(area: Arc<A>, call: Call) -> Cx<A> {
        Cx { area, caller: call.caller, since: call.since, waiting: call.waiting }
    }

    /// Whether nobody waits for the answer any more.
    pub fn is_abandoned(&self) -> bool {
        self.caller.origin.is_gone()
            || self.waiting.as_ref().is_some_and(|waiting| waiting.strong_count() == 0)
    }
}

impl<A> Clone for Cx<A> {
    fn clone(&self) -> Self {
        Cx {
            area: self.area.clone(),
            caller: self.caller.clone(),
            since: self.since,
            waiting: self.waiting.clone(),
        }
    }
}
