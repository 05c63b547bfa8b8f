//! Publish/subscribe of signals with replay: the only way a signal leaves the gateway.
//!
//! Every signal to a user's connection has a place (`seq`) in that user's sequence, and the newest ones are kept for
//! connections that come back (`feed`, `ring`). Who is told:
//!
//! - `proc.run.*` of a run that a connection started: that connection alone, while it is there. Otherwise, and when
//!   nobody is known to have started the run: all connections of the owner.
//! - `proc.changed` and `process.exit`: all connections of the owner. So other connections than the one that started
//!   a run learn from `proc.changed` that an approval is waited for or that the run has ended, and ask for the rest.
//! - Everything else: all whose role and rights fit.

mod feed;
mod feeds;
mod ring;
mod run_routes;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use base::sync::lock;
use gateway::{OutgoingSignal, SignalBody};
use protocol::frame;
use protocol::identity::{ProcessIdentity, Role};
use protocol::ids::{DeviceId, RunId};
use protocol::signal::run::Finished;
use protocol::signal::{DeviceEvent, DeviceState, DeviceStatus, Signal};
use protocol::sys::{Resume, Resumed};
use store::devices::Device;

use crate::Kernel;
use crate::connections::{Connection, Login};
use crate::devices::may_use;
use crate::text_signal::SignalText;
use feed::Told;
pub(crate) use feeds::Feeds;
use run_routes::RunAudience;

/// What the names of signals of a run begin with.
const RUN: &str = "proc.run.";

/// Whom a signal may be for.
pub(crate) struct Receiver<'a> {
    /// The account.
    pub(crate) identity: Arc<ProcessIdentity>,
    /// For drivers.
    pub(crate) device_id: Option<&'a DeviceId>,
}

impl<'a> Receiver<'a> {
    fn of(login: &'a Login) -> Receiver<'a> {
        Receiver { identity: login.identity(), device_id: login.device_id() }
    }
}

/// Sends a signal to everybody of the signal's roles who fits. Users who are away find it when they come back.
pub(crate) fn emit<S: Signal>(kernel: &Kernel, payload: &S, fits: impl Fn(&Receiver<'_>) -> bool) {
    let machines = kernel.connections.select(|login| {
        login.role != Role::User && S::SPEC.roles.contains(&login.role) && fits(&Receiver::of(login))
    });
    let said = SignalText { name: S::SPEC.name, payload: Arc::new(frame::to_json(payload)) };
    kernel.metrics.signals.fetch_add(machines.len() as u64, Ordering::Relaxed);
    machines.iter().for_each(|machine| machine.send_signal(said.name, &said.payload));
    if !S::SPEC.roles.contains(&Role::User) {
        return;
    }
    for feed in kernel.feeds.all() {
        let mut feed = lock(&feed);
        if fits(&Receiver { identity: feed.identity().clone(), device_id: None }) {
            count(kernel, feed.tell_text(said.clone(), None, None));
        }
    }
    kernel.feeds.make_room();
}

/// Sends a signal of a process. Never waits.
pub(crate) fn send(kernel: &Kernel, signal: OutgoingSignal) {
    let feeds = &kernel.feeds;
    let run_id = signal.run_id.as_ref().filter(|_| signal.name.starts_with(RUN)).cloned();
    let starter =
        match run_id.as_ref().map(|run_id| feeds.runs.find(run_id, signal.uid, kernel.clock.instant())) {
            Some(RunAudience::Foreign) => return,
            Some(RunAudience::Connection(connection)) => Some(connection),
            Some(RunAudience::Nobody) | None => None,
        };
    let ended = run_id.filter(|_| signal.name == Finished::SPEC.name);
    // Without a feed nobody has been here since the gateway started, and nobody can ask for what was missed.
    if let Some(feed) = feeds.of(signal.uid) {
        let mut feed = lock(&feed);
        let starter = starter.filter(|starter| feed.has(starter));
        let told = match signal.body {
            SignalBody::Text(payload) => {
                let said = SignalText { name: signal.name, payload: Arc::new(payload) };
                feed.tell_text(said, signal.run_id.as_ref(), starter.as_ref())
            }
            SignalBody::Stream(event) => feed.tell_stream(event, starter.as_ref()),
        };
        count(kernel, told);
        if let Some(run_id) = &ended {
            feed.end_run(run_id);
        }
        drop(feed);
        feeds.make_room();
    }
    if let Some(run_id) = &ended {
        feeds.runs.remove(run_id);
    }
}

/// From now on the run's signals go to this connection, as long as it is there, for half an hour.
pub(crate) fn route_run(kernel: &Kernel, run_id: &RunId, connection: &Arc<Connection>) {
    if let Some(login) = connection.login().filter(|login| login.role == Role::User) {
        let runs = &kernel.feeds.runs;
        runs.set(run_id, login.identity().uid, connection, kernel.clock.instant());
    }
}

/// Begins to tell a connection that has logged in. `answer` puts the answer of `sys.connect` in line, with what
/// became of `resume`; what was missed follows it, then what is new, without a gap and nothing twice.
pub(crate) fn attach(
    kernel: &Kernel,
    connection: &Arc<Connection>,
    resume: Option<&Resume>,
    answer: impl FnOnce(Option<Resumed>),
) {
    match connection.login().filter(|login| login.role == Role::User) {
        None => answer(None),
        Some(login) => {
            let (who, now_ms) = (login.identity(), kernel.clock.now_ms());
            kernel.feeds.with(&who, now_ms, |feed| feed.attach(connection, resume, answer));
        }
    }
}

/// A connection is gone: it is told nothing more.
pub(crate) fn detach(kernel: &Kernel, connection: &Connection) {
    if let Some(login) = connection.login().filter(|login| login.role == Role::User) {
        kernel.feeds.detach(login.identity().uid, connection);
    }
}

/// Tells of a device to the users who may use it and to the device itself.
pub(crate) fn device_status(kernel: &Kernel, event: DeviceEvent, device: &Device) {
    let payload = DeviceStatus { event, device: state(device) };
    emit(kernel, &payload, |receiver| match receiver.device_id {
        Some(own) => *own == device.device_id,
        None => may_use(device, &receiver.identity),
    });
}

fn count(kernel: &Kernel, told: Told) {
    kernel.metrics.signals.fetch_add(told.connections, Ordering::Relaxed);
    kernel.metrics.signals_merged.fetch_add(told.merged, Ordering::Relaxed);
}

fn state(device: &Device) -> DeviceState {
    DeviceState {
        device_id: device.device_id.clone(),
        owner_uid: device.owner_uid,
        platform: device.platform.clone(),
        version: device.version.clone(),
        online: device.online,
        first_seen_at: device.first_seen_at,
        last_seen_at: device.last_seen_at,
        connected_at: device.connected_at,
        disconnected_at: device.disconnected_at,
    }
}
