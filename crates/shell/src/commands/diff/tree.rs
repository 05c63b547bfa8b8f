//! Recursive comparison of directories, with all that is in them.

use std::collections::BTreeMap;

use base::limits;
use vfs::FileKind;

use super::super::patterns::matches;
use super::super::walk::beside;
use super::super::words;
use super::Comparing;

/// The file of the same name in a directory.
pub(super) fn within(directory: &str, file: &str) -> String {
    beside(directory, file.trim_end_matches('/').rsplit('/').next().unwrap_or(file))
}

/// One name in two directories, and what it leads to in each.
struct Pair {
    old: String,
    new: String,
    name: String,
    kinds: [Option<FileKind>; 2],
}

impl Comparing<'_> {
    /// Compares what is in two directories, and with `-r` what is below, in the order of the names.
    pub(super) async fn directories(&mut self, old: String, new: String) {
        let mut todo = self.inside(&old, &new).await;
        let mut met = 0;
        while let Some(pair) = todo.pop() {
            met += 1;
            if met > limits::native_shell::WALK_FILES_MAX {
                return self.done.complain(self.cx.name, format!("{}: Too many files below", pair.old), 2);
            }
            if let Some((old, new)) = self.pair(pair).await {
                todo.extend(self.inside(&old, &new).await);
            }
        }
    }

    /// What is in two directories, by name, the last one first.
    async fn inside(&mut self, old: &str, new: &str) -> Vec<Pair> {
        let (Some(left), Some(right)) = (self.names(old).await, self.names(new).await) else {
            return Vec::new();
        };
        let mut names: BTreeMap<String, [Option<FileKind>; 2]> = BTreeMap::new();
        for (side, listed) in [left, right].into_iter().enumerate() {
            for (name, kind) in listed {
                names.entry(name).or_default()[side] = Some(kind);
            }
        }
        let pair = |(name, kinds)| Pair { old: old.to_string(), new: new.to_string(), name, kinds };
        names.into_iter().rev().map(pair).collect()
    }

    /// Compares what has one name; answers two directories that are to be compared.
    async fn pair(&mut self, Pair { old, new, name, kinds }: Pair) -> Option<(String, String)> {
        let pair = (beside(&old, &name), beside(&new, &name));
        let recursive = self.options.has("recursive");
        match kinds {
            [Some(FileKind::Directory), Some(FileKind::Directory)] if recursive => return Some(pair),
            [Some(FileKind::Directory), Some(FileKind::Directory)] => {
                self.done.print(format!("Common subdirectories: {} and {}\n", pair.0, pair.1));
            }
            [Some(a), Some(b)] if (a == FileKind::Directory) != (b == FileKind::Directory) => {
                let is = |kind| if kind == FileKind::Directory { "a directory" } else { "a regular file" };
                self.done.code = self.done.code.max(1);
                let (left, right) = (is(a), is(b));
                self.done.print(format!("File {} is {left} while file {} is {right}\n", pair.0, pair.1));
            }
            [Some(_), Some(_)] => self.files(pair.0, pair.1, true).await,
            [a, b] => {
                if self.options.has("new-file") && a.or(b) != Some(FileKind::Directory) {
                    self.files(pair.0, pair.1, true).await;
                } else if self.options.has("new-file") && recursive {
                    return Some(pair);
                } else {
                    let directory = if a.is_some() { &old } else { &new };
                    let directory = directory.trim_end_matches('/');
                    self.done.print(format!("Only in {directory}: {name}\n"));
                    self.done.code = self.done.code.max(1);
                }
            }
        }
        None
    }

    /// The names in a directory and what they lead to, without those that are left out.
    async fn names(&mut self, directory: &str) -> Option<Vec<(String, FileKind)>> {
        let listed = match self.cx.view.path(directory) {
            Ok(path) => self.cx.view.list(&path).await,
            Err(fault) => Err(fault),
        };
        let listed = match listed {
            Ok(listed) => listed,
            Err(fault) if fault.code == vfs::Code::NotFound && self.options.has("new-file") => Vec::new(),
            Err(fault) => {
                self.done.complain(self.cx.name, format!("{directory}: {}", words(&fault)), 2);
                return None;
            }
        };
        let mut names = Vec::new();
        for named in listed {
            if self.options.values("exclude").any(|pattern| matches(pattern, &named.name)) {
                continue;
            }
            let kind = match named.stat.kind {
                FileKind::Link => self.kind(&beside(directory, &named.name)).await.unwrap_or(FileKind::Link),
                kind => kind,
            };
            names.push((named.name, kind));
        }
        Some(names)
    }
}
