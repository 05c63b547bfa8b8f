//! Normalised paths of the native tree: always absolute, without `.`, `..`, empty parts or NUL.

use std::fmt;

use base::limits;

use crate::fault::{Code, Fault};

/// An absolute path of the tree, normalised by its text. Links are not looked at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VPath(String);

impl VPath {
    /// The root directory, `/`.
    pub fn root() -> VPath {
        VPath("/".to_string())
    }

    /// What somebody means: `~` is the home, anything relative starts at `cwd`, `..` above the root is dropped.
    pub fn resolve(text: &str, home: &str, cwd: &str) -> Result<VPath, Fault> {
        let invalid = |code, why: &str| Err(Fault::new(code, "open", text).because(why.to_string()));
        if text.contains('\0') {
            return invalid(Code::Invalid, "a path must not contain NUL");
        }
        if text.len() > limits::files::PATH_MAX_BYTES {
            return invalid(Code::NameTooLong, "the path is too long");
        }
        let (base, rest) = match text.strip_prefix('~') {
            Some("") => (home, ""),
            Some(rest) if rest.starts_with('/') => (home, rest),
            _ if text.starts_with('/') => ("", text),
            _ => (cwd, text),
        };
        if base.contains('\0') {
            return invalid(Code::Invalid, "a path must not contain NUL");
        }
        let mut path = String::with_capacity(base.len() + rest.len() + 2);
        for part in base.split('/').chain(rest.split('/')) {
            match part {
                "" | "." => {}
                ".." => path.truncate(path.rfind('/').unwrap_or(0)),
                name if name.len() > limits::files::NAME_MAX_BYTES => {
                    return invalid(Code::NameTooLong, "a name in the path is too long");
                }
                name => {
                    path.push('/');
                    path.push_str(name);
                }
            }
        }
        if path.is_empty() {
            path.push('/');
        }
        Ok(VPath(path))
    }

    /// An absolute path given as text; relative ones start at the root.
    pub fn absolute(text: &str) -> Result<VPath, Fault> {
        VPath::resolve(text, "/", "/")
    }

    /// The text, beginning with `/`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The directory it is in; `None` for the root.
    pub fn parent(&self) -> Option<VPath> {
        let (parent, _) = self.0.rsplit_once('/').filter(|(_, name)| !name.is_empty())?;
        Some(if parent.is_empty() { VPath::root() } else { VPath(parent.to_string()) })
    }

    /// The last name; empty for the root.
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }

    /// A name in this directory. The name must be one part: no slash, not `.` or `..`.
    pub fn join(&self, name: &str) -> VPath {
        debug_assert!(!name.is_empty() && !name.contains('/') && name != "." && name != "..");
        VPath(if self.0 == "/" { format!("/{name}") } else { format!("{}/{name}", self.0) })
    }

    /// The names on the way from the root.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        self.0.split('/').filter(|part| !part.is_empty())
    }

    /// Whether it is `other` or below it.
    pub fn is_within(&self, other: &VPath) -> bool {
        other.0 == "/"
            || self.0.strip_prefix(&other.0).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

impl fmt::Display for VPath {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0)
    }
}
