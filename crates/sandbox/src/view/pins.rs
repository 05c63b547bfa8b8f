//! Protected paths inside writable trees: read-only mounts, with every directory above them pinned as a mount of its
//! own. Without the pins one could move the directory away with the mount in it and build another in its place.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::mounts;
use crate::failure::{At, Failure};
use crate::spec::Spec;
use crate::sys::mount_attr::READ_ONLY;

/// Pins and protects what the spec says, and pins what is above hidden places: moved away by one command, they would
/// not be found when the next is set up. What does not exist cannot be protected without creating it.
pub(super) fn protect(spec: &Spec, hidden: &BTreeSet<PathBuf>) -> Result<(), Failure> {
    for (path, attributes) in pins(spec, hidden) {
        match mounts::open(&path) {
            Ok(fd) => mounts::pin(&fd, attributes).at_path("protect", &path)?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(error).at_path("protect", &path),
        }
    }
    Ok(())
}

/// What becomes a mount of its own, with its attributes, the outer before the inner.
fn pins(spec: &Spec, hidden: &BTreeSet<PathBuf>) -> BTreeMap<PathBuf, u64> {
    let overlays = spec.overlays.iter().map(|overlay| &overlay.target);
    let writable: Vec<&Path> = std::iter::once(&spec.workspace)
        .chain(&spec.writable)
        .chain(overlays)
        .map(PathBuf::as_path)
        .collect();
    let mut pins = BTreeMap::new();
    for path in spec.read_only.iter().chain(hidden) {
        for place in writable.iter().filter(|place| path.starts_with(place) && path.as_path() != **place) {
            for above in path.ancestors().skip(1).take_while(|above| above != place) {
                pins.entry(above.to_owned()).or_insert(0);
            }
            if !hidden.contains(path) {
                pins.insert(path.clone(), READ_ONLY);
            }
        }
    }
    pins
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_directory_above_is_pinned_up_to_the_workspace() {
        let mut spec = Spec::new(Vec::new(), "/w".into(), "/t".into());
        spec.read_only =
            ["/w/a/.git/hooks", "/w/a/.git/config", "/elsewhere/x", "/w"].map(PathBuf::from).into();
        let hidden = BTreeSet::from([PathBuf::from("/w/c/.env"), PathBuf::from("/home/.ssh")]);
        let pins: Vec<_> = pins(&spec, &hidden).into_iter().collect();
        let expected = [
            ("/w/a", 0),
            ("/w/a/.git", 0),
            ("/w/a/.git/config", READ_ONLY),
            ("/w/a/.git/hooks", READ_ONLY),
            ("/w/c", 0),
        ];
        assert_eq!(pins, expected.map(|(path, attributes)| (PathBuf::from(path), attributes)));
    }
}
