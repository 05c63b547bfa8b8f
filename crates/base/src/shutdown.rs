//! Graceful shutdown: a latch that one side sets and many tasks wait for.

use tokio::sync::watch;

/// Held by whoever may ask the program to stop.
#[derive(Debug)]
pub struct Trigger(watch::Sender<bool>);

/// Held by whoever must notice.
#[derive(Clone, Debug)]
pub struct Shutdown(watch::Receiver<bool>);

/// A fresh pair.
pub fn channel() -> (Trigger, Shutdown) {
    let (tx, rx) = watch::channel(false);
    (Trigger(tx), Shutdown(rx))
}

impl Trigger {
    /// Asks everybody to stop. Asking twice is harmless.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

impl Shutdown {
    /// Returns once a stop was asked for, or the trigger is gone.
    pub async fn requested(&mut self) {
        while !*self.0.borrow_and_update() {
            if self.0.changed().await.is_err() {
                return;
            }
        }
    }

    /// True once a stop was asked for.
    pub fn is_requested(&self) -> bool {
        *self.0.borrow()
    }
}
