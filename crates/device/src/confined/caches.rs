//! Package caches of confined commands: an overlay over each cache of the machine's user, with an upper layer of the
//! workspace's own. Builds unpack and download as they like, and the person's caches, which are code that runs later, stay
//! as they are.
//!
//! Layers are pooled: one belongs to one command at a time, as the kernel wants it, and serves the next one afterwards.
//! They live as long as the driver, within a limit of bytes.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use base::clock::Clock;
use base::limits::device as limit;
use base::sync::lock;
use sandbox::Overlay;

/// Where each cache is below the home, and the variable that says where it is instead.
const CACHES: &[(&str, Option<&str>)] = &[
    (".cargo", Some("CARGO_HOME")),
    (".npm", Some("npm_config_cache")),
    (".cache/pip", Some("PIP_CACHE_DIR")),
    (".cache/uv", Some("UV_CACHE_DIR")),
    (".cache/go-build", Some("GOCACHE")),
    ("go/pkg/mod", Some("GOMODCACHE")),
    (".cache/yarn", Some("YARN_CACHE_FOLDER")),
    (".local/share/pnpm", None),
    (".gradle", Some("GRADLE_USER_HOME")),
    (".m2/repository", None),
    (".nuget/packages", Some("NUGET_PACKAGES")),
    (".cache/pre-commit", Some("PRE_COMMIT_HOME")),
    (".cache/deno", Some("DENO_DIR")),
    (".pub-cache", Some("PUB_CACHE")),
    (".cache/coursier", Some("COURSIER_CACHE")),
    (".cache/composer", Some("COMPOSER_CACHE_DIR")),
];

/// The caches of one driver.
pub(super) struct Caches {
    home: PathBuf,
    workspace: PathBuf,
    /// Where layers are kept; none where the machine lays no overlays.
    below: Option<PathBuf>,
    clock: Clock,
    free: Mutex<Free>,
    /// A layer came back.
    came_back: Condvar,
}

/// Layers that no command has.
#[derive(Default)]
struct Free {
    layers: Vec<Layer>,
    /// How many more there will be in a moment: their commands have ended, and their mounts are about to.
    coming_back: usize,
}

/// One upper layer over every cache.
struct Layer {
    dir: tempfile::TempDir,
    /// When its size was last looked at.
    measured: Duration,
}

/// A layer that belongs to one command as long as this is held.
pub(crate) struct Lease {
    caches: Arc<Caches>,
    layer: Option<Layer>,
    is_coming_back: bool,
}

impl Caches {
    /// For a home and a workspace, both resolved; layers are kept below a directory, or nowhere.
    pub(super) fn new(
        home: PathBuf,
        workspace: PathBuf,
        below: Option<PathBuf>,
        clock: Clock,
    ) -> Arc<Caches> {
        Arc::new(Caches { home, workspace, below, clock, free: Mutex::default(), came_back: Condvar::new() })
    }

    /// A layer for one command, and what is laid over what with it.
    pub(super) fn lease(self: &Arc<Self>) -> io::Result<(Lease, Vec<Overlay>)> {
        let Some(below) = &self.below else {
            return Ok((Lease { caches: self.clone(), layer: None, is_coming_back: false }, Vec::new()));
        };
        let known = self.known();
        let now = self.clock.elapsed();
        let layer = match known {
            Some(layer) if now.saturating_sub(layer.measured) < limit::CACHE_LAYER_MEASURED => layer,
            Some(layer) if is_small(layer.dir.path()) => Layer { measured: now, ..layer },
            too_large_or_none => {
                too_large_or_none.into_iter().for_each(discard);
                fs::create_dir_all(below)?;
                let prefix = format!("caches-{}-", std::process::id());
                let dir = tempfile::Builder::new().prefix(&prefix).tempdir_in(below)?;
                Layer { dir, measured: now }
            }
        };
        let lease = Lease { caches: self.clone(), layer: Some(layer), is_coming_back: false };
        let overlays = self.overlays(&lease)?;
        Ok((lease, overlays))
    }

    /// A layer that is there. For one that is about to be the command waits: what the command before it put into the
    /// caches shall be in them.
    fn known(&self) -> Option<Layer> {
        let is_awaited = |free: &mut Free| free.layers.is_empty() && free.coming_back > 0;
        let waited =
            self.came_back.wait_timeout_while(lock(&self.free), limit::CACHE_LAYER_AWAITED, is_awaited);
        let (mut free, _) = waited.unwrap_or_else(PoisonError::into_inner);
        free.layers.pop()
    }

    fn overlays(&self, lease: &Lease) -> io::Result<Vec<Overlay>> {
        let Some(layer) = &lease.layer else { return Ok(Vec::new()) };
        let mut overlays = Vec::new();
        for (index, target) in self.there() {
            let own = layer.dir.path().join(index.to_string());
            let (upper, work) = (own.join("upper"), own.join("work"));
            fs::create_dir_all(&upper)?;
            // What the kernel left there tells that nothing was synced; without it the layer can be mounted again.
            remove(&work)?;
            fs::create_dir(&work)?;
            overlays.push(Overlay { target, upper, work, kept: false });
        }
        Ok(overlays)
    }

