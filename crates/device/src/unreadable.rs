//! Process hardening: the driver makes itself undumpable, so that commands it runs for agents can neither trace it nor
//! read its memory and environment, where its token is. They run as the same user and could do both otherwise.
//!
//! A child that has not called `exec` yet is closed in the same way, to itself too: what must write its own
//! `/proc/self/uid_map`, as a sandbox does, has to be a program of its own.

/// Shuts this process to others of the same user, for good. Does nothing where the system has no such thing.
pub fn shut() -> std::io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)?;
    Ok(())
}

#[cfg(test)]
#[cfg(target_os = "linux")]
#[allow(
    clippy::disallowed_methods,
    reason = "the test needs processes of another user, outside of any runtime"
)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::process::{Command, Stdio};

    use super::*;

    /// Set in the process that plays the driver.
    const PLAYS_DRIVER: &str = "GSV_TEST_UNREADABLE";
    const SECRET: &str = "gsv_node_in_the_environment";
    const NAME: &str = "unreadable::tests::a_child_of_the_same_user_can_not_read_the_driver";

    /// What a child of this process reads of it at a path below its directory in `/proc`.
    fn child_reads(file: &str) -> Option<String> {
        let path = format!("/proc/{}/{file}", std::process::id());
        let read = Command::new("cat").arg(path).stderr(Stdio::null()).output().unwrap();
        read.status.success().then(|| String::from_utf8_lossy(&read.stdout).into_owned())
    }

    fn play_driver() {
        assert!(child_reads("environ").is_some_and(|text| text.contains(SECRET)), "it is there to be read");
        shut().unwrap();
        for file in ["environ", "mem", "maps", "auxv"] {
            assert_eq!(child_reads(file), None, "{file}");
        }
        let trace = format!("/proc/{}/root/.", std::process::id());
        let listed = Command::new("ls").arg(trace).output().unwrap();
        assert!(!listed.status.success(), "what may be traced may be entered");
    }

    #[test]
    fn a_child_of_the_same_user_can_not_read_the_driver() {
        if std::env::var_os(PLAYS_DRIVER).is_some() {
            return play_driver();
        }
        // Root reads everything, so that the driver is played by somebody else, who must be able to start it.
        let directory =
            tempfile::Builder::new().permissions(PermissionsExt::from_mode(0o755)).tempdir().unwrap();
        let program = directory.path().join("driver");
        std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
        let mut command = match rustix::process::geteuid().is_root() {
            false => Command::new(&program),
            true => {
                let mut command = Command::new("setpriv");
                command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&program);
                command
            }
        };
        let command = command.args(["--exact", NAME, "--nocapture"]).current_dir(directory.path());
        let played = command.env(PLAYS_DRIVER, "1").env("GSV_TOKEN", SECRET).output().unwrap();
        let said = String::from_utf8_lossy(&played.stdout);
        assert!(played.status.success() && said.contains("1 passed"), "{said}");
    }
}
