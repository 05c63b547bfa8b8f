//! The wall clock, injected. Nothing else in the program reads it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since the Unix epoch, from the machine or from a test's hand.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    hand: Option<Arc<AtomicI64>>,
}

impl Clock {
    /// The machine's clock.
    pub fn system() -> Clock {
        Clock { hand: None }
    }

    /// A clock that stands still until moved.
    pub fn manual(start_ms: i64) -> Clock {
        Clock { hand: Some(Arc::new(AtomicI64::new(start_ms))) }
    }

    /// Now.
    pub fn now_ms(&self) -> i64 {
        match &self.hand {
            Some(hand) => hand.load(Ordering::Relaxed),
            None => system_ms(),
        }
    }

    /// Moves a manual clock; a system clock does not move.
    pub fn advance(&self, by_ms: i64) {
        if let Some(hand) = &self.hand {
            hand.fetch_add(by_ms, Ordering::Relaxed);
        }
    }
}

#[allow(clippy::disallowed_methods)]
fn system_ms() -> i64 {
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => since.as_millis() as i64,
        Err(before) => -(before.duration().as_millis() as i64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_moves_only_when_moved() {
        let clock = Clock::manual(1_000);
        assert_eq!(clock.now_ms(), 1_000);
        clock.advance(500);
        assert_eq!(clock.clone().now_ms(), 1_500);
    }

    #[test]
    fn the_system_clock_is_past_2020() {
        assert!(Clock::system().now_ms() > 1_577_836_800_000);
    }
}
