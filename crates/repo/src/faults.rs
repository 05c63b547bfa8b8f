//! Fault injection: named steps at which a test can let the program die. Nothing outside tests.

#[cfg(not(test))]
use std::io;

/// A step of a change; does not come back where a test says so.
#[cfg(not(test))]
#[inline]
pub(crate) fn step(_name: &'static str) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
pub(crate) use hook::{set, step};

#[cfg(test)]
mod hook {
    use std::cell::RefCell;
    use std::io;

    /// What happens at a step.
    type Hook = Box<dyn FnMut(&'static str) -> io::Result<()>>;

    thread_local! {
        static HOOK: RefCell<Option<Hook>> = const { RefCell::new(None) };
    }

    /// Sets what happens at steps on this thread.
    pub(crate) fn set(hook: Option<Hook>) {
        HOOK.with(|slot| *slot.borrow_mut() = hook);
    }

    pub(crate) fn step(name: &'static str) -> io::Result<()> {
        HOOK.with(|slot| match slot.try_borrow_mut() {
            Ok(mut hook) => hook.as_mut().map_or(Ok(()), |hook| hook(name)),
            Err(_) => Ok(()),
        })
    }
}
