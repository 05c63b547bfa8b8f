//! Ingress of a socket: frames are parsed, gated by the state of the connection, and handed to dispatch.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use bytes::Bytes;
use gateway::Call;
use protocol::error::Error;
use protocol::frame::{self, Frame, Request};
use protocol::identity::Role;

use crate::calls::sys::setup;
use crate::connections::{Connection, Slot};
use crate::metrics::UNKNOWN_CALL;
use crate::ticket::{RELAY_BYTES_MIN, Ticket};
use crate::{Kernel, access, calls, dispatch, routes, tasks};

impl Kernel {
    /// One text message, and when it had arrived. `whole` gives the same bytes to keep, for large values that are
    /// passed on as they are.
    pub fn receive_text(
        self: &Arc<Self>,
        connection: &Arc<Connection>,
        arrived: Instant,
        text: &str,
        whole: impl FnOnce() -> Bytes,
    ) {
        match frame::parse(text) {
            Ok(Frame::Request(request)) => self.receive_request(connection, arrived, &request),
            Ok(Frame::Response(response)) => {
                let large = response.data.is_some_and(|data| data.len() >= RELAY_BYTES_MIN);
                let whole = large.then(whole);
                routes::answered(self, connection, &response, whole.as_ref());
            }
            Ok(Frame::Signal(signal)) => self.receive_signal(connection, &signal),
            Err(invalid) => {
                self.metrics.invalid_frames.fetch_add(1, Ordering::Relaxed);
                connection.send(connection.codec().failure(&invalid.id, &invalid.error));
            }
        }
    }

    /// One binary message: a piece of a file transfer.
    pub fn receive_binary(self: &Arc<Self>, connection: &Arc<Connection>, message: Bytes) {
        if connection.login().is_some() {
            self.areas.iter().any(|area| area.bytes(connection.number, &message));
        }
    }

    /// The gate, in the documented order: already connected, setup, not connected, then access.
    fn receive_request(
        self: &Arc<Self>,
        connection: &Arc<Connection>,
        arrived: Instant,
        request: &Request<'_>,
    ) {
        let spec = protocol::spec(&request.call);
        let known = spec.map_or(UNKNOWN_CALL, |spec| spec.name);
        let bytes = request.args.len();
        let ticket = Ticket::for_connection(connection, arrived, &request.id, known, bytes);
        let login = connection.login();
        match (request.call.as_ref(), login) {
            ("sys.connect", _) => calls::sys::connect::begin(self, connection, ticket, request.args),
            ("sys.setup" | "sys.setup.assist", Some(_)) => ticket.fail(Error::already_connected()),
            ("sys.setup" | "sys.setup.assist", None) if !self.in_setup_mode() => {
                ticket.fail(Error::already_initialized());
            }
            (name @ ("sys.setup" | "sys.setup.assist"), None) => {
                match setup::check_code(self, connection, request.args) {
                    Err(error) => ticket.fail(error),
                    Ok(()) if name == "sys.setup" => setup::begin(self, ticket, request.args),
                    Ok(()) => ticket.fail(Error::not_implemented(name)),
                }
            }
            (_, None) if self.in_setup_mode() => ticket.fail(setup::required(connection)),
            (_, None) => ticket.fail(Error::not_connected()),
            (name, Some(login)) => {
                let caller = access::caller(self, connection, login);
                let call = Call { caller, since: arrived, waiting: None };
                dispatch::dispatch(self, call, ticket, name, spec, request.args);
            }
        }
    }

    /// Areas are told what drivers tell of their own accord; what no area knows is ignored.
    fn receive_signal(self: &Arc<Self>, connection: &Arc<Connection>, signal: &frame::Signal<'_>) {
        let Some(login) = connection.login().filter(|login| login.role == Role::Driver) else { return };
        let Some(device_id) = login.device_id() else { return };
        for area in &self.areas {
            if let Some(work) = area.clone().told(device_id, &signal.signal, signal.payload) {
                // A driver that tells more than can be taken in holds slots, and is not read further.
                let slot = Slot::take(connection);
                tasks::run(async move {
                    work.await;
                    drop(slot);
                });
            }
        }
    }
}
