//! Parser of `DEVICE:/path`: one side of a copy, a path here or on a target.

use std::path::PathBuf;

use terminal::failure::{Failure, Result};

/// Where a file is.
#[derive(Clone, Debug, PartialEq)]
pub enum Location {
    /// On this machine.
    Local(PathBuf),
    /// On the gateway or a device.
    Remote(Remote),
}

/// A path on a target.
#[derive(Clone, Debug, PartialEq)]
pub struct Remote {
    /// A device, or `gsv`.
    pub target: String,
    /// As the target understands it.
    pub path: String,
}

impl Location {
    /// Reads `DEVICE:/path`. A local path with a colon begins with `./`, `../` or `/`.
    pub fn parse(text: &str) -> Result<Location> {
        if text.is_empty() {
            return Err(Failure::usage("a path is empty"));
        }
        let local = || Location::Local(PathBuf::from(text));
        let Some((target, path)) = text.split_once(':') else { return Ok(local()) };
        if target.contains(['/', '\\']) || text.starts_with('.') || is_drive(target) {
            return Ok(local());
        }
        if target.is_empty() {
            return Err(Failure::usage(format!("{text}: which device?"))
                .with_hint(format!("for a local file write ./{text}")));
        }
        let path = if path.is_empty() { "." } else { path };
        Ok(Location::Remote(Remote { target: target.to_string(), path: path.to_string() }))
    }
}

impl Remote {
    /// A path below this one.
    pub fn join(&self, name: &str) -> Remote {
        let path = match self.path.as_str() {
            "." => name.to_string(),
            path if path.ends_with('/') => format!("{path}{name}"),
            path => format!("{path}/{name}"),
        };
        Remote { target: self.target.clone(), path }
    }

    /// The last part of the path; `None` for `.`, `..` and `/`.
    pub fn name(&self) -> Option<&str> {
        let name = self.path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        (!matches!(name, "" | "." | "..")).then_some(name)
    }
}

impl std::fmt::Display for Remote {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{}:{}", self.target, self.path)
    }
}

/// `C:\file` is no device named C where there are drives.
fn is_drive(target: &str) -> bool {
    cfg!(windows) && target.len() == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remote(target: &str, path: &str) -> Location {
        Location::Remote(Remote { target: target.into(), path: path.into() })
    }

    #[test]
    fn sides_are_told_apart() {
        assert_eq!(Location::parse("mac:/etc/hosts").unwrap(), remote("mac", "/etc/hosts"));
        assert_eq!(Location::parse("gsv:notes.txt").unwrap(), remote("gsv", "notes.txt"));
        assert_eq!(Location::parse("mac:/a:b").unwrap(), remote("mac", "/a:b"));
        assert_eq!(Location::parse("mac:").unwrap(), remote("mac", "."));
        for local in ["notes.txt", "./a:b", "../a:b", "/a:b", "dir/a:b", ".a:b"] {
            assert_eq!(Location::parse(local).unwrap(), Location::Local(local.into()), "{local}");
        }
        assert!(Location::parse("").is_err() && Location::parse(":x").is_err());
    }

    #[test]
    fn remote_paths_join_and_have_names() {
        let home = Remote { target: "mac".into(), path: "/home/".into() };
        assert_eq!((home.join("a").path.as_str(), home.name()), ("/home/a", Some("home")));
        let here = Remote { target: "mac".into(), path: ".".into() };
        assert_eq!((here.join("a").path.as_str(), here.name()), ("a", None));
        let root = Remote { target: "mac".into(), path: "/".into() };
        assert_eq!((root.join("a").path.as_str(), root.name()), ("/a", None));
    }
}
