//! Repository slug, `owner/name`: validated so that it is one directory below `repos/` and nothing else, on any file
//! system.

use std::fmt;
use std::path::{Path, PathBuf};

use base::limits::repo::NAME_MAX_BYTES;
use protocol::error::Error;
use protocol::repo::RepoKind;

/// The checked name of a repository.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slug {
    owner: String,
    name: String,
}

impl Slug {
    /// Reads `owner/name`.
    pub fn parse(text: &str) -> Result<Slug, Error> {
        match text.trim().split_once('/') {
            Some((owner, name)) if !owner.is_empty() && !name.is_empty() => Slug::new(owner, name),
            _ => Err(Error::bad("repo must be '<owner>/<name>'")),
        }
    }

    /// Checks both parts.
    pub fn new(owner: &str, name: &str) -> Result<Slug, Error> {
        if !is_name(owner) {
            return Err(Error::bad(format!("Invalid repo owner: {owner}")));
        }
        if !is_name(name) {
            return Err(Error::bad(format!("Invalid repo name: {name}")));
        }
        Ok(Slug { owner: owner.to_string(), name: name.to_string() })
    }

    /// The name of the account whose it is.
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// The part behind the slash.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the name says about what it is for.
    pub(crate) fn kind(&self) -> RepoKind {
        match self.name() {
            "home" => RepoKind::Home,
            name if name.starts_with("ws_") => RepoKind::Workspace,
            _ => RepoKind::User,
        }
    }

    /// Its directory below that of all repositories.
    pub fn path_in(&self, repos: &Path) -> PathBuf {
        repos.join(&self.owner).join(format!("{}.git", self.name))
    }
}

impl fmt::Display for Slug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.owner, self.name)
    }
}

/// `[A-Za-z0-9._-]+`, without what means something to git, to a shell or to a file system: a dot or a dash in front, a
/// dot at the end, `..`, and the endings that git gives to directories and locks.
fn is_name(text: &str) -> bool {
    let letters = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    let lower = text.to_ascii_lowercase();
    !text.is_empty()
        && text.len() <= NAME_MAX_BYTES
        && text.bytes().all(letters)
        && !text.starts_with(['.', '-'])
        && !text.ends_with('.')
        && !text.contains("..")
        && !lower.ends_with(".git")
        && !lower.ends_with(".lock")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_one_directory_is_a_name() {
        for good in ["sam/home", "root/gsv", "a/b", "sam/ws_1-2.x", " sam/home "] {
            assert!(Slug::parse(good).is_ok(), "{good}");
        }
        let path = Slug::parse("sam/notes").expect("a name").path_in(Path::new("/r"));
        assert_eq!(path, Path::new("/r/sam/notes.git"));
    }

    #[test]
    fn what_leads_elsewhere_is_none() {
        let long = format!("sam/{}", "x".repeat(NAME_MAX_BYTES + 1));
        for bad in [
            "",
            "/",
            "sam",
            "sam/",
            "/home",
            "sam/a/b",
            "../etc",
            "sam/..",
            "sam/.",
            "sam/.git",
            "sam/x.git",
            "sam/x.GIT",
            "sam/x.lock",
            "sam/-x",
            "-sam/x",
            "sam/a..b",
            "sam/a b",
            "sam/ä",
            "sam/a\0",
            "sam/x.",
            "sam/a\\b",
            "sam/a:b",
            &long,
        ] {
            assert!(Slug::parse(bad).is_err(), "{bad:?}");
        }
    }
}
