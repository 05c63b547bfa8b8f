//! Who may call what, and where it runs. The kernel knows no sockets: `server` hands it what arrives and sends
//! what waits in each connection's outbox.
//!
//! The path of a frame: `receive` → `access` → `dispatch` → a handler under `calls`, or `routes` and a
//! device.

mod access;
mod caller;
mod calls;
mod connections;
mod devices;
mod dispatch;
mod grants;
mod homes;
mod logins;
mod metrics;
mod native;
mod outbox;
mod passwords;
mod processes;
mod recall;
mod receive;
mod routes;
mod sessions;
mod settings;
mod signals;
mod tasks;
#[cfg(test)]
mod tests;
mod transfers;

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use base::clock::Clock;
use base::limits;
use protocol::error::Error;
use protocol::identity::Role;
use protocol::router::Router;
use protocol::signal::DeviceEvent;
use store::Store;

pub use caller::{Caller, Origin};
pub use calls::{Cx, not_implemented};
pub use connections::{Connection, Login};
pub use grants::Capabilities;
pub use outbox::{Close, Outbox, Outgoing, Texts};
pub(crate) use process::store_error;

/// The gateway's heart.
pub struct Kernel {
    store: Store,
    clock: Clock,
    version: String,
    router: Router<Cx>,
    connections: connections::Connections,
    devices: devices::Devices,
    grants: grants::Grants,
    logins: logins::Logins,
    passwords: passwords::Passwords,
    settings: settings::Settings,
    transfers: transfers::Transfers,
    reads: calls::fs::Reads,
    metrics: Arc<metrics::Metrics>,
    tree: Arc<vfs::Tree>,
    shells: shell::Shells,
    processes: process::Host,
    registry: processes::Registry,
    started_at: i64,
    setup_mode: AtomicBool,
    route_numbers: AtomicU64,
}

impl Kernel {
    /// Brings the store's content into shape and into memory.
    ///
    /// `files` is the directory of the native file tree.
    pub async fn start(
        store: Store,
        files: &Path,
        clock: Clock,
        version: &str,
    ) -> Result<Arc<Kernel>, store::Error> {
        let now_ms = clock.now_ms();
        store.provision(now_ms).await?;
        store.grant_defaults(&grants::defaults()).await?;
        store.devices_offline(now_ms).await?;
        store.sessions_prune(now_ms).await?;
        recall::sweep(&store).await?;
        let tree = vfs::Tree::open(files, store.clone(), clock.clone())
            .map_err(|error| store::Error::Failed(format!("{}: {error}", files.display())))?;
        let tree = Arc::new(tree);
        homes::settle_all(&tree, &store).await?;
        sessions::end_native(&store, now_ms).await?;
        let settings = settings::Settings::new();
        for (key, value) in store.config_where("config", settings::is_kept).await? {
            settings.apply(&key, Some(&value));
        }
        let devices = devices::Devices::new(store.devices().await?);
        let grants = grants::Grants::new(store.grants().await?);
        let setup_mode = store.in_setup_mode().await?;
        let client = model::Client::new(clock.clone(), model::PrivateHosts::Allow);
        let metrics = Arc::new(metrics::Metrics::new());
        let kernel = Arc::new_cyclic(|kernel| Kernel {
            router: calls::router(),
            connections: connections::Connections::new(metrics.clone()),
            devices,
            grants,
            logins: Default::default(),
            passwords: passwords::Passwords::new(),
            settings,
            transfers: Default::default(),
            reads: Default::default(),
            metrics,
            shells: shell::Shells::new(clock.clone()),
            processes: process::Host::start(
                store.clone(),
                clock.clone(),
                Arc::new(processes::Surroundings::new(kernel.clone(), tree.clone())),
                client,
            ),
            registry: processes::Registry::default(),
            tree,
            started_at: now_ms,
            setup_mode: AtomicBool::new(setup_mode),
            // Numbers start anywhere, so that a driver's late answer to an earlier gateway fits nothing here.
            route_numbers: AtomicU64::new(u64::from_le_bytes(base::random::bytes()) >> 8),
            version: version.to_string(),
            clock,
            store,
        });
        processes::recover(&kernel);
        Ok(kernel)
    }

    /// Whether nobody has set the system up yet.
    pub fn in_setup_mode(&self) -> bool {
        self.setup_mode.load(Ordering::Acquire)
    }

    /// A socket was opened.
    pub fn opened(&self, peer: IpAddr) -> Arc<Connection> {
        self.connections.open(peer)
    }

    /// A socket is gone.
    pub fn closed(self: &Arc<Self>, connection: &Arc<Connection>) {
        // First of all nothing may arrive there any more: a login that is just finishing must notice.
        connection.outbox.gone();
        self.connections.remove(connection);
        transfers::closed(self, connection);
        let Some(device_id) = connection.login().and_then(Login::device_id) else { return };
        routes::fail_all(self, connection);
        let now_ms = self.clock.now_ms();
        let Some(device) = self.devices.detach(device_id, connection, now_ms) else { return };
        signals::device_status(self, DeviceEvent::Disconnected, &device);
        let kernel = self.clone();
        tasks::run(async move {
            if let Err(error) = kernel.store.device_offline(&device.device_id, now_ms).await {
                tracing::warn!(device = %device.device_id, %error, "the device could not be marked offline");
            }
        });
    }

