//! Watch over the memory of a process namespace: the sum of what its processes hold alone, and the largest share of
//! what they hold together.

use std::fs;

/// What the processes that this `/proc` shows hold, in bytes. What cannot be read counts nothing: it has just ended.
pub(super) fn used_bytes() -> u64 {
    let (mut alone, mut shared) = (0_u64, 0);
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = entry.file_name();
        if name.as_encoded_bytes().iter().all(u8::is_ascii_digit)
            && let Ok(status) = fs::read_to_string(entry.path().join("status"))
        {
            alone = alone.saturating_add(value_bytes(&status, "RssAnon:") + value_bytes(&status, "VmSwap:"));
            shared = value_bytes(&status, "RssShmem:").max(shared);
        }
    }
    alone.saturating_add(shared)
}

/// A value of the status text, which is given in kilobytes.
fn value_bytes(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kilobytes = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0).saturating_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_kilobytes_and_missing_ones_nothing() {
        let status = "Name:\tx\nRssAnon:\t    12 kB\nVmSwap:\t 1 kB\n";
        assert_eq!(value_bytes(status, "RssAnon:"), 12 * 1024);
        assert_eq!(value_bytes(status, "RssShmem:"), 0);
        assert!(used_bytes() > 0, "this process holds some");
    }
}
