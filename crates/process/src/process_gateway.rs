//! Gateway handle scoped to a process: every call, signal and file of a process goes through its owner's rights.

use std::sync::Arc;
use std::time::Duration;

use gateway::{Caller, Gateway, Origin, OutgoingSignal, Permit, Recalled};
use protocol::calls::Calls;
use protocol::confine::Confinement;
use protocol::error::Error;
use protocol::identity::ProcessIdentity;
use protocol::ids::Uid;
use store::changes::Topic;
use store::processes::ProcessRow;
use vfs::observe::Agent;

/// The gateway as processes use it.
#[derive(Clone)]
pub(crate) struct ProcessGateway(Gateway);

impl ProcessGateway {
    pub(crate) fn new(gateway: Gateway) -> ProcessGateway {
        ProcessGateway(gateway)
    }

    /// Sends a signal to whom it belongs. Never waits: a slow client does not slow a run.
    pub(crate) fn emit(&self, signal: OutgoingSignal) {
        self.0.emit(signal);
    }

    /// Makes a call as the process. `request_id` names it for [`ProcessGateway::recall`].
    pub(crate) async fn call(
        &self,
        process: &ProcessRow,
        request_id: &str,
        name: &str,
        args: &str,
    ) -> Result<String, Error> {
        let caller = self.caller(process).await?;
        self.0.call(caller, request_id, name, args).await
    }

    /// Makes a call of a run, which may run on a device as the permit says.
    pub(crate) async fn call_permitted(
        &self,
        process: &ProcessRow,
        permit: Permit,
        request_id: &str,
        name: &str,
        args: &str,
    ) -> Result<String, Error> {
        let caller = Caller { permit: Some(Arc::new(permit)), ..self.caller(process).await? };
        // What others changed is not this run's.
        let run = caller.permit.as_ref().and_then(|permit| permit.run.clone());
        let agent = Agent { pid: process.pid.clone(), run };
        self.0.tree().settle(&caller.identity, Some(&agent)).await;
        self.0.call(caller, request_id, name, args).await
    }

    /// The same for a block of code, whose own calls go through a door of the process.
    pub(crate) async fn call_through(
        &self,
        process: &ProcessRow,
        permit: Permit,
        door: Calls,
        (request_id, name, args): (&str, &str, &str),
    ) -> Result<String, Error> {
        let caller = self.caller(process).await?;
        let caller = Caller { permit: Some(Arc::new(permit)), door: Some(door), ..caller };
        self.0.call(caller, request_id, name, args).await
    }

    /// Renews the tokens of a connected account, as its owner would.
    pub(crate) async fn renew_account(&self, uid: Uid, account_id: &str) -> Result<(), Error> {
        let caller = self.0.on_behalf_of(uid, Origin::Inside).await?;
        let args = serde_json::json!({ "accountId": account_id }).to_string();
        self.0.call(caller, &self.0.random().uuid(), "sys.oauth.refresh", &args).await.map(drop)
    }

    /// What a run changed is set apart from what others change after it. Nobody waits for that.
    pub(crate) fn settle_later(&self, process: &ProcessRow) {
        let (gateway, process) = (self.clone(), process.clone());
        tokio::spawn(async move {
            if let Ok(caller) = gateway.caller(&process).await {
                gateway.0.tree().settle(&caller.identity, None).await;
            }
        });
    }

    /// What the driver of a device said about agents; `None` while there is none that the process may use.
    pub(crate) fn confinement(&self, who: &ProcessIdentity, device: &str) -> Option<Confinement> {
        self.0.confinement(who, device)
    }

    /// What became of a call that was sent to a device before the gateway stopped, or before the device was lost.
    pub(crate) async fn recall(&self, process: &ProcessRow, request_id: &str, wait: Duration) -> Recalled {
        self.0.recall(process.uid, &process.pid, request_id, wait).await
    }

    /// Who the process acts as, with the groups the account has now; 403 when it was locked or removed.
    pub(crate) async fn identity(&self, process: &ProcessRow) -> Result<ProcessIdentity, Error> {
        Ok(ProcessIdentity::clone(&self.caller(process).await?.identity))
    }

    /// Other numbers after every change of what decides who processes act as, what they work with and what they may
    /// call.
    pub(crate) fn generations(&self) -> [u64; 4] {
        self.0.changes().generations([Topic::Config, Topic::Accounts, Topic::Grants, Topic::Devices])
    }

    /// The file tree as that identity sees it; live files make their calls as the process.
    pub(crate) fn view(&self, process: &ProcessRow, identity: Arc<ProcessIdentity>) -> vfs::View {
        let (gateway, row) = (self.clone(), process.clone());
        self.0.view_calling(identity, Some(&process.pid), move |name, args| {
            let (gateway, row) = (gateway.clone(), row.clone());
            let (name, args) = (name.to_string(), args.to_string());
            Box::pin(async move {
                let id = gateway.0.random().uuid();
                gateway.call(&row, &id, &name, &args).await
            })
        })
    }

    /// The caller behind a process, with the account as it is now.
    pub(crate) async fn caller(&self, process: &ProcessRow) -> Result<Caller, Error> {
        let standing = self.0.on_behalf_of(process.uid, Origin::Process(process.pid.clone())).await?;
        let identity = ProcessIdentity {
            cwd: process.cwd.clone(),
            workspace_id: process.workspace_id.clone(),
            ..ProcessIdentity::clone(&standing.identity)
        };
        Ok(Caller { identity: Arc::new(identity), ..standing })
    }
}
