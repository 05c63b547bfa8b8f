//! Striped lock: one change of a file at a time, by directory and name, over a fixed number of stripes.

use std::ffi::OsStr;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Condvar, Mutex, PoisonError};

use base::limits;
use base::sync::lock;

use super::dir::HostId;
use super::fail::Fail;
use crate::fault::Code;

/// The locks of all files.
pub(crate) struct Locks {
    stripes: Vec<Stripe>,
    /// Different at every start, so that nobody can choose names that share a lock with somebody else's.
    hashing: RandomState,
}

#[derive(Default)]
struct Stripe {
    taken: Mutex<bool>,
    free: Condvar,
}

/// Held while one or two files are changed.
pub(crate) struct Held<'a> {
    _first: Taken<'a>,
    _second: Option<Taken<'a>>,
}

struct Taken<'a>(&'a Stripe);

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        *lock(&self.0.taken) = false;
        self.0.free.notify_one();
    }
}

impl Stripe {
    fn take(&self) -> Result<Taken<'_>, Fail> {
        let taken = lock(&self.taken);
        let waited = self.free.wait_timeout_while(taken, limits::files::LOCK_WAIT, |taken| *taken);
        let (mut taken, timed_out) = waited.unwrap_or_else(PoisonError::into_inner);
        if timed_out.timed_out() {
            return Err(Fail::because(Code::Io, "others are changing it, try again later"));
        }
        *taken = true;
        Ok(Taken(self))
    }
}

impl Locks {
    pub fn new() -> Locks {
        let stripes = (0..limits::files::LOCKS).map(|_| Stripe::default()).collect();
        Locks { stripes, hashing: RandomState::new() }
    }

    /// Waits for the lock of one name in a directory.
    pub fn one(&self, dir: HostId, name: &OsStr) -> Result<Held<'_>, Fail> {
        Ok(Held { _first: self.at(self.stripe(dir, name))?, _second: None })
    }

    /// Waits for the locks of two names, in an order that is the same for everybody.
    pub fn two(&self, a: (HostId, &OsStr), b: (HostId, &OsStr)) -> Result<Held<'_>, Fail> {
        let (a, b) = (self.stripe(a.0, a.1), self.stripe(b.0, b.1));
        let first = self.at(a.min(b))?;
        let second = if a == b { None } else { Some(self.at(a.max(b))?) };
        Ok(Held { _first: first, _second: second })
    }

    fn stripe(&self, dir: HostId, name: &OsStr) -> usize {
        self.hashing.hash_one((dir, name)) as usize % self.stripes.len()
    }

    fn at(&self, stripe: usize) -> Result<Taken<'_>, Fail> {
        self.stripes[stripe].take()
    }
}
