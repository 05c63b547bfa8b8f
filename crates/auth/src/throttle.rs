//! Rate limiter for failed logins with exponential backoff: counted by kind of credential, user and address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Mutex;

use base::limits;
use base::sync::lock;

use crate::network;

/// The failures that count.
#[derive(Default)]
pub(crate) struct Throttle {
    records: Mutex<HashMap<Key, Record>>,
}

/// What was tried. Each kind is counted by itself: a machine that repeats a dead token must not keep its owner from
/// logging in with the password, and the other way round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Realm {
    Password,
    Token,
    SetupCode,
}

/// A user's name, cut to what a name can be, and an address, cut to what one customer gets.
type Key = (Realm, String, IpAddr);

#[derive(Default)]
struct Record {
    /// Failures that count.
    failures: u32,
    /// Attempts that are being checked right now.
    trying: u32,
    window_start_ms: i64,
    blocked_until_ms: i64,
}

/// One attempt, under way. Dropped without success it counts as failed.
pub(crate) struct Attempt<'a> {
    throttle: &'a Throttle,
    key: Key,
    now_ms: i64,
    succeeded: bool,
}

impl Throttle {
    /// Begins an attempt, or says how many seconds to wait.
    pub(crate) fn begin(
        &self,
        realm: Realm,
        username: &str,
        peer: IpAddr,
        now_ms: i64,
    ) -> Result<Attempt<'_>, i64> {
        let key = key(realm, username, peer);
        let mut records = lock(&self.records);
        if !records.contains_key(&key) && records.len() >= limits::login::RECORDS_MAX {
            make_room(&mut records, now_ms);
        }
        let record = records.entry(key.clone()).or_default();
        let left_ms = record.blocked_until_ms - now_ms;
        if left_ms > 0 {
            return Err((left_ms + 999) / 1_000);
        }
        // After too many failures one at a time; before, not many more at once than may fail.
        let at_once = match limits::login::FAILURES_MAX.saturating_sub(record.failures) {
            0 => 1,
            left => left + limits::login::TRIES_AT_ONCE,
        };
        if record.trying >= at_once {
            return Err(1);
        }
        record.trying += 1;
        Ok(Attempt { throttle: self, key, now_ms, succeeded: false })
    }
}

impl Attempt<'_> {
    /// The login worked: the slate is clean.
    pub(crate) fn succeeded(mut self) {
        self.succeeded = true;
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        let mut records = lock(&self.throttle.records);
        let Some(record) = records.get_mut(&self.key) else { return };
        record.trying = record.trying.saturating_sub(1);
        if self.succeeded {
            record.failures = 0;
            record.blocked_until_ms = 0;
        } else {
            record.fail(self.now_ms);
        }
    }
}

fn key(realm: Realm, username: &str, peer: IpAddr) -> Key {
    // No user has a longer name; all such attempts share one record.
    let username = if username.len() <= limits::login::USERNAME_MAX_BYTES { username } else { "" };
    (realm, username.to_string(), network::customer(peer))
}

/// Forgets what no longer counts; if everything does, the oldest that blocks nobody.
fn make_room(records: &mut HashMap<Key, Record>, now_ms: i64) {
    records.retain(|_, record| record.trying > 0 || !record.is_stale(now_ms));
    if records.len() < limits::login::RECORDS_MAX {
        return;
    }
    let harmless =
        records.iter().filter(|(_, record)| record.trying == 0 && record.blocked_until_ms <= now_ms);
    let oldest = harmless.min_by_key(|(_, record)| record.window_start_ms).map(|(key, _)| key.clone());
    if let Some(oldest) = oldest {
        records.remove(&oldest);
    }
}

impl Record {
    fn fail(&mut self, now_ms: i64) {
        if self.failures == 0 || self.is_stale(now_ms) {
            self.failures = 0;
            self.window_start_ms = now_ms;
        }
        self.failures += 1;
        if let Some(over) = self.failures.checked_sub(limits::login::FAILURES_MAX) {
            let wait_ms = limits::login::WAIT_MS.checked_shl(over.min(16)).unwrap_or(i64::MAX);
            self.blocked_until_ms = now_ms + wait_ms.min(limits::login::WAIT_MAX_MS);
        }
    }

