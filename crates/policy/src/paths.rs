//! Path classification: where a path leads, and whether the machine or the gateway itself lives there.

use places::Roots;
use protocol::identity::ProcessIdentity;

use super::tags::Tags;
use super::target::Target;

/// A home that a device did not tell.
const UNKNOWN_HOME: &str = "~";

/// Directories of a machine that belong to the machine.
const OF_THE_MACHINE: &[&str] = &[
    "/etc",
    "/boot",
    "/sys",
    "/proc",
    "/dev",
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib64",
    "/System",
    "/Library",
    "/private/etc",
    "/var/spool/cron",
];
/// Directories of the native tree that are the gateway: writing there is changing its settings.
const OF_THE_GATEWAY: &[&str] = &["/etc", "/sys", "/proc", "/dev", "/usr"];
/// What may be written in `/dev` without harm.
const HARMLESS: &[&str] =
    &["null", "zero", "full", "random", "urandom", "tty", "stdin", "stdout", "stderr", "fd", "pts", "shm"];

/// What the paths of a call are relative to.
#[derive(Clone, Debug)]
pub(super) struct PathContext {
    is_native: bool,
    /// Absolute, or `~` where a device did not say.
    home: String,
    /// Where agents work: the workspace of a device, the home on the gateway itself.
    workspace: Option<String>,
    /// Absolute, or `~` and what follows it where the home is not known.
    cwd: String,
    /// Whether that is where commands start, links or not: `..` behind a link leads elsewhere.
    is_certain: bool,
}

impl PathContext {
    /// For a call with a working directory of its own, or the caller's. On a device relative paths start at its workspace.
    pub(super) fn new(
        is_native: bool,
        who: &ProcessIdentity,
        target: &Target,
        cwd: Option<&str>,
    ) -> PathContext {
        // A workspace that is everything is none.
        let absolute = |path: &Option<String>| {
            path.clone().filter(|path| path.starts_with('/') && collapse(path) != "/")
        };
        let (home, workspace) = match is_native {
            true => (who.home.clone(), Some(who.home.clone())),
            false => (
                absolute(&target.home).unwrap_or_else(|| UNKNOWN_HOME.to_string()),
                absolute(&target.workspace),
            ),
        };
        let start =
            if is_native { who.cwd.clone() } else { workspace.clone().unwrap_or_else(|| home.clone()) };
        let is_certain = cwd.is_none_or(|cwd| !cwd.split('/').any(|name| name == ".."));
        let mut paths = PathContext { is_native, home, workspace, cwd: collapse(&start), is_certain };
        if let Some(cwd) = cwd.filter(|cwd| !cwd.is_empty()) {
            paths.cwd = paths.resolve(cwd);
        }
        paths
    }

    /// Whether these are paths of the gateway's own tree.
    pub(super) fn is_native(&self) -> bool {
        self.is_native
    }

    /// Where commands start.
    pub(super) fn cwd(&self) -> &str {
        &self.cwd
    }

    /// Whether the working directory can be told without the machine.
    pub(super) fn is_certain(&self) -> bool {
        self.is_certain
    }

    /// The same from another working directory, which is a resolved path.
    pub(super) fn moved(&self, cwd: String) -> PathContext {
        PathContext { cwd, ..self.clone() }
    }

    /// What sensitive places are measured by. Capital letters never count: a question too many is the lesser harm.
    pub(super) fn roots(&self) -> Roots<'_> {
        Roots { home: Some(&self.home), workspace: self.workspace.as_deref(), fold_case: true }
    }

    /// Whether a resolved path is where agents work.
    pub(super) fn is_in_workspace(&self, path: &str) -> bool {
        let is_below = |root: &str| {
            let root = root.trim_end_matches('/');
            path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.workspace.as_deref().is_some_and(is_below)
    }

    /// The whole path: `~` is the home, relative ones start at the working directory, `.` and `..` are gone.
    pub(super) fn resolve(&self, path: &str) -> String {
        match path.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                collapse(&format!("{}{rest}", self.home))
            }
            // Somebody else's home.
            Some(rest) if !self.is_native => collapse(&format!("/~{rest}")),
            _ => self.resolve_plain(path),
        }
    }

    /// The whole path, where `~` is a name like any other.
    pub(super) fn resolve_plain(&self, path: &str) -> String {
        match path.starts_with('/') {
            true => collapse(path),
            false => collapse(&format!("{}/{path}", self.cwd)),
        }
    }

    /// Whether a path leads above a home that is not known.
    pub(super) fn is_lost(&self, path: &str) -> bool {
        self.home == UNKNOWN_HOME
            && !path.starts_with('/')
            && (path.starts_with('~') || self.cwd.starts_with('~'))
            && self.resolve(path).starts_with('/')
    }

    /// What is to be said of a resolved path.
    pub(super) fn tags(&self, path: &str) -> Tags {
        let mut tags = Tags::NONE;
        if path.split('/').any(|name| name.starts_with('.')) {
            tags |= Tags::HIDDEN_PATH;
        }
        let home = self.home.trim_end_matches('/');
        let is_inside = path.strip_prefix(home).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        if !is_inside && !self.is_in_workspace(path) {
            tags |= Tags::OUTSIDE_HOME;
        }
        tags
    }

    /// What is to be said of writing to a resolved path.
    pub(super) fn writing(&self, path: &str) -> Tags {
        if path.starts_with("/dev/tcp/") || path.starts_with("/dev/udp/") {
            return Tags::NETWORK;
        }
        if let Some(rest) = path.strip_prefix("/dev/") {
            let name = rest.split('/').next().unwrap_or_default();
            let bad = Tags::DESTRUCTIVE | Tags::PRIVILEGED | Tags::MUTATING;
            return if HARMLESS.contains(&name) { Tags::NONE } else { bad };
        }
        if self.is_of_the_system(path) { Tags::PRIVILEGED | Tags::MUTATING } else { Tags::MUTATING }
    }

    /// Whether a resolved path is within what the machine, or the gateway, is made of.
    pub(super) fn is_of_the_system(&self, path: &str) -> bool {
        let places = if self.is_native { OF_THE_GATEWAY } else { OF_THE_MACHINE };
        let is_within = |place: &&str| {
            // Some machines do not tell capital letters apart.
            let start = path.get(..place.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(place))
                && matches!(path.as_bytes().get(place.len()), None | Some(b'/'))
        };
        path == "/" || places.iter().any(is_within)
    }
}

/// A path without `.`, `..` and empty parts; a leading `~` is kept, and above it is the root.
pub(super) fn collapse(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let is_home = path == "~" || path.starts_with("~/");
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    match parts.first() {
        Some(&"~") if is_home => parts.join("/"),
        _ => format!("/{}", parts.join("/")),
    }
}

/// The directory a path is in, or the path itself where it has none.
pub(super) fn directory(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some(("", _)) => "/",
        Some((directory, _)) => directory,
        None => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_collapsed() {
        for (path, collapsed) in [
            ("/", "/"),
            ("/a//b/./c/../d", "/a/b/d"),
            ("/../../x", "/x"),
            ("~", "~"),
            ("~/a/..", "~"),
            ("~/..", "/"),
            ("~/../x", "/x"),
            ("~/../../etc/passwd", "/etc/passwd"),
        ] {
            assert_eq!(collapse(path), collapsed, "{path}");
        }
        assert_eq!(
            [directory("/a/b"), directory("/a"), directory("/"), directory("~")],
            ["/a", "/", "/", "~"]
        );
    }
}
