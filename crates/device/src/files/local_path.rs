//! Path resolution: a path as a caller wrote it, made into the path to show and the path to look up.

use std::path::{Component, Path, PathBuf};

use super::{Failure, Files, Root};

/// Where a path points, before anything was looked up.
#[derive(Clone, Debug)]
pub struct LocalPath {
    /// The local path, as it is told to callers.
    pub display: PathBuf,
    /// Absolute on the whole machine, relative to the root below one.
    pub(super) inner: PathBuf,
}

impl LocalPath {
    /// The local path, as text.
    pub fn text(&self) -> String {
        self.display.to_string_lossy().into_owned()
    }
}

impl Files {
    /// Reads a path: relative to the workspace, `~` is the home directory, absolute paths as they are. Below a
    /// root, absolute paths must start with the root's path.
    pub fn local_path(&self, text: &str) -> Result<LocalPath, Failure> {
        let display = self.absolute(text)?;
        let inner = match &*self.root {
            Root::Machine => display.clone(),
            Root::Below { path, given, .. } => {
                let inside = display.strip_prefix(path).or_else(|_| display.strip_prefix(given));
                inside.map_err(|_| Failure::outside(&display.to_string_lossy()))?.to_path_buf()
            }
        };
        Ok(LocalPath { display, inner })
    }

    /// The absolute path of a text; nothing is looked up.
    pub(crate) fn absolute(&self, text: &str) -> Result<PathBuf, String> {
        if text.contains('\0') {
            return Err("the path contains a NUL byte".to_string());
        }
        let path = match (text.strip_prefix('~'), &self.home) {
            (Some(""), Some(home)) => home.clone(),
            (Some(rest), Some(home)) if rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
            _ => self.workspace.join(text),
        };
        Ok(without_dots(&path))
    }
}

/// Drops `.` and doubled slashes. `..` stays: what it means depends on links.
fn without_dots(path: &Path) -> PathBuf {
    path.components().filter(|part| !matches!(part, Component::CurDir)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_start_where_callers_expect() {
        let temp = tempfile::tempdir().unwrap();
        let mut files = Files::whole(temp.path()).unwrap();
        files.home = Some("/home/me".into());
        let display = |text: &str| files.local_path(text).unwrap().display;
        assert_eq!(display("a/./b"), temp.path().join("a/b"));
        assert_eq!(display("."), temp.path());
        assert_eq!(display(""), temp.path());
        assert_eq!(display("/etc//passwd"), Path::new("/etc/passwd"));
        assert_eq!((display("~"), display("~/x")), ("/home/me".into(), "/home/me/x".into()));
        assert_eq!(display("~other/x"), temp.path().join("~other/x"));
        assert!(matches!(files.local_path("a\0b"), Err(Failure::Failed(why)) if why.contains("NUL")));
    }

    #[test]
    fn below_a_root_absolute_paths_must_start_with_it() {
        let temp = tempfile::tempdir().unwrap();
        let files = Files::below(temp.path(), Path::new("/")).unwrap();
        let root = temp.path().canonicalize().unwrap();
        assert_eq!(files.local_path("x").unwrap().display, root.join("x"));
        assert_eq!(files.local_path(root.join("y").to_str().unwrap()).unwrap().inner, Path::new("y"));
        for text in ["/etc/passwd", "/", "~/x"] {
            assert!(
                matches!(files.local_path(text), Err(Failure::Refused(error)) if error.code == 403),
                "{text}"
            );
        }
    }
}
