//! Route table: calls under way on devices and services. A route lives with the socket it was sent to, so only that
//! socket can answer it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use base::limits;
use base::quick_hash::QuickHash;
use bytes::Bytes;
use gateway::{Caller, Origin, Reply, Rewrite, Watch};
use protocol::args::Members;
use protocol::confine;
use protocol::error::Error;
use protocol::frame::Response;
use protocol::identity::Role;
use protocol::ids::{DeviceId, Pid, Uid};
use store::routes::RouteRow;
use vfs::tree::RouteInfo;

use crate::Kernel;
use crate::codec::Memory;
use crate::connections::Connection;
use crate::ticket::{Relayed, Ticket};

/// The routes of one socket.
#[derive(Default)]
pub(crate) struct RouteTable {
    open: HashMap<u64, Route, QuickHash>,
    closed: bool,
}

/// One call under way.
pub(crate) struct Route {
    ticket: Ticket,
    uid: Uid,
    far: Far,
    started_at: i64,
    deadline: Instant,
    /// Looks at the answer before the caller gets it.
    watch: Option<Box<dyn Watch>>,
    /// Its row, for calls of processes.
    row: Option<Row>,
}

/// The row of a call of a process.
struct Row {
    route_id: String,
    /// Whether the process removes it, together with writing down how the call ended.
    is_kept: bool,
}

/// Who is asked.
#[derive(Clone, Debug)]
pub(crate) enum Far {
    Device(DeviceId),
    /// A service, by its channel.
    Service(String),
}

impl Far {
    fn name(&self) -> &str {
        match self {
            Far::Device(device_id) => &device_id.0,
            Far::Service(channel) => channel,
        }
    }

    fn disconnected(&self) -> Error {
        match self {
            Far::Device(device_id) => Error::device_disconnected(&device_id.0),
            Far::Service(channel) => Error::service_disconnected(channel),
        }
    }

    fn timed_out(&self, call: &str) -> Error {
        match self {
            Far::Device(device_id) => Error::route_timeout(call, &device_id.0),
            Far::Service(channel) => Error::service_timeout(call, channel),
        }
    }
}

/// A call that is ready to be sent.
pub(crate) struct Sending {
    pub(crate) ticket: Ticket,
    pub(crate) origin: Origin,
    /// Who asks.
    pub(crate) uid: Uid,
    pub(crate) far: Far,
    pub(crate) request: DeviceRequest,
    pub(crate) watch: Option<Box<dyn Watch>>,
}

/// A request for a device, written by the codec of the device's socket under an id of the gateway's own.
pub(crate) struct DeviceRequest {
    number: u64,
    /// The frame up to the end of the arguments.
    text: String,
    /// Where the arguments begin.
    args_at: usize,
    memory: Memory,
}

impl DeviceRequest {
    /// The caller's arguments without some members and with others set, otherwise as they came; with how a call of a
    /// program is to run.
    pub(crate) fn new(
        kernel: &Kernel,
        driver: &Connection,
        call: &str,
        args: &Members<'_>,
        caller: Option<&Caller>,
        rewrite: &Rewrite,
    ) -> DeviceRequest {
        let number = kernel.route_numbers.fetch_add(1, Ordering::Relaxed);
        let mut text = driver.codec().request_head(digits(&hex(number)), call, args.size() + 64);
        let args_at = text.len();
        let mut set: Vec<(&str, &str)> =
            rewrite.set.iter().map(|(name, value)| (*name, value.as_str())).collect();
        // How it runs is the gateway's to say, to a driver that understands it.
        let confine = caller.and_then(Caller::confine).filter(|_| driver.announces_confinement());
        let confine = confine.map(|confine| protocol::frame::to_json(&confine));
        if let Some(confine) = &confine {
            set.push((confine::MEMBER, confine));
        }
        if confine.is_none() && args.get(confine::MEMBER).is_some() {
            let drop: Vec<&str> = rewrite.drop.iter().copied().chain([confine::MEMBER]).collect();
            args.rewrite_into(&mut text, &drop, &set);
        } else {
            args.rewrite_into(&mut text, rewrite.drop, &set);
        }
        DeviceRequest { number, text, args_at, memory: Memory::None }
    }

