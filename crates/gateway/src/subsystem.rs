//! Subsystem trait, the plug-in interface of a feature area. Everything but its name and its handlers has a default:
//! an area gives what it has.

use std::sync::Arc;

use base::timer::Alarm;
use protocol::error::Error;
use protocol::identity::ProcessIdentity;
use protocol::ids::{DeviceId, Uid};
use protocol::router::Router;

use crate::call::Call;
use crate::handle::Later;
use crate::metrics::Gauges;
use crate::routed::{Located, Rewrite, RoutedCall};

/// A feature area of the gateway.
pub trait Subsystem: Send + Sync + 'static {
    /// What it is called in the log.
    fn name(&self) -> &'static str;

    /// The names of the calls it answers; the same that [`Subsystem::handlers`] has.
    fn calls() -> Vec<&'static str>
    where
        Self: Sized;

    /// Its handlers, by the types of their arguments.
    fn handlers(self: Arc<Self>) -> Router<Call>;

    /// Its HTTP routes, beside the gateway's own.
    fn http(self: Arc<Self>) -> Option<axum::Router> {
        None
    }

    /// Brings its rows into shape before the first call is taken. What takes long goes on in a task of its own.
    fn start(self: Arc<Self>) -> Later<Result<(), store::Error>> {
        Box::pin(async { Ok(()) })
    }

    /// Lets what is under way come to rest; the gateway waits for it a while.
    fn stop(self: Arc<Self>) -> Later<()> {
        Box::pin(async {})
    }

    /// What it does in time: expiries, sweeps, keepalives.
    fn alarms(&self) -> Vec<Arc<Alarm>> {
        Vec::new()
    }

    /// A user has logged in; the login is answered once this is done.
    fn logged_in(self: Arc<Self>, _who: Arc<ProcessIdentity>) -> Later<()> {
        Box::pin(async {})
    }

    /// Something is gone for good: what the area keeps of it goes too. The caller of what made it go waits for this.
    fn gone(self: Arc<Self>, _gone: Gone) -> Later<()> {
        Box::pin(async {})
    }

    /// Its numbers for `/metrics`.
    fn metrics(&self, _gauges: &mut Gauges) {}

    /// A config value was set or removed, or another gateway may have done so: the value may be the one it was.
    fn config_changed(&self, _key: &str, _value: Option<&str>) {}

    /// The calls of its own whose way to devices it wants to see ([`Subsystem::locate`], [`Subsystem::routed`]).
    fn intercepts(&self) -> &'static [&'static str] {
        &[]
    }

    /// Where one of these calls goes, if it continues something the area knows.
    fn locate(
        self: Arc<Self>,
        _caller: &crate::Caller,
        _args: &protocol::args::Members<'_>,
    ) -> Result<Located, Error> {
        Ok(Located::ByTarget)
    }

    /// One of these calls is about to be sent to a device.
    fn routed(self: Arc<Self>, _call: RoutedCall<'_>) -> Result<Rewrite, Error> {
        Ok(Rewrite { drop: &["target"], ..Rewrite::default() })
    }

    /// A driver tells something of its own accord. The driver is not read further while too many of these are under
    /// way.
    fn told(self: Arc<Self>, _device_id: &DeviceId, _signal: &str, _payload: &str) -> Option<Later<()>> {
        None
    }

    /// A piece of a file transfer arrived on a socket. True when it was the area's.
    fn bytes(&self, _socket: u64, _message: &bytes::Bytes) -> bool {
        false
    }
}

/// Owner whose things an area must drop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gone {
    /// A socket, by its number.
    Socket(u64),
    /// A device that was removed.
    Device(DeviceId),
    /// A user that was removed.
    User(Uid),
    /// Rights that some users had: what runs with them ends.
    Rights(Vec<Uid>),
}
