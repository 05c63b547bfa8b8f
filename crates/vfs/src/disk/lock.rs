//! One change of a file at a time: locks by directory and name, shared by a fixed number of stripes.

use std::ffi::OsStr;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::{Mutex, MutexGuard, PoisonError};

use base::limits;

use super::dir::HostId;

/// The locks of all files.
pub(crate) struct Locks(Vec<Mutex<()>>);

/// Held while one or two files are changed.
pub(crate) struct Held<'a> {
    _first: MutexGuard<'a, ()>,
    _second: Option<MutexGuard<'a, ()>>,
}

impl Locks {
    pub fn new() -> Locks {
        Locks((0..limits::FILE_LOCKS).map(|_| Mutex::new(())).collect())
    }

    /// Waits for the lock of one name in a directory.
    pub fn one(&self, dir: HostId, name: &OsStr) -> Held<'_> {
        Held { _first: self.at(self.stripe(dir, name)), _second: None }
    }

    /// Waits for the locks of two names, in an order that is the same for everybody.
    pub fn two(&self, a: (HostId, &OsStr), b: (HostId, &OsStr)) -> Held<'_> {
        let (a, b) = (self.stripe(a.0, a.1), self.stripe(b.0, b.1));
        let first = self.at(a.min(b));
        Held { _first: first, _second: (a != b).then(|| self.at(a.max(b))) }
    }

    fn stripe(&self, dir: HostId, name: &OsStr) -> usize {
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one((dir, name));
        hash as usize % self.0.len()
    }

    fn at(&self, stripe: usize) -> MutexGuard<'_, ()> {
        self.0[stripe].lock().unwrap_or_else(PoisonError::into_inner)
    }
}
