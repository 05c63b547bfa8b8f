//! Control group (cgroup v2) of one call, where the machine delegates groups to this user: the kernel then holds memory
//! and processes to their limits at every moment. Elsewhere the watch over the sums and the resource limits stand alone.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::spec::Limits;

/// Begin of the names of our groups.
const PREFIX: &str = "gsv-call-";

/// A group that was made, and is removed again when nobody is in it any more.
pub(crate) struct Group {
    path: PathBuf,
}

/// The way into a group, to be used by whoever shall be in it.
pub(crate) struct Door(File);

impl Group {
    /// Makes a group with these limits, if this machine lets us.
    pub(crate) fn make(limits: &Limits) -> Option<(Group, Door)> {
        let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let parent = parent_of_ours(&groups, &mounts)?;
        let may_limit = fs::read_to_string(parent.join("cgroup.subtree_control")).ok()?;
        if !may_limit.split_whitespace().any(|name| name == "memory") {
            return None;
        }
        sweep(&parent);
        Group::make_in(&parent, limits).ok()
    }

    fn make_in(parent: &Path, limits: &Limits) -> io::Result<(Group, Door)> {
        let path = parent.join(format!("{PREFIX}{}", std::process::id()));
        fs::create_dir(&path)?;
        // From here on it is removed, whatever fails.
        let group = Group { path };
        let set = |name: &str, text: &str| fs::write(group.path.join(name), text);
        set("memory.max", &limits.memory_bytes.to_string())?;
        // What is too much is ended whole: half a build is of no use to anybody.
        set("memory.oom.group", "1")?;
        // Not every machine has these.
        drop(set("memory.swap.max", "0"));
        drop(set("pids.max", &limits.processes.to_string()));
        let door = OpenOptions::new().write(true).open(group.path.join("cgroup.procs"))?;
        Ok((group, Door(door)))
    }

    /// Whether something was ended because it held too much memory.
    pub(crate) fn ran_out_of_memory(&self) -> bool {
        let events = fs::read_to_string(self.path.join("memory.events")).unwrap_or_default();
        let kills = events.lines().find_map(|line| line.strip_prefix("oom_kill "));
        kills.and_then(|kills| kills.trim().parse::<u64>().ok()).is_some_and(|kills| kills > 0)
    }
}

impl Door {
    /// Puts this process into the group, with everything that it starts. The right to do so was checked when the door
    /// was opened, in the machine's own view.
    pub(crate) fn enter(mut self) -> io::Result<()> {
        self.0.write_all(b"0")
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // One that somebody is still in stays, and is swept up later.
        drop(fs::remove_dir(&self.path));
    }
}

/// Removes the empty groups of helpers that were killed. The kernel removes none that somebody is in.
fn sweep(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        if owner.is_some_and(|owner| !Path::new("/proc").join(owner).exists()) {
            drop(fs::remove_dir(entry.path()));
        }
    }
}

/// The directory in which our own group is: in a group that holds processes there can be none.
fn parent_of_ours(groups: &str, mounts: &str) -> Option<PathBuf> {
    let own = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let mount = mounts.lines().find_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        let mut fields = place.split(' ').skip(3);
        let (root, point) = (fields.next()?, fields.next()?);
        (kind.starts_with("cgroup2 ") && root == "/").then(|| PathBuf::from(point))
    })?;
    let own = Path::new(own);
    // In the root group everything may be.
    Some(mount.join(own.parent().unwrap_or(own)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_made_beside_our_own() {
        let mounts = "25 30 0:23 / /sys rw - sysfs sysfs rw\n\
                      31 25 0:27 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
        let groups = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/gsv.service\n";
        let parent = "/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice";
        assert_eq!(parent_of_ours(groups, mounts), Some(PathBuf::from(parent)));
        assert_eq!(parent_of_ours("0::/\n", mounts), Some(PathBuf::from("/sys/fs/cgroup/")));
        assert_eq!(parent_of_ours("4:memory:/x\n", mounts), None);
        assert_eq!(parent_of_ours(groups, "25 30 0:23 / /sys rw - sysfs sysfs rw\n"), None);
    }

    /// A directory in place of the kernel's: what is written where.
    #[test]
    fn limits_are_written_and_the_end_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let limits = Limits { memory_bytes: 1_000_000, processes: 77, ..Limits::default() };
        let made = Group::make_in(dir.path(), &limits);
        assert!(made.is_err(), "without the kernel there is no door");
        let path = dir.path().join(format!("{PREFIX}{}", std::process::id()));
        let text = |name: &str| fs::read_to_string(path.join(name)).unwrap();
        assert_eq!((text("memory.max"), text("pids.max")), ("1000000".into(), "77".into()));
        let group = Group { path: path.clone() };
        assert!(!group.ran_out_of_memory());
        fs::write(path.join("memory.events"), "low 0\noom 1\noom_kill 3\noom_group_kill 1\n").unwrap();
        assert!(group.ran_out_of_memory());
    }

    #[test]
    fn groups_of_helpers_that_are_gone_are_swept_up() {
        let dir = tempfile::tempdir().unwrap();
        let own = dir.path().join(format!("{PREFIX}{}", std::process::id()));
        let [gone, other] = ["gsv-call-4194999", "other"].map(|name| dir.path().join(name));
        for path in [&own, &gone, &other] {
            fs::create_dir(path).unwrap();
        }
        sweep(dir.path());
        assert!(own.exists() && other.exists() && !gone.exists());
    }
}
