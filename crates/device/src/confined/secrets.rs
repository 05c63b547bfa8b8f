//! Bounded breadth-first search for secrets that may lie in any directory (`.env`, private keys), in the trees outside the
//! workspace where people keep their work. It fails closed: what there was no time to look into is hidden whole.
//!
//! Its result serves for a while, as looking at every command would cost more than the command.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base::clock::Clock;
use base::limits::device as limit;
use base::sync::lock;
use places::Roots;

use super::view::HEAVY;

/// Directories of the root that are the system's, or that confined commands have one of their own in place of.
const SYSTEM: &[&str] = &[
    "bin",
    "boot",
    "dev",
    "etc",
    "gnu",
    "lib",
    "lib32",
    "lib64",
    "libx32",
    "lost+found",
    "nix",
    "opt",
    "proc",
    "run",
    "sbin",
    "snap",
    "sys",
    "tmp",
    "usr",
    "var",
];
/// Where the system's directories hold people's work all the same.
const WORK_OF_SYSTEM: &[&str] = &["/srv", "/var/www"];
/// Variables that say where a tool's own files are.
const TOOLS: &[&str] = &[
    "CARGO_HOME",
    "RUSTUP_HOME",
    "GOPATH",
    "GOROOT",
    "GOMODCACHE",
    "JAVA_HOME",
    "MAVEN_HOME",
    "GRADLE_USER_HOME",
    "ANDROID_HOME",
    "NVM_DIR",
    "VOLTA_HOME",
    "BUN_INSTALL",
    "DENO_DIR",
    "PNPM_HOME",
    "PYENV_ROOT",
    "CONDA_PREFIX",
    "VIRTUAL_ENV",
    "RBENV_ROOT",
    "GEM_HOME",
    "DOTNET_ROOT",
    "FLUTTER_ROOT",
    "SDKMAN_DIR",
    "ASDF_DIR",
];

/// What a search found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// Secrets, by their paths.
    pub(super) secrets: Vec<PathBuf>,
    /// Directories that were not looked into.
    pub(super) unsearched: Vec<PathBuf>,
}

/// The search of one driver, with its last result.
pub(super) struct Search {
    workspace: PathBuf,
    home: PathBuf,
    /// What the trees of this machine begin in.
    root: PathBuf,
    clock: Clock,
    last: Mutex<Option<Last>>,
    /// Whether somebody looks in the background.
    is_renewed: AtomicBool,
}

/// The last result of a search.
struct Last {
    found: Arc<Found>,
    /// From when on it is renewed in the background when somebody asks for it.
    renewed_from: Duration,
    /// Until when it serves.
    until: Duration,
}

impl Search {
    pub(super) fn new(workspace: PathBuf, home: PathBuf, clock: Clock) -> Search {
        let (last, is_renewed) = (Mutex::default(), AtomicBool::new(false));
        Search { workspace, home, root: PathBuf::from("/"), clock, last, is_renewed }
    }

    /// What was found a short while ago, or now. Whoever comes meanwhile waits for it; where commands keep coming, nobody
    /// waits but the first.
    pub(super) fn found(self: &Arc<Self>) -> Arc<Found> {
        let mut last = lock(&self.last);
        let now = self.clock.elapsed();
        if let Some(last) = last.as_ref().filter(|last| now < last.until) {
            if now >= last.renewed_from && !self.is_renewed.swap(true, Ordering::Relaxed) {
                let this = self.clone();
                std::thread::spawn(move || this.renew());
            }
            return last.found.clone();
        }
        let now = self.look();
        let found = now.found.clone();
        *last = Some(now);
        found
    }

    fn renew(&self) {
        let now = self.look();
        *lock(&self.last) = Some(now);
        self.is_renewed.store(false, Ordering::Relaxed);
    }

    fn look(&self) -> Last {
        let began = self.clock.elapsed();
        let found = Arc::new(self.search());
        let now = self.clock.elapsed();
        let took = now.saturating_sub(began) * limit::SECRET_SEARCH_KEPT_TIMES;
        let kept = took.max(limit::SECRET_SEARCH_KEPT);
        Last { found, renewed_from: now + kept / 4 * 3, until: now + kept }
    }

