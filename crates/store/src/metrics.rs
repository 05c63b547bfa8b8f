//! Metrics of the store in Prometheus text.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Counters since the store was opened.
#[derive(Default)]
pub(crate) struct Metrics {
    reads: AtomicU64,
    rows: AtomicU64,
    writes: AtomicU64,
    batches: AtomicU64,
    commits: AtomicU64,
    commit_micros: AtomicU64,
    retries: AtomicU64,
    failures: AtomicU64,
}

impl Metrics {
    pub fn read(&self) {
        self.reads.fetch_add(1, Ordering::Relaxed);
    }

    /// So many rows were found by a statement that reads.
    pub fn rows(&self, count: usize) {
        self.rows.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// A batch of so many statements was asked for.
    pub fn batch(&self, statements: usize) {
        self.batches.fetch_add(1, Ordering::Relaxed);
        self.writes.fetch_add(statements as u64, Ordering::Relaxed);
    }

    pub fn commit(&self, took: Duration) {
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.commit_micros.fetch_add(took.as_micros() as u64, Ordering::Relaxed);
    }

    pub fn retry(&self) {
        self.retries.fetch_add(1, Ordering::Relaxed);
    }

    pub fn failure(&self) {
        self.failures.fetch_add(1, Ordering::Relaxed);
    }

    /// Prometheus text.
    pub fn text(&self, queue_length: usize) -> String {
        let mut out = String::with_capacity(1024);
        let rows: [(&str, &str, &str, u64); 7] = [
            ("reads_total", "counter", "Statements that read.", self.reads.load(Ordering::Relaxed)),
            ("rows_total", "counter", "Rows that were read.", self.rows.load(Ordering::Relaxed)),
            ("writes_total", "counter", "Statements in write batches.", self.writes.load(Ordering::Relaxed)),
            ("batches_total", "counter", "Write batches asked for.", self.batches.load(Ordering::Relaxed)),
            ("retries_total", "counter", "Batches run again.", self.retries.load(Ordering::Relaxed)),
            ("failures_total", "counter", "Failed statements.", self.failures.load(Ordering::Relaxed)),
            ("queue_length", "gauge", "Write batches that wait.", queue_length as u64),
        ];
        for (name, kind, help, value) in rows {
            line(&mut out, format_args!("# HELP gsv_store_{name} {help}"));
            line(&mut out, format_args!("# TYPE gsv_store_{name} {kind}"));
            line(&mut out, format_args!("gsv_store_{name} {value}"));
        }
        let seconds = self.commit_micros.load(Ordering::Relaxed) as f64 / 1_000_000.0;
        let commits = self.commits.load(Ordering::Relaxed);
        line(&mut out, format_args!("# HELP gsv_store_commit_seconds Time taken by commits."));
        line(&mut out, format_args!("# TYPE gsv_store_commit_seconds summary"));
        line(&mut out, format_args!("gsv_store_commit_seconds_sum {seconds}"));
        line(&mut out, format_args!("gsv_store_commit_seconds_count {commits}"));
        out
    }
}

fn line(out: &mut String, text: std::fmt::Arguments) {
    if out.write_fmt(text).is_ok() {
        out.push('\n');
    }
}
