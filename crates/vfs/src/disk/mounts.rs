//! Mount table: the directories that are always there, those kept on disk and the made-up ones above them.

use std::ffi::OsStr;

use super::meta::Meta;

/// A directory that is kept on disk, by its path below the files' directory.
pub(crate) struct Mount {
    pub path: &'static str,
    pub meta: Meta,
}

/// Every directory kept on disk.
pub(crate) const MOUNTS: &[Mount] = &[
    Mount { path: "/etc", meta: Meta::root(0o755) },
    Mount { path: "/home", meta: Meta::root(0o755) },
    Mount { path: "/root", meta: Meta::root(0o700) },
    Mount { path: "/src", meta: Meta::root(0o755) },
    Mount { path: "/tmp", meta: Meta::root(0o1777) },
    Mount { path: "/usr/local", meta: Meta::root(0o755) },
    Mount { path: "/var", meta: Meta::root(0o755) },
    Mount { path: "/workspaces", meta: Meta::root(0o755) },
];

/// The made-up directories: only the names listed are in them, and nobody can add one.
const FIXED: &[(&str, &[&str])] = &[
    ("/", &["etc", "home", "root", "src", "tmp", "usr", "var", "workspaces"]),
    ("/usr", &["local", "share"]),
    ("/usr/share", &[]),
];

/// What made-up directories are like.
pub(crate) const FIXED_META: Meta = Meta::root(0o755);

/// The names on disk of a made-up directory; `None` for an ordinary one.
pub(crate) fn fixed_names(path: &str) -> Option<&'static [&'static str]> {
    FIXED.iter().find(|(fixed, _)| *fixed == path).map(|(_, names)| *names)
}

/// The mount with exactly this path.
pub(crate) fn mount(path: &str) -> Option<&'static Mount> {
    MOUNTS.iter().find(|mount| mount.path == path)
}

/// Whether the path is a mount or below one.
pub(crate) fn is_kept(path: &str) -> bool {
    MOUNTS.iter().any(|mount| {
        path.strip_prefix(mount.path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

/// Where workspaces are.
pub(crate) const WORKSPACES: &str = "/workspaces";

/// Directories whose children each begin a place of their own: what appears in one is its owner's.
pub(crate) fn holds_places(path: &str) -> bool {
    path == "/home" || path == "/workspaces"
}

/// What a directory is that can be neither removed nor renamed, not even by root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protected {
    System,
    Mount,
    Workspaces,
    Home,
    Workspace,
}

impl Protected {
    /// What it is called.
    pub fn words(self) -> &'static str {
        match self {
            Protected::System => "is part of the system",
            Protected::Mount | Protected::Workspaces => "is a mount point",
            Protected::Home => "is a home",
            Protected::Workspace => "is a workspace",
        }
    }
}

/// Whether a directory can be neither removed nor renamed, and why.
pub(crate) fn protection(path: &str) -> Option<Protected> {
    if fixed_names(path).is_some() {
        return Some(Protected::System);
    }
    if mount(path).is_some() {
        return Some(if path == "/workspaces" { Protected::Workspaces } else { Protected::Mount });
    }
    let child_of = |parent| path.strip_prefix(parent).is_some_and(|rest| !rest.contains('/'));
    if child_of("/home/") {
        return Some(Protected::Home);
    }
    child_of("/workspaces/").then_some(Protected::Workspace)
}

/// Names that begin so are the gateway's own: drafts of files being written.
pub(crate) const DRAFT: &str = ".gsv-tmp-";
/// Names that begin so are the gateway's own: uploads that are not finished.
pub(crate) const PARTIAL: &str = ".gsv-part-";

/// Names that begin so are the gateway's own: workspaces that are being archived.
pub(crate) const AWAY: &str = ".gsv-away-";
/// Names that begin so are the gateway's own: workspaces that are being restored.
pub(crate) const BACK: &str = ".gsv-back-";

/// Whether a name is one of the gateway's own: not shown, not found, and refused to users. Some hosts take
/// names that differ only in case for the same.
pub(crate) fn is_reserved(name: &OsStr) -> bool {
    is_draft(name) || is_partial(name) || begins(name, AWAY) || begins(name, BACK)
}

/// Whether it is the name of something being written or made.
pub(crate) fn is_draft(name: &OsStr) -> bool {
    begins(name, DRAFT)
}

/// Whether it is the name of an upload that is not finished.
pub(crate) fn is_partial(name: &OsStr) -> bool {
    begins(name, PARTIAL)
}

fn begins(name: &OsStr, with: &str) -> bool {
    name.as_encoded_bytes().get(..with.len()).is_some_and(|head| head.eq_ignore_ascii_case(with.as_bytes()))
}