    fn search(&self) -> Found {
        let mut found = Found::default();
        let tools = tools(&self.home, &self.workspace);
        // What leads to what a command needs is no directory that could be hidden.
        let needed: Vec<&PathBuf> = tools.iter().chain([&self.home, &self.workspace]).collect();
        let is_needed = |directory: &Path| needed.iter().any(|path| path.starts_with(directory));
        let disks: BTreeSet<u64> =
            [Path::new("/"), &self.home, &self.workspace].into_iter().filter_map(device_of).collect();
        // The home first, all of it: what is left there is missed the most.
        let (mut own, mut others): (VecDeque<PathBuf>, VecDeque<PathBuf>) =
            self.starts().into_iter().partition(|start| *start == self.home);
        let deadline = self.clock.instant() + limit::SECRET_SEARCH_TIME;
        let mut looked_into = 0;
        while let Some(directory) = own.pop_front().or_else(|| others.pop_front()) {
            // A tool's own is code and caches of it; there is none of a person's work in it.
            if self.is_passed_by(&directory) || tools.contains(&directory) {
                continue;
            }
            looked_into += 1;
            let is_too_much = looked_into > limit::SECRET_SEARCH_MAX || self.clock.instant() >= deadline;
            let is_left = is_too_much || device_of(&directory).is_none_or(|disk| !disks.contains(&disk));
            let is_left = is_left && !is_needed(&directory);
            let waiting = if directory.starts_with(&self.home) { &mut own } else { &mut others };
            if is_left || self.look_into(&directory, &mut found, waiting).is_err() {
                found.unsearched.push(directory);
            }
        }
        if !found.unsearched.is_empty() {
            tracing::debug!(hidden = found.unsearched.len(), "not all directories were searched for secrets");
        }
        fold(found, &self.home, &is_needed)
    }

    /// Where people keep their work.
    fn starts(&self) -> Vec<PathBuf> {
        // A driver without a home has the root directory for one.
        let mut starts: Vec<PathBuf> = self.home.parent().map(|_| self.home.clone()).into_iter().collect();
        let top = fs::read_dir(&self.root).into_iter().flatten().filter_map(Result::ok);
        let of_people = top.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let of_people = of_people.filter(|entry| !SYSTEM.iter().any(|name| entry.file_name() == *name));
        starts.extend(of_people.map(|entry| entry.path()));
        starts.extend(WORK_OF_SYSTEM.iter().map(PathBuf::from).filter(|path| path.is_dir()));
        starts.retain(|path| {
            self.home.parent().is_none() || *path == self.home || !path.starts_with(&self.home)
        });
        starts
    }

    /// The workspace may be read; what the table of places knows is hidden, or a tool's; what tools fill by themselves
    /// holds packages and what was built.
    fn is_passed_by(&self, directory: &Path) -> bool {
        let is_heavy = directory.file_name().is_some_and(|own| HEAVY.iter().any(|name| own == *name));
        if directory.starts_with(&self.workspace) || is_heavy {
            return true;
        }
        if directory == self.home {
            return false;
        }
        let roots = Roots { home: self.home.to_str(), workspace: self.workspace.to_str(), fold_case: false };
        let Some(text) = directory.to_str() else { return false };
        places::classify(text, &roots).is_some_and(|place| place.at != places::At::System)
            && !self.home.starts_with(directory)
            && !self.workspace.starts_with(directory)
    }

    fn look_into(
        &self,
        directory: &Path,
        found: &mut Found,
        waiting: &mut VecDeque<PathBuf>,
    ) -> io::Result<()> {
        let entries = match fs::read_dir(directory) {
            // Who may not list it may not read it by name only: names of secrets are easily guessed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => other?,
        };
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            if name.to_str().is_some_and(places::is_secret_name) {
                found.secrets.push(entry.path());
            } else if entry.file_type()?.is_dir() {
                let path = entry.path();
                // The home was the first to be looked into.
                if directory == self.home || path != self.home {
                    waiting.push_back(path);
                }
            }
        }
        Ok(())
    }
}

/// As many covers as a command's view can have: where there are more, directories above them are hidden instead, those
/// first that stand for the most, unless something needed is in them. The home is folded last: what is hidden there is
/// missed the most.
fn fold(mut found: Found, home: &Path, is_needed: &dyn Fn(&Path) -> bool) -> Found {
    while found.secrets.len() + found.unsearched.len() > limit::SECRET_COVERS_MAX {
        let excess = found.secrets.len() + found.unsearched.len() - limit::SECRET_COVERS_MAX;
        let is_kept = |path: &Path| is_needed(path) || path.starts_with(home);
        let mut folded = to_fold(&found, excess, &is_kept);
        if folded.is_empty() {
            folded = to_fold(&found, excess, is_needed);
        }
        if folded.is_empty() {
            break;
        }
        let is_left = |path: &PathBuf| !path.ancestors().any(|above| folded.contains(above));
        found.secrets.retain(is_left);
        found.unsearched.retain(is_left);
        found.unsearched.extend(folded);
    }
    found.secrets.sort_unstable();
    found.unsearched.sort_unstable();
    found
}

