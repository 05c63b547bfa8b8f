//! Complement of a set of hidden paths: the fewest places that together cover everything else.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use base::limits::sandbox::LANDLOCK_RULES_MAX;

use crate::failure::{At, Failure};

/// Places beneath which nothing is hidden, from the root directory on. A directory on the way to something hidden is
/// not among them, but its other entries are; what is created in it later is not.
pub(super) fn visible(hidden: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let real: BTreeSet<PathBuf> = hidden.iter().filter_map(|path| fs::canonicalize(path).ok()).collect();
    let mut open = vec![PathBuf::from("/")];
    let mut visible = Vec::new();
    while let Some(place) = open.pop() {
        if real.contains(&place) {
            continue;
        }
        if !leads_to(&place, &real) {
            visible.push(place);
            continue;
        }
        for entry in entries(&place)? {
            open.push(entry);
            if open.len() + visible.len() > LANDLOCK_RULES_MAX {
                let why = format!("more than {LANDLOCK_RULES_MAX} places would have to be named one by one");
                return Err(Failure::refused("show everything but what is hidden", why));
            }
        }
    }
    Ok(visible)
}

/// Whether something hidden lies strictly beneath.
fn leads_to(place: &Path, hidden: &BTreeSet<PathBuf>) -> bool {
    hidden
        .range::<Path, _>((std::ops::Bound::Excluded(place), std::ops::Bound::Unbounded))
        .next()
        .is_some_and(|next| next.starts_with(place))
}

/// What is in a directory, without links: where they lead has its own rule.
fn entries(directory: &Path) -> Result<Vec<PathBuf>, Failure> {
    let list = match fs::read_dir(directory) {
        Ok(list) => list,
        // Nobody here can read it, so nothing in it needs a rule.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(Vec::new()),
        Err(error) => return Err(error).at_path("list", directory),
    };
    let mut found = Vec::new();
    for entry in list {
        let entry = entry.at_path("list", directory)?;
        if !entry.file_type().at_path("look at", directory)?.is_symlink() {
            found.push(entry.path());
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn siblings_of_what_is_hidden_are_named_one_by_one() {
        let base = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(base.path()).unwrap();
        for path in ["home/.ssh/keys", "home/work", "home/.sshx"] {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        std::os::unix::fs::symlink(root.join("home/.ssh"), root.join("home/link")).unwrap();
        let visible = visible(&[root.join("home/link"), root.join("missing")]).unwrap();
        let ours: BTreeSet<_> = visible.iter().filter_map(|path| path.strip_prefix(&root).ok()).collect();
        let expected: BTreeSet<&Path> = ["home/work", "home/.sshx"].map(Path::new).into();
        assert_eq!(ours, expected);
        assert!(!visible.iter().any(|path| root.starts_with(path)), "{visible:?}");
    }
}
