//! Dispatch: every request, from whomever, is checked here and sent where it belongs.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use futures_util::FutureExt;
use gateway::{Call, Continued, Later, Located, Rewrite, RoutedCall, Subsystem};
use protocol::args::Members;
use protocol::error::Error;
use protocol::ids::DeviceId;
use protocol::router::{Answer, Written};
use protocol::spec::{Route, Spec};

use crate::calls::Cx;
use crate::connections::Login;
use crate::routes::{self, DeviceRequest, Far, Sending};
use crate::ticket::Ticket;
use crate::{Kernel, access, tasks};

/// The target that means the gateway itself.
pub(crate) const NATIVE: &str = "gsv";

/// What is taken out of the arguments of every call that goes to a device.
const TARGET: &[&str] = &["target"];

/// Carries out a request if its caller may make it; the ticket gets exactly one answer.
pub(crate) fn dispatch(
    kernel: &Arc<Kernel>,
    call: Call,
    ticket: Ticket,
    name: &str,
    spec: Option<&'static Spec>,
    args: &str,
) {
    let spec = match access::check(&call.caller, name, spec) {
        Ok(spec) => spec,
        Err(error) => return ticket.fail(error),
    };
    if spec.route != Route::Target {
        return here(kernel, call, ticket, spec, args);
    }
    let Some(members) = Members::parse(args) else {
        return ticket.fail(Error::bad_argument(spec.name, "args", "must be a JSON object"));
    };
    let interceptor = kernel.interceptor(spec.name);
    let located = interceptor.map(|area| area.clone().locate(&call.caller, &members));
    match located.unwrap_or(Ok(Located::ByTarget)) {
        Err(error) => return ticket.fail(error),
        Ok(Located::Here(args)) => return here(kernel, call, ticket, spec, &args),
        Ok(Located::Later(later)) => {
            let goes_on = go_on(kernel.clone(), call, ticket, spec, later, args.to_string());
            return tasks::run(goes_on);
        }
        Ok(Located::ByTarget) => {}
    }
    let target = match members.get("target") {
        None | Some("null") => Cow::Borrowed(NATIVE),
        Some(_) => match members.text("target") {
            Some(target) => target,
            None => return ticket.fail(Error::bad_argument(spec.name, "target", "must be a string")),
        },
    };
    if target.is_empty() || target == NATIVE {
        // Handlers do not know the member; what they do not know they pass over.
        return here(kernel, call, ticket, spec, args);
    }
    device(kernel, call, ticket, spec, DeviceId(target.into_owned()), &members, interceptor);
}

/// By a handler of the kernel or of an area.
fn here(kernel: &Arc<Kernel>, call: Call, ticket: Ticket, spec: &'static Spec, args: &str) {
    let called = || {
        // Its own handlers are handed the kernel: a table that kept it, weakly even, would cost every call an upgrade of
        // a counter that all cores share.
        match kernel.own_calls.handler(spec.name) {
            Some(handler) => {
                let cx = Cx { kernel: kernel.clone(), caller: call.caller };
                Some(handler(cx, args, ticket.head()))
            }
            None => kernel.area_calls.call(spec.name, call, args, ticket.head()),
        }
    };
    match catch_unwind(AssertUnwindSafe(called)) {
        Err(_) => ticket.fail(failed()),
        Ok(None) => ticket.fail(Error::not_implemented(spec.name)),
        Ok(Some(Err(error))) => ticket.fail(error),
        Ok(Some(Ok(answer))) => run(answer, ticket),
    }
}

/// Runs a handler where it stands as far as it goes, and only the rest of it as a task. A handler that panics has
/// failed one call, not the gateway.
fn run(answer: Answer, ticket: Ticket) {
    let mut answer = match answer {
        Answer::Now(text) => return ticket.answer(Ok(text)),
        Answer::Later(answer) => answer,
    };
    let mut cx = Context::from_waker(Waker::noop());
    match catch_unwind(AssertUnwindSafe(|| answer.as_mut().poll(&mut cx))) {
        Ok(Poll::Ready(result)) => finish(ticket, result),
        Ok(Poll::Pending) => {
            tokio::spawn(async move {
                let result = AssertUnwindSafe(answer).catch_unwind().await;
                finish(ticket, result.unwrap_or_else(|_| Err(failed())));
            });
        }
        Err(_) => ticket.fail(failed()),
    }
}

/// Answers, and then does what must not overtake the answer.
fn finish(ticket: Ticket, result: Result<Written, Error>) {
    match result {
        Err(error) => ticket.fail(error),
        Ok(Written { text, then }) => {
            ticket.answer(Ok(text));
            if let Some(then) = then {
                then();
            }
        }
    }
}

fn failed() -> Error {
    Error::internal("a handler failed; see the log")
}

/// A call that continues something an area knows, once the area has found out where that is.
async fn go_on(
    kernel: Arc<Kernel>,
    call: Call,
    ticket: Ticket,
    spec: &'static Spec,
    later: Later<Result<Continued, Error>>,
    args: String,
) {
    let (device_id, rewrite) = match later.await {
        Err(error) => return ticket.fail(error),
        Ok(Continued::Over(data)) => {
            let text = ticket.head() + &data;
            return ticket.answer(Ok(text));
        }
        Ok(Continued::On(device_id, rewrite)) => (device_id, rewrite),
    };
    let Some(members) = Members::parse(&args) else {
        return ticket.fail(Error::bad_argument(spec.name, "args", "must be a JSON object"));
    };
    match kernel.devices.driver_for(&device_id, spec.name, &call.caller.identity) {
        Err(error) => ticket.fail(error),
        Ok(driver) => {
            let caller = Some(&call.caller);
            let request = DeviceRequest::new(&kernel, &driver, spec.name, &members, caller, &rewrite);
            let (uid, origin, far) = (call.caller.uid(), call.caller.origin, Far::Device(device_id));
            let sending = Sending { ticket, origin, uid, far, request, watch: rewrite.watch };
            routes::open(&kernel, &driver, sending);
        }
    }
}

/// Routes the call to a device.
fn device(
    kernel: &Arc<Kernel>,
    call: Call,
    ticket: Ticket,
    spec: &'static Spec,
    device_id: DeviceId,
    members: &Members<'_>,
    interceptor: Option<&Arc<dyn Subsystem>>,
) {
    let driver = match kernel.devices.driver_for(&device_id, spec.name, &call.caller.identity) {
        Ok(driver) => driver,
        Err(error) => return ticket.fail(error),
    };
    // What follows knows the device by its own name, in whatever case it was asked for.
    let device_id = driver.login().and_then(Login::device_id).cloned().unwrap_or(device_id);
    let caller = &call.caller;
    let rewrite = match interceptor {
        None => Ok(Rewrite { drop: TARGET, ..Rewrite::default() }),
        Some(area) => area.clone().routed(RoutedCall {
            spec,
            caller,
            device_id: &device_id,
            driver: driver.clone(),
            args: members,
        }),
    };
    let rewrite = match rewrite {
        Ok(rewrite) => rewrite,
        Err(error) => return ticket.fail(error),
    };
    let request = DeviceRequest::new(kernel, &driver, spec.name, members, Some(caller), &rewrite);
    let (uid, origin, far) = (caller.uid(), call.caller.origin, Far::Device(device_id));
    routes::open(kernel, &driver, Sending { ticket, origin, uid, far, request, watch: rewrite.watch });
}
