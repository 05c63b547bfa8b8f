//! Cleanup after git programs that were killed: locks of refs and quarantined objects that nobody will finish.

use std::fs;
use std::path::Path;
use std::time::UNIX_EPOCH;

use base::limits::git::{SHORT_LOCK, STALE_LOCK};

/// What a push in the making is called below `objects`.
const QUARANTINE: &str = "tmp_objdir-incoming-";
/// Locks that any push may need.
const SHARED_LOCKS: [&str; 2] = ["packed-refs.lock", "HEAD.lock"];

/// Removes what is in the way of a push of these refs. Git holds a lock for a moment: one from before this gateway
/// started is nobody's. A quarantine lasts as long as its push.
pub(crate) fn remove(repository: &Path, names: &[String], now_ms: i64, started_at: i64) {
    let quarantined_since = now_ms - STALE_LOCK.as_millis() as i64;
    let locked_since = quarantined_since.max(started_at - SHORT_LOCK.as_millis() as i64);
    let own = names.iter().filter(|name| is_plain(name)).map(|name| format!("{name}.lock"));
    for lock in own.chain(SHARED_LOCKS.map(str::to_string)) {
        let path = repository.join(lock);
        if is_older(&path, locked_since) {
            report(&path, fs::remove_file(&path));
        }
    }
    let Ok(objects) = fs::read_dir(repository.join("objects")) else { return };
    for entry in objects.flatten() {
        let path = entry.path();
        let is_quarantine = entry.file_name().to_string_lossy().starts_with(QUARANTINE);
        if is_quarantine && is_older(&path, quarantined_since) {
            report(&path, fs::remove_dir_all(&path));
        }
    }
}

/// The full name of the branch that `HEAD` names.
pub(crate) fn default_branch(repository: &Path) -> Option<String> {
    let head = fs::read_to_string(repository.join("HEAD")).ok()?;
    Some(head.strip_prefix("ref: ")?.trim().to_string())
}

/// Whether a name of a ref, which a client made up, leads to where refs are.
fn is_plain(name: &str) -> bool {
    let is_part = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.contains(['\\', '\0']);
    name.starts_with("refs/") && name.split('/').all(is_part)
}

fn is_older(path: &Path, than_ms: i64) -> bool {
    let changed = fs::symlink_metadata(path).and_then(|metadata| metadata.modified());
    let changed = changed.ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    changed.is_some_and(|at| (at.as_millis() as i64) < than_ms)
}

fn report(path: &Path, removed: std::io::Result<()>) {
    match removed {
        Ok(()) => tracing::info!(path = %path.display(), "removed what a killed git left"),
        Err(error) => tracing::warn!(path = %path.display(), %error, "what a killed git left stays"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR_MS: i64 = 3_600_000;

    #[test]
    fn old_leftovers_go_and_new_ones_and_others_stay() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join("r.git").join(name);
        for name in ["refs/heads", "objects/tmp_objdir-incoming-x/pack", "objects/ab"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        for name in ["HEAD", "refs/heads/main", "refs/heads/main.lock", "packed-refs.lock", "../x.lock"] {
            fs::write(at(name), "ref: refs/heads/main\n").unwrap();
        }
        let names = ["refs/heads/main", "refs/../../x", "refs/heads/../../../x", "/x"].map(str::to_string);
        let now = fs::metadata(at("HEAD")).unwrap().modified().unwrap();
        let now_ms = now.duration_since(UNIX_EPOCH).unwrap().as_millis() as i64;
        remove(&at(""), &names, now_ms, now_ms);
        assert!(at("refs/heads/main.lock").exists() && at("packed-refs.lock").exists());
        remove(&at(""), &names, now_ms + HOUR_MS, now_ms + HOUR_MS);
        assert!(!at("refs/heads/main.lock").exists() && !at("packed-refs.lock").exists());
        assert!(at("objects/tmp_objdir-incoming-x").exists(), "its push may still be under way");
        remove(&at(""), &names, now_ms + 3 * HOUR_MS, now_ms);
        assert!(!at("objects/tmp_objdir-incoming-x").exists());
        assert!(at("../x.lock").exists() && at("refs/heads/main").exists() && at("objects/ab").exists());
        assert_eq!(default_branch(&at("")).as_deref(), Some("refs/heads/main"));
    }
}
