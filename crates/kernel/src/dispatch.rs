//! THE room: every request, from whomever, is checked here and sent where it belongs.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use base::limits;
use futures_util::FutureExt;
use protocol::args::Members;
use protocol::error::Error;
use protocol::ids::{DeviceId, SessionId};
use protocol::router::Answer;
use protocol::spec::{Route, Spec};

use crate::Kernel;
use crate::caller::{Caller, Origin, Ticket};
use crate::calls::Cx;
use crate::connections::Connection;
use crate::routes::{self, Departure, Leg, Letter};
use crate::sessions::{self, ShellLeg};
use crate::tasks;
use crate::transfers::{self, Side};

/// The target that means the gateway itself.
pub(crate) const NATIVE: &str = "gsv";

/// Carries out a request that passed [`crate::access::check`]; the ticket gets exactly one answer.
pub(crate) fn dispatch(
    kernel: &Arc<Kernel>,
    caller: Caller,
    ticket: Ticket,
    spec: &'static Spec,
    args: &str,
) {
    if spec.route != Route::Target {
        return here(kernel, caller, ticket, spec, args, || {});
    }
    let Some(members) = Members::parse(args) else {
        return ticket.fail(Error::bad_argument(spec.name, "args", "must be a JSON object"));
    };
    let session_id = if spec.name == "shell.exec" { members.text("sessionId") } else { None };
    if let Some(session_id) = session_id.filter(|id| !id.trim().is_empty()) {
        let session_id = SessionId(session_id.trim().to_string());
        if kernel.shells.knows(caller.uid(), &session_id.0) {
            let target = members.text("target").filter(|target| !target.is_empty());
            if target.is_some_and(|target| target != NATIVE) {
                return ticket.fail(Error::session_target_mismatch());
            }
            return poll(kernel, caller, ticket, spec, &members.rewrite(&["target"], &[]));
        }
        return tasks::run(sessions::resume(kernel.clone(), caller, ticket, session_id, args.to_string()));
    }
    let target = match members.get("target") {
        None | Some("null") => Cow::Borrowed(NATIVE),
        Some(_) => match members.text("target") {
            Some(target) => target,
            None => return ticket.fail(Error::bad_argument(spec.name, "target", "must be a string")),
        },
    };
    if target.is_empty() || target == NATIVE {
        if let ("fs.pull" | "fs.push", Origin::Connection(connection)) = (spec.name, &caller.origin) {
            let connection = connection.clone();
            return transfer(kernel, caller, &connection, ticket, spec, &members);
        }
        // Handlers do not know the member; what they do not know they pass over.
        return here(kernel, caller, ticket, spec, args, || {});
    }
    device(kernel, caller, ticket, spec, DeviceId(target.into_owned()), &members);
}

/// By a handler of the kernel; `afterwards` follows the answer.
fn here(
    kernel: &Arc<Kernel>,
    caller: Caller,
    ticket: Ticket,
    spec: &'static Spec,
    args: &str,
    afterwards: impl FnOnce() + Send + 'static,
) {
    let cx = Cx { kernel: kernel.clone(), caller, since: ticket.started() };
    let called = AssertUnwindSafe(|| kernel.router.call(spec.name, cx, args, ticket.head()));
    match catch_unwind(called) {
        Err(_) => ticket.fail(failed()),
        Ok(None) => ticket.fail(Error::not_implemented(spec.name)),
        Ok(Some(Err(error))) => ticket.fail(error),
        Ok(Some(Ok(answer))) => return run(answer, ticket, afterwards),
    }
    afterwards();
}

