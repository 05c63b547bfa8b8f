//! Trees of a rehearsal: which directories are laid over with a copy-on-write layer, and which can not be.
//!
//! A directory can be laid over as a whole only if no other file system is mounted below it and its layer lies outside.
//! Else its children are, one by one, and what lies in it directly stays as it is.

use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use base::limits::device as limit;

/// Directories of the system that root may change.
const SYSTEM: &[&str] = &["/etc", "/usr", "/var", "/opt", "/srv", "/boot"];
/// Every rehearsal has these to itself.
const TEMPORARY: &[&str] = &["/tmp", "/var/tmp"];

/// What a rehearsal changes a copy of.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Trees {
    /// The directories that are laid over, none inside another.
    pub(super) targets: Vec<PathBuf>,
    /// Directories that could not be laid over whole.
    pub(super) left_out: Vec<PathBuf>,
}

/// What keeps a tree from being laid over.
struct Obstacles<'a> {
    /// Where the layers lie.
    layers: &'a Path,
    /// What the command is not to see.
    hidden: &'a [PathBuf],
    /// Where file systems are mounted.
    mounts: &'a [PathBuf],
}

impl Trees {
    /// The trees for a command: the outermost of those that its user may change, without what is hidden, as far as they
    /// can be laid over with layers that lie in `layers`.
    pub(super) fn find(wanted: &[PathBuf], layers: &Path, hidden: &[PathBuf]) -> std::io::Result<Trees> {
        let resolved = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
        let hidden: Vec<PathBuf> = hidden.iter().map(resolved).collect();
        Ok(Trees::among(wanted, &Obstacles { layers, hidden: &hidden, mounts: &mount_points()? }))
    }

    fn among(wanted: &[PathBuf], obstacles: &Obstacles<'_>) -> Trees {
        let mut trees = Trees::default();
        for tree in outermost(wanted) {
            trees.take(&tree, obstacles, 0);
        }
        trees
    }

    fn take(&mut self, tree: &Path, obstacles: &Obstacles<'_>, depth: usize) {
        let Obstacles { layers, hidden, mounts } = *obstacles;
        let is_directory = tree.symlink_metadata().is_ok_and(|found| found.is_dir());
        if !is_directory || tree.starts_with(layers) || hidden.iter().any(|path| path == tree) {
            return;
        }
        let holds = |path: &Path| path != tree && path.starts_with(tree);
        if !holds(layers) && !mounts.iter().any(|path| holds(path)) {
            if self.targets.len() < limit::REHEARSAL_TREES_MAX {
                self.targets.push(tree.to_path_buf());
            } else {
                self.left_out.push(tree.to_path_buf());
            }
            return;
        }
        self.left_out.push(tree.to_path_buf());
        if depth >= limit::REHEARSAL_TREES_DEPTH {
            return;
        }
        let Ok(children) = std::fs::read_dir(tree) else { return };
        let mut children: Vec<PathBuf> = children.filter_map(|child| Some(child.ok()?.path())).collect();
        children.sort();
        for child in children {
            let is_temporary = TEMPORARY.iter().any(|path| child.as_path() == Path::new(path));
            if !mounts.contains(&child) && !is_temporary {
                self.take(&child, obstacles, depth + 1);
            }
        }
    }
}

/// What the user who runs the driver may change: the home, the workspace, where the command starts, and for root the
/// system.
pub(super) fn wanted(workspace: &Path, home: &Path, cwd: &Path) -> Vec<PathBuf> {
    let uid = rustix::process::getuid().as_raw();
    let is_ours = |path: &Path| path.metadata().is_ok_and(|found| found.uid() == uid);
    let mut wanted = vec![workspace.to_path_buf()];
    wanted.extend([home, cwd].into_iter().filter(|path| is_ours(path)).map(Path::to_path_buf));
    if uid == 0 {
        wanted.extend(SYSTEM.iter().map(PathBuf::from));
    }
    wanted
}

/// Those that are not inside another; the root of all is none.
fn outermost(wanted: &[PathBuf]) -> Vec<PathBuf> {
    let is_tree = |path: &&PathBuf| {
        path.parent().is_some() && !TEMPORARY.iter().any(|at| path.as_path() == Path::new(at))
    };
    let mut trees: Vec<PathBuf> = wanted.iter().filter(is_tree).cloned().collect();
    trees.sort();
    trees.dedup();
    let all = trees.clone();
    trees.retain(|tree| !all.iter().any(|other| other != tree && tree.starts_with(other)));
    trees
}

/// Where file systems are mounted.
fn mount_points() -> std::io::Result<Vec<PathBuf>> {
    let table = std::fs::read("/proc/self/mountinfo")?;
    let points =
        table.split(|byte| *byte == b'\n').filter_map(|line| line.split(|byte| *byte == b' ').nth(4));
    Ok(points.map(|point| PathBuf::from(std::ffi::OsString::from_vec(unescaped(point)))).collect())
}

/// Blanks and the like stand as `\040` in the table.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let number =
            after.get(..3).filter(|_| *first == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        match number.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                out.push(byte);
                rest = after.get(3..).unwrap_or_default();
            }
            None => {
                out.push(*first);
                rest = after;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(list: &[&str], root: &Path) -> Vec<PathBuf> {
        list.iter().map(|path| root.join(path)).collect()
    }

    #[test]
    fn a_tree_with_a_mount_or_the_layers_in_it_is_taken_apart() {
        let temp = tempfile::Builder::new().prefix("home-").tempdir().unwrap();
        let root = temp.path();
        for directory in ["home/work", "home/mnt/disk", "home/.local/state/gsv", "home/.local/share", "srv"] {
            std::fs::create_dir_all(root.join(directory)).unwrap();
        }
        std::fs::write(root.join("home/file"), "").unwrap();
        std::os::unix::fs::symlink("work", root.join("home/link")).unwrap();
        let wanted = paths(&["home", "home/work", "srv", "srv/secret"], root);
        let (nowhere, slash) = (Path::new("/nowhere"), [PathBuf::from("/")]);
        let whole = Trees::among(&wanted, &Obstacles { layers: nowhere, hidden: &[], mounts: &slash });
        assert_eq!(whole, Trees { targets: paths(&["home", "srv"], root), left_out: Vec::new() });
        let layers = root.join("home/.local/state/gsv");
        let (hidden, mounts) = (paths(&["srv"], root), paths(&["home/mnt/disk"], root));
        let apart = Trees::among(&wanted, &Obstacles { layers: &layers, hidden: &hidden, mounts: &mounts });
        assert_eq!(apart.targets, paths(&["home/.local/share", "home/work"], root));
        assert_eq!(apart.left_out, paths(&["home", "home/.local", "home/.local/state", "home/mnt"], root));
    }

    #[test]
    fn names_of_mounts_are_read_as_they_are() {
        assert_eq!(unescaped(br"/a\040b\134c"), br"/a b\c");
        assert_eq!(unescaped(br"/a\9"), br"/a\9");
    }
}
