//! Kernel of the gateway: authorization and routing of calls. It knows no sockets: `server` hands it what arrives and
//! sends what waits in each connection's outbox.
//!
//! The path of a frame: `receive` → `dispatch`, which asks `access` → a handler of the kernel (`calls`) or of an area
//! (`subsystems`), or `routes` and a device.

mod access;
mod alarms;
mod authenticate;
mod calls;
mod codec;
mod connections;
mod core;
mod devices;
mod dispatch;
mod grants;
mod homes;
mod metrics;
mod outbox;
mod oversized;
mod pending;
mod recall;
mod receive;
mod reload;
mod routes;
mod settings;
mod signals;
mod stream_signal;
mod subsystems;
mod sweeps;
mod tasks;
#[cfg(test)]
mod tests;
mod text_signal;
mod ticket;
mod user_memory;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use base::clock::Clock;
use base::limits;
use base::random::Random;
use base::sync::lock;
use gateway::{Around, Call, Gateway, Gauges, Gone, Subsystem};
use protocol::error::Error;
use protocol::identity::{ProcessIdentity, Role};
use protocol::ids::Gid;
use protocol::router::Router;
use protocol::signal::DeviceEvent;
use store::Store;

pub use calls::{Cx, not_implemented};
pub use codec::{Aliased, Codec, Current, Memory};
pub use connections::{Connection, Login, Source};
pub use gateway::{Caller, Capabilities, Origin, Visitor};
pub use outbox::{Close, Outbox, Outgoing, Texts};
pub use oversized::Excerpt;
pub use user_memory::UserMemory;

/// The gateway's heart.
pub struct Kernel {
    store: Store,
    clock: Clock,
    version: String,
    /// The calls it answers itself.
    own_calls: Router<Cx>,
    /// The calls that areas answer.
    area_calls: Router<Call>,
    connections: connections::Connections,
    /// What users are told, and which of their sockets are.
    feeds: signals::Feeds,
    devices: devices::Devices,
    grants: grants::Grants,
    authenticator: auth::Authenticator,
    settings: settings::Settings,
    metrics: Arc<metrics::Metrics>,
    tree: Arc<vfs::Tree>,
    /// What areas get of all this; handlers of the kernel use it as well.
    gateway: Gateway,
    areas: Vec<Arc<dyn Subsystem>>,
    /// The areas that want to see calls on their way to devices, by call.
    interceptors: Vec<(&'static str, Arc<dyn Subsystem>)>,
    alarms: alarms::Alarms,
    started_at: i64,
    setup_mode: AtomicBool,
    /// What whoever sets the system up from another machine must know; gone with the setup.
    setup_code: Mutex<Option<auth::SetupCode>>,
    route_numbers: AtomicU64,
}

/// Makes an area of a gateway.
pub type NewArea = fn(&Gateway) -> Arc<dyn Subsystem>;

/// Where a gateway runs, and what it runs with.
pub struct Setting<'a> {
    /// The rows.
    pub store: Store,
    /// The directory of the native file tree.
    pub files: &'a Path,
    /// The program whose children run code that is not ours; this one where none is named.
    pub guest_program: Option<PathBuf>,
    /// The time.
    pub clock: Clock,
    /// The chance.
    pub random: Random,
    /// The gateway's version.
    pub version: &'a str,
    /// Areas beside those of the page of subsystems.
    pub more: Vec<NewArea>,
}

impl Kernel {
    /// Starts over the machine's clock and randomness; `files` is the directory of the native file tree.
    pub async fn start(
        store: Store,
        files: &Path,
        clock: Clock,
        version: &str,
    ) -> Result<Arc<Kernel>, store::Error> {
        let random = Random::system();
        let guest_program = None;
        Kernel::start_in(Setting { store, files, guest_program, clock, random, version, more: Vec::new() })
            .await
    }

