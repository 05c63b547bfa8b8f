//! Subsystem of processes: lifecycle, the `init` process of every user, and calls between processes that have a
//! deadline.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base::sync::lock;
use base::timer::Alarm;
use gateway::{Call, Cx, Gateway, Gauges, Gone, Later, Subsystem};
use protocol::error::Error;
use protocol::identity::ProcessIdentity;
use protocol::ids::{Pid, Uid};
use protocol::router::Router;
use store::processes::ProcessRow;

use crate::handlers;
use crate::host::Host;

/// Processes and their calls.
pub struct Processes {
    pub(crate) gateway: Gateway,
    pub(crate) host: Host,
    /// Users whose init process is known to be there.
    welcomed: Mutex<HashSet<Uid>>,
    /// Ends calls between processes whose time is up.
    replies_due: Arc<Alarm>,
}

/// How soon the store is asked again for overdue calls after it has failed.
const RETRY: Duration = Duration::from_secs(1);

impl Processes {
    /// The processes of a gateway. Models at private addresses may be reached, unless config denies it.
    pub fn new(gateway: Gateway) -> Arc<Processes> {
        let client = model::Client::new(gateway.clock().clone(), model::PrivateHosts::Allow);
        let host = Host::start(&gateway, client);
        let replies_due = Alarm::new("calls between processes", gateway.clock().clone());
        let processes = Arc::new(Processes { gateway, host, welcomed: Mutex::default(), replies_due });
        let weak = Arc::downgrade(&processes);
        processes.replies_due.does(move |_| {
            let processes = weak.upgrade()?;
            tokio::spawn(async move { processes.end_overdue_calls().await });
            None
        });
        processes
    }

    /// A call between processes waits until then, in milliseconds since the epoch.
    pub(crate) fn expect_reply(&self, deadline_ms: i64) {
        let wait_ms = deadline_ms.saturating_sub(self.gateway.now_ms());
        self.replies_due.within(Duration::from_millis(wait_ms.max(0) as u64));
    }

    async fn end_overdue_calls(&self) {
        match self.host.tend_ipc(self.gateway.now_ms()).await {
            Ok(None) => {}
            Ok(Some(next_ms)) => self.expect_reply(next_ms),
            Err(error) => {
                tracing::warn!(%error, "calls between processes could not be looked after");
                self.replies_due.within(RETRY);
            }
        }
    }

    /// Sees to it that a user has an init process. True when it was made just now. Costs nothing when that is known.
    pub(crate) async fn ensure_init(&self, who: &ProcessIdentity) -> Result<bool, Error> {
        self.ensure_init_with(who, "[]").await
    }

    /// The same; a new one gets these context files.
    pub(crate) async fn ensure_init_with(
        &self,
        who: &ProcessIdentity,
        context_files: &str,
    ) -> Result<bool, Error> {
        if lock(&self.welcomed).contains(&who.uid) {
            return Ok(false);
        }
        let pid = init_pid(who.uid);
        let store = self.gateway.store();
        let made = match store.processes().by_id(&pid).await? {
            // One that was killed comes back with its next message.
            Some(_) => false,
            None => {
                let row = ProcessRow {
                    context_files: context_files.to_string(),
                    ..self.new_row(pid, who, "init", Some(format!("init ({})", who.username)))
                };
                store.processes().create(&row).await?
            }
        };
        lock(&self.welcomed).insert(who.uid);
        Ok(made)
    }

    /// A process that has done nothing yet, in the home of its user.
    pub(crate) fn new_row(
        &self,
        pid: Pid,
        who: &ProcessIdentity,
        profile: &str,
        label: Option<String>,
    ) -> ProcessRow {
        ProcessRow { label, ..ProcessRow::idle(pid, who.uid, profile, &who.home, self.gateway.now_ms()) }
    }
}

/// The process every user has.
pub(crate) fn init_pid(uid: Uid) -> Pid {
    Pid(format!("init:{uid}"))
}

impl Subsystem for Processes {
    fn name(&self) -> &'static str {
        "processes"
    }

    fn calls() -> Vec<&'static str> {
        handlers::router().names().to_vec()
    }

    fn handlers(self: Arc<Self>) -> Router<Call> {
        handlers::router().over(move |call| Ok(Cx::new(self.clone(), call)))
    }

    /// Takes up what an earlier gateway left, beside the start: clients need not wait for it.
    fn start(self: Arc<Self>) -> Later<Result<(), store::Error>> {
        tokio::spawn(async move {
            self.host.recover().await;
            if let Err(error) = self.host.recover_ipc().await {
                tracing::error!(%error, "replies between processes could not be taken up again");
            }
            // Calls of an earlier gateway may be overdue.
            self.replies_due.within(Duration::ZERO);
        });
        Box::pin(async { Ok(()) })
    }

    /// Lets every process come to rest; what they were at goes on after the next start.
    fn stop(self: Arc<Self>) -> Later<()> {
        Box::pin(async move { self.host.stop().await })
    }

    fn alarms(&self) -> Vec<Arc<Alarm>> {
        vec![self.replies_due.clone()]
    }

    fn metrics(&self, gauges: &mut Gauges) {
        gauges.gauge("gsv_processes_awake", "Processes that are in memory.", self.host.awake());
    }

    /// There is an init process to talk to. A login is good without one; `proc.send` tries again.
    fn logged_in(self: Arc<Self>, who: Arc<ProcessIdentity>) -> Later<()> {
        Box::pin(async move {
            if let Err(error) = self.ensure_init(&who).await {
                tracing::warn!(username = who.username, %error, "the init process could not be made");
            }
        })
    }

    fn gone(self: Arc<Self>, gone: Gone) -> Later<()> {
        Box::pin(async move {
            if let Gone::User(uid) = gone {
                lock(&self.welcomed).remove(&uid);
                self.host.forget_user(uid).await;
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    #[tokio::test]
    async fn an_init_process_is_made_once_and_looked_for_once() {
        let fixture = Fixture::with("task", serde_json::json!({})).await;
        let processes = fixture.processes();
        let who = fixture.host.world.gateway.identity(&fixture.process).await.unwrap();
        assert_eq!(processes.ensure_init(&who).await, Ok(true));
        assert_eq!(processes.ensure_init(&who).await, Ok(false));
        let row = fixture.store.processes().by_id(&init_pid(who.uid)).await.unwrap().unwrap();
        assert_eq!((row.label.as_deref(), row.profile.as_str()), (Some("init (ada)"), "init"));
    }

    #[tokio::test]
    async fn a_process_acts_as_the_account_is_now() {
        let fixture = Fixture::new().await;
        let row = ProcessRow { cwd: "/tmp".to_string(), ..fixture.process.clone() };
        let gateway = &fixture.host.world.gateway;
        let caller = gateway.caller(&row).await.unwrap();
        assert_eq!((caller.identity.cwd.as_str(), caller.identity.home.as_str()), ("/tmp", "/home/ada"));
        assert_eq!(caller.origin.pid(), Some(&row.pid));
        assert!(caller.capabilities.cover("fs.read"));
        fixture.store.accounts().set_groups(row.uid, &[]).await.unwrap();
        assert!(!gateway.caller(&row).await.unwrap().capabilities.cover("fs.read"));
        fixture.store.accounts().set_locked(row.uid, true).await.unwrap();
        assert_eq!(gateway.caller(&row).await.err().map(|error| error.code), Some(403));
    }
}
