//! Child process of the git program: its own process group, bounded by the operating system, ended politely so that it
//! tidies up after itself.

use std::io::ErrorKind;
use std::process::Stdio;

use base::clock::Clock;
use base::limits::git as limits;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use super::answer::Refusal;

/// What one git process may use beside what everyone may.
pub(crate) struct Bounds {
    pub(crate) file_max_bytes: u64,
}

/// A running git with the processes it starts. Dropped, it is told to end.
pub(crate) struct GitChild {
    child: Child,
}

impl GitChild {
    /// Starts it. Its input is as the command says.
    pub(crate) fn start(mut command: Command, bounds: Bounds) -> Result<GitChild, Refusal> {
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let child = command.spawn().map_err(|error| match error.kind() {
            ErrorKind::NotFound => Refusal::no_git(),
            _ => {
                tracing::warn!(%error, "git could not be started");
                Refusal::git_failed()
            }
        })?;
        let child = GitChild { child };
        // It has read nothing yet, so that nothing it does was done without them.
        child.bound(&bounds);
        Ok(child)
    }

    pub(crate) fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    pub(crate) fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    pub(crate) fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.child.stderr.take()
    }

    /// Whether it did what it was asked to; one that does not end is ended.
    pub(crate) async fn wait(&mut self, clock: &Clock) -> bool {
        if let Ok(status) = clock.timeout(limits::END_TIMEOUT, self.child.wait()).await {
            return status.is_ok_and(|status| status.success());
        }
        self.end(clock).await;
        false
    }

    /// Tells it to end, and after a while makes it.
    pub(crate) async fn end(&mut self, clock: &Clock) {
        self.signal(Signal::TERM);
        if clock.timeout(limits::END_TIMEOUT, self.child.wait()).await.is_err() {
            self.signal(Signal::KILL);
        }
    }

    /// To the whole group. Once git itself was waited for its number may be another's.
    pub(crate) fn signal(&self, signal: Signal) {
        let Some(group) = self.group() else { return };
        if let Err(error) = kill_process_group(group, signal) {
            tracing::debug!(%error, "git is gone already");
        }
    }

    fn group(&self) -> Option<Pid> {
        Pid::from_raw(i32::try_from(self.child.id()?).ok()?)
    }

    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn bound(&self, bounds: &Bounds) {
        use rustix::process::{Resource, Rlimit, prlimit};
        let limits = [
            (Resource::Data, limits::MEMORY_MAX_BYTES),
            (Resource::Cpu, limits::CPU_MAX_SECONDS),
            (Resource::Fsize, bounds.file_max_bytes),
            (Resource::Core, 0),
        ];
        for (resource, most) in limits {
            let limit = Rlimit { current: Some(most), maximum: Some(most) };
            if let Err(error) = prlimit(self.group(), resource, limit) {
                tracing::warn!(%error, ?resource, "git runs without a bound");
            }
        }
    }

    /// Other systems bound only the process itself: there the limits of time and bytes must do.
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    fn bound(&self, _bounds: &Bounds) {}
}

impl Drop for GitChild {
    fn drop(&mut self) {
        self.signal(Signal::TERM);
    }
}