    /// Brings the store's content into shape and into memory, and starts every area.
    pub async fn start_in(setting: Setting<'_>) -> Result<Arc<Kernel>, store::Error> {
        let Setting { store, files, guest_program, clock, random, version, more } = setting;
        // The very program that runs, even if its file was replaced meanwhile.
        let guest_program = guest_program.unwrap_or_else(|| "/proc/self/exe".into());
        let now_ms = clock.now_ms();
        // Before anything is read: what another gateway changes meanwhile is read again.
        let changes = store.changes().subscribe();
        store.provision(now_ms).await?;
        store.grants().give_defaults(&grants::defaults()).await?;
        store.devices().set_all_offline(now_ms).await?;
        sweeps::run(&store, now_ms).await?;
        let tree = vfs::Tree::open(files, store.clone(), clock.clone())
            .map_err(|error| store::Error::Failed(format!("{}: {error}", files.display())))?;
        let tree = Arc::new(tree);
        homes::provision_all(&tree, &store).await?;
        let settings = settings::Settings::new();
        for (key, value) in store.config().matching("config", settings::is_kept).await? {
            settings.apply(&key, Some(&value));
        }
        let devices = devices::Devices::new(store.devices().all().await?, store.changes().clone());
        let grants = grants::Grants::new(store.grants().all().await?, store.changes().clone());
        let setup_mode = store.in_setup_mode().await?;
        let metrics = Arc::new(metrics::Metrics::new());
        let around = Around {
            store: store.clone(),
            tree: tree.clone(),
            repos: files.with_file_name("repos"),
            guest_program,
            clock: clock.clone(),
            random: random.clone(),
            version: version.to_string(),
        };
        let kernel = Arc::new_cyclic(|kernel| {
            let gateway = Gateway::new(around, core::Behind(kernel.clone()));
            let mut areas = subsystems::all(&gateway);
            areas.extend(more.iter().map(|area| area(&gateway)));
            let intercepts = |area: &Arc<dyn Subsystem>| {
                area.intercepts().iter().map(|name| (*name, area.clone())).collect::<Vec<_>>()
            };
            Kernel {
                own_calls: calls::router(),
                area_calls: calls::of_areas(&areas),
                connections: connections::Connections::new(clock.clone(), metrics.clone()),
                feeds: signals::Feeds::new(clock.clone()),
                devices,
                grants,
                authenticator: auth::Authenticator::new(store.clone(), clock.clone(), random.clone()),
                settings,
                metrics,
                tree,
                gateway,
                interceptors: areas.iter().flat_map(intercepts).collect(),
                areas,
                alarms: alarms::Alarms::new(&clock, kernel),
                started_at: now_ms,
                setup_mode: AtomicBool::new(setup_mode),
                setup_code: Mutex::new(setup_mode.then(|| auth::SetupCode::new(&random))),
                // Numbers start anywhere, so that a driver's late answer to an earlier gateway fits nothing here.
                route_numbers: AtomicU64::new(u64::from_le_bytes(random.bytes()) >> 8),
                version: version.to_string(),
                clock,
                store,
            }
        });
        for area in &kernel.areas {
            area.clone().start().await?;
        }
        tokio::spawn(reload::follow(Arc::downgrade(&kernel), changes, kernel.clock.clone()));
        Ok(kernel)
    }

    /// The area that wants to see a call on its way to a device.
    fn interceptor(&self, call: &str) -> Option<&Arc<dyn Subsystem>> {
        self.interceptors.iter().find(|(name, _)| *name == call).map(|(_, area)| area)
    }

    /// The HTTP routes of all areas.
    pub fn http(&self) -> Vec<axum::Router> {
        self.areas.iter().filter_map(|area| area.clone().http()).collect()
    }

    /// A config value was set or removed.
    pub(crate) fn config_changed(&self, key: &str, value: Option<&str>) {
        self.settings.apply(key, value);
        self.areas.iter().for_each(|area| area.config_changed(key, value));
    }

    /// Tells every area that something is gone for good.
    pub(crate) async fn gone(&self, gone: Gone) {
        for area in &self.areas {
            area.clone().gone(gone.clone()).await;
        }
    }

    /// The time, for whoever carries the sockets.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The chance, for the same.
    pub fn random(&self) -> &Random {
        self.gateway.random()
    }

