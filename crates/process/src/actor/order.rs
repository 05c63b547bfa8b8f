//! Ordering of the calls of one answer around open questions, per target: what a person is shown stays as it is until
//! they answer. A question waits for the writes before it, and the writes after it wait for the answer; what only
//! reads waits for nobody.

/// What the calls so far, in the order of the answer, do to their targets.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// Targets about which somebody is, or will be, asked.
    questions: Vec<String>,
    /// Targets that something writes to, or will.
    writes: Vec<String>,
}

impl Order {
    /// A question waits for its answer, or for being asked.
    pub(super) fn asks(&mut self, target: &str) {
        self.questions.push(target.to_string());
    }

    /// A call that may write is under way, or waits.
    pub(super) fn writes(&mut self, target: &str) {
        self.writes.push(target.to_string());
    }

    /// Whether a call that may write has to wait for an answer.
    pub(super) fn must_wait(&self, target: &str) -> bool {
        self.questions.iter().any(|other| may_be_same(other, target))
    }

    /// Whether a question has to wait for what is written before it.
    pub(super) fn is_being_written(&self, target: &str) -> bool {
        self.writes.iter().any(|other| may_be_same(other, target))
    }
}

/// Whether two targets may be the same: of a session only that it is on some target is known.
fn may_be_same(one: &str, other: &str) -> bool {
    const SOME: &str = "device";
    policy::is_same_target(one, other) || one == SOME || other == SOME
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_target_waits() {
        let mut order = Order::default();
        order.asks("Mac");
        order.writes("pi");
        assert!(order.must_wait("mac") && order.must_wait("device"));
        assert!(!order.must_wait("pi") && !order.must_wait("gsv"));
        assert!(order.is_being_written("pi") && !order.is_being_written("mac"));
        order.writes("device");
        assert!(order.is_being_written("mac") && order.is_being_written("gsv"));
    }
}
