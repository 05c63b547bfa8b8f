//! Facts about the machine and about a process, read from `/proc`.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};

/// Ticks per second in `/proc/PID/stat`; the same on every Linux people use.
const TICKS_PER_SECOND: u64 = 100;

/// One line: cores, processor, kernel, load.
pub(crate) fn describe() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let kernel = first_words("/proc/sys/kernel/osrelease", 1);
    let load = first_words("/proc/loadavg", 1);
    format!("{cores} cores, {}, kernel {kernel}, load {load} at the start", processor())
}

/// Memory of a process, in KiB.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Memory {
    /// Resident set.
    pub rss_kib: u64,
    /// The part of it that no file backs.
    pub anonymous_kib: u64,
}

/// Reads a process's memory.
pub(crate) fn memory(pid: u32) -> Result<Memory> {
    let path = format!("/proc/{pid}/status");
    let status = fs::read_to_string(&path).with_context(|| format!("read {path}; memory needs Linux"))?;
    parse_memory(&status).with_context(|| format!("{path} has no VmRSS"))
}

/// Waits until a process's memory stands still, for at most `limit`.
pub(crate) async fn stable_memory(pid: u32, limit: Duration) -> Result<Memory> {
    const PAUSE: Duration = Duration::from_millis(250);
    const STILL_KIB: u64 = 64;
    const STILL_SAMPLES: u32 = 4;
    let mut last = memory(pid)?;
    let mut still = 0;
    for _ in 0..limit.as_millis() / PAUSE.as_millis() {
        tokio::time::sleep(PAUSE).await;
        let now = memory(pid)?;
        still = if now.rss_kib.abs_diff(last.rss_kib) <= STILL_KIB { still + 1 } else { 0 };
        last = now;
        if still == STILL_SAMPLES {
            break;
        }
    }
    Ok(last)
}

/// Processor time a process has used, all threads; `None` where there is no `/proc`.
pub(crate) fn cpu_time(pid: u32) -> Option<Duration> {
    parse_cpu_time(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn parse_memory(status: &str) -> Option<Memory> {
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse().ok()
    };
    Some(Memory { rss_kib: field("VmRSS:")?, anonymous_kib: field("RssAnon:")? })
}

fn parse_cpu_time(stat: &str) -> Option<Duration> {
    // The second field is the program's name in brackets and may hold blanks.
    let after_name = &stat[stat.rfind(')')? + 1..];
    let mut fields = after_name.split_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(Duration::from_millis((user + system) * (1_000 / TICKS_PER_SECOND)))
}

fn processor() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info.lines().find_map(|line| line.strip_prefix("model name"));
    name.and_then(|rest| rest.split_once(':'))
        .map_or("unknown processor", |(_, name)| name.trim())
        .to_string()
}

fn first_words(path: &str, count: usize) -> String {
    let text = fs::read_to_string(path).unwrap_or_else(|_| "unknown".into());
    text.split_whitespace().take(count).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_from_the_status_page() {
        let status = "Name:\tgsv\nVmRSS:\t   18000 kB\nRssAnon:\t    6000 kB\n";
        assert_eq!(parse_memory(status), Some(Memory { rss_kib: 18_000, anonymous_kib: 6_000 }));
        assert_eq!(parse_memory("Name:\tgsv\n"), None);
    }

    #[test]
    fn processor_time_skips_a_name_with_blanks() {
        let stat = "7 (a b) c) S 1 7 7 0 -1 4194560 10 0 0 0 150 50 0 0 20 0 3 0 1 1 1";
        assert_eq!(parse_cpu_time(stat), Some(Duration::from_secs(2)));
    }
}
