//! View of the machine for confined commands: the sandbox's description of one command, made from the table of places.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::clock::Clock;
use base::limits::device as limit;
use places::Roots;
use protocol::confine::{Confine, Way};
use sandbox::{Inverted, Spec};

use super::caches::{Caches, Lease};
use super::secrets::Search;

/// What every confined command of this driver sees.
pub(super) struct View {
    workspace: PathBuf,
    home: PathBuf,
    /// Where the driver keeps its own: checkpoints, temporary files of runs.
    state: PathBuf,
    /// Secrets that are known by their name alone, wherever they are.
    search: Arc<Search>,
    /// The user's package caches.
    caches: Arc<Caches>,
}

impl View {
    pub(super) fn new(workspace: PathBuf, home: PathBuf, state: PathBuf, clock: Clock) -> View {
        let search = Arc::new(Search::new(workspace.clone(), home.clone(), clock.clone()));
        let caches = Caches::new(home.clone(), workspace.clone(), None, clock);
        View { workspace, home, state, search, caches }
    }

    /// The same on a machine that lays overlays: commands then change a copy of the package caches.
    pub(super) fn with_caches(mut self, clock: Clock) -> View {
        let below = Some(self.state.join("tmp"));
        self.caches = Caches::new(self.home.clone(), self.workspace.clone(), below, clock);
        self
    }

    /// Looks for secrets, if what was found is too old: a command that comes soon need not wait for it then.
    pub(super) fn look_for_secrets(&self) {
        drop(self.search.found());
    }

    /// Gives a command package caches that it can write to, as long as the lease is held. What is proved to only read
    /// runs with the machine's own programs, not with those that an agent may have put into a copy.
    pub(super) fn lend_caches(&self, spec: &mut Spec, confine: &Confine) -> io::Result<Option<Lease>> {
        if confine.way == Way::Proved {
            return Ok(None);
        }
        let (lease, overlays) = self.caches.lease()?;
        spec.cache_overlays = overlays;
        Ok(Some(lease))
    }

    /// The description of one command. It is made anew each time: secrets come and go.
    pub(super) fn spec(&self, command: Vec<OsString>, cwd: &Path, tmp: &Path, confine: &Confine) -> Spec {
        let mut spec = Spec::new(command, self.workspace.clone(), tmp.to_path_buf());
        spec.cwd = cwd.to_path_buf();
        spec.writable = confine.write.iter().map(PathBuf::from).collect();
        let allowed: Vec<&Path> = confine.read.iter().map(Path::new).collect();
        let is_allowed = |path: &Path| allowed.iter().any(|allowed| path.starts_with(allowed));
        let found = self.search.found();
        // What is proved names what it reads; the rest could be led to a secret that nobody has seen yet.
        let unsearched = (confine.way != Way::Proved).then_some(&found.unsearched);
        let unsearched = unsearched.into_iter().flatten().filter(|path| !is_written(&spec, path));
        let hidden = self.hidden().into_iter().chain(found.secrets.iter().chain(unsearched).cloned());
        spec.hidden = hidden.filter(|path| !is_allowed(path)).collect();
        spec.inverted = self.inverted();
        spec.read_only = self.protected();
        spec
    }

    /// Variables that say where things are.
    pub(super) fn environment(&self) -> Vec<(String, String)> {
        let home = self.home.to_str().map(|home| ("HOME".to_string(), home.to_string()));
        home.into_iter().chain(self.caches.environment()).collect()
    }

    fn roots(&self) -> Roots<'_> {
        Roots { home: self.home.to_str(), workspace: self.workspace.to_str(), fold_case: false }
    }

    /// Secrets that are there, and what the driver keeps for itself.
    fn hidden(&self) -> Vec<PathBuf> {
        // A command has a /proc of its own, and may read what is in its workspace.
        let mut list = |directory: &str| if is_proc(directory) { Vec::new() } else { names(directory) };
        let places = places::to_hide(&self.roots(), &mut list).into_iter().map(PathBuf::from);
        places.filter(|path| !path.starts_with(&self.workspace)).chain([self.state.clone()]).collect()
    }

    /// The home directory and those in it that hold secrets beside other things.
    fn inverted(&self) -> Vec<Inverted> {
        let roots = self.roots();
        let dirs = places::home_inversion().iter().map(|below| match *below {
            "" => self.home.clone(),
            below => self.home.join(below),
        });
        let inverted =
            dirs.filter(|dir| dir.symlink_metadata().is_ok_and(|found| found.is_dir())).map(|dir| {
                let is_hidden = |name: &String| {
                    let path = dir.join(name);
                    path.to_str().is_none_or(|path| places::view_of(path, &roots) == places::View::Hidden)
                };
                let here = dir.to_string_lossy().into_owned();
                let hide = names(&here).into_iter().filter(is_hidden).map(OsString::from).collect();
                Inverted { dir, hide }
            });
        // A workspace that is the home, or above it, is seen as it is: there is nothing to take away from it.
        inverted.filter(|inverted| !inverted.dir.starts_with(&self.workspace)).collect()
    }

    /// Code that runs later in the workspace and in repositories inside it.
    fn protected(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for directory in self.repositories() {
            let Some(text) = directory.to_str() else { continue };
            found.extend(places::to_protect(text, false, &mut names).into_iter().map(PathBuf::from));
        }
        found
    }

    /// The workspace, and the directories in it that are repositories of their own, as far as a bounded look goes.
    fn repositories(&self) -> Vec<PathBuf> {
        let mut found = vec![self.workspace.clone()];
        let mut waiting = vec![(self.workspace.clone(), 0)];
        let mut looked_at = 0;
        while let Some((directory, depth)) = waiting.pop() {
            looked_at += 1;
            if looked_at > limit::REPOSITORY_SEARCH_MAX {
                break;
            }
            let Ok(children) = std::fs::read_dir(&directory) else { continue };
            for child in children.filter_map(Result::ok) {
                let is_dir = child.file_type().is_ok_and(|kind| kind.is_dir());
                if !is_dir || HEAVY.iter().any(|name| child.file_name() == *name) {
                    continue;
                }
                let path = child.path();
                if path.join(".git").symlink_metadata().is_ok() {
                    found.push(path.clone());
                }
                if depth < limit::REPOSITORY_SEARCH_DEPTH {
                    waiting.push((path, depth + 1));
                }
            }
        }
        found
    }
}

/// Whether a person allowed a command to write there.
fn is_written(spec: &Spec, path: &Path) -> bool {
    spec.writable.iter().any(|place| path.starts_with(place))
}

/// Directories that are not searched, for repositories or secrets: tools fill them.
pub(super) const HEAVY: &[&str] =
    &[".git", "node_modules", "target", ".venv", "venv", "__pycache__", "dist", "build", ".next", ".gradle"];

fn is_proc(directory: &str) -> bool {
    directory == "/proc" || directory.starts_with("/proc/")
}

/// The names in a directory; none of what is no directory. Names that are no text can not be places.
fn names(directory: &str) -> Vec<String> {
    let Ok(children) = std::fs::read_dir(directory) else { return Vec::new() };
    children.filter_map(|child| child.ok()?.file_name().into_string().ok()).collect()
}
