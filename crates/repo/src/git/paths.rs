//! Validation of paths within a repository, and of the names in its directories: what could mean another file to git,
//! or on another file system, is refused (`..`, `.git` in all its spellings).

use base::limits::repo as limits;
use gix_object::bstr::ByteSlice;
use gix_validate::path::component;

use super::fault::Fault;

/// A path below the root of a repository, by its names; the root itself has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TreePath {
    text: String,
}

impl TreePath {
    /// Reads a path for looking: `/`, `.` and repeated slashes are dropped, `..` is refused.
    pub(crate) fn to_read(text: &str) -> Result<TreePath, Fault> {
        let names: Vec<&str> = text.split('/').filter(|name| !name.is_empty() && *name != ".").collect();
        let text_of = names.join("/");
        let fits = text_of.len() <= limits::PATH_MAX_BYTES && names.len() <= limits::DEPTH_MAX;
        if !fits || names.contains(&"..") || text_of.contains('\0') {
            return Err(invalid(text));
        }
        Ok(TreePath { text: text_of })
    }

    /// Reads a path for writing: not the root, and each of its names may be in a directory.
    pub(crate) fn to_write(text: &str) -> Result<TreePath, Fault> {
        let path = TreePath::to_read(text)?;
        let can_be = |name: &[u8]| check_name(name, false).is_ok();
        if path.is_root() || text.ends_with('/') || !path.names().into_iter().all(can_be) {
            return Err(invalid(text));
        }
        Ok(path)
    }

    /// Whether it is the root.
    pub(crate) fn is_root(&self) -> bool {
        self.text.is_empty()
    }

    /// As it is shown, without a slash in front.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// Its names, from the root down.
    pub(crate) fn names(&self) -> Vec<&[u8]> {
        self.text.split('/').filter(|name| !name.is_empty()).map(str::as_bytes).collect()
    }

    /// That nothing is there.
    pub(crate) fn missing(&self) -> Fault {
        Fault::Missing(format!("Path not found: {}", if self.is_root() { "/" } else { self.as_str() }))
    }
}

fn invalid(text: &str) -> Fault {
    Fault::Bad(format!("Invalid repo path: {text}"))
}

/// Whether a directory may have a name; the name of a link more narrowly.
pub(crate) fn check_name(name: &[u8], is_link: bool) -> Result<(), component::Error> {
    // Names that only Windows can not hold are fine in a repository, as they are for git.
    let options = component::Options { protect_windows: false, protect_hfs: true, protect_ntfs: true };
    component_of(name, is_link, options)
}

fn component_of(name: &[u8], is_link: bool, options: component::Options) -> Result<(), component::Error> {
    let mode = is_link.then_some(component::Mode::Symlink);
    gix_validate::path::component(name.as_bstr(), mode, options).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_as_people_write_them() {
        for (text, path) in [("", ""), ("/", ""), (".", ""), ("/a//b/./c/", "a/b/c"), ("ä b/…", "ä b/…")]
        {
            assert_eq!(TreePath::to_read(text).expect("a path").as_str(), path, "{text:?}");
        }
        for bad in ["..", "a/../b", "a\0b", &"x/".repeat(limits::DEPTH_MAX + 1), &"x".repeat(5_000)] {
            assert!(TreePath::to_read(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn git_s_own_directory_can_not_be_written_in_any_spelling() {
        for bad in [
            "",
            "/",
            "a/",
            ".git",
            ".GIT/config",
            "a/.Git/hooks/x",
            ".git.",
            ".git ",
            ".git::$INDEX_ALLOCATION",
            "GIT~1/x",
            ".g\u{200c}it/config",
            "..",
        ] {
            assert!(TreePath::to_write(bad).is_err(), "{bad:?}");
        }
        for good in [".gitignore", ".github/x", "git", "a.git/x", "con", "a:b", "-", " ", "a\\b"] {
            assert!(TreePath::to_write(good).is_ok(), "{good:?}");
        }
    }
}
