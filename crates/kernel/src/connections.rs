//! Connection table: the state of each open socket, indexed by user, client and token.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, RwLock};
use std::time::{Duration, Instant};

use base::clock::Clock;
use base::limits;
use base::sync::{lock, read, write};
use bytes::Bytes;
use gateway::{Capabilities, Origin, Peer};
use protocol::confine::Confinement;
use protocol::identity::{ProcessIdentity, Role};
use protocol::ids::{DeviceId, TokenId, Uid};
use protocol::sys::Streams;

use crate::codec::{Codec, Current};
use crate::metrics::Metrics;
use crate::outbox::{Close, Outbox, Outgoing};
use crate::routes::{self, RouteTable};

/// One socket.
pub struct Connection {
    /// Counts up; older sockets have smaller numbers.
    pub number: u64,
    /// The other end's address.
    pub peer: IpAddr,
    /// What waits to be sent.
    pub outbox: Outbox,
    /// Where its calls are counted.
    pub(crate) metrics: Arc<Metrics>,
    clock: Clock,
    /// Writes its frames, unless it is the usual one.
    codec: OnceLock<&'static dyn Codec>,
    pub(crate) opened: Instant,
    pub(crate) login: OnceLock<Login>,
    pub(crate) routes: Mutex<RouteTable>,
    /// Set by a call that ends its own connection: it closes once the call is answered.
    pub(crate) parting: OnceLock<Close>,
    phase: AtomicU8,
    in_flight: AtomicUsize,
    in_flight_bytes: AtomicUsize,
    heard_ms: AtomicU64,
}

/// Who logged in on a socket.
pub struct Login {
    /// What the connection is for.
    pub role: Role,
    /// The client's own id, trimmed.
    pub client_id: String,
    /// The token it logged in with, if it was one.
    pub token_id: Option<TokenId>,
    /// Whether it may answer approvals.
    pub may_approve: bool,
    pub driver: Option<DriverLogin>,
    /// For users: how they get the events of a model's answer.
    pub streams: Streams,
    /// Whether it asks again for a command that was still running when its call was answered.
    pub follows_sessions: bool,
    /// The account; changes when root changes its groups.
    pub account: RwLock<Arc<ProcessIdentity>>,
    /// Cached patterns and the generation of accounts and grants they stem from.
    pub(crate) capabilities: Mutex<(u64, Arc<Capabilities>)>,
    /// When it logged in.
    pub(crate) since: Instant,
}

/// What a driver said of itself.
pub struct DriverLogin {
    pub device_id: DeviceId,
    /// Names the running program, if it said so.
    pub instance: Option<String>,
    /// Whether it remembers the results of calls that are marked as durable.
    pub remembers: bool,
    /// What holds for agents on its machine.
    pub confinement: Confinement,
}

/// The generation of nothing: what is kept under it is stale.
const NO_GENERATION: u64 = u64::MAX;

const PENDING: u8 = 0;
const LOGGING_IN: u8 = 1;
const LOGGED_IN: u8 = 2;

impl Connection {
    /// Whether calls of agents carry to it how they are to run.
    pub(crate) fn announces_confinement(&self) -> bool {
        let driver = self.login().and_then(|login| login.driver.as_ref());
        driver.is_some_and(|driver| driver.confinement.is_announced())
    }

    fn new(number: u64, peer: IpAddr, clock: Clock, metrics: Arc<Metrics>) -> Connection {
        Connection {
            number,
            peer,
            outbox: Outbox::default(),
            metrics,
            opened: clock.instant(),
            clock,
            codec: OnceLock::new(),
            login: OnceLock::new(),
            routes: Mutex::default(),
            parting: OnceLock::new(),
            phase: AtomicU8::new(PENDING),
            in_flight: AtomicUsize::new(0),
            in_flight_bytes: AtomicUsize::new(0),
            heard_ms: AtomicU64::new(0),
        }
    }

    /// The id clients see.
    pub fn id(&self) -> String {
        format!("conn-{:x}", self.number)
    }

