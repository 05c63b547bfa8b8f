//! Connection table: the state of each open socket, indexed by user, client and token.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::atomic::{AtomicI64, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, RwLock, Weak};
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
use store::accounts::Account;

use crate::codec::{Codec, Current};
use crate::metrics::Metrics;
use crate::outbox::{Close, Outbox, Outgoing};
use crate::pending::{Pending, Waiting};
use crate::routes::{self, RouteTable};
use crate::user_memory::{UserMemory, Wake};

/// One socket.
pub struct Connection {
    /// Counts up; older sockets have smaller numbers.
    pub number: u64,
    /// The other end's address.
    pub peer: IpAddr,
    /// Whether the other end is a program on this machine.
    pub is_local: bool,
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
    /// Itself, for those who wake it.
    me: Weak<Connection>,
}

/// Where a socket comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// The address that its failures and its sockets are counted by.
    pub ip: IpAddr,
    /// Whether it is a program on this machine, with no proxy between.
    pub is_local: bool,
}

impl From<IpAddr> for Source {
    fn from(ip: IpAddr) -> Source {
        Source { ip, is_local: ip.is_loopback() }
    }
}

/// Who logged in on a socket.
pub struct Login {
    /// What the connection is for.
    pub role: Role,
    /// The client's own id, trimmed.
    pub client_id: String,
    /// The token it logged in with, if it was one.
    pub token: Option<LoginToken>,
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
    /// How often the user's sessions had been ended when it was made.
    pub(crate) sessions_ended: AtomicI64,
    /// When it logged in.
    pub(crate) since: Instant,
    /// What all sockets of its user hold.
    pub(crate) memory: Arc<UserMemory>,
}

