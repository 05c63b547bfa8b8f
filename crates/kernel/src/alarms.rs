//! Periodic work of the kernel: route timeouts, login deadlines, idle memory, keepalives.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use base::clock::Clock;
use base::limits;
use base::timer::Alarm;
use protocol::identity::Role;

use crate::outbox::{Close, Outgoing};
use crate::{Kernel, routes, sweeps, tasks};

/// How often old rows are removed.
const SWEEP: Duration = Duration::from_secs(3_600);

/// The kernel's alarms.
pub(crate) struct Alarms {
    /// Set by every call that is sent to a device or a service.
    pub(crate) routes: Arc<Alarm>,
    /// Set by every socket that opens.
    pub(crate) pending: Arc<Alarm>,
    /// The same.
    pub(crate) trim: Arc<Alarm>,
    /// Set by every login with a token that ends.
    pub(crate) expiry: Arc<Alarm>,
    ping: Arc<Alarm>,
    leases: Arc<Alarm>,
    sweep: Arc<Alarm>,
}

impl Alarms {
    pub(crate) fn new(clock: &Clock, kernel: &Weak<Kernel>) -> Alarms {
        let alarm = |name, run: fn(&Arc<Kernel>, Instant) -> Option<Duration>| {
            let alarm = Alarm::new(name, clock.clone());
            let kernel = kernel.clone();
            alarm.does(move |now| run(&kernel.upgrade()?, now));
            alarm
        };
        let alarms = Alarms {
            routes: alarm("late calls", expire_routes),
            pending: alarm("sockets without a login", close_overdue),
            trim: alarm("idle memory of sockets", trim),
            expiry: alarm("logins that end with their tokens", close_expired),
            ping: alarm("keepalive of drivers", ping_drivers),
            leases: alarm("renewal of leases", renew_leases),
            sweep: alarm("sweep of old rows", sweep),
        };
        alarms.ping.within(limits::route::DRIVER_PING);
        alarms.leases.within(limits::store::LEASE_RENEWAL);
        alarms.sweep.within(SWEEP);
        alarms
    }

    pub(crate) fn all(&self) -> Vec<Arc<Alarm>> {
        let all =
            [&self.routes, &self.pending, &self.trim, &self.expiry, &self.ping, &self.leases, &self.sweep];
        all.into_iter().cloned().collect()
    }
}

/// Ends calls that took too long. As long as any is open callers may go, so that it is looked again soon.
fn expire_routes(kernel: &Arc<Kernel>, now: Instant) -> Option<Duration> {
    let mut left = false;
    for machine in kernel.connections.select(|login| login.role != Role::User) {
        routes::expire(kernel, &machine, now);
        left |= routes::count(&machine) > 0;
    }
    left.then_some(limits::route::SWEEP)
}

fn close_overdue(kernel: &Arc<Kernel>, now: Instant) -> Option<Duration> {
    kernel.connections.overdue(now).iter().for_each(|pending| pending.close(Close::IDLE));
    kernel.connections.next_overdue_in(now).map(|wait| wait.max(Duration::from_secs(1)))
}

fn close_expired(kernel: &Arc<Kernel>, _: Instant) -> Option<Duration> {
    kernel.connections.close_expired(kernel.clock.now_ms())
}

fn trim(kernel: &Arc<Kernel>, _: Instant) -> Option<Duration> {
    kernel.connections.trim();
    (!kernel.connections.is_empty()).then_some(limits::socket::OUTBOX_SPARE_KEPT)
}

/// Asks drivers for a sign of life, and closes those that gave none.
fn ping_drivers(kernel: &Arc<Kernel>, _: Instant) -> Option<Duration> {
    for driver in kernel.connections.select(|login| login.role == Role::Driver) {
        if driver.silent_for_ms() > limits::route::DRIVER_SILENCE_MAX.as_millis() as u64 {
            driver.close(Close::SILENT);
        } else {
            driver.outbox.send(Outgoing::Ping);
        }
    }
    Some(limits::route::DRIVER_PING)
}

fn renew_leases(kernel: &Arc<Kernel>, _: Instant) -> Option<Duration> {
    sweeps::renew_leases(kernel);
    Some(limits::store::LEASE_RENEWAL)
}

/// Removes what nobody needs any more, beside the rest: a slow disk must not hold up deadlines.
fn sweep(kernel: &Arc<Kernel>, _: Instant) -> Option<Duration> {
    let kernel = kernel.clone();
    tasks::run(async move {
        if let Err(error) = sweeps::run(&kernel.store, kernel.clock.now_ms()).await {
            tracing::warn!(%error, "old shell sessions and routes could not be removed");
        }
    });
    Some(SWEEP)
}
