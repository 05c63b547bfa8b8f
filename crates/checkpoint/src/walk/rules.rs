//! Git's ignore rules for a walk from the top down: the deepest file that says something decides.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::rc::Rc;

use base::limits::checkpoint as limits;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::repository::{Repository, read_text};
use crate::place;

/// The rules of one directory, above those of the directories that hold it.
pub(super) struct Rules {
    up: Option<Rc<Rules>>,
    /// Where paths begin for these rules.
    base: Base,
    patterns: Gitignore,
    /// The repository that begins in this directory.
    repository: Option<Repository>,
}

/// How a path below the workspace is made one below the rules' directory.
enum Base {
    /// The directory is in the workspace, at this path.
    Inside(Vec<u8>),
    /// The workspace is in the directory, at this path.
    Above(Vec<u8>),
}

impl Rules {
    /// The rules that come from above the workspace, where it is a part of a repository.
    pub(super) fn above(workspace: &Path) -> Rc<Rules> {
        let none = Rc::new(Rules::new(None, Base::Inside(Vec::new()), "", None));
        let mut parents: Vec<&Path> = Vec::new();
        for parent in workspace.ancestors().skip(1) {
            parents.push(parent);
            if parent.join(".git").symlink_metadata().is_ok() {
                let all = parents.into_iter().rev();
                let rules = all.fold(none.clone(), |up, dir| Rules::of_parent(up, dir, workspace));
                // A repository that ignores the workspace has nothing to say of what is in it: a home directory, say,
                // of which only some dot files are tracked.
                return if rules.ignores_workspace() { none } else { rules };
            }
        }
        none
    }

    /// The rules of a directory that holds the workspace.
    fn of_parent(up: Rc<Rules>, dir: &Path, workspace: &Path) -> Rc<Rules> {
        let below = workspace.strip_prefix(dir).unwrap_or(Path::new(""));
        let base = || Base::Above(below.as_os_str().as_bytes().to_vec());
        let Ok(opened) = place::open_root(dir) else { return up };
        let mut rules = up;
        if let Ok(git) = place::open_dir(&opened, b".git") {
            let repository = Repository::read(&git, true);
            let exclude = repository.exclude.clone();
            rules = Rc::new(Rules::new(Some(rules), base(), &exclude, Some(repository)));
        }
        match read_text(&opened, b".gitignore", limits::IGNORE_FILE_BYTES_MAX) {
            Some(text) => Rc::new(Rules::new(Some(rules), base(), &text, None)),
            None => rules,
        }
    }

    /// The rules where a repository begins: those of the repository around it end here.
    pub(super) fn of_repository(path: &[u8], repository: Repository) -> Rc<Rules> {
        let exclude = repository.exclude.clone();
        Rc::new(Rules::new(None, Base::Inside(path.to_vec()), &exclude, Some(repository)))
    }

    /// The same with a directory's ignore file.
    pub(super) fn with_file(up: Rc<Rules>, dir: &OwnedFd, path: &[u8]) -> Rc<Rules> {
        match read_text(dir, b".gitignore", limits::IGNORE_FILE_BYTES_MAX) {
            Some(text) => Rc::new(Rules::new(Some(up), Base::Inside(path.to_vec()), &text, None)),
            None => up,
        }
    }

    fn new(up: Option<Rc<Rules>>, base: Base, text: &str, repository: Option<Repository>) -> Rules {
        let mut builder = GitignoreBuilder::new(".");
        let lines = || text.trim_start_matches('\u{feff}').lines();
        let is_small = lines().nth(limits::IGNORE_PATTERNS_MAX).is_none();
        for line in lines().filter(|_| is_small) {
            // A pattern that cannot be understood ignores nothing: more is kept than need be.
            builder.add_line(None, line).ok();
        }
        let patterns = builder.build().unwrap_or_else(|_| Gitignore::empty());
        Rules { up, base, patterns, repository }
    }

    /// Whether git would ignore this path, if nothing above it is ignored and git does not track it.
    pub(super) fn is_ignored(&self, path: &[u8], is_dir: bool) -> bool {
        for rules in self.chain() {
            let Some(path) = rules.base.relative(path) else { continue };
            match rules.patterns.matched(Path::new(OsStr::from_bytes(&path)), is_dir) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => {}
            }
        }
        false
    }

    /// Whether the workspace itself, or a directory around it, is ignored.
    fn ignores_workspace(&self) -> bool {
        self.chain().any(|rules| {
            let Base::Above(below) = &rules.base else { return false };
            let ends = (0..below.len()).filter(|at| below[*at] == b'/').chain([below.len()]);
            ends.map(|end| Path::new(OsStr::from_bytes(&below[..end])))
                .any(|path| rules.patterns.matched(path, true).is_ignore())
        })
    }

    /// Whether git tracks a file, or some file in a directory.
    pub(super) fn is_tracked(&self, path: &[u8], is_dir: bool) -> bool {
        let Some((rules, repository)) =
            self.chain().find_map(|rules| Some((rules, rules.repository.as_ref()?)))
        else {
            return false;
        };
        let path = rules.base.relative(path);
        path.is_some_and(|path| {
            if is_dir { repository.tracked.has_below(&path) } else { repository.tracked.has(&path) }
        })
    }

    fn chain(&self) -> impl Iterator<Item = &Rules> {
        std::iter::successors(Some(self), |rules| rules.up.as_deref())
    }
}

impl Base {
    fn relative(&self, path: &[u8]) -> Option<Vec<u8>> {
        match self {
            Base::Inside(base) if base.is_empty() => Some(path.to_vec()),
            Base::Inside(base) => Some(path.strip_prefix(base.as_slice())?.strip_prefix(b"/")?.to_vec()),
            Base::Above(below) => Some([below, &b"/"[..], path].concat()),
        }
    }
}
