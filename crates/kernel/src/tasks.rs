//! Eager polling: runs a future at once as far as it goes, and only the rest of it as a task, since most calls never
//! wait.

use std::future::Future;
use std::task::{Context, Waker};

/// Polls once where it stands; spawns what is not ready.
pub(crate) fn run(future: impl Future<Output = ()> + Send + 'static) {
    let mut future = Box::pin(future);
    if future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {
        tokio::spawn(future);
    }
}
