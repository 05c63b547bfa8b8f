//! Glob patterns over call names, for grants and for what a device implements.

/// Whether the text is a pattern: `*`, or dotted lowercase segments, at least two, the last may be `*`.
pub fn is_valid(pattern: &str) -> bool {
    if pattern == "*" {
        return true;
    }
    let segments: Vec<&str> = pattern.split('.').collect();
    let (Some(last), true) = (segments.last(), segments.len() >= 2) else { return false };
    let names = if *last == "*" { &segments[..segments.len() - 1] } else { &segments[..] };
    pattern.len() <= 128 && names.iter().all(|segment| is_name(segment))
}

fn is_name(segment: &str) -> bool {
    segment.starts_with(|c: char| c.is_ascii_lowercase())
        && segment.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

/// Whether one pattern covers a call name.
pub fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some("") => true,
        Some(prefix) => prefix.ends_with('.') && name.starts_with(prefix),
        None => pattern == name,
    }
}

/// Whether any of the patterns covers a call name.
pub fn covers<'a>(patterns: impl IntoIterator<Item = &'a String>, name: &str) -> bool {
    patterns.into_iter().any(|pattern| matches(pattern, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_have_a_shape() {
        for good in ["*", "fs.*", "fs.read", "sys.mcp.*", "notification.mark_read"] {
            assert!(is_valid(good), "{good}");
        }
        for bad in ["", "fs", "fs.", ".fs", "FS.read", "fs.*.read", "fs.re ad", "**", "fs.1x", "*.*"] {
            assert!(!is_valid(bad), "{bad}");
        }
    }

    #[test]
    fn a_star_covers_everything_below_it() {
        assert!(matches("*", "sys.config.get"));
        assert!(matches("sys.mcp.*", "sys.mcp.call") && matches("fs.*", "fs.transfer.stat"));
        assert!(!matches("fs.*", "fsx.read") && !matches("fs.read", "fs.readall") && !matches("fs.*", "fs"));
    }
}