    /// Failures long past no longer count. While blocked, and for as long again, they do.
    fn is_stale(&self, now_ms: i64) -> bool {
        let block_ms = (self.blocked_until_ms - self.window_start_ms).max(limits::login::WINDOW_MS);
        now_ms > self.window_start_ms.max(self.blocked_until_ms) + block_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn fail(logins: &Throttle, name: &str, now_ms: i64) {
        drop(logins.begin(Realm::Password, name, PEER, now_ms).ok());
    }

    fn wait(logins: &Throttle, name: &str, now_ms: i64) -> Option<i64> {
        match logins.begin(Realm::Password, name, PEER, now_ms) {
            Ok(attempt) => {
                // Looking is not trying.
                lock(&logins.records).get_mut(&attempt.key).unwrap().trying -= 1;
                std::mem::forget(attempt);
                None
            }
            Err(seconds) => Some(seconds),
        }
    }

    #[test]
    fn ten_failures_in_a_minute_block_and_the_wait_doubles() {
        let logins = Throttle::default();
        let mut now = 1_000_000;
        for _ in 0..limits::login::FAILURES_MAX {
            assert_eq!(wait(&logins, "ann", now), None);
            fail(&logins, "ann", now);
            now += 100;
        }
        let first = wait(&logins, "ann", now).unwrap();
        assert_eq!(wait(&logins, "bob", now), None);
        now += first * 1_000;
        assert_eq!(wait(&logins, "ann", now), None);
        fail(&logins, "ann", now);
        let second = wait(&logins, "ann", now).unwrap();
        assert!(second >= 2 * first - 1, "{first} {second}");
        for _ in 0..20 {
            now += wait(&logins, "ann", now).unwrap_or(0) * 1_000;
            fail(&logins, "ann", now);
        }
        assert_eq!(wait(&logins, "ann", now), Some(limits::login::WAIT_MAX_MS / 1_000));
        now += limits::login::WAIT_MAX_MS;
        logins.begin(Realm::Password, "ann", PEER, now).ok().unwrap().succeeded();
        assert_eq!(wait(&logins, "ann", now), None);
    }

    #[test]
    fn slow_failures_do_not_block() {
        let logins = Throttle::default();
        for attempt in 0..100 {
            let now = attempt * 130_000;
            fail(&logins, "ann", now);
            assert_eq!(wait(&logins, "ann", now), None);
        }
    }

    #[test]
    fn attempts_at_the_same_time_are_bounded() {
        let logins = Throttle::default();
        let running: Vec<_> =
            (0..100).filter_map(|_| logins.begin(Realm::Password, "ann", PEER, 5).ok()).collect();
        assert_eq!(running.len() as u32, limits::login::FAILURES_MAX + limits::login::TRIES_AT_ONCE);
    }

    #[test]
    fn junk_names_neither_fill_the_memory_nor_lift_a_block() {
        let logins = Throttle::default();
        for _ in 0..limits::login::FAILURES_MAX {
            fail(&logins, "root", 1_000);
        }
        for n in 0..limits::login::RECORDS_MAX + 100 {
            fail(&logins, &format!("junk-{n}"), 1_001);
        }
        fail(&logins, &"x".repeat(10_000_000), 1_002);
        assert!(lock(&logins.records).len() <= limits::login::RECORDS_MAX);
        assert!(wait(&logins, "root", 1_003).is_some());
        for _ in 0..limits::login::FAILURES_MAX {
            fail(&logins, "ann", 1_004);
        }
        assert!(wait(&logins, "ann", 1_005).is_some(), "also with a full book failures count");
        assert!(
            lock(&logins.records).keys().all(|(_, name, _)| name.len() <= limits::login::USERNAME_MAX_BYTES)
        );
    }

    #[test]
    fn one_network_of_ipv6_is_one_address() {
        let logins = Throttle::default();
        for n in 0..20u128 {
            let peer = IpAddr::V6(std::net::Ipv6Addr::from_bits((0x2001_0db8u128 << 96) | n));
            drop(logins.begin(Realm::Password, "ann", peer, 7).ok());
        }
        assert_eq!(lock(&logins.records).len(), 1);
    }
}
