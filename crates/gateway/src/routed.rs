//! Interceptors of routed calls: what an area does with a call on its way to a device, and with the answer.

use std::sync::Arc;

use protocol::args::Members;
use protocol::error::Error;
use protocol::ids::DeviceId;
use protocol::spec::Spec;

use crate::caller::{Caller, Peer};
use crate::handle::Later;

/// A call that is about to be sent to a device.
pub struct RoutedCall<'a> {
    /// Its row.
    pub spec: &'static Spec,
    /// Who makes it.
    pub caller: &'a Caller,
    /// Where it goes.
    pub device_id: &'a DeviceId,
    /// The socket that speaks for the device.
    pub driver: Arc<dyn Peer>,
    /// The arguments, as raw JSON by member.
    pub args: &'a Members<'a>,
}

/// What an area wants changed of a routed call's arguments, and who looks at the answer.
#[derive(Default)]
pub struct Rewrite {
    /// Members that are taken out.
    pub drop: &'static [&'static str],
    /// Members that are set, as raw JSON.
    pub set: Vec<(&'static str, String)>,
    /// Looks at the answer.
    pub watch: Option<Box<dyn Watch>>,
}

/// Looks at the answer to one routed call before the caller gets it. Dropped unasked, the call has no answer: its
/// caller is gone.
pub trait Watch: Send {
    /// The device answered.
    fn answered(self: Box<Self>, data: Option<&str>) -> Reply;

    /// The call failed; the caller gets the error that is returned.
    fn failed(self: Box<Self>, error: Error) -> Error;
}

/// What the caller gets in place of a device's answer.
pub enum Reply {
    /// The answer as it is.
    Same,
    /// This text, raw JSON.
    Text(String),
    /// What this comes to.
    Later(Later<Result<String, Error>>),
}

/// Where a call goes that continues something an area knows, such as a shell session.
pub enum Located {
    /// Its target says where; the area knows nothing better.
    ByTarget,
    /// To the area's own handler, with these arguments.
    Here(String),
    /// To a device that only a look into the store can tell, with another rewrite of the arguments than usual. An answer
    /// in place of a device is the inner one.
    Later(Later<Result<Continued, Error>>),
}

/// A call that continues something.
pub enum Continued {
    On(DeviceId, Rewrite),
    /// It is over; this is the answer, raw JSON.
    Over(String),
}