/// A command here is gone on with. What it says is not lost on somebody inside who has stopped waiting for it.
fn poll(kernel: &Arc<Kernel>, caller: Caller, ticket: Ticket, spec: &'static Spec, args: &str) {
    if matches!(caller.origin, Origin::Connection(_)) {
        return here(kernel, caller, ticket, spec, args, || {});
    }
    let cx = Cx { kernel: kernel.clone(), caller, since: ticket.started() };
    match kernel.router.call(spec.name, cx, args, ticket.head()) {
        None => ticket.fail(Error::not_implemented(spec.name)),
        Some(Err(error)) => ticket.fail(error),
        Some(Ok(Answer::Now(text))) => ticket.answer(Ok(text)),
        Some(Ok(Answer::Later(mut answer))) => {
            tokio::spawn(async move {
                loop {
                    tokio::select! {
                        biased;
                        () = tokio::time::sleep(limits::NATIVE_SHELL_TICK) => {
                            if ticket.is_abandoned() {
                                return;
                            }
                        }
                        result = &mut answer => return ticket.answer(result),
                    }
                }
            });
        }
    }
}

/// A transfer with the gateway's own files. Its first bytes must not overtake the answer that names it.
fn transfer(
    kernel: &Arc<Kernel>,
    caller: Caller,
    connection: &Arc<Connection>,
    ticket: Ticket,
    spec: &'static Spec,
    members: &Members<'_>,
) {
    let far = Side::Native(Arc::default());
    match kernel.transfers.reserve(connection, far, spec.name == "fs.pull") {
        Err(error) => ticket.fail(error),
        Ok(id) => {
            let args = members.rewrite(&["target"], &[("transferId", &id.to_string())]);
            let begin = {
                let kernel = kernel.clone();
                move || transfers::native::begin(&kernel, id)
            };
            here(kernel, caller, ticket, spec, &args, begin);
        }
    }
}

/// Runs a handler where it stands as far as it goes, and only the rest of it as a task. A handler that panics has
/// failed one call, not the gateway.
fn run(answer: Answer, ticket: Ticket, afterwards: impl FnOnce() + Send + 'static) {
    let mut answer = match answer {
        Answer::Now(text) => {
            ticket.answer(Ok(text));
            return afterwards();
        }
        Answer::Later(answer) => answer,
    };
    let mut cx = Context::from_waker(Waker::noop());
    match catch_unwind(AssertUnwindSafe(|| answer.as_mut().poll(&mut cx))) {
        Ok(Poll::Ready(result)) => ticket.answer(result),
        Ok(Poll::Pending) => {
            tokio::spawn(async move {
                let result = AssertUnwindSafe(answer).catch_unwind().await;
                ticket.answer(result.unwrap_or_else(|_| Err(failed())));
                afterwards();
            });
            return;
        }
        Err(_) => ticket.fail(failed()),
    }
    afterwards();
}

fn failed() -> Error {
    Error::internal("a handler failed; see the log")
}

/// By a device.
fn device(
    kernel: &Arc<Kernel>,
    caller: Caller,
    ticket: Ticket,
    spec: &'static Spec,
    device_id: DeviceId,
    members: &Members<'_>,
) {
    let driver = match kernel.devices.driver_for(&device_id, spec.name, &caller.identity) {
        Ok(driver) => driver,
        Err(error) => return ticket.fail(error),
    };
    let letter = |drop: &[&str], set: &[(&str, &str)]| Letter::new(kernel, spec.name, members, drop, set);
    let (letter, leg) = match (spec.name, &caller.origin) {
        ("shell.exec", _) => {
            let leg = Leg::Shell(ShellLeg { uid: caller.uid(), session_id: None, is_stale: false });
            (letter(&["target", "sessionId"], &[]), leg)
        }
        ("fs.pull" | "fs.push", Origin::Connection(connection)) => {
            match kernel.transfers.reserve(connection, Side::Device(driver.clone()), spec.name == "fs.pull") {
                Err(error) => return ticket.fail(error),
                Ok(id) => (letter(&["target"], &[("transferId", &id.to_string())]), Leg::Transfer(id)),
            }
        }
        // Bytes go over a connection of the caller, and these have none.
        ("fs.pull" | "fs.push", Origin::Process(_) | Origin::Inside) => {
            return ticket.fail(Error::missing_argument(spec.name, "transferId"));
        }
        _ => (letter(&["target"], &[]), Leg::Plain),
    };
    let uid = caller.uid();
    routes::open(kernel, &driver, Departure { ticket, origin: caller.origin, uid, device_id, letter, leg });
}