/// The token of a login: it ends with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginToken {
    /// Which.
    pub token_id: TokenId,
    /// When it ends, in milliseconds of wall time.
    pub expires_at: Option<i64>,
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
        self.confinement().is_some_and(Confinement::is_announced)
    }

    /// What the driver behind it said about agents.
    pub(crate) fn confinement(&self) -> Option<&Confinement> {
        self.login()?.driver.as_ref().map(|driver| &driver.confinement)
    }

    fn new(number: u64, source: Source, clock: Clock, metrics: Arc<Metrics>) -> Arc<Connection> {
        Arc::new_cyclic(|me| Connection {
            number,
            peer: source.ip,
            is_local: source.is_local,
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
            me: me.clone(),
        })
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

    /// Whether the socket may be read further: not while its requests or their answers, or those of its user, pile up.
    /// What a driver sends are answers, which add nothing to what waits for it.
    pub fn may_read(&self) -> bool {
        let (requests, bytes) =
            (self.in_flight.load(Ordering::Relaxed), self.in_flight_bytes.load(Ordering::Relaxed));
        let Some(login) = self.login() else {
            return requests < limits::socket::PENDING_REQUESTS_MAX
                && bytes < limits::socket::PENDING_MAX_BYTES
                && self.outbox.waiting().1 < limits::socket::PENDING_MAX_BYTES;
        };
        let is_driver = login.role == Role::Driver;
        let has_room = || login.memory.may_ask() && (is_driver || !login.memory.is_unread());
        requests < limits::socket::REQUESTS_IN_FLIGHT_MAX
            && bytes < limits::socket::REQUEST_IN_FLIGHT_MAX_BYTES
            && (is_driver || !self.outbox.is_high())
            && (has_room() || self.waits_for(has_room))
    }

    /// Takes room of its user's for a large message that is on its way in. False when there is none now; the socket is
    /// woken when there may be. Before the login messages are small.
    pub fn reserve(&self, bytes: usize) -> bool {
        let Some(login) = self.login() else { return true };
        login.memory.reserve(bytes) || self.waits_for(|| login.memory.reserve(bytes))
    }

    /// Gives room back that was taken with `reserve`.
    pub fn release(&self, bytes: usize) {
        if let Some(login) = self.login() {
            login.memory.release(bytes);
        }
    }

    /// Asks to be woken when the user has room again, and looks once more.
    fn waits_for(&self, has_room: impl Fn() -> bool) -> bool {
        if let Some(login) = self.login() {
            login.memory.block(self.me.clone());
        }
        has_room()
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

    pub(crate) fn is_logging_in(&self) -> bool {
        self.phase.load(Ordering::Acquire) == LOGGING_IN
    }

    pub(crate) fn abandon_login(&self) {
        self.phase.store(PENDING, Ordering::Release);
    }

    fn finish_login(&self, login: Login) {
        self.outbox.count_for(&login.memory);
        // A second login is impossible while this one holds the claim.
        if self.login.set(login).is_ok() {
            self.phase.store(LOGGED_IN, Ordering::Release);
            self.heard();
        }
    }
}

impl Wake for Connection {
    fn wake(&self) {
        self.outbox.wake();
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
    /// Whether its bytes are counted for the user: not when it began before the login.
    of_user: bool,
}

impl Slot {
    /// For a piece of work that is small.
    pub(crate) fn take(connection: &Arc<Connection>) -> Slot {
        Slot::of_size(connection, 0)
    }

    /// For a request with so many bytes: they are kept until it is answered.
    pub(crate) fn of_size(connection: &Arc<Connection>, bytes: usize) -> Slot {
        connection.in_flight.fetch_add(1, Ordering::Relaxed);
        let before = connection.in_flight_bytes.fetch_add(bytes, Ordering::Relaxed);
        let of_user =
            connection.login().map(|login| login.memory.in_flight(before, before + bytes)).is_some();
        Slot { connection: connection.clone(), bytes, of_user }
    }

    pub(crate) fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let before = self.connection.in_flight.fetch_sub(1, Ordering::Relaxed);
        let bytes_before = self.connection.in_flight_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        let login = self.connection.login();
        if let Some(login) = login.filter(|_| self.of_user) {
            login.memory.in_flight(bytes_before, bytes_before - self.bytes);
        }
        if before >= limits::socket::REQUESTS_IN_FLIGHT_MAX
            || bytes_before >= limits::socket::REQUEST_IN_FLIGHT_MAX_BYTES
            || login.is_none()
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

    /// When the login ends by itself, in milliseconds of wall time.
    pub(crate) fn ends_at(&self) -> Option<i64> {
        self.token.as_ref()?.expires_at
    }

    /// Whether it was made with this token.
    pub(crate) fn is_by(&self, token_id: &TokenId) -> bool {
        self.token.as_ref().is_some_and(|token| token.token_id == *token_id)
    }

    /// Whether it is the session of a person whose sessions were ended since it was made.
    pub(crate) fn is_ended(&self, account: &Account) -> bool {
        self.role == Role::User && self.sessions_ended.load(Ordering::Relaxed) < account.sessions_ended
    }

    /// It goes on although the sessions of its user were ended, for the time of this number.
    pub(crate) fn outlasts(&self, sessions_ended: i64) {
        self.sessions_ended.fetch_max(sessions_ended, Ordering::Relaxed);
    }

    /// The account as it is now.
    pub fn identity(&self) -> Arc<ProcessIdentity> {
        read(&self.account).clone()
    }

    pub(crate) fn device_id(&self) -> Option<&DeviceId> {
        self.driver.as_ref().map(|driver| &driver.device_id)
    }
}

/// How long to wait for a moment of wall time: not to its end at once, since the wall clock may jump.
pub(crate) fn until(end_ms: i64, now_ms: i64) -> Duration {
    let left = Duration::from_millis(end_ms.saturating_sub(now_ms).max(0).unsigned_abs());
    left.min(limits::login::EXPIRY_CHECK)
}

/// All sockets.
#[derive(Default)]
pub struct Connections {
    clock: Clock,
    /// Where the calls of all of them are counted.
    metrics: Arc<Metrics>,
    next: AtomicU64,
    index: RwLock<Index>,
    memory: Mutex<HashMap<Uid, Weak<UserMemory>>>,
}

#[derive(Default)]
struct Index {
    pending: Pending<Connection>,
    live: HashMap<u64, Arc<Connection>>,
    by_client: HashMap<(Uid, Role, String), u64>,
}

impl Connections {
    /// None yet.
    pub(crate) fn new(clock: Clock, metrics: Arc<Metrics>) -> Connections {
        Connections { clock, metrics, ..Connections::default() }
    }

    /// A new socket. Beyond the limit of sockets that have not logged in, an older such one is closed.
    pub(crate) fn open(&self, source: Source) -> Arc<Connection> {
        let number = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        let connection = Connection::new(number, source, self.clock.clone(), self.metrics.clone());
        let mut index = self.write();
        let waiting = Waiting { socket: connection.clone(), peer: source.ip, since: connection.opened };
        if let Some(oldest) = index.pending.insert(number, waiting, Connection::is_logging_in) {
            oldest.close(Close::IDLE);
        }
        connection
    }

    /// What the sockets of a user hold together.
    pub(crate) fn memory_of(&self, uid: Uid) -> Arc<UserMemory> {
        let mut memory = lock(&self.memory);
        if let Some(known) = memory.get(&uid).and_then(Weak::upgrade) {
            return known;
        }
        // As long as a user has a socket there is one; those of others are forgotten here.
        memory.retain(|_, known| known.strong_count() > 0);
        let fresh = Arc::new(UserMemory::default());
        memory.insert(uid, Arc::downgrade(&fresh));
        fresh
    }

    /// Makes a socket a logged-in one, unless it is gone already. The older socket of the same user, role and
    /// client id is closed.
    pub(crate) fn log_in(&self, connection: &Arc<Connection>, login: Login) -> bool {
        let key = (login.identity().uid, login.role, login.client_id.clone());
        let mut index = self.write();
        index.pending.remove(connection.number);
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
        index.pending.remove(connection.number);
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
        self.read().pending.next_overdue_in(now)
    }

    /// Closes the sockets whose token has ended, and says how long until the next one does.
    pub(crate) fn close_expired(&self, now_ms: i64) -> Option<Duration> {
        let mut next: Option<i64> = None;
        for connection in self.select(|login| login.ends_at().is_some()) {
            let Some(end_ms) = connection.login().and_then(Login::ends_at) else { continue };
            if end_ms <= now_ms {
                connection.close(Close::EXPIRED);
            } else {
                next = Some(next.map_or(end_ms, |next| next.min(end_ms)));
            }
        }
        next.map(|end_ms| until(end_ms, now_ms))
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
        self.read().pending.overdue(now)
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
