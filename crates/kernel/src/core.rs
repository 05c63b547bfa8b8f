//! Implementation of the gateway handle ([`gateway::Core`]): calls through the kernel's own checks and routes,
//! signals, rights.

use std::sync::{Arc, Weak};
use std::time::Duration;

use base::limits;
use gateway::{Caller, Capabilities, Core, Later, Origin, OutgoingSignal, Recalled};
use protocol::args::Members;
use protocol::calls::Calling;
use protocol::confine::Confinement;
use protocol::error::Error;
use protocol::identity::{ProcessIdentity, Role};
use protocol::ids::{DeviceId, Gid, Pid, RunId, Uid};
use vfs::tree::RouteInfo;

use crate::connections::Connection;
use crate::{Kernel, access, recall, routes, signals};

/// The kernel behind the handle. Areas are part of it, so they must not keep it alive.
pub(crate) struct Behind(pub(crate) Weak<Kernel>);

impl Behind {
    fn kernel(&self) -> Result<Arc<Kernel>, Error> {
        self.0.upgrade().ok_or_else(Error::stopping)
    }
}

impl Core for Behind {
    fn call(&self, caller: Caller, request_id: &str, name: &str, args: &str) -> Calling {
        let kernel = self.kernel();
        let (id, name, args) = (request_id.to_string(), name.to_string(), args.to_string());
        Box::pin(async move {
            let kernel = kernel?;
            let mut caller = caller;
            if let Some(device) = device_to_come(&kernel, &caller, &args) {
                wait_for(&kernel, &caller, &device).await;
                // A while has passed.
                if let Some(now) = kernel.gateway.renewed(&caller).await? {
                    caller = now;
                }
            }
            kernel.call(caller, &id, &name, &args).await
        })
    }

    fn recall(&self, uid: Uid, pid: &Pid, request_id: &str, wait: Duration) -> Later<Recalled> {
        let (kernel, pid, id) = (self.kernel(), pid.clone(), request_id.to_string());
        Box::pin(async move {
            match kernel {
                Ok(kernel) => recall::recall(&kernel, uid, &pid, &id, wait).await,
                Err(_) => Recalled::Unknown,
            }
        })
    }

    fn emit(&self, signal: OutgoingSignal) {
        if let Some(kernel) = self.0.upgrade() {
            signals::send(&kernel, signal);
        }
    }

    fn follow_run(&self, run_id: &RunId, origin: &Origin) {
        if let Some(kernel) = self.0.upgrade()
            && let Some(connection) = kernel.connections.behind(origin)
        {
            signals::route_run(&kernel, run_id, &connection);
        }
    }

    fn capabilities(&self, role: Role, gids: &[Gid]) -> Arc<Capabilities> {
        self.0.upgrade().map(|kernel| access::capabilities_for(&kernel, role, gids)).unwrap_or_default()
    }

    fn behind(&self, origin: &Origin) -> Option<Caller> {
        let kernel = self.0.upgrade()?;
        let connection = kernel.connections.behind(origin)?;
        let login = connection.login()?;
        Some(access::caller(&kernel, &connection, login))
    }

    fn check(&self, caller: &Caller, name: &str) -> Result<(), Error> {
        access::check(caller, name, protocol::spec(name)).map(drop)
    }

    fn ask_service(&self, socket: u64, name: &'static str, args: &str) -> Calling {
        let (kernel, args) = (self.kernel(), args.to_string());
        Box::pin(async move { routes::ask_service(&kernel?, socket, name, &args).await })
    }

    fn confinement(&self, who: &ProcessIdentity, device: &str) -> Option<Confinement> {
        let kernel = self.0.upgrade()?;
        let announced = |_: &_, driver: Option<&Connection>| driver?.confinement().cloned();
        kernel.devices.look(&DeviceId(device.to_string()), who, announced)?
    }

    fn routes(&self, id: Option<&str>) -> Vec<RouteInfo> {
        let Some(kernel) = self.0.upgrade() else { return Vec::new() };
        let drivers = kernel.devices.drivers();
        match id {
            None => drivers.iter().flat_map(|driver| routes::infos(driver)).collect(),
            Some(id) => drivers.iter().find_map(|driver| routes::info(driver, id)).into_iter().collect(),
        }
    }
}

/// After a restart processes go on sooner than devices come back. The target of a durable call, if it was connected
/// before and is not yet.
fn device_to_come(kernel: &Kernel, caller: &Caller, args: &str) -> Option<DeviceId> {
    let uptime_ms = kernel.clock.now_ms() - kernel.started_at;
    if !caller.origin.is_durable() || uptime_ms > limits::process::DEVICE_RETURN_WAIT.as_millis() as i64 {
        return None;
    }
    let device = DeviceId(Members::parse(args)?.text("target")?.into_owned());
    kernel.devices.went_with_the_gateway(&device, &caller.identity, kernel.started_at).then_some(device)
}

/// Waits for it a while. If it does not come, the call will say so.
async fn wait_for(kernel: &Kernel, caller: &Caller, device: &DeviceId) {
    let coming = async {
        while kernel.devices.went_with_the_gateway(device, &caller.identity, kernel.started_at) {
            kernel.clock.sleep(recall::TICK).await;
        }
    };
    if kernel.clock.timeout(limits::process::DEVICE_RETURN_WAIT, coming).await.is_err() {
        tracing::debug!(%device, "the device did not come back in time");
    }
}
