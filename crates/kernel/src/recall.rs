//! Recovery of in-flight calls: asks a device what became of a call that a process had sent before the gateway
//! stopped, or before the device was lost. The device remembers.

use std::sync::Arc;
use std::time::Duration;

use base::limits;
use gateway::{Origin, Recalled, RoutedCall, Watch};
use protocol::args::Members;
use protocol::error::{Error, Reason};
use protocol::ids::{Pid, Uid};
use protocol::spec::Spec;
use store::Store;
use store::routes::RouteRow;

use crate::Kernel;
use crate::connections::{Connection, DriverLogin};
use crate::routes::{self, DeviceRequest, Far, Sending};
use crate::ticket::Ticket;

/// Finds out, by the row that was written before the call was sent. Waits so long for the device to come back, and a
/// while for the end of the call.
pub(crate) async fn recall(
    kernel: &Arc<Kernel>,
    uid: Uid,
    pid: &Pid,
    request_id: &str,
    wait: Duration,
) -> Recalled {
    recall_within(limits::process::RECALL_WAIT, wait, kernel, uid, pid, request_id).await
}

pub(crate) async fn recall_within(
    all: Duration,
    wait: Duration,
    kernel: &Arc<Kernel>,
    uid: Uid,
    pid: &Pid,
    request_id: &str,
) -> Recalled {
    let row = match kernel.store.routes().of(pid, request_id).await {
        Ok(Some(row)) => row,
        Ok(None) => return Recalled::NeverSent,
        Err(error) => {
            tracing::error!(%pid, request_id, %error, "a call could not be looked up");
            return Recalled::Unknown;
        }
    };
    match kernel.clock.timeout(all, ask(kernel, uid, &row, wait)).await.unwrap_or(None) {
        Some(Err(error)) if error.reason == Reason::call_never_seen => never_sent(kernel, &row).await,
        None => Recalled::Unknown,
        Some(Err(error)) if error.reason == Reason::call_forgotten => Recalled::Unknown,
        Some(answer) => Recalled::Answered(answer),
    }
}

/// Removes the rows of processes that are no more; nobody will ask for them.
pub(crate) async fn sweep(store: &Store) -> Result<(), store::Error> {
    for row in store.routes().all().await? {
        let process = store.processes().by_id(&row.pid).await?;
        if process.is_none_or(|process| process.exited_at.is_some()) {
            store.routes().close(&row.route_id).await?;
        }
    }
    Ok(())
}

/// The call may be made now, and will then have a row of its own.
async fn never_sent(kernel: &Kernel, row: &RouteRow) -> Recalled {
    match kernel.store.routes().close(&row.route_id).await {
        Ok(_) => Recalled::NeverSent,
        Err(error) => {
            tracing::error!(route_id = row.route_id, %error, "a call that was never sent could not be forgotten");
            Recalled::Unknown
        }
    }
}

/// Asks the program that the call was sent to, however often its socket is lost. `None` when it is gone.
async fn ask(
    kernel: &Arc<Kernel>,
    uid: Uid,
    row: &RouteRow,
    wait: Duration,
) -> Option<Result<String, Error>> {
    let (id, instance, args) = (row.wire_id.as_deref()?, row.instance.as_deref()?, row.args.as_deref()?);
    let spec = protocol::spec(&row.call)?;
    loop {
        let driver = kernel.clock.timeout(wait, driver(kernel, row, instance)).await.ok()??;
        let (ticket, answer) = Ticket::inside(&kernel.metrics, &kernel.clock, &row.request_id, spec.name);
        let watch = watch(kernel, uid, row, spec, &driver).await?;
        let request = DeviceRequest::again(&driver, id, spec.name, args)?;
        let far = Far::Device(row.device_id.clone());
        let sending = Sending { ticket, origin: Origin::Inside, uid, far, request, watch };
        routes::ask_again(kernel, &driver, sending);
        match answer.await {
            Ok(Err(error)) if is_passing(&error) => kernel.clock.sleep(TICK).await,
            Ok(answer) => return Some(answer),
            Err(_) => return None,
        }
    }
}

/// Who looks at the answer, as when the call was made. The account may be locked by now: then nobody asks any more.
async fn watch(
    kernel: &Arc<Kernel>,
    uid: Uid,
    row: &RouteRow,
    spec: &'static Spec,
    driver: &Arc<Connection>,
) -> Option<Option<Box<dyn Watch>>> {
    let Some(area) = kernel.interceptor(spec.name) else { return Some(None) };
    let caller = kernel.gateway.on_behalf_of(uid, Origin::Process(row.pid.clone())).await.ok()?;
    let args = Members::parse(row.args.as_deref()?)?;
    let (driver, device_id) = (driver.clone(), &row.device_id);
    let call = RoutedCall { spec, caller: &caller, device_id, driver, args: &args };
    Some(area.clone().routed(call).ok()?.watch)
}

/// Whether only the question has failed: the socket was lost, has too much to do, or did not answer in time. Errors of
/// the call itself may have the same codes, but other reasons.
fn is_passing(error: &Error) -> bool {
    use Reason::{device_busy, device_calls_full, device_disconnected, route_timeout};
    matches!(error.reason, device_busy | device_calls_full | device_disconnected | route_timeout)
}

/// How often it is looked whether the device is back.
pub(crate) const TICK: Duration = Duration::from_millis(50);

/// The socket of the very program the call was sent to. `None` when another program speaks for the device: whatever
/// it knows, it does not know of this call.
async fn driver(kernel: &Kernel, row: &RouteRow, instance: &str) -> Option<Arc<Connection>> {
    loop {
        let of_device = |driver: &Arc<Connection>| {
            driver.login().and_then(|login| login.device_id()).is_some_and(|id| *id == row.device_id)
        };
        match kernel.devices.drivers().into_iter().find(of_device) {
            Some(driver) => {
                let is_it =
                    |login: &DriverLogin| login.remembers && login.instance.as_deref() == Some(instance);
                let login = driver.login().and_then(|login| login.driver.as_ref());
                return login.is_some_and(is_it).then_some(driver);
            }
            None => kernel.clock.sleep(TICK).await,
        }
    }
}