    /// A request that may have been sent before: the device is asked what became of it. `None` for an id that is none
    /// of ours.
    pub(crate) fn again(driver: &Connection, id: &str, call: &str, args: &str) -> Option<DeviceRequest> {
        let number = number_of(id)?;
        let mut text = driver.codec().request_head(id, call, args.len() + 64);
        let args_at = text.len();
        text.push_str(args);
        Some(DeviceRequest { number, text, args_at, memory: Memory::Again })
    }

    fn args(&self) -> &str {
        self.text.get(self.args_at..).unwrap_or("{}")
    }
}

fn number_of(id: &str) -> Option<u64> {
    let well_formed = id.len() == HEX_DIGITS && !id.bytes().any(|digit| matches!(digit, b'+' | b'A'..=b'F'));
    if well_formed { u64::from_str_radix(id, 16).ok() } else { None }
}

/// Whether a request of a process is written down in its journal, and its row is the process's to remove.
fn is_journaled(request_id: &str) -> bool {
    request_id.contains('/')
}

const HEX_DIGITS: usize = 16;

/// The id a device sees: sixteen digits without the detour over the formatter.
fn hex(number: u64) -> [u8; HEX_DIGITS] {
    let mut digits = [0; HEX_DIGITS];
    for (digit, nibble) in digits.iter_mut().zip((0..HEX_DIGITS).rev()) {
        *digit = b"0123456789abcdef"[(number >> (4 * nibble)) as usize & 15];
    }
    digits
}

fn digits(hex: &[u8; HEX_DIGITS]) -> &str {
    std::str::from_utf8(hex).unwrap_or_default()
}

/// Sends a call to a device. The row of a durable call is written first.
pub(crate) fn open(kernel: &Arc<Kernel>, driver: &Arc<Connection>, sending: Sending) {
    match sending.origin.pid().filter(|_| sending.origin.is_durable()).cloned() {
        None => send(kernel, driver, sending, None),
        Some(pid) => {
            let (kernel, driver) = (kernel.clone(), driver.clone());
            crate::tasks::run(async move { send_durably(&kernel, &driver, sending, pid).await });
        }
    }
}

async fn send_durably(kernel: &Arc<Kernel>, driver: &Arc<Connection>, mut sending: Sending, pid: Pid) {
    let now_ms = kernel.clock.now_ms();
    let is_kept = is_journaled(&sending.ticket.id);
    let memory = driver.login().and_then(|login| login.driver.as_ref()).filter(|it| is_kept && it.remembers);
    let row = RouteRow {
        route_id: kernel.gateway.random().tagged("rt_"),
        call: sending.ticket.call.to_string(),
        pid,
        request_id: sending.ticket.id.clone(),
        device_id: DeviceId(sending.far.name().to_string()),
        created_at: now_ms,
        expires_at: now_ms + kernel.settings.route_timeout().as_millis() as i64,
        wire_id: Some(digits(&hex(sending.request.number)).to_string()),
        instance: memory.and_then(|driver| driver.instance.clone()),
        args: memory.map(|_| sending.request.args().to_string()),
    };
    if memory.is_some() {
        sending.request.memory = Memory::Durable;
    }
    let kept = Row { route_id: row.route_id.clone(), is_kept };
    match kernel.store.routes().open(row).await {
        Ok(()) => send(kernel, driver, sending, Some(kept)),
        Err(error) => sending.ticket.fail(error.into()),
    }
}

/// Asks a device again for the answer to a call of a process, whose row stays as it is.
pub(crate) fn ask_again(kernel: &Arc<Kernel>, driver: &Arc<Connection>, sending: Sending) {
    send(kernel, driver, sending, None);
}

