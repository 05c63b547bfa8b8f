//! The wish to stop a generation: one side asks, the other notices.

use std::sync::Arc;

use tokio::sync::watch;

/// A wish that can be made once and is seen by every clone.
#[derive(Clone, Debug)]
pub struct Cancel(Arc<watch::Sender<bool>>);

impl Cancel {
    /// A wish not yet made.
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
        // The sender lives in `self`, so waiting ends only with the wish.
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
