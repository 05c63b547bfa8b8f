//! Sharded counters for `/metrics`. Kept by hand: the hot path pays three relaxed additions per call, to counters of
//! its own thread, so that threads do not take them from each other.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use base::quick_hash::QuickHash;
use base::sync::lock;
use protocol::error::ERRORS;

/// Upper bounds of the latency histogram, in microseconds.
const BOUNDS_US: [u64; 10] = [50, 100, 250, 1_000, 5_000, 25_000, 100_000, 1_000_000, 10_000_000, 60_000_000];

/// Counts every code that is not in the error table.
const OTHER_CODE: i32 = -1;

/// The name under which calls are counted that do not exist.
pub const UNKNOWN_CALL: &str = "unknown";

#[derive(Default)]
struct CallStats {
    ok: AtomicU64,
    sum_us: AtomicU64,
    buckets: [AtomicU64; BOUNDS_US.len() + 1],
}

/// Threads share counters when they are more than this.
const SHARES: usize = 4;

/// The counters of some threads, apart in memory from those of others.
struct Share(Box<[CallStats]>);

thread_local! {
    /// Whose counters this thread uses.
    static SHARE: usize = {
        static THREADS: AtomicUsize = AtomicUsize::new(0);
        THREADS.fetch_add(1, Ordering::Relaxed) % SHARES
    };
}

/// All counters.
pub struct Metrics {
    /// Where each call's counters are in a share.
    places: HashMap<&'static str, usize, QuickHash>,
    shares: [Share; SHARES],
    failed: Mutex<BTreeMap<(&'static str, i32), u64>>,
    /// Frames that could not be read.
    pub invalid_frames: AtomicU64,
    /// Answers from devices that nobody waited for.
    pub late_answers: AtomicU64,
    /// Signals sent, per receiver.
    pub signals: AtomicU64,
    /// Of these, the ones that became part of one that waited.
    pub signals_merged: AtomicU64,
    /// Bytes of file transfers passed on.
    pub transfer_bytes: AtomicU64,
}

impl Metrics {
    /// All zero.
    pub fn new() -> Metrics {
        let names = protocol::calls().map(|spec| spec.name).chain([UNKNOWN_CALL]);
        let places: HashMap<_, _, _> = names.enumerate().map(|(place, name)| (name, place)).collect();
        let share = |_| Share(places.iter().map(|_| CallStats::default()).collect());
        Metrics {
            shares: std::array::from_fn(share),
            places,
            failed: Mutex::default(),
            invalid_frames: AtomicU64::new(0),
            late_answers: AtomicU64::new(0),
            signals: AtomicU64::new(0),
            signals_merged: AtomicU64::new(0),
            transfer_bytes: AtomicU64::new(0),
        }
    }

    pub(crate) fn answered(&self, call: &'static str, code: Option<i32>, took: Duration) {
        let Some(place) = self.places.get(call) else { return };
        let stats = &self.shares[SHARE.with(|share| *share)].0[*place];
        let us = took.as_micros() as u64;
        let bucket = BOUNDS_US.iter().position(|bound| us <= *bound).unwrap_or(BOUNDS_US.len());
        stats.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        stats.sum_us.fetch_add(us, Ordering::Relaxed);
        match code {
            None => {
                stats.ok.fetch_add(1, Ordering::Relaxed);
            }
            Some(code) => {
                // Devices choose codes freely; only those of the table get a line of their own.
                let code = if ERRORS.iter().any(|row| row.code == code) { code } else { OTHER_CODE };
                let mut failed = lock(&self.failed);
                *failed.entry((call, code)).or_default() += 1;
            }
        }
    }

    /// Prometheus text of the counters kept here.
    pub(crate) fn render(&self, out: &mut String) {
        head(out, "gsv_calls_total", "counter", "Calls answered, by name and outcome.");
        let mut places: Vec<_> = self.places.iter().collect();
        places.sort_unstable();
        for (name, place) in &places {
            let ok = self.sum(**place, |stats| &stats.ok);
            if ok > 0 {
                line(out, "gsv_calls_total", &format!("call=\"{name}\",outcome=\"ok\""), ok);
            }
        }
        for ((name, code), count) in lock(&self.failed).iter() {
            line(out, "gsv_calls_total", &format!("call=\"{name}\",outcome=\"{code}\""), *count);
        }
        head(out, "gsv_call_seconds", "histogram", "Time from request to answer.");
        for (name, place) in places {
            self.render_histogram(out, name, *place);
        }
        for (name, help, value) in [
            ("gsv_invalid_frames_total", "Frames that could not be read.", &self.invalid_frames),
            ("gsv_late_answers_total", "Device answers nobody waited for.", &self.late_answers),
            ("gsv_signals_total", "Signals sent.", &self.signals),
            ("gsv_signals_merged_total", "Signals merged for slow clients.", &self.signals_merged),
            ("gsv_transfer_bytes_total", "Bytes of file transfers passed on.", &self.transfer_bytes),
        ] {
            head(out, name, "counter", help);
            line(out, name, "", value.load(Ordering::Relaxed));
        }
    }

    /// One counter over all threads.
    fn sum(&self, place: usize, counter: impl Fn(&CallStats) -> &AtomicU64) -> u64 {
        self.shares.iter().map(|share| counter(&share.0[place]).load(Ordering::Relaxed)).sum()
    }

    fn render_histogram(&self, out: &mut String, name: &str, place: usize) {
        let counts: [u64; BOUNDS_US.len() + 1] =
            std::array::from_fn(|bucket| self.sum(place, |stats| &stats.buckets[bucket]));
        let total: u64 = counts.iter().sum();
        if total == 0 {
            return;
        }
        let mut running = 0;
        for (bound, count) in BOUNDS_US.iter().zip(&counts) {
            running += count;
            let labels = format!("call=\"{name}\",le=\"{}\"", *bound as f64 / 1e6);
            line(out, "gsv_call_seconds_bucket", &labels, running);
        }
        line(out, "gsv_call_seconds_bucket", &format!("call=\"{name}\",le=\"+Inf\""), total);
        let seconds = self.sum(place, |stats| &stats.sum_us) as f64 / 1e6;
        line(out, "gsv_call_seconds_sum", &format!("call=\"{name}\""), seconds);
        line(out, "gsv_call_seconds_count", &format!("call=\"{name}\""), total);
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Metrics::new()
    }
}

pub(crate) fn head(out: &mut String, name: &str, kind: &str, help: &str) {
    // Writing to a String cannot fail.
    writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}").unwrap_or_default();
}

pub(crate) fn line(out: &mut String, name: &str, labels: &str, value: impl std::fmt::Display) {
    let labels = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
    writeln!(out, "{name}{labels} {value}").unwrap_or_default();
}