    /// An account changed: those who know it by heart get it as it is now.
    pub(crate) fn refresh_account(&self, identity: &ProcessIdentity) {
        self.feeds.refresh(&Arc::new(identity.clone()));
        self.connections.refresh_account(identity);
        if !identity.uid.is_root() && !identity.gids.contains(&Gid::SERVICES) {
            let is_service =
                |login: &Login| login.role == Role::Service && login.identity().uid == identity.uid;
            self.connections.close_where(Close::REVOKED, is_service);
        }
    }

    /// Whether nobody has set the system up yet.
    pub fn in_setup_mode(&self) -> bool {
        self.setup_mode.load(Ordering::Acquire)
    }

    /// The code that `sys.setup` from another machine needs, as long as nobody has set the system up.
    pub fn setup_code(&self) -> Option<String> {
        lock(&self.setup_code).as_ref().map(auth::SetupCode::grouped)
    }

    /// The system was set up, here or by another gateway.
    pub(crate) fn leave_setup_mode(&self) {
        self.setup_mode.store(false, Ordering::Release);
        lock(&self.setup_code).take();
    }

    /// A socket was opened.
    pub fn opened(&self, source: impl Into<Source>) -> Arc<Connection> {
        let connection = self.connections.open(source.into());
        self.alarms.pending.within(limits::socket::PENDING_SOCKET_TIMEOUT);
        self.alarms.trim.within(limits::socket::OUTBOX_SPARE_KEPT);
        connection
    }

    /// A socket is gone.
    pub fn closed(self: &Arc<Self>, connection: &Arc<Connection>) {
        // First of all nothing may arrive there any more: a login that is just finishing must notice.
        connection.outbox.gone();
        self.connections.remove(connection);
        signals::detach(self, connection);
        routes::fail_all(self, connection);
        for area in &self.areas {
            tasks::run(area.clone().gone(Gone::Socket(connection.number)));
        }
        let Some(device_id) = connection.login().and_then(Login::device_id) else { return };
        let now_ms = self.clock.now_ms();
        let Some(device) = self.devices.detach(device_id, connection, now_ms) else { return };
        signals::device_status(self, DeviceEvent::Disconnected, &device);
        let kernel = self.clone();
        tasks::run(async move {
            if let Err(error) = kernel.store.devices().set_offline(&device.device_id, now_ms).await {
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
        let spec = protocol::spec(name);
        let known = spec.map_or(metrics::UNKNOWN_CALL, |spec| spec.name);
        let (ticket, answer) = ticket::Ticket::inside(&self.metrics, &self.clock, id, known);
        // Dropped with this future: then nobody waits any more.
        let waiting = Arc::new(());
        let call = Call { caller, since: ticket.started(), waiting: Some(Arc::downgrade(&waiting)) };
        dispatch::dispatch(self, call, ticket, name, spec, args);
        answer.await.map_err(|_| Error::stopping())?
    }

    /// Runs what is due until the program stops: deadlines, sweeps, keepalives, of the kernel and of every area.
    pub async fn run_timers(self: Arc<Self>, shutdown: base::shutdown::Shutdown) {
        let mut alarms = self.alarms.all();
        alarms.extend(self.areas.iter().flat_map(|area| area.alarms()));
        let clock = self.clock.clone();
        drop(self);
        base::timer::run(clock, alarms, shutdown).await;
    }

    /// Lets every area come to rest; what was under way goes on after the next start.
    pub async fn stop_areas(&self) {
        for area in self.areas.iter().rev() {
            area.clone().stop().await;
        }
    }

    /// Asks every socket to close.
    pub fn close_all(&self) {
        self.connections.all().iter().for_each(|connection| connection.close(Close::STOPPING));
    }

    /// How many sockets are open.
    pub fn socket_count(&self) -> usize {
        self.connections.all().len()
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
            ("gsv_outbox_frames", "Frames that wait for clients to read.", frames),
            ("gsv_outbox_bytes", "Bytes that wait for clients to read.", bytes),
        ] {
            head(&mut out, name, "gauge", help);
            line(&mut out, name, "", value);
        }
        let mut gauges = Gauges::default();
        self.areas.iter().for_each(|area| area.metrics(&mut gauges));
        out.push_str(&gauges.into_text());
        self.metrics.render(&mut out);
        out.push_str(&self.store.metrics());
        out
    }
}
