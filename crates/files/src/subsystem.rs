//! [`gateway::Subsystem`] implementation of files and transfers: handlers, metrics, settings, cleanup.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use base::timer::Alarm;
use bytes::Bytes;
use gateway::{Call, Cx, Gauges, Gone, Later, Rewrite, RoutedCall, Subsystem};
use protocol::error::Error;
use protocol::router::Router;

use crate::area::Files;
use crate::transfers::{self, Side};
use crate::{calls, transfer_calls};

/// The calls that open a transfer.
const OPENING: &[&str] = &["fs.pull", "fs.push"];

fn router() -> Router<Cx<Files>> {
    Router::new()
        .on_quick(calls::read_now, calls::read)
        .on(calls::write)
        .on(calls::edit)
        .on(calls::delete)
        .on(calls::search)
        .on_then(transfer_calls::pull)
        .on_then(transfer_calls::push)
}

impl Subsystem for Files {
    fn name(&self) -> &'static str {
        "files"
    }

    fn calls() -> Vec<&'static str> {
        router().names().to_vec()
    }

    fn handlers(self: Arc<Self>) -> Router<Call> {
        router().over(move |call| Ok(Cx::new(self.clone(), call)))
    }

    fn alarms(&self) -> Vec<Arc<Alarm>> {
        vec![self.transfers.idle.clone()]
    }

    /// The other sides of a socket's transfers are told.
    fn gone(self: Arc<Self>, gone: Gone) -> Later<()> {
        if let Gone::Socket(number) = gone {
            self.transfers.closed(number);
        }
        Box::pin(async {})
    }

    fn metrics(&self, gauges: &mut Gauges) {
        gauges.gauge("gsv_transfers", "Open file transfers.", self.transfers.count());
        let bytes = self.transfers.passed_bytes.load(Ordering::Relaxed);
        gauges.counter("gsv_transfer_bytes_total", "Bytes of file transfers passed on.", bytes);
    }

    fn intercepts(&self) -> &'static [&'static str] {
        OPENING
    }

    /// Reserves a transfer between the caller's socket and the device's.
    fn routed(self: Arc<Self>, call: RoutedCall<'_>) -> Result<Rewrite, Error> {
        let name = call.spec.name;
        // Bytes go over a connection of the caller.
        let carrier =
            call.caller.origin.carrier().ok_or_else(|| Error::missing_argument(name, "transferId"))?;
        let far = Side::Device(call.driver);
        let id = self.transfers.reserve(carrier, far, name == "fs.pull")?;
        Ok(Rewrite {
            drop: &["target"],
            set: vec![("transferId", id.to_string())],
            watch: Some(transfers::opening(&self.transfers, id)),
        })
    }

    fn bytes(&self, socket: u64, message: &Bytes) -> bool {
        self.transfers.pass(socket, message)
    }
}
