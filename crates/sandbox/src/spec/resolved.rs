//! Resolution of the paths of a spec: every symbolic link is followed once, before anything depends on a name.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::Spec;
use crate::failure::{At, Failure};
use crate::sys;

impl Spec {
    /// The same spec by real paths. What must exist fails if it does not; protected paths that do not exist go.
    pub(crate) fn resolved(&self) -> Result<Spec, Failure> {
        let mut spec = self.clone();
        spec.workspace = real(&self.workspace)?;
        spec.tmp = real(&self.tmp)?;
        spec.writable = self.writable.iter().map(|path| real(path)).collect::<Result<_, _>>()?;
        for overlay in spec.overlays.iter_mut().chain(&mut spec.cache_overlays) {
            overlay.target = real(&overlay.target)?;
            overlay.upper = real(&overlay.upper)?;
            overlay.work = real(&overlay.work)?;
        }
        for inverted in &mut spec.inverted {
            inverted.dir = real_if_there(&inverted.dir)?.unwrap_or_default();
        }
        spec.inverted.retain(|inverted| inverted.dir.is_absolute());
        let mut read_only = Vec::new();
        for path in &self.read_only {
            read_only.extend(real_if_there(path)?);
        }
        spec.read_only = read_only;
        Ok(spec)
    }
}

fn real(path: &Path) -> Result<PathBuf, Failure> {
    if !path.is_absolute() {
        return Err(Failure::refused(format!("find {}", path.display()), "it is not an absolute path"));
    }
    real_path(path).at_path("find", path)
}

fn real_if_there(path: &Path) -> Result<Option<PathBuf>, Failure> {
    match real_path(path) {
        Ok(path) => Ok(Some(path)),
        Err(error) if is_not_there(&error) => Ok(None),
        Err(error) => Err(error).at_path("find", path),
    }
}

/// The path without links and dots. Nearly all paths are so already, and one call says that: every part of such a path
/// would else be asked about on its own.
pub(crate) fn real_path(path: &Path) -> io::Result<PathBuf> {
    let is_plain = |part: Component<'_>| matches!(part, Component::RootDir | Component::Normal(_));
    if path.is_absolute() && path.components().all(is_plain) {
        match sys::open_linkless(path) {
            // The pieces again, without doubled and trailing slashes.
            Ok(_) => return Ok(path.components().collect()),
            // A link on the way, or at its end.
            Err(error) if error.raw_os_error() == Some(libc::ELOOP) => {}
            Err(error) => return Err(error),
        }
    }
    fs::canonicalize(path)
}

/// A link that leads to itself is nothing either.
fn is_not_there(error: &io::Error) -> bool {
    let kind = error.kind();
    matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        || error.raw_os_error() == Some(libc::ELOOP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_paths_are_those_that_the_library_finds() {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/file"), "x").unwrap();
        for (to, name) in [("a", "link"), ("a/file", "leaf"), ("loop", "loop"), ("nowhere", "dangling")] {
            std::os::unix::fs::symlink(root.join(to), root.join(name)).unwrap();
        }
        let names = [
            "a",
            "a/b",
            "a/b/",
            "a//b",
            "a/./b",
            "a/b/..",
            "a/file",
            "link",
            "link/b",
            "leaf",
            "link/../a",
            "loop",
            "dangling",
            "missing",
            "a/file/x",
            "a/missing/x",
        ];
        for name in names {
            let path = PathBuf::from(format!("{}/{name}", root.display()));
            let (ours, theirs) = (real_path(&path), fs::canonicalize(&path));
            let number = |found: &io::Result<PathBuf>| found.as_ref().err().and_then(io::Error::raw_os_error);
            assert_eq!((number(&ours), ours.ok()), (number(&theirs), theirs.ok()), "{name}");
        }
    }
}
