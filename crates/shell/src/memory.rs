//! Memory watchdog: how much the gateway holds, and which command has taken most of it. The interpreter counts a part
//! of what a script makes; this sees all of it from outside, and ends the greediest one before the others suffer.

use std::sync::{Arc, Mutex, Weak};
use std::time::Instant;

use base::clock::Clock;
use base::limits;
use base::sync::lock;

use crate::cancellation::Cancellation;

/// Faults of a thread that has taken a quarter of what one may, in the smallest pages there are.
const HEAVY_FAULTS: u64 = limits::native_shell::HELD_MAX_BYTES / 4 / 4096;

/// What is known of the commands of all shells of this program.
static GUARD: Mutex<Guard> = Mutex::new(Guard { running: Vec::new(), seen: None });

struct Guard {
    running: Vec<Weak<Cancellation>>,
    /// When it was looked last, and what was seen: all who watch a command share one look.
    seen: Option<(Instant, u64)>,
}

/// One command that is looked after.
pub(crate) struct Share {
    cancellation: Arc<Cancellation>,
    /// What the gateway held when the command was looked at first.
    before: Option<u64>,
}

impl Share {
    pub(crate) fn of(cancellation: &Arc<Cancellation>) -> Share {
        lock(&GUARD).running.push(Arc::downgrade(cancellation));
        Share { cancellation: cancellation.clone(), before: None }
    }

    /// Whether the commands that run have taken more than they may, and this one most of it.
    pub(crate) fn is_too_much(&mut self) -> bool {
        let (grown, running) = {
            let mut guard = lock(&GUARD);
            let Some(held) = guard.look() else { return false };
            let grown = held.saturating_sub(*self.before.get_or_insert(held));
            if grown <= limits::native_shell::HELD_MAX_BYTES {
                return false;
            }
            (grown, guard.running.clone())
        };
        let mine = faults(&self.cancellation);
        let is_other = |one: &Arc<Cancellation>| !Arc::ptr_eq(one, &self.cancellation);
        let others = running.iter().filter_map(Weak::upgrade).filter(is_other);
        let others: Vec<u64> = others.map(|one| faults(&one)).collect();
        // Each that holds much itself may do so; those that wait or only reckon leave the others no more room.
        let heavy = others.iter().filter(|faults| **faults >= HEAVY_FAULTS).count() as u64;
        let is_greediest = others.iter().all(|theirs| *theirs <= mine);
        let is_too_much = grown > limits::native_shell::HELD_MAX_BYTES.saturating_mul(heavy + 1);
        if is_greediest && is_too_much {
            tracing::warn!(grown, "a command is ended: it has taken most of much memory");
        }
        is_greediest && is_too_much
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        lock(&GUARD)
            .running
            .retain(|one| one.strong_count() > 0 && !std::ptr::eq(one.as_ptr(), &*self.cancellation));
    }
}

impl Guard {
    fn look(&mut self) -> Option<u64> {
        match self.seen {
            Some((at, held))
                if Clock::system().instant().saturating_duration_since(at)
                    < limits::native_shell::TICK / 2 =>
            {
                Some(held)
            }
            _ => {
                let held = held_bytes()?;
                self.seen = Some((Clock::system().instant(), held));
                Some(held)
            }
        }
    }
}

/// Memory of the whole program; nothing where the system does not tell it in this way.
fn held_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

/// How often the thread of a command has touched memory that it did not have before.
fn faults(cancellation: &Cancellation) -> u64 {
    let Some(thread) = cancellation.thread() else { return 0 };
    let Ok(stat) = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat")) else { return 0 };
    // The name of the thread is in brackets and may hold anything; the count is the eighth field behind it.
    let behind = stat.rsplit_once(')').map_or("", |(_, behind)| behind);
    behind.split_whitespace().nth(7).and_then(|field| field.parse().ok()).unwrap_or_default()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn the_command_that_took_most_is_too_much() {
        let modest = Arc::new(Cancellation::default());
        modest.begin();
        let mut its_share = Share::of(&modest);
        assert!(!its_share.is_too_much());
        let greedy = Arc::new(Cancellation::default());
        let mut share = Share::of(&greedy);
        assert!(!share.is_too_much());
        let (says, said) = mpsc::sync_channel::<()>(1);
        let (end, told) = mpsc::sync_channel::<()>(1);
        let cancellation = greedy.clone();
        let thread = std::thread::spawn(move || {
            cancellation.begin();
            let bytes =
                vec![1u8; usize::try_from(limits::native_shell::HELD_MAX_BYTES).unwrap() + (64 << 20)];
            says.send(()).unwrap();
            told.recv().ok();
            bytes.len()
        });
        said.recv().unwrap();
        // One look is shared for a moment.
        while !share.is_too_much() {
            std::thread::yield_now();
        }
        assert!(!its_share.is_too_much(), "another one took it");
        drop(end);
        thread.join().unwrap();
    }
}
