//! Helper process that is started ahead: one for each driver, for whatever confined command comes next, so that no command
//! waits while this program is loaded once more.
//!
//! It has nothing of ours but a socket, has read nothing, and sees the machine as the driver does: what its command sees is
//! set up when the command is handed over. It serves one command; unused, it ends after a while, and with the driver.

use std::io;
use std::sync::{Arc, Mutex};

use base::limits::device as limit;
use base::sync::lock;
use sandbox::{NetworkNamespace, Sandbox, Setup, Spec, Waiting};
use tokio::process::{Child, Command};

/// The helper of one driver that waits, if one does.
pub(crate) struct HelperAhead {
    sandbox: Sandbox,
    helper: Mutex<Slot>,
}

#[derive(Default)]
struct Slot {
    helper: Option<(Child, Waiting)>,
    /// How many were started. By it one that was not used is told from its successor.
    count: u64,
}

impl HelperAhead {
    pub(super) fn new(sandbox: Sandbox) -> Arc<HelperAhead> {
        Arc::new(HelperAhead { sandbox, helper: Mutex::default() })
    }

    /// Hands a command to the helper that waits. None may wait, or it may have ended: then nothing was started.
    pub(super) fn hand_over(&self, spec: &Spec, network: &NetworkNamespace) -> Option<(Child, Setup)> {
        let (mut child, waiting) = lock(&self.helper).helper.take()?;
        if !matches!(child.try_wait(), Ok(None)) {
            return None;
        }
        let handed = waiting.run(spec, Some(network));
        handed.ok().map(|setup| (child, setup))
    }

    /// Starts a helper where none waits, in the way that is given, and lets it go when it was of no use for a while.
    pub(crate) fn start(
        self: &Arc<Self>,
        start: impl FnOnce(Command) -> io::Result<Child>,
    ) -> io::Result<()> {
        let mut slot = lock(&self.helper);
        if slot.helper.is_some() {
            return Ok(());
        }
        let sandbox::Ahead { command, helper } = self.sandbox.ahead()?;
        let child = start(Command::from(command))?;
        slot.helper = Some((child, helper));
        slot.count += 1;
        let (count, this) = (slot.count, Arc::downgrade(self));
        tokio::spawn(async move {
            tokio::time::sleep(limit::HELPER_AHEAD_IDLE_MAX).await;
            if let Some(this) = this.upgrade() {
                this.let_go(count);
            }
        });
        Ok(())
    }

    /// Lets the helper of this number go, if it still waits: it ends when its socket closes.
    fn let_go(&self, count: u64) {
        let mut slot = lock(&self.helper);
        if slot.count == count {
            slot.helper = None;
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::Stdio;

    use super::*;

    #[tokio::test]
    async fn one_waits_at_a_time_and_only_the_one_that_was_meant_is_let_go() {
        let ahead = HelperAhead::new(Sandbox::with_helper("/bin/true".into()));
        let start = |mut command: Command| command.stdin(Stdio::null()).spawn();
        ahead.start(start).expect("a helper");
        ahead.start(|_| panic!("there is one already")).expect("a helper");
        ahead.let_go(1);
        assert!(lock(&ahead.helper).helper.is_none());
        ahead.start(start).expect("a helper");
        ahead.let_go(1);
        assert!(lock(&ahead.helper).helper.is_some(), "another waits now");
    }
}