    /// Makes a call from within the program, through the same checks and routes as a socket's.
    pub async fn call(
        self: &Arc<Self>,
        caller: Caller,
        id: &str,
        name: &str,
        args: &str,
    ) -> Result<String, Error> {
        let spec = access::check(&caller, name, protocol::spec(name))?;
        let (ticket, answer) = caller::Ticket::inside(&self.metrics, id, spec.name);
        dispatch::dispatch(self, caller, ticket, spec, args);
        answer.await.map_err(|_| Error::stopping())?
    }

    /// Looks after deadlines until the program stops.
    pub async fn tend(self: Arc<Self>, mut shutdown: base::shutdown::Shutdown) {
        let mut ticks: u64 = 0;
        let per = |interval: Duration| (interval.as_millis() / limits::ROUTE_SWEEP.as_millis()) as u64;
        loop {
            tokio::select! {
                () = shutdown.requested() => return,
                () = tokio::time::sleep(limits::ROUTE_SWEEP) => ticks += 1,
            }
            let now = Instant::now();
            for driver in self.devices.drivers() {
                routes::expire(&self, &driver, now);
            }
            if ticks.is_multiple_of(per(Duration::from_secs(1))) {
                transfers::expire(&self, now);
                processes::tend_replies(&self);
                self.connections.overdue(now).iter().for_each(|pending| pending.close(Close::IDLE));
            }
            if ticks.is_multiple_of(per(limits::OUTBOX_SPARE_KEPT)) {
                self.connections.trim();
            }
            if ticks.is_multiple_of(per(limits::DRIVER_PING)) {
                self.ping_drivers();
            }
            if ticks.is_multiple_of(per(Duration::from_secs(3_600))) {
                self.prune();
            }
        }
    }

    /// Forgets old shell sessions, beside the rest: a slow disk must not hold up deadlines.
    fn prune(self: &Arc<Self>) {
        let kernel = self.clone();
        tasks::run(async move {
            if let Err(error) = kernel.store.sessions_prune(kernel.clock.now_ms()).await {
                tracing::warn!(%error, "old shell sessions could not be removed");
            }
        });
    }

    fn ping_drivers(&self) {
        for driver in self.connections.select(|login| login.role == Role::Driver) {
            if driver.silent_for_ms() > limits::DRIVER_SILENCE_MAX.as_millis() as u64 {
                driver.close(Close::SILENT);
            } else {
                driver.outbox.send(Outgoing::Ping);
            }
        }
    }

    /// Lets every process come to rest; what they were at goes on after the next start.
    pub async fn stop_processes(&self) {
        self.processes.stop().await;
    }

    /// Asks every socket to close, and every command of the native shell to end.
    pub fn close_all(&self) {
        self.shells.stop();
        self.connections.all().iter().for_each(|connection| connection.close(Close::STOPPING));
    }

    /// How many sockets are open.
    pub fn socket_count(&self) -> usize {
        self.connections.all().len()
    }

    /// Whether a token is one of root's sessions; for `/metrics`.
    pub async fn is_root_token(&self, raw: &str) -> bool {
        let found = self.store.token_by_hash(protocol::ids::Uid::ROOT, &passwords::token_hash(raw)).await;
        let now_ms = self.clock.now_ms();
        found.ok().flatten().is_some_and(|token| {
            token.allowed_role == Role::User
                && token.revoked_at.is_none()
                && token.expires_at.is_none_or(|end| end > now_ms)
        })
    }

    /// Prometheus text.
    pub fn metrics(&self) -> String {
        use metrics::{head, line};
        let mut out = String::with_capacity(8_192);
        let (pending, roles) = self.connections.counts();
        head(&mut out, "gsv_connections", "gauge", "Open sockets by role.");
        line(&mut out, "gsv_connections", "role=\"none\"", pending);
        for role in [Role::User, Role::Driver, Role::Service] {
            let labels = format!("role=\"{}\"", role.as_str());
            line(&mut out, "gsv_connections", &labels, roles.get(&role).copied().unwrap_or(0));
        }
        let (devices, online) = self.devices.counts();
        let routes: usize = self.devices.drivers().iter().map(|driver| routes::count(driver)).sum();
        let sockets = self.connections.all();
        let waiting = sockets.iter().map(|connection| connection.outbox.waiting());
        let (frames, bytes) = waiting.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        for (name, help, value) in [
            ("gsv_devices", "Known devices.", devices),
            ("gsv_devices_online", "Connected devices.", online),
            ("gsv_routes", "Calls under way on devices.", routes),
            ("gsv_transfers", "Open file transfers.", self.transfers.count()),
            ("gsv_shell_running", "Commands of the native shell that run.", self.shells.facts().len()),
            ("gsv_shell_lost", "Commands that did not end when told to.", self.shells.lost_count()),
            ("gsv_outbox_frames", "Frames that wait for clients to read.", frames),
            ("gsv_outbox_bytes", "Bytes that wait for clients to read.", bytes),
        ] {
            head(&mut out, name, "gauge", help);
            line(&mut out, name, "", value);
        }
        self.metrics.render(&mut out);
        out.push_str(&self.store.metrics());
        out
    }
}
