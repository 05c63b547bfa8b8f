//! Failed logins by user and address, and how long the next attempt must wait.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Mutex;

use base::limits;

/// The books.
#[derive(Default)]
pub(crate) struct Logins {
    records: Mutex<HashMap<(String, IpAddr), Record>>,
}

struct Record {
    failures: u32,
    window_start_ms: i64,
    blocked_until_ms: i64,
}

impl Logins {
    /// Seconds to wait before the next attempt, if any.
    pub(crate) fn wait_seconds(&self, username: &str, peer: IpAddr, now_ms: i64) -> Option<i64> {
        let records = self.lock();
        let record = records.get(&(username.to_string(), peer))?;
        let left_ms = record.blocked_until_ms - now_ms;
        (left_ms > 0).then(|| (left_ms + 999) / 1_000)
    }

    /// Notes a failed attempt.
    pub(crate) fn failed(&self, username: &str, peer: IpAddr, now_ms: i64) {
        let mut records = self.lock();
        if records.len() >= limits::LOGIN_RECORDS_MAX {
            records.retain(|_, record| !record.is_stale(now_ms));
        }
        if records.len() >= limits::LOGIN_RECORDS_MAX {
            // An attacker with that many names or addresses is not slowed by one more record.
            return;
        }
        let fresh = Record { failures: 0, window_start_ms: now_ms, blocked_until_ms: 0 };
        let record = records.entry((username.to_string(), peer)).or_insert(fresh);
        if record.is_stale(now_ms) {
            record.failures = 0;
            record.window_start_ms = now_ms;
        }
        record.failures += 1;
        if let Some(over) = record.failures.checked_sub(limits::LOGIN_FAILURES_MAX) {
            let wait_ms = limits::LOGIN_WAIT_MS.checked_shl(over.min(16)).unwrap_or(i64::MAX);
            record.blocked_until_ms = now_ms + wait_ms.min(limits::LOGIN_WAIT_MS_MAX);
        }
    }

    /// A login worked: the slate is clean.
    pub(crate) fn succeeded(&self, username: &str, peer: IpAddr) {
        self.lock().remove(&(username.to_string(), peer));
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<(String, IpAddr), Record>> {
        self.records.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Record {
    /// Failures long past no longer count. While blocked, and for as long again, they do.
    fn is_stale(&self, now_ms: i64) -> bool {
        let block_ms = (self.blocked_until_ms - self.window_start_ms).max(limits::LOGIN_WINDOW_MS);
        now_ms > self.window_start_ms.max(self.blocked_until_ms) + block_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    #[test]
    fn ten_failures_in_a_minute_block_and_the_wait_doubles() {
        let logins = Logins::default();
        let mut now = 1_000_000;
        for _ in 0..limits::LOGIN_FAILURES_MAX {
            assert_eq!(logins.wait_seconds("ann", PEER, now), None);
            logins.failed("ann", PEER, now);
            now += 100;
        }
        let first = logins.wait_seconds("ann", PEER, now).unwrap();
        assert_eq!(logins.wait_seconds("bob", PEER, now), None);
        now += first * 1_000;
        assert_eq!(logins.wait_seconds("ann", PEER, now), None);
        logins.failed("ann", PEER, now);
        let second = logins.wait_seconds("ann", PEER, now).unwrap();
        assert!(second >= 2 * first - 1, "{first} {second}");
        for _ in 0..20 {
            now += logins.wait_seconds("ann", PEER, now).unwrap_or(0) * 1_000;
            logins.failed("ann", PEER, now);
        }
        assert_eq!(logins.wait_seconds("ann", PEER, now), Some(limits::LOGIN_WAIT_MS_MAX / 1_000));
        logins.succeeded("ann", PEER);
        assert_eq!(logins.wait_seconds("ann", PEER, now), None);
    }

    #[test]
    fn slow_failures_do_not_block() {
        let logins = Logins::default();
        for attempt in 0..100 {
            let now = attempt * 130_000;
            logins.failed("ann", PEER, now);
            assert_eq!(logins.wait_seconds("ann", PEER, now), None);
        }
    }
}
