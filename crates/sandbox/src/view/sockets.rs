//! Sockets of the machine that have a path: a read-only mount does not stop a connection to them.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use base::limits::sandbox::SOCKET_TABLE_MAX_BYTES;

use crate::failure::{At, Failure};
use crate::spec::real_path;

/// The paths of all sockets of this network namespace.
pub(crate) fn listed_sockets() -> Result<Vec<PathBuf>, Failure> {
    let mut text = Vec::new();
    let file = File::open("/proc/net/unix").at("open the table of sockets")?;
    file.take(SOCKET_TABLE_MAX_BYTES).read_to_end(&mut text).at("read the table of sockets")?;
    if text.len() as u64 == SOCKET_TABLE_MAX_BYTES {
        return Err(Failure::refused("read the table of sockets", "it is too long"));
    }
    // Many are bound by a name with a link in it, `/var/run` say. One that is gone needs no cover.
    let mut real: Vec<PathBuf> = parse(&text).iter().filter_map(|path| real_path(path).ok()).collect();
    real.sort_unstable();
    real.dedup();
    Ok(real)
}

fn parse(text: &[u8]) -> Vec<PathBuf> {
    let path = |line: &[u8]| {
        // Seven fields of no interest; the path may have blanks of its own.
        let mut rest = line;
        for _ in 0..7 {
            rest = rest.trim_ascii_start();
            rest = rest.get(rest.iter().position(|byte| *byte == b' ')?..)?;
        }
        let path = rest.get(1..).filter(|path| path.first() == Some(&b'/'))?;
        Some(PathBuf::from(OsString::from_vec(path.to_vec())))
    };
    text.split(|byte| *byte == b'\n').filter_map(path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_absolute_paths_count() {
        let text = b"Num       RefCount Protocol Flags    Type St Inode Path\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 17 /home/u/a b.sock\n\
            0000000000000000: 00000003 00000000 00000000 0001 03 18\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 19 @abstract\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 20 /home/u/a b.sock\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 21 relative\n";
        assert_eq!(parse(text), ["/home/u/a b.sock"; 2].map(PathBuf::from));
    }
}
