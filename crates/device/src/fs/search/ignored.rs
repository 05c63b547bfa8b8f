//! Ignore files: `.ignore`, `.gitignore` and `.git/info/exclude`, with git's rules.
//!
//! They are opened like every other file: below the root, no links followed, regular files only, and not
//! beyond a size. One that is something else is not honoured (nor does git follow links there).

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use base::limits;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::files::Files;

/// What the ignore files of one directory say, and those of the directories above it.
pub(super) struct Ignored {
    above: Option<Arc<Ignored>>,
    plain: Gitignore,
    git: Gitignore,
    /// What git's files above a repository say does not concern it.
    is_repository: bool,
}

impl Ignored {
    /// The rules of the directories above `top`; a confined search does not look above.
    pub(super) fn above(files: &Files, top: &Path) -> Option<Arc<Ignored>> {
        if files.is_confined() {
            return None;
        }
        let mut dirs: Vec<_> = top.ancestors().skip(1).collect();
        dirs.reverse();
        dirs.into_iter().fold(None, |above, dir| Some(Ignored::of(files, dir, above)))
    }

    /// The rules inside a directory.
    pub(super) fn of(files: &Files, dir: &Path, above: Option<Arc<Ignored>>) -> Arc<Ignored> {
        let git_files = [&dir.join(".git/info/exclude"), &dir.join(".gitignore")];
        let plain = rules(files, dir, &[&dir.join(".ignore")]);
        let git = rules(files, dir, &git_files.map(|path| path.as_path()));
        let is_repository = dir.join(".git").symlink_metadata().is_ok();
        // A directory without rules needs no link in the chain.
        match above {
            Some(above) if plain.is_empty() && git.is_empty() && !is_repository => above,
            above => Arc::new(Ignored { above, plain, git, is_repository }),
        }
    }

    /// The nearest rule decides; those of `.ignore` before those of git.
    pub(super) fn covers(&self, path: &Path, is_dir: bool) -> bool {
        let plain = self.chain().map(|level| level.plain.matched(path, is_dir));
        let git = self.repository().map(|level| level.git.matched(path, is_dir));
        plain.chain(git).find(|found| !found.is_none()).is_some_and(|found| found.is_ignore())
    }

    /// Up to the top of the repository that this directory is in.
    fn repository(&self) -> impl Iterator<Item = &Ignored> {
        let mut inside = true;
        self.chain().take_while(move |level| std::mem::replace(&mut inside, !level.is_repository))
    }

    fn chain(&self) -> impl Iterator<Item = &Ignored> {
        std::iter::successors(Some(self), |level| level.above.as_deref())
    }
}

fn rules(files: &Files, dir: &Path, paths: &[&Path]) -> Gitignore {
    let mut builder = GitignoreBuilder::new(dir);
    for text in paths.iter().filter_map(|path| text(files, path)) {
        for line in text.lines() {
            // A line that is no pattern says nothing.
            drop(builder.add_line(None, line));
        }
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

fn text(files: &Files, path: &Path) -> Option<String> {
    let file = files.open_found(path).ok()?;
    let max = limits::device_files::SEARCH_IGNORE_MAX_BYTES;
    let mut bytes = Vec::new();
    file.take(max + 1).read_to_end(&mut bytes).ok()?;
    if bytes.len() as u64 > max {
        return None;
    }
    let text = String::from_utf8_lossy(&bytes);
    Some(text.strip_prefix('\u{FEFF}').unwrap_or(&text).to_string())
}