    /// The caches that exist and are this user's, with numbers of their own. Those in the workspace are as they are. Where
    /// a variable names another place the usual one counts too: not every tool is told of the variable.
    fn there(&self) -> impl Iterator<Item = (usize, PathBuf)> {
        let named = CACHES.iter().map(|cache| self.place_of(cache));
        let usual = CACHES.iter().map(|(below, _)| self.home.join(below));
        let mut seen = BTreeSet::new();
        named.chain(usual).enumerate().filter_map(move |(index, path)| {
            let path = path.canonicalize().ok().filter(|path| seen.insert(path.clone()))?;
            let found = fs::metadata(&path).ok()?;
            let is_own = found.uid() == rustix::process::geteuid().as_raw();
            let is_apart = !path.starts_with(&self.workspace) && !self.workspace.starts_with(&path);
            // The home as a whole is no cache, and `/tmp` is the command's own anyway.
            let is_one = !self.home.starts_with(&path) && !path.starts_with("/tmp");
            (found.is_dir() && is_own && is_apart && is_one).then_some((index, path))
        })
    }

    fn place_of(&self, (below, variable): &(&str, Option<&str>)) -> PathBuf {
        let named = variable.and_then(std::env::var_os).map(PathBuf::from);
        named.filter(|path| path.is_absolute()).unwrap_or_else(|| self.home.join(below))
    }

    /// Variables that give tools a cache in the run's `/tmp`, where they have none, or none that they can do with.
    pub(super) fn environment(&self) -> Vec<(String, String)> {
        let is_missing = |cache: &&(&str, Option<&str>)| {
            let path = self.place_of(cache);
            let is_read_only = self.below.is_none() && !path.starts_with(&self.workspace);
            !path.exists() || (is_read_only && NEEDS_WRITING.contains(&cache.0))
        };
        let variables = CACHES.iter().filter(is_missing).filter_map(|(_, variable)| *variable);
        variables.map(|name| (name.to_string(), format!("/tmp/.caches/{name}"))).collect()
    }
}

/// Caches without which their tools do nothing at all.
const NEEDS_WRITING: &[&str] = &[".npm", ".cache/pip", ".cache/uv", ".cache/go-build"];

impl Lease {
    /// Says that its command has ended: the layer comes back when this is dropped, and that is soon.
    pub(crate) fn is_coming_back(&mut self) {
        if self.layer.is_some() && !self.is_coming_back {
            self.is_coming_back = true;
            lock(&self.caches.free).coming_back += 1;
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(layer) = self.layer.take() else { return };
        let mut free = lock(&self.caches.free);
        free.layers.push(layer);
        free.coming_back -= usize::from(self.is_coming_back);
        self.caches.came_back.notify_all();
    }
}

impl Drop for Caches {
    fn drop(&mut self) {
        lock(&self.free).layers.drain(..).for_each(discard);
    }
}

/// Removes a layer, directories that only the kernel could enter among it.
fn discard(layer: Layer) {
    let path = layer.dir.keep();
    if let Err(error) = remove(&path) {
        tracing::warn!(%error, "a layer over package caches could not be removed");
    }
}

/// Removes a directory that may have been an overlay's.
#[cfg(target_os = "linux")]
fn remove(directory: &Path) -> io::Result<()> {
    sandbox::overlay::discard(directory)
}

/// The same where no overlay ever was.
#[cfg(not(target_os = "linux"))]
fn remove(directory: &Path) -> io::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Whether a layer holds no more than it may. One that cannot be looked through is not kept.
fn is_small(layer: &Path) -> bool {
    let (mut names, mut bytes) = (0_usize, 0_u64);
    let mut waiting = vec![layer.to_path_buf()];
    while let Some(directory) = waiting.pop() {
        // The kernel's own directory is closed to everybody, and empty.
        let Ok(entries) = fs::read_dir(&directory) else { continue };
        for entry in entries.flatten() {
            let Ok(found) = entry.metadata() else { return false };
            names += 1;
            bytes += found.len();
            if names > limit::CACHE_LAYER_FILES_MAX || bytes > limit::CACHE_LAYER_MAX_BYTES {
                return false;
            }
            if found.is_dir() {
                waiting.push(entry.path());
            }
        }
    }
    true
}

/// Removes what drivers that were killed have left in a directory of temporary files.
pub(super) fn sweep(below: &Path) {
    for entry in fs::read_dir(below).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.split('-').nth(1)?.parse::<i32>().ok());
        let Some(owner) = owner.and_then(rustix::process::Pid::from_raw) else { continue };
        let is_gone = rustix::process::test_kill_process(owner) == Err(rustix::io::Errno::SRCH);
        if is_gone && let Err(error) = remove(&entry.path()) {
            tracing::warn!(%error, "temporary files of an earlier driver could not be removed");
        }
    }
}
