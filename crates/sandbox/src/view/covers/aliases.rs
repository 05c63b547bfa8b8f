//! Other names of a place: the same file system can be mounted more than once.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use base::limits::sandbox::MOUNT_TABLE_MAX_BYTES;

use crate::failure::{At, Failure};

/// The mounts of this namespace.
pub(super) struct MountTable(Vec<Mount>);

struct Mount {
    /// Number of the file system.
    device: Vec<u8>,
    /// Which directory of the file system is mounted.
    root: PathBuf,
    /// Where.
    point: PathBuf,
}

impl MountTable {
    pub(super) fn read() -> Result<MountTable, Failure> {
        let mut text = Vec::new();
        let file = File::open("/proc/self/mountinfo").at("open the table of mounts")?;
        file.take(MOUNT_TABLE_MAX_BYTES).read_to_end(&mut text).at("read the table of mounts")?;
        if text.len() as u64 == MOUNT_TABLE_MAX_BYTES {
            return Err(Failure::refused("read the table of mounts", "it is too long"));
        }
        Ok(MountTable::parse(&text))
    }

    fn parse(text: &[u8]) -> MountTable {
        let mount = |line: &[u8]| {
            let mut fields = line.split(|byte| *byte == b' ').skip(2);
            let device = fields.next()?.to_vec();
            Some(Mount { device, root: unescape(fields.next()?), point: unescape(fields.next()?) })
        };
        MountTable(text.split(|byte| *byte == b'\n').filter_map(mount).collect())
    }

    /// Where else a resolved path can be found.
    pub(super) fn other_names(&self, path: &Path) -> Vec<PathBuf> {
        // The last and longest match is the mount that one sees.
        let holds = |mount: &&Mount| path.starts_with(&mount.point);
        let Some(own) = self.0.iter().filter(holds).max_by_key(|mount| mount.point.components().count())
        else {
            return Vec::new();
        };
        let Ok(rest) = path.strip_prefix(&own.point) else { return Vec::new() };
        let inside = own.root.join(rest);
        let others = self.0.iter().filter(|mount| mount.device == own.device);
        others
            .filter_map(|mount| Some(mount.point.join(inside.strip_prefix(&mount.root).ok()?)))
            .map(|name| name.components().collect::<PathBuf>())
            .filter(|name| name != path)
            .collect()
    }
}

/// The kernel writes blanks and the like as three octal digits.
fn unescape(field: &[u8]) -> PathBuf {
    let mut out = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        let octal = after.get(..3).filter(|digits| *first == b'\\' && digits.iter().all(u8::is_ascii_digit));
        if let Some(digits) = octal {
            out.push(digits.iter().fold(0_u8, |sum, digit| sum.wrapping_mul(8).wrapping_add(digit - b'0')));
            rest = after.get(3..).unwrap_or_default();
        } else {
            out.push(*first);
            rest = after;
        }
    }
    PathBuf::from(OsString::from_vec(out))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn a_second_mount_of_the_same_disk_is_another_name() {
        let text = b"22 1 8:1 / / rw - ext4 /dev/a rw\n\
            23 22 8:1 /home /export\\040home rw - ext4 /dev/a rw\n\
            24 22 8:2 / /data rw - ext4 /dev/b rw\n\
            25 22 8:1 /home/u/.ssh /mnt/keys rw - ext4 /dev/a rw\n";
        let table = MountTable::parse(text);
        let names = table.other_names(Path::new("/home/u/.ssh"));
        assert_eq!(names, [Path::new("/export home/u/.ssh"), Path::new("/mnt/keys")]);
        let names = table.other_names(Path::new("/export home/u/.ssh/id"));
        assert_eq!(names, [Path::new("/home/u/.ssh/id"), Path::new("/mnt/keys/id")]);
        assert!(table.other_names(Path::new("/data/x")).is_empty());
    }

    #[test]
    fn the_table_of_this_machine_can_be_read() {
        assert!(!MountTable::read().unwrap().0.is_empty());
        assert_eq!(unescape(b"a\\134b").as_os_str().as_bytes(), b"a\\b");
    }
}
