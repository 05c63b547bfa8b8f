//! Creation of bare repositories: built beside their place and renamed into it, so that one is whole or not there.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// What is in a new one besides directories.
const FILES: &[(&str, &str)] = &[
    ("HEAD", "ref: refs/heads/main\n"),
    ("config", "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n"),
];

/// Its directories; an inner one stands behind the one it is in.
const DIRECTORIES: &[&str] = &["objects", "objects/info", "objects/pack", "refs", "refs/heads", "refs/tags"];

/// Makes a bare repository at a path that is free; `unique` names what is built until it is whole.
pub(crate) fn init(path: &Path, unique: &str) -> io::Result<()> {
    let parent = path.parent().ok_or_else(|| io::Error::other("a repository needs a directory around it"))?;
    make_all(parent)?;
    let draft = parent.join(format!(".new-{unique}"));
    let made = build(&draft).and_then(|()| fs::rename(&draft, path));
    if made.is_err() {
        fs::remove_dir_all(&draft).ok();
    }
    made?;
    File::open(parent)?.sync_all()
}

/// Whether a bare repository is there.
pub(crate) fn is_there(path: &Path) -> bool {
    path.join("HEAD").is_file()
}

/// Where repositories are put that are nobody's any more, below the directory of all; no owner can be called so.
const REMOVED: &str = ".removed";

/// Takes a directory out of the place of a repository. What unfinished work left is deleted; a repository is put aside,
/// for whoever has the machine.
pub(crate) fn take_away(root: &Path, path: &Path, unique: &str) -> io::Result<()> {
    let Some(parent) = path.parent() else { return Ok(()) };
    if name_of(path).starts_with('.') {
        return fs::remove_dir_all(path);
    }
    let aside = root.join(REMOVED).join(name_of(parent));
    make_all(&aside)?;
    let stem = name_of(path).trim_end_matches(".git");
    match fs::rename(path, aside.join(format!("{stem}-{unique}.git"))) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        moved => moved?,
    }
    File::open(aside)?.sync_all()?;
    File::open(parent)?.sync_all()
}

fn make_all(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).recursive(true).create(path)?;
    match path.parent() {
        Some(parent) => File::open(parent)?.sync_all(),
        None => Ok(()),
    }
}

fn build(path: &Path) -> io::Result<()> {
    let make = |path: &Path| DirBuilder::new().mode(0o700).create(path);
    make(path)?;
    for directory in DIRECTORIES {
        make(&path.join(directory))?;
    }
    for (name, content) in FILES {
        let file = path.join(name);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file)?;
        file.write_all(content.as_bytes())?;
        file.sync_all()?;
    }
    for directory in DIRECTORIES {
        File::open(path.join(directory))?.sync_all()?;
    }
    File::open(path)?.sync_all()
}

/// Every directory that is where a repository of somebody could be, and with `drafts` what unfinished work left.
pub(crate) fn directories(root: &Path, drafts: bool) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for owner in subdirectories(root)?.into_iter().filter(|owner| name_of(owner) != REMOVED) {
        let is_shown = |path: &PathBuf| drafts || !name_of(path).starts_with('.');
        found.extend(subdirectories(&owner)?.into_iter().filter(is_shown));
    }
    Ok(found)
}

fn subdirectories(path: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            found.push(entry.path());
        }
    }
    Ok(found)
}

fn name_of(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}
