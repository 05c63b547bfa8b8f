//! Shared/exclusive gate between journaled writes and changes of directories: a record names its file by a path, which must not
//! lead elsewhere before the file is in its place.

use std::sync::{Condvar, Mutex, PoisonError};

use base::limits;
use base::sync::lock;

use crate::journal::Error;

/// Writers pass it together; who moves or removes a directory closes it first.
#[derive(Default)]
pub(crate) struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Default)]
struct GateState {
    inside: usize,
    closed: bool,
}

/// A journaled write under way.
pub(crate) struct GateEntry<'a>(&'a Gate);

impl Drop for GateEntry<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        state.inside -= 1;
        if state.inside == 0 && state.closed {
            self.0.changed.notify_all();
        }
    }
}

/// Nobody is inside, and nobody gets in.
pub struct ClosedGate<'a>(&'a Gate);

impl Drop for ClosedGate<'_> {
    fn drop(&mut self) {
        lock(&self.0.state).closed = false;
        self.0.changed.notify_all();
    }
}

impl Gate {
    /// Enters, unless it is closed.
    pub fn enter(&self) -> Option<GateEntry<'_>> {
        let mut state = lock(&self.state);
        if state.closed {
            return None;
        }
        state.inside += 1;
        Some(GateEntry(self))
    }

    /// Closes it and waits until nobody is inside.
    pub fn close(&self) -> Result<ClosedGate<'_>, Error> {
        let waited =
            self.changed
                .wait_timeout_while(lock(&self.state), limits::files::JOURNAL_WAIT, |state| state.closed);
        let (mut state, late) = waited.unwrap_or_else(PoisonError::into_inner);
        if late.timed_out() {
            return Err(Error::Late);
        }
        state.closed = true;
        let closed = ClosedGate(self);
        let waited = self.changed.wait_timeout_while(state, limits::files::JOURNAL_WAIT, |it| it.inside > 0);
        let (state, late) = waited.unwrap_or_else(PoisonError::into_inner);
        drop(state);
        if late.timed_out() { Err(Error::Late) } else { Ok(closed) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn nobody_is_inside_while_it_is_closed() {
        let (gate, inside, passed) = (Gate::default(), AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..2_000 {
                        let Some(_inside) = gate.enter() else { continue };
                        inside.fetch_add(1, Ordering::SeqCst);
                        passed.fetch_add(1, Ordering::SeqCst);
                        inside.fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let _closed = gate.close().unwrap();
                        assert_eq!(inside.load(Ordering::SeqCst), 0);
                        assert!(gate.enter().is_none());
                    }
                });
            }
        });
        assert!(gate.enter().is_some());
        assert!(passed.load(Ordering::SeqCst) > 0);
    }
}
