//! Parallel directory walk of a search: the files on disk, by open directories and with the caller's permissions, on a
//! few threads.

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use base::limits;
use base::sync::lock;
use content::query::Lens;
use protocol::identity::ProcessIdentity;
use rustix::fs::FileType;

use super::Search;
use crate::disk::Disk;
use crate::disk::dir::Dir;
use crate::disk::meta::READ;
use crate::stat::FileKind;

/// Files that one thread takes at once; a directory with more is shared.
const FILES_AT_ONCE: usize = 64;

/// A search under way.
pub(super) struct DiskSearch<'a> {
    disk: &'a Disk,
    who: &'a ProcessIdentity,
    search: &'a Search,
    queue: Mutex<Queue>,
    /// There is more to do, or nothing any more.
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    /// The last one is next, so that few directories are open at a time.
    waiting: Vec<Task>,
    /// Tasks under way; each may bring more.
    busy: usize,
}

/// What one thread does at a time.
enum Task {
    /// Looks what is in a directory.
    Directory { dir: Arc<Dir>, depth: usize },
    /// Opens a directory in another and looks what is in it.
    Below { parent: Arc<Dir>, name: OsString, depth: usize },
    /// Looks into files of a directory.
    Files { dir: Arc<Dir>, names: Vec<OsString> },
}

impl<'a> DiskSearch<'a> {
    /// Searches all that is below a directory, or one file of it.
    pub(super) fn run(
        disk: &'a Disk,
        who: &'a ProcessIdentity,
        search: &'a Search,
        dir: Dir,
        only: Option<OsString>,
    ) {
        let dir = Arc::new(dir);
        let first = match only {
            Some(name) => Task::Files { dir, names: vec![name] },
            None => Task::Directory { dir, depth: 0 },
        };
        let queue = Mutex::new(Queue { waiting: vec![first], busy: 0 });
        let search = DiskSearch { disk, who, search, queue, changed: Condvar::new() };
        std::thread::scope(|scope| {
            for _ in 1..limits::files::SEARCH_THREADS {
                scope.spawn(|| search.work());
            }
            search.work();
        });
    }

    fn work(&self) {
        let mut lens = self.search.query.lens(self.search.deadline);
        while let Some(task) = self.next() {
            // Even a task that panics is counted as done, or the other threads would wait for it.
            let _done = Done(self);
            match task {
                Task::Directory { dir, depth } => self.look_around(dir, depth),
                Task::Below { parent, name, depth } => {
                    if let Some(dir) = self.enter(&parent, &name) {
                        self.look_around(Arc::new(dir), depth);
                    }
                }
                Task::Files { dir, names } => self.look_into(&mut lens, &dir, &names),
            }
        }
        if lens.is_cut_short() {
            self.search.found.cut_short();
        }
    }

    fn next(&self) -> Option<Task> {
        let mut queue = lock(&self.queue);
        loop {
            if self.search.is_late() {
                queue.waiting.clear();
            }
            if let Some(task) = queue.waiting.pop() {
                queue.busy += 1;
                return Some(task);
            }
            if queue.busy == 0 {
                return None;
            }
            let waited = self.changed.wait_timeout(queue, limits::device_files::SEARCH_TIME_MAX);
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// What may not be entered is passed over, as a search by hand would.
    fn enter(&self, parent: &Dir, name: &OsString) -> Option<Dir> {
        if !self.search.found.wants(&self.search.display_path(&parent.path, name.to_str()?)) {
            return None;
        }
        let there = self.disk.look(parent, name).ok()??;
        self.disk.enter(parent, name, there).ok()
    }

    /// Puts what is in a directory in line. Links are not followed, `.git` is not entered.
    fn look_around(&self, dir: Arc<Dir>, depth: usize) {
        if depth > limits::files::SEARCH_DEPTH_MAX {
            return self.search.found.cut_short();
        }
        if dir.need_list(self.who).is_err() {
            return;
        }
        self.search.meet(&dir.path);
        let (mut files, mut directories) = (Vec::new(), Vec::new());
        let listed = dir.each_raw(|name, kind| {
            if name.to_str().is_some() && dir.shows(name) {
                match self.kind(&dir, name, kind) {
                    Some(FileKind::File) => files.push(name.to_os_string()),
                    Some(FileKind::Directory) if name != ".git" => directories.push(name.to_os_string()),
                    _ => {}
                }
            }
            let is_enough = files.len() + directories.len() > limits::files::DIRECTORY_NAMES_MAX;
            if is_enough || self.search.is_late() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        if listed.is_err() || files.len() + directories.len() > limits::files::DIRECTORY_NAMES_MAX {
            self.search.found.cut_short();
        }
        files.sort_unstable();
        directories.sort_unstable_by(|a, b| b.cmp(a));
        let below = |name| Task::Below { parent: dir.clone(), name, depth: depth + 1 };
        let some = |names: &[OsString]| Task::Files { dir: dir.clone(), names: names.to_vec() };
        let mut queue = lock(&self.queue);
        queue.waiting.extend(directories.into_iter().map(below));
        queue.waiting.extend(files.chunks(FILES_AT_ONCE).rev().map(some));
        drop(queue);
        self.changed.notify_all();
    }

    /// Not every host tells what a name names while listing.
    fn kind(&self, dir: &Dir, name: &std::ffi::OsStr, kind: FileType) -> Option<FileKind> {
        match kind {
            FileType::RegularFile => Some(FileKind::File),
            FileType::Directory => Some(FileKind::Directory),
            FileType::Unknown => {
                let there = self.disk.look(dir, name).ok()??;
                (!there.special).then_some(there.stat.kind)
            }
            _ => None,
        }
    }

    fn look_into(&self, lens: &mut Lens, dir: &Dir, names: &[OsString]) {
        for name in names {
            let Some(text) = name.to_str() else { continue };
            let path = self.search.display_path(&dir.path, text);
            if self.search.is_late() || !self.search.wants(&path) {
                continue;
            }
            let Ok(Some(there)) = self.disk.look(dir, name) else { continue };
            if !there.meta().allows(self.who, READ) {
                continue;
            }
            let Ok(file) = there.into_file() else { continue };
            self.search.found.add(lens.look(file, || path.clone(), self.search.found.room()));
        }
    }
}

/// Counts a task as done when it goes.
struct Done<'a, 'b>(&'a DiskSearch<'b>);

impl Drop for Done<'_, '_> {
    fn drop(&mut self) {
        let mut queue = lock(&self.0.queue);
        queue.busy -= 1;
        if queue.busy == 0 && queue.waiting.is_empty() {
            self.0.changed.notify_all();
        }
    }
}
