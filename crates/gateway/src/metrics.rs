//! Prometheus text format of the metrics that areas give at `/metrics`.

use std::fmt::Write;

/// Prometheus text in the making.
#[derive(Default)]
pub struct Gauges {
    text: String,
}

impl Gauges {
    /// One number that goes up and down.
    pub fn gauge(&mut self, name: &str, help: &str, value: usize) {
        self.write(name, "gauge", help, value as u64);
    }

    /// One number that only grows.
    pub fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.write(name, "counter", help, value);
    }

    fn write(&mut self, name: &str, kind: &str, help: &str, value: u64) {
        // Writing to a String cannot fail.
        writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}").unwrap_or_default();
    }

    /// The text so far.
    pub fn into_text(self) -> String {
        self.text
    }
}
