//! Removing a tree, and what must not be removed. Other file systems below it are not entered.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use cap_std::fs::{Dir, MetadataExt, OpenOptions, OpenOptionsExt};

use super::{Entry, Files, Root, say_outside};

impl Entry {
    /// Whether another file system begins here.
    pub(crate) fn is_mount_point(&self) -> io::Result<bool> {
        Ok(self.metadata_itself()?.dev() != self.dir.dir_metadata()?.dev())
    }

    /// Removes it, with everything in it when it is a directory. Links are removed, not followed.
    pub fn remove(&self) -> io::Result<()> {
        let metadata = self.metadata_itself()?;
        if metadata.is_dir() {
            remove_tree(&self.dir, &self.name, metadata.dev())
        } else {
            self.dir.remove_file(&self.name)
        }
    }
}

fn remove_tree(parent: &Dir, name: &OsStr, device: u64) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let dir = Dir::from_std_file(parent.open_with(name, &options).map_err(say_outside)?.into_std());
    if dir.dir_metadata()?.dev() != device {
        let name = name.to_string_lossy();
        return Err(io::Error::other(format!("'{name}' is a mount point, the rest is left")));
    }
    for child in dir.entries()? {
        let child = child?;
        if child.file_type()?.is_dir() {
            remove_tree(&dir, &child.file_name(), device)?;
        } else {
            dir.remove_file(child.file_name())?;
        }
    }
    parent.remove_dir(name)
}

impl Files {
    /// What must not be deleted and lies at or below this real path.
    pub(crate) fn protected(&self, real: &Path) -> Option<String> {
        if real.parent().is_none() {
            return Some("the root directory".into());
        }
        if let Root::Below { path, .. } = &*self.root
            && path.starts_with(real)
        {
            return Some("the directory of --root".into());
        }
        let holds = |path: &Path| {
            path.starts_with(real) || path.canonicalize().is_ok_and(|path| path.starts_with(real))
        };
        if holds(&self.workspace) {
            return Some("the workspace".into());
        }
        // A machine without these files has no accounts or mounts that could be told from them.
        let accounts = std::fs::read("/etc/passwd").unwrap_or_default();
        if self.home.iter().cloned().chain(homes(&accounts)).any(|home| holds(&home)) {
            return Some("a home directory".into());
        }
        let mounts = std::fs::read("/proc/self/mountinfo").unwrap_or_default();
        let mount = mount_points(&mounts).into_iter().find(|mount| mount.starts_with(real))?;
        Some(format!("the mount point '{}'", mount.display()))
    }
}

/// The home directories of all accounts.
fn homes(passwd: &[u8]) -> Vec<PathBuf> {
    let fields =
        passwd.split(|byte| *byte == b'\n').filter_map(|line| line.split(|byte| *byte == b':').nth(5));
    fields.filter(|home| home.len() > 1 && home[0] == b'/').map(path).collect()
}

/// Where file systems are mounted, by `mountinfo`. Also those that share a device with their parent.
fn mount_points(mountinfo: &[u8]) -> Vec<PathBuf> {
    let lines = mountinfo.split(|byte| *byte == b'\n');
    lines
        .filter_map(|line| line.split(|byte| *byte == b' ').nth(4))
        .map(|text| path(&unescape(text)))
        .collect()
}

fn path(bytes: &[u8]) -> PathBuf {
    std::ffi::OsString::from_vec(bytes.to_vec()).into()
}

/// Spaces and the like are written as `\040`.
fn unescape(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let digits =
            after.get(..3).filter(|_| *first == b'\\').and_then(|octal| std::str::from_utf8(octal).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[3..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn homes_are_those_of_all_accounts() {
        let passwd = b"root:x:0:0:root:/root:/bin/sh\nnone:x:1:1::/:\nann:x:2:2:Ann:/home/ann:/bin/sh\nbad\n";
        assert_eq!(homes(passwd), [Path::new("/root"), Path::new("/home/ann")]);
    }

    #[test]
    fn mount_points_are_read_with_their_spaces() {
        let text = b"22 28 0:21 / /sys rw - sysfs sysfs rw\n36 35 98:0 /m /mnt/my\\040disk\\134x rw - ext3 /dev/r rw\n";
        assert_eq!(mount_points(text), [Path::new("/sys"), Path::new("/mnt/my disk\\x")]);
    }
}
