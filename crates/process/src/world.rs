//! Shared dependencies of all processes: store, clock, kernel, model client, and caches.

use std::sync::Arc;

use base::clock::Clock;
use base::limits;
use base::random::Random;
use gateway::Gateway;
use protocol::ids::{Pid, RunId};
use protocol::signal::Signal;
use store::Store;
use store::lease::Lease;
use store::leases;
use store::processes::ProcessRow;

use crate::discovery::ModelDiscovery;
use crate::pictures::Pictures;
use crate::process_gateway::ProcessGateway;
use crate::setup::cache::SetupCache;
use crate::signals;

/// What all processes share. Cheap to clone.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) store: Store,
    /// Names this start of the gateway; the next one has another.
    pub(crate) life: Arc<str>,
    pub(crate) clock: Clock,
    pub(crate) random: Random,
    pub(crate) gateway: ProcessGateway,
    pub(crate) client: model::Client,
    pub(crate) discovery: Arc<ModelDiscovery>,
    /// What runs worked with not long ago.
    pub(crate) setups: Arc<SetupCache>,
    /// Pictures that models saw not long ago.
    pub(crate) pictures: Arc<Pictures>,
}

impl World {
    /// The world around processes; `client` may reach private addresses, unless config denies it.
    pub(crate) fn new(gateway: &Gateway, client: model::Client) -> World {
        let clock = gateway.clock().clone();
        let discovery = Arc::new(ModelDiscovery::new(clock.clone(), client.clone()));
        World {
            store: gateway.store().clone(),
            life: gateway.random().uuid().into(),
            clock,
            random: gateway.random().clone(),
            gateway: ProcessGateway::new(gateway.clone()),
            client,
            discovery,
            setups: Arc::default(),
            pictures: Arc::default(),
        }
    }

    /// Now, in milliseconds.
    pub(crate) fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    /// Takes the lease of a process; whoever had it here before writes nothing any more. `None` when another gateway
    /// has it.
    pub(crate) async fn lease(&self, pid: &Pid) -> Result<Option<Lease>, store::Error> {
        self.store.leases().acquire(&leases::of_process(pid), self.now_ms(), limits::store::LEASE_KEPT).await
    }

    /// Sends a signal of a process; those of a run say which.
    pub(crate) fn emit<S: Signal>(&self, process: &ProcessRow, run_id: Option<&RunId>, payload: &S) {
        self.gateway.emit(signals::outgoing(process, run_id, payload));
    }
}
