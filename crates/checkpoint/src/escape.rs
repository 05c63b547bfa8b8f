//! Escaping of paths for JSON: any bytes in, printable UTF-8 out, with what is not valid or not printable escaped.

use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde::Serializer;

/// For `serialize_with`: JSON has no place for a path that is not UTF-8.
pub(crate) fn path<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&text(path))
}

/// The same for a list of them.
pub(crate) fn paths<S: Serializer>(paths: &[PathBuf], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(paths.iter().map(|path| text(path)))
}

/// The path with control characters and bytes that are no UTF-8 as `\n`, `\u{…}` and `\xNN`.
pub(crate) fn text(path: &Path) -> String {
    let mut out = String::new();
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\\' => out.push_str("\\\\"),
                c if c.is_control() => out.extend(c.escape_default()),
                c => out.push(c),
            }
        }
        for byte in chunk.invalid() {
            // Writing to a string does not fail.
            write!(out, "\\x{byte:02x}").ok();
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn odd_names_can_be_told_apart() {
        let escaped = |bytes: &[u8]| text(Path::new(OsStr::from_bytes(bytes)));
        assert_eq!(escaped("plän/a b".as_bytes()), "plän/a b");
        assert_eq!(escaped(b"a\nb"), "a\\nb");
        assert_eq!(escaped(b"a\xffb"), "a\\xffb");
        assert_ne!(escaped(b"a\\xffb"), escaped(b"a\xffb"));
    }
}