/// Asks the service behind a socket.
pub(crate) async fn ask_service(
    kernel: &Arc<Kernel>,
    socket: u64,
    name: &'static str,
    args: &str,
) -> Result<String, Error> {
    let gone = || Error::service_disconnected("");
    let service = kernel.connections.numbered(socket).ok_or_else(gone)?;
    let login = service.login().filter(|login| login.role == Role::Service).ok_or_else(gone)?;
    let (uid, channel) = (login.identity().uid, login.client_id.clone());
    let members =
        Members::parse(args).ok_or_else(|| Error::bad_argument(name, "args", "must be an object"))?;
    let request = DeviceRequest::new(kernel, &service, name, &members, None, &Rewrite::default());
    let (ticket, answer) = Ticket::inside(&kernel.metrics, &kernel.clock, "service", name);
    let far = Far::Service(channel);
    let sending = Sending { ticket, origin: Origin::Inside, uid, far, request, watch: None };
    send(kernel, &service, sending, None);
    answer.await.map_err(|_| Error::stopping())?
}

fn send(kernel: &Arc<Kernel>, driver: &Arc<Connection>, sending: Sending, row: Option<Row>) {
    let Sending { ticket, uid, far, request, watch, .. } = sending;
    let DeviceRequest { number, mut text, memory, .. } = request;
    // What waited for its turn has the whole time all the same.
    let deadline = kernel.clock.instant() + kernel.settings.route_timeout();
    let started_at = kernel.clock.now_ms();
    let route = Route { ticket, uid, far, started_at, deadline, watch, row };
    let refused = {
        let mut table = lock(driver);
        if table.closed {
            Some((route.far.disconnected(), route))
        } else if table.open.len() >= limits::route::PER_DEVICE_MAX
            || driver.outbox.is_crowded()
            || table.open.contains_key(&number)
        {
            Some((Error::device_calls_full(), route))
        } else {
            table.open.insert(number, route);
            None
        }
    };
    match refused {
        Some((error, mut route)) => {
            // It never left, so nothing of it need be remembered.
            if let Some(row) = &mut route.row {
                row.is_kept = false;
            }
            finish(kernel, route, Err(error));
        }
        None => {
            kernel.alarms.routes.within(limits::route::SWEEP);
            driver.codec().request_tail(&mut text, memory);
            send_after_grace(driver, text);
        }
    }
}

/// Drivers that do not name their instance lose requests that arrive right behind the connect answer.
fn send_after_grace(driver: &Arc<Connection>, text: String) {
    let grace = driver.grace_left();
    if grace.is_zero() {
        return driver.send(text);
    }
    let driver = driver.clone();
    tokio::spawn(async move {
        driver.clock().sleep(grace).await;
        driver.send(text);
    });
}

/// A driver answered. Answers to routes this socket does not have are dropped.
pub(crate) fn answered(
    kernel: &Arc<Kernel>,
    driver: &Arc<Connection>,
    response: &Response<'_>,
    whole: Option<&Bytes>,
) {
    let number = number_of(&response.id);
    let Some(route) = number.and_then(|number| lock(driver).open.remove(&number)) else {
        kernel.metrics.late_answers.fetch_add(1, Ordering::Relaxed);
        return;
    };
    if !response.ok {
        return finish(kernel, route, Err(response.to_error()));
    }
    finish(kernel, route, Ok(Relayed { text: response.data, whole }));
}

/// Ends a route: whoever watches it sees the answer first.
pub(crate) fn finish(kernel: &Arc<Kernel>, mut route: Route, result: Result<Relayed<'_>, Error>) {
    let Some(watch) = route.watch.take() else { return give(kernel, route, result) };
    match result {
        Err(error) => give(kernel, route, Err(watch.failed(error))),
        Ok(data) => match watch.answered(data.text) {
            Reply::Same => give(kernel, route, Ok(data)),
            Reply::Text(text) => give(kernel, route, Ok(Relayed::rewritten(&text))),
            Reply::Later(later) => {
                let kernel = kernel.clone();
                crate::tasks::run(async move {
                    match later.await {
                        Ok(text) => give(&kernel, route, Ok(Relayed::rewritten(&text))),
                        Err(error) => give(&kernel, route, Err(error)),
                    }
                });
            }
        },
    }
}

