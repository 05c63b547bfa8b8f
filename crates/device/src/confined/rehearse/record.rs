//! Intent record of an application: written before the first file is replaced, so that whoever finds it after the driver
//! was killed can say what is in place and what is not.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use base::limits::sandbox::OVERLAY_CHANGES_MAX;
use sandbox::overlay;
use serde_json::{Value, json};

use super::tell::Tree;

const NAME: &str = "applying";
/// Paths that are named in the log.
const NAMED_MAX: usize = 20;

/// Notes what is about to be put in place.
pub(super) fn write(layers: &Path, trees: &[Tree]) -> io::Result<()> {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let one = |tree: &Tree| json!({ "target": text(&tree.target), "upper": text(&tree.upper), "total": tree.changes.len() });
    let told: Vec<Value> = trees.iter().map(one).collect();
    let mut file = File::create(layers.join(NAME))?;
    file.write_all(Value::Array(told).to_string().as_bytes())?;
    file.sync_all()
}

/// Says of what a killed driver was putting in place how far it came. What still differs is not in place.
pub(super) fn tell_interrupted(driver: &Path) {
    let Ok(entries) = std::fs::read_dir(driver) else { return };
    for entry in entries.filter_map(Result::ok) {
        let Ok(text) = std::fs::read(entry.path().join(NAME)) else { continue };
        let Ok(Value::Array(trees)) = serde_json::from_slice(&text) else { continue };
        for tree in trees {
            let path = |name: &str| tree[name].as_str().map(PathBuf::from);
            let (Some(target), Some(upper)) = (path("target"), path("upper")) else { continue };
            let total = tree["total"].as_u64().unwrap_or_default();
            match overlay::changes_up_to(&target, &upper, OVERLAY_CHANGES_MAX) {
                Ok((left, _)) => {
                    if let Err(error) = overlay::clean_up(&target, &left) {
                        tracing::warn!(%error, "a file .gsv-apply may be left in {}", target.display());
                    }
                    let names: Vec<String> =
                        left.iter().take(NAMED_MAX).map(|change| change.path.display().to_string()).collect();
                    tracing::warn!(
                        "the driver was killed while it put a rehearsal in place: {} of {total} changes in {} are, \
                         not these: {}",
                        total.saturating_sub(left.len() as u64),
                        target.display(),
                        names.join(", ")
                    );
                }
                Err(error) => tracing::warn!(
                    "the driver was killed while it put a rehearsal in place in {}, and how far it came can not be \
                     told: {error}",
                    target.display()
                ),
            }
        }
    }
}