    /// Writes its frames.
    pub fn codec(&self) -> &'static dyn Codec {
        self.codec.get().copied().unwrap_or(&Current)
    }

    /// From now on its frames are written by another codec than the usual one. Possible once, before the login; false
    /// when it is too late.
    pub fn speak(&self, codec: &'static dyn Codec) -> bool {
        self.login().is_none() && self.codec.set(codec).is_ok()
    }

    /// Sends one frame.
    pub fn send(&self, text: String) {
        self.outbox.send(Outgoing::Text(text));
    }

    /// Sends a signal that has no place in a sequence.
    pub(crate) fn send_signal(&self, name: &str, payload: &str) {
        let codec = self.codec();
        let mut text = codec.signal_head(name, payload.len());
        text.push_str(payload);
        codec.signal_tail(&mut text, None);
        self.send(text);
    }

    /// Closes the socket once what waits is sent.
    pub fn close(&self, close: Close) {
        self.outbox.close(close);
    }

    /// The login, once there is one.
    pub fn login(&self) -> Option<&Login> {
        if self.phase.load(Ordering::Acquire) == LOGGED_IN { self.login.get() } else { None }
    }

    /// Whether the socket may be read further: not while its requests or their answers pile up. What a driver
    /// sends are answers, which add nothing to what waits for it.
    pub fn may_read(&self) -> bool {
        self.in_flight.load(Ordering::Relaxed) < limits::socket::REQUESTS_IN_FLIGHT_MAX
            && self.in_flight_bytes.load(Ordering::Relaxed) < limits::socket::REQUEST_IN_FLIGHT_MAX_BYTES
            && (!self.outbox.is_high() || self.login().is_some_and(|login| login.role == Role::Driver))
    }

    /// Notes a sign of life; only drivers are watched for one.
    pub fn heard(&self) {
        if self.login().is_none_or(|login| login.role != Role::Driver) {
            return;
        }
        self.heard_ms.store(self.open_for_ms(), Ordering::Relaxed);
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    fn open_for_ms(&self) -> u64 {
        self.clock.instant().saturating_duration_since(self.opened).as_millis() as u64
    }

    pub(crate) fn silent_for_ms(&self) -> u64 {
        self.open_for_ms().saturating_sub(self.heard_ms.load(Ordering::Relaxed))
    }

    /// How long from now the driver still needs before its first request.
    pub(crate) fn grace_left(&self) -> Duration {
        let Some(login) = self.login() else { return Duration::ZERO };
        let named = login.driver.as_ref().is_some_and(|driver| driver.instance.is_some());
        routes::connect_grace(named, self.clock.instant().saturating_duration_since(login.since))
    }

    /// Claims the socket for one login attempt at a time.
    pub(crate) fn begin_login(&self) -> bool {
        self.phase.compare_exchange(PENDING, LOGGING_IN, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    pub(crate) fn abandon_login(&self) {
        self.phase.store(PENDING, Ordering::Release);
    }

    fn finish_login(&self, login: Login) {
        // A second login is impossible while this one holds the claim.
        if self.login.set(login).is_ok() {
            self.phase.store(LOGGED_IN, Ordering::Release);
            self.heard();
        }
    }
}

impl Peer for Connection {
    fn number(&self) -> u64 {
        self.number
    }

    fn id(&self) -> String {
        Connection::id(self)
    }

    fn client_id(&self) -> Option<&str> {
        self.login().map(|login| login.client_id.as_str())
    }

    fn follows_sessions(&self) -> bool {
        self.login().is_some_and(|login| login.follows_sessions)
    }

    fn is_gone(&self) -> bool {
        self.outbox.is_sealed()
    }

    fn is_closing(&self) -> bool {
        self.outbox.is_closing()
    }

    fn is_behind(&self) -> bool {
        self.outbox.is_high()
    }

    fn is_crowded(&self) -> bool {
        self.outbox.is_crowded()
    }

    fn send_bytes(&self, message: Bytes, waiting: Arc<AtomicUsize>) {
        self.outbox.send(Outgoing::Binary(message, waiting));
    }
}

/// One piece of work that a socket has under way. Too many of them, or too large ones, and it is not read further.
pub(crate) struct Slot {
    connection: Arc<Connection>,
    bytes: usize,
}

impl Slot {
    /// For a piece of work that is small.
    pub(crate) fn take(connection: &Arc<Connection>) -> Slot {
        Slot::of_size(connection, 0)
    }

    /// For a request with so many bytes: they are kept until it is answered.
    pub(crate) fn of_size(connection: &Arc<Connection>, bytes: usize) -> Slot {
        connection.in_flight.fetch_add(1, Ordering::Relaxed);
        connection.in_flight_bytes.fetch_add(bytes, Ordering::Relaxed);
        Slot { connection: connection.clone(), bytes }
    }

    pub(crate) fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let before = self.connection.in_flight.fetch_sub(1, Ordering::Relaxed);
        let bytes_before = self.connection.in_flight_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        if before >= limits::socket::REQUESTS_IN_FLIGHT_MAX
            || bytes_before >= limits::socket::REQUEST_IN_FLIGHT_MAX_BYTES
        {
            self.connection.outbox.wake();
        }
    }
}

/// How a socket is closed that a newer one takes the place of. A driver that names its instance learns whether it is
/// its own new socket or another program under its id: the latter must not come back, or the two would throw each
/// other out for ever.
pub(crate) fn close_of_replaced(older: &Connection, newer: &Connection) -> Close {
    match older.login().zip(newer.login()) {
        Some((old, new)) if old.names_instance() && !old.is_same_driver(new) => Close::TAKEN_OVER,
        _ => Close::REPLACED,
    }
}

impl Login {
    fn names_instance(&self) -> bool {
        self.driver.as_ref().is_some_and(|driver| driver.instance.is_some())
    }

    /// Whether both are sockets of one running driver.
    pub(crate) fn is_same_driver(&self, other: &Login) -> bool {
        let instance = |login: &Login| login.driver.as_ref().and_then(|driver| driver.instance.clone());
        self.names_instance() && instance(self) == instance(other)
    }

    /// The account as it is now.
    pub fn identity(&self) -> Arc<ProcessIdentity> {
        read(&self.account).clone()
    }

    pub(crate) fn device_id(&self) -> Option<&DeviceId> {
        self.driver.as_ref().map(|driver| &driver.device_id)
    }
}

/// All sockets.
#[derive(Default)]
pub struct Connections {
    clock: Clock,
    /// Where the calls of all of them are counted.
    metrics: Arc<Metrics>,
    next: AtomicU64,
    index: RwLock<Index>,
}

#[derive(Default)]
struct Index {
    pending: BTreeMap<u64, Arc<Connection>>,
    live: HashMap<u64, Arc<Connection>>,
    by_client: HashMap<(Uid, Role, String), u64>,
}

impl Connections {
    /// None yet.
    pub(crate) fn new(clock: Clock, metrics: Arc<Metrics>) -> Connections {
        Connections { clock, metrics, ..Connections::default() }
    }

    /// A new socket. Beyond the limit of sockets that have not logged in, the oldest such one is closed.
    pub(crate) fn open(&self, peer: IpAddr) -> Arc<Connection> {
        let number = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        let connection = Arc::new(Connection::new(number, peer, self.clock.clone(), self.metrics.clone()));
        let mut index = self.write();
        index.pending.insert(number, connection.clone());
        if index.pending.len() > limits::socket::PENDING_SOCKETS_MAX
            && let Some((_, oldest)) = index.pending.pop_first()
        {
            oldest.close(Close::IDLE);
        }
        connection
    }

    /// Makes a socket a logged-in one, unless it is gone already. The older socket of the same user, role and
    /// client id is closed.
    pub(crate) fn log_in(&self, connection: &Arc<Connection>, login: Login) -> bool {
        let key = (login.identity().uid, login.role, login.client_id.clone());
        let mut index = self.write();
        index.pending.remove(&connection.number);
        if connection.outbox.is_closing() {
            return false;
        }
        connection.finish_login(login);
        index.live.insert(connection.number, connection.clone());
        if !key.2.is_empty()
            && let Some(older) = index.by_client.insert(key, connection.number)
            && let Some(older) = index.live.remove(&older)
        {
            older.close(close_of_replaced(&older, connection));
        }
        true
    }

    /// Forgets a socket.
    pub(crate) fn remove(&self, connection: &Connection) {
        let mut index = self.write();
        index.pending.remove(&connection.number);
        index.live.remove(&connection.number);
        if let Some(login) = connection.login.get() {
            let key = (login.identity().uid, login.role, login.client_id.clone());
            if index.by_client.get(&key) == Some(&connection.number) {
                index.by_client.remove(&key);
            }
        }
    }

    /// The logged-in socket that a call came over.
    pub(crate) fn behind(&self, origin: &Origin) -> Option<Arc<Connection>> {
        self.numbered(origin.connection()?.number())
    }

    /// A logged-in socket by its number.
    pub(crate) fn numbered(&self, number: u64) -> Option<Arc<Connection>> {
        self.read().live.get(&number).cloned()
    }

    /// How long until the oldest socket that has not logged in has had its time; `None` when there is none.
    pub(crate) fn next_overdue_in(&self, now: Instant) -> Option<Duration> {
        let index = self.read();
        let (_, oldest) = index.pending.first_key_value()?;
        let open_for = now.saturating_duration_since(oldest.opened);
        Some(limits::socket::PENDING_SOCKET_TIMEOUT.saturating_sub(open_for) + Duration::from_millis(1))
    }

    /// Every logged-in socket that fits.
    pub(crate) fn select(&self, fits: impl Fn(&Login) -> bool) -> Vec<Arc<Connection>> {
        let index = self.read();
        index.live.values().filter(|live| live.login().is_some_and(&fits)).cloned().collect()
    }

    /// Lets go of memory that sockets have not needed lately.
    pub(crate) fn trim(&self) {
        let index = self.read();
        index.live.values().chain(index.pending.values()).for_each(|one| one.outbox.trim());
    }

    /// Closes every logged-in socket that fits.
    pub(crate) fn close_where(&self, close: Close, fits: impl Fn(&Login) -> bool) {
        for connection in self.select(fits) {
            connection.close(close);
        }
    }

    /// Gives the sockets of a user their account as it is now.
    pub(crate) fn refresh_account(&self, identity: &ProcessIdentity) {
        for connection in self.select(|login| login.identity().uid == identity.uid) {
            if let Some(login) = connection.login() {
                let mut cached = lock(&login.capabilities);
                *write(&login.account) = Arc::new(identity.clone());
                cached.0 = NO_GENERATION;
            }
        }
    }

    /// Sockets that have not logged in for too long.
    pub(crate) fn overdue(&self, now: Instant) -> Vec<Arc<Connection>> {
        let index = self.read();
        let late = |open: &&Arc<Connection>| {
            now.saturating_duration_since(open.opened) > limits::socket::PENDING_SOCKET_TIMEOUT
        };
        index.pending.values().take_while(late).cloned().collect()
    }

    /// Whether there is no socket at all.
    pub(crate) fn is_empty(&self) -> bool {
        let index = self.read();
        index.pending.is_empty() && index.live.is_empty()
    }

    /// Everybody.
    pub(crate) fn all(&self) -> Vec<Arc<Connection>> {
        let index = self.read();
        index.pending.values().chain(index.live.values()).cloned().collect()
    }

    /// How many sockets there are: not logged in, and by role.
    pub(crate) fn counts(&self) -> (usize, BTreeMap<Role, usize>) {
        let index = self.read();
        let mut roles = BTreeMap::new();
        for login in index.live.values().filter_map(|live| live.login()) {
            *roles.entry(login.role).or_default() += 1;
        }
        (index.pending.len(), roles)
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, Index> {
        read(&self.index)
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Index> {
        write(&self.index)
    }
}
