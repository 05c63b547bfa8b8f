//! Quoting of file names the way git prints them: `"\303\244 \"x\""`.

/// A name as git shows it where nothing else needs quotes.
pub(super) fn quoted(name: &str) -> String {
    quoted_with("", name)
}

/// The same with something in front of it that belongs inside of the quotes.
pub(super) fn quoted_with(prefix: &str, name: &str) -> String {
    if !name.bytes().any(is_odd) {
        return format!("{prefix}{name}");
    }
    let mut out = format!("\"{prefix}");
    for byte in name.bytes() {
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            7 => out.push_str("\\a"),
            8 => out.push_str("\\b"),
            b'\t' => out.push_str("\\t"),
            b'\n' => out.push_str("\\n"),
            11 => out.push_str("\\v"),
            12 => out.push_str("\\f"),
            b'\r' => out.push_str("\\r"),
            byte if is_odd(byte) => out.push_str(&format!("\\{byte:03o}")),
            byte => out.push(char::from(byte)),
        }
    }
    out.push('"');
    out
}

fn is_odd(byte: u8) -> bool {
    !(0x20..0x7f).contains(&byte) || byte == b'"' || byte == b'\\'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_names_are_quoted() {
        assert_eq!(quoted("a b/c"), "a b/c");
        assert_eq!(quoted("ä"), "\"\\303\\244\"");
        assert_eq!(quoted_with("a/", "q\"\\\t"), "\"a/q\\\"\\\\\\t\"");
    }
}
