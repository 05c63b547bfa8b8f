//! Canonical form of host names (RFC 1123 with underscores): lower case, without the last dot, and never an address in
//! any of its spellings.

use base::limits::egress::NAME_MAX_BYTES;

/// Why a text is not the name of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameError {
    /// It is an address: dotted, decimal, octal, hexadecimal or IPv6. Hosts are told apart by their names.
    Address,
    /// It has characters that are not ASCII.
    NotAscii,
    /// It breaks the rules for names.
    Malformed,
}

impl std::fmt::Display for NameError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            NameError::Address => "is an address; hosts are listed by their names",
            NameError::NotAscii => "has letters that are not ASCII; write the name in its xn-- form",
            NameError::Malformed => "is not the name of a host",
        })
    }
}

/// A name as it is compared: in lower case and without the dot at its end.
pub fn canonical(text: &str) -> Result<String, NameError> {
    if text.contains([':', '[', ']']) {
        return Err(NameError::Address);
    }
    if !text.is_ascii() {
        return Err(NameError::NotAscii);
    }
    let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
    let is_name = !name.is_empty() && name.len() <= NAME_MAX_BYTES && name.split('.').all(is_label);
    match name.rsplit('.').next() {
        // Resolvers take such names for addresses, whatever stands before: 127.1, 2130706433, 0x7f000001.
        Some(last) if is_number(last) => Err(NameError::Address),
        _ if is_name => Ok(name),
        _ => Err(NameError::Malformed),
    }
}

fn is_label(label: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (1..=63).contains(&label.len())
        && label.bytes().all(fits)
        && !label.starts_with('-')
        && !label.ends_with('-')
}

fn is_number(label: &str) -> bool {
    let hex = label.strip_prefix("0x").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_hexdigit()));
    hex || (!label.is_empty() && label.bytes().all(|byte| byte.is_ascii_digit()))
}