/// Gives the caller its answer. The row of a call that is in the journal of its process goes when the process has
/// written down the answer; any other goes first.
fn give(kernel: &Arc<Kernel>, route: Route, result: Result<Relayed<'_>, Error>) {
    let Some(Row { route_id: row, .. }) = route.row.filter(|row| !row.is_kept) else {
        return answer(route.ticket, result);
    };
    let text = result.map(|data| data.text.unwrap_or("null").to_string());
    let (kernel, ticket) = (kernel.clone(), route.ticket);
    crate::tasks::run(async move {
        match kernel.store.routes().close(&row).await {
            Ok(true) => answer(ticket, text.as_deref().map(Relayed::rewritten).map_err(Error::clone)),
            Ok(false) => ticket.fail(Error::internal("the call was answered elsewhere")),
            Err(error) => ticket.fail(error.into()),
        }
    });
}

fn answer(ticket: Ticket, result: Result<Relayed<'_>, Error>) {
    match result {
        Ok(data) => ticket.relay(data),
        Err(error) => ticket.fail(error),
    }
}

/// The driver's socket is gone: every call under way there has failed.
pub(crate) fn fail_all(kernel: &Arc<Kernel>, driver: &Connection) {
    let routes = {
        let mut table = lock(driver);
        table.closed = true;
        std::mem::take(&mut table.open)
    };
    for route in routes.into_values() {
        let error = route.far.disconnected();
        finish(kernel, route, Err(error));
    }
}

/// Ends one call of a driver's socket with an error. False when the socket has no such call.
pub(crate) fn fail_one(kernel: &Arc<Kernel>, driver: &Connection, id: &str, error: &Error) -> bool {
    let Some(route) = number_of(id).and_then(|number| lock(driver).open.remove(&number)) else {
        return false;
    };
    finish(kernel, route, Err(error.clone()));
    true
}

/// The same driver program came back on a new socket: it may still answer what it was asked on the old one.
pub(crate) fn move_all(kernel: &Arc<Kernel>, old: &Connection, new: &Connection) {
    let routes = {
        let mut table = lock(old);
        table.closed = true;
        std::mem::take(&mut table.open)
    };
    let gone = {
        let mut table = lock(new);
        table.open.extend(routes);
        table.closed
    };
    if gone {
        fail_all(kernel, new);
    }
}

/// Ends the routes of a driver that took too long, and drops those whose callers are gone.
pub(crate) fn expire(kernel: &Arc<Kernel>, driver: &Connection, now: Instant) {
    let unwanted = |route: &Route| route.row.is_none() && route.ticket.is_abandoned();
    // Dropped outside of the lock: whoever watches one may have something to clear away.
    let dropped: Vec<_> = lock(driver).open.extract_if(|_, route| unwanted(route)).collect();
    drop(dropped);
    let late: Vec<Route> =
        lock(driver).open.extract_if(|_, route| route.deadline <= now).map(|(_, route)| route).collect();
    for route in late {
        let error = route.far.timed_out(route.ticket.call);
        finish(kernel, route, Err(error));
    }
}

/// How many calls a driver has open.
pub(crate) fn count(driver: &Connection) -> usize {
    lock(driver).open.len()
}

/// What a driver has open, for `/sys/routes`.
pub(crate) fn infos(driver: &Connection) -> Vec<RouteInfo> {
    lock(driver).open.iter().map(|(number, route)| route.info(*number)).collect()
}

/// The same of one call by its id.
pub(crate) fn info(driver: &Connection, id: &str) -> Option<RouteInfo> {
    let number = number_of(id)?;
    lock(driver).open.get(&number).map(|route| route.info(number))
}

impl Route {
    fn info(&self, number: u64) -> RouteInfo {
        RouteInfo {
            id: digits(&hex(number)).to_string(),
            call: self.ticket.call.to_string(),
            device_id: self.far.name().to_string(),
            uid: self.uid,
            started_at: self.started_at,
        }
    }
}

fn lock(driver: &Connection) -> std::sync::MutexGuard<'_, RouteTable> {
    base::sync::lock(&driver.routes)
}

/// How long from now a driver still needs before its first request.
pub(crate) fn connect_grace(instance_known: bool, since_login: Duration) -> Duration {
    if instance_known { Duration::ZERO } else { limits::route::DRIVER_GRACE.saturating_sub(since_login) }
}