/// Directories to hide in place of what is in them, so that there are fewer by that many, or the way to it is shorter.
fn to_fold(found: &Found, excess: usize, is_needed: &dyn Fn(&Path) -> bool) -> HashSet<PathBuf> {
    let mut counts: HashMap<&Path, usize> = HashMap::new();
    for path in found.secrets.iter().chain(&found.unsearched) {
        if let Some(above) = path.parent().filter(|above| !is_needed(above)) {
            *counts.entry(above).or_default() += 1;
        }
    }
    let mut counts: Vec<(&Path, usize)> = counts.into_iter().collect();
    counts.sort_unstable_by_key(|(path, count)| (std::cmp::Reverse(*count), *path));
    if counts.first().is_some_and(|(_, count)| *count > 1) {
        let mut left = excess;
        let enough = |(_, count): &&(&Path, usize)| {
            let is_wanted = left > 0 && *count > 1;
            left = left.saturating_sub(count - 1);
            is_wanted
        };
        return counts.iter().take_while(enough).map(|(path, _)| path.to_path_buf()).collect();
    }
    // Each stands alone in its directory: a step up, and some meet.
    let depth = |path: &Path| path.components().count();
    let deepest = counts.iter().map(|(path, _)| depth(path)).max();
    let is_deepest = |(path, _): &&(&Path, usize)| Some(depth(path)) == deepest;
    counts.iter().filter(is_deepest).map(|(path, _)| path.to_path_buf()).collect()
}

fn device_of(path: &Path) -> Option<u64> {
    fs::symlink_metadata(path).ok().map(|found| found.dev())
}

/// Where this program's environment says that tools are, unless that is where people work.
fn tools(home: &Path, workspace: &Path) -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let programs = std::env::split_paths(&path).map(|directory| match directory.file_name() {
        Some(name) if name == "bin" || name == "sbin" || name == "shims" => {
            directory.parent().map(PathBuf::from).unwrap_or(directory)
        }
        _ => directory,
    });
    let named = TOOLS.iter().filter_map(std::env::var_os).map(PathBuf::from);
    let is_own = |tool: &PathBuf| {
        tool.is_absolute()
            && !home.starts_with(tool)
            && !workspace.starts_with(tool)
            && !tool.starts_with(workspace)
    };
    programs.chain(named).filter_map(|tool| tool.canonicalize().ok()).filter(is_own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home(paths: &[&str]) -> (tempfile::TempDir, Arc<Search>) {
        let dir = tempfile::Builder::new().prefix("home-").tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        for path in paths {
            let path = home.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        let mut search = Search::new(home.join("src/app"), home.clone(), Clock::system());
        search.root = home.join("nothing");
        (dir, Arc::new(search))
    }

    fn below(search: &Search, paths: &[PathBuf]) -> Vec<String> {
        let own = paths.iter().filter_map(|path| path.strip_prefix(&search.home).ok());
        own.map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn secrets_of_other_projects_are_found_at_any_depth() {
        let (_dir, search) = home(&[
            "src/app/.env",
            "src/other/.env",
            "src/other/.env.example",
            "src/other/deploy/prod/.env.production",
            "Documents/keys/id_ed25519",
            "Documents/passwords.kdbx",
            ".ssh/id_rsa",
            ".cargo/registry/src/x/.env",
            "src/other/README",
        ]);
        let found = search.found();
        let expected = [
            "Documents/keys/id_ed25519",
            "Documents/passwords.kdbx",
            "src/other/.env",
            "src/other/deploy/prod/.env.production",
        ];
        assert_eq!(below(&search, &found.secrets), expected);
        assert_eq!(below(&search, &found.unsearched), [""; 0]);
    }

    #[test]
    fn more_than_a_view_can_cover_is_folded_into_directories() {
        let paths: Vec<String> =
            (0..limit::SECRET_COVERS_MAX + 1).map(|at| format!("old/p{at}/deep/.env")).collect();
        let mut paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        paths.push("notes/.env");
        let (_dir, search) = home(&paths);
        let found = search.found();
        assert_eq!(below(&search, &found.secrets), ["notes/.env"]);
        assert_eq!(below(&search, &found.unsearched), ["old"]);
    }

    #[test]
    fn what_is_about_to_be_too_old_is_renewed_without_anybody_waiting() {
        let (_dir, search) = home(&["src/other/README"]);
        assert!(search.found().secrets.is_empty());
        fs::write(search.home.join("src/other/.env"), "x").unwrap();
        assert!(search.found().secrets.is_empty(), "it serves for a while");
        if let Some(last) = lock(&search.last).as_mut() {
            last.renewed_from = Duration::ZERO;
        }
        while search.found().secrets.is_empty() {
            std::thread::yield_now();
        }
        assert_eq!(below(&search, &search.found().secrets), ["src/other/.env"]);
    }
}
