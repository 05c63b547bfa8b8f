//! Resolution of the paths of a spec: every symbolic link is followed once, before anything depends on a name.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::Spec;
use crate::failure::{At, Failure};

impl Spec {
    /// The same spec by real paths. What must exist fails if it does not; protected paths that do not exist go.
    pub(crate) fn resolved(&self) -> Result<Spec, Failure> {
        let mut spec = self.clone();
        spec.workspace = real(&self.workspace)?;
        spec.tmp = real(&self.tmp)?;
        spec.writable = self.writable.iter().map(|path| real(path)).collect::<Result<_, _>>()?;
        for overlay in spec.overlays.iter_mut().chain(&mut spec.cache_overlays) {
            overlay.target = real(&overlay.target)?;
            overlay.upper = real(&overlay.upper)?;
            overlay.work = real(&overlay.work)?;
        }
        for inverted in &mut spec.inverted {
            inverted.dir = real_if_there(&inverted.dir)?.unwrap_or_default();
        }
        spec.inverted.retain(|inverted| inverted.dir.is_absolute());
        let mut read_only = Vec::new();
        for path in &self.read_only {
            read_only.extend(real_if_there(path)?);
        }
        spec.read_only = read_only;
        Ok(spec)
    }
}

fn real(path: &Path) -> Result<PathBuf, Failure> {
    if !path.is_absolute() {
        return Err(Failure::refused(format!("find {}", path.display()), "it is not an absolute path"));
    }
    fs::canonicalize(path).at_path("find", path)
}

fn real_if_there(path: &Path) -> Result<Option<PathBuf>, Failure> {
    match fs::canonicalize(path) {
        Ok(path) => Ok(Some(path)),
        Err(error) if is_not_there(&error) => Ok(None),
        Err(error) => Err(error).at_path("find", path),
    }
}

/// A link that leads to itself is nothing either.
fn is_not_there(error: &io::Error) -> bool {
    let kind = error.kind();
    matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        || error.raw_os_error() == Some(libc::ELOOP)
}
