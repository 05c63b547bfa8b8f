//! Resume gaps: places in a user's sequence of signals that nobody can go on from: a client that got the signal at such a place
//! had not yet got an older one, because deltas were merged past signals of other runs for it.

use std::collections::VecDeque;
use std::sync::Mutex;

use base::limits;
use base::sync::lock;

/// The places of one user that leave a gap.
#[derive(Default)]
pub(crate) struct ResumeGaps {
    places: Mutex<Places>,
}

#[derive(Default)]
struct Places {
    known: VecDeque<u64>,
    /// Up to here they are forgotten: any place may be one.
    forgotten: u64,
}

impl ResumeGaps {
    /// Notes a place, before its signal leaves.
    pub(crate) fn note(&self, seq: u64) {
        let mut places = lock(&self.places);
        if places.known.len() >= limits::signal::RESUME_GAPS_MAX
            && let Some(oldest) = places.known.pop_front()
        {
            places.forgotten = places.forgotten.max(oldest);
        }
        places.known.push_back(seq);
    }

    /// Whether a client whose last signal was this one may lack an older one.
    pub(crate) fn holds(&self, seq: u64) -> bool {
        let places = lock(&self.places);
        seq <= places.forgotten || places.known.contains(&seq)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_forgotten_counts_as_a_gap() {
        let resume_gaps = ResumeGaps::default();
        let last = limits::signal::RESUME_GAPS_MAX as u64 * 10;
        (1..=limits::signal::RESUME_GAPS_MAX as u64).for_each(|n| resume_gaps.note(n * 10));
        assert!(resume_gaps.holds(10) && resume_gaps.holds(last));
        assert!(!resume_gaps.holds(9) && !resume_gaps.holds(15));
        resume_gaps.note(last + 10);
        assert!(resume_gaps.holds(9) && resume_gaps.holds(10) && !resume_gaps.holds(15));
    }
}
