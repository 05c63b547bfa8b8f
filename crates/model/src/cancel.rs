//! Cancellation token of a generation: one side asks, every clone notices.

use std::sync::Arc;

use tokio::sync::watch;

/// Can be cancelled once; every clone sees it.
#[derive(Clone, Debug)]
pub struct Cancel(Arc<watch::Sender<bool>>);

impl Cancel {
    /// One that is not cancelled yet.
    pub fn new() -> Cancel {
        Cancel(Arc::new(watch::channel(false).0))
    }

    /// Asks to stop. Asking twice is harmless.
    pub fn cancel(&self) {
        self.0.send_replace(true);
    }

    /// True once somebody asked.
    pub fn is_cancelled(&self) -> bool {
        *self.0.borrow()
    }

    /// Returns once somebody asked.
    pub async fn cancelled(&self) {
        let mut seen = self.0.subscribe();
        // The sender lives in `self`, so waiting ends only when somebody cancels.
        while !*seen.borrow_and_update() {
            if seen.changed().await.is_err() {
                return;
            }
        }
    }
}

impl Default for Cancel {
    fn default() -> Cancel {
        Cancel::new()
    }
}
