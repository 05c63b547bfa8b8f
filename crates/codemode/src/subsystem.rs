//! Subsystem of CodeMode: answers `codemode.run` for whoever makes it, and `codemode.exec` for a run of a process.

use std::sync::Arc;

use gateway::{Call, Cx, Gateway, Gauges, Gone, Later, Subsystem};
use guest::{Pool, Tenant};
use protocol::codemode::{Exec, ExecResult, Run};
use protocol::error::Error;
use protocol::ids::Pid;
use protocol::router::Router;
use store::processes::ProcessState;

use crate::GUEST;
use crate::blocks::{Blocks, Given};
use crate::settings::Settings;

/// Blocks and the guests that run them.
pub struct CodeMode(Blocks);

impl CodeMode {
    /// CodeMode of a gateway. No guest is started before the first block.
    pub fn new(gateway: Gateway) -> Arc<CodeMode> {
        let program = gateway.guest_program().to_path_buf();
        let pool = Pool::new(program, GUEST.name, gateway.clock().clone());
        Arc::new(CodeMode(Blocks { gateway, pool, settings: Settings::new() }))
    }
}

fn router() -> Router<Cx<CodeMode>> {
    Router::new().on(exec).on(run)
}

/// Of a run of a process: its calls go where the process wants to see them.
async fn exec(cx: Cx<CodeMode>, args: Exec) -> Result<ExecResult, Error> {
    let (Some(door), Some(pid)) = (cx.caller.door.clone(), cx.caller.origin.pid().cloned()) else {
        return Err(Error::permission_denied("codemode.exec"));
    };
    let given = Given { code: args.code, ..Given::default() };
    let tenant = Tenant { uid: cx.caller.uid(), pid: Some(pid) };
    Ok(cx.area.0.run(tenant, &door, given, true, || cx.is_abandoned()).await)
}

/// Of a person, or of a command that an agent runs: its calls are the caller's own.
async fn run(cx: Cx<CodeMode>, args: Run) -> Result<ExecResult, Error> {
    let uid = cx.caller.uid();
    let pid = args.pid.clone().unwrap_or_else(|| Pid(format!("init:{uid}")));
    let process = cx.area.0.gateway.store().processes().by_id(&pid).await?;
    let gone = || Error::not_found(format!("Process not found: {pid}"));
    let process = match process {
        Some(process) if process.uid != uid && !cx.caller.is_root() => {
            return Err(Error::forbidden(format!("Permission denied: cannot access process {pid}")));
        }
        Some(process) if args.pid.is_some() && process.state == ProcessState::Exited => return Err(gone()),
        None if args.pid.is_some() => return Err(gone()),
        process => process,
    };
    let mut caller = cx.caller.clone();
    if let Some(process) = &process {
        if process.uid != uid {
            // In somebody else's process root acts as that user.
            caller = cx.area.0.gateway.on_behalf_of(process.uid, cx.caller.origin.inward()).await?;
        }
        let mut identity = protocol::identity::ProcessIdentity::clone(&caller.identity);
        identity.cwd.clone_from(&process.cwd);
        caller.identity = Arc::new(identity);
    }
    let calls = cx.area.0.gateway.calls(&caller);
    let tenant = Tenant { uid: caller.uid(), pid: caller.origin.pid().cloned() };
    let Run { code, target, cwd, argv, args, .. } = args;
    let given = Given { code, target, cwd, argv: argv.unwrap_or_default(), args: args.unwrap_or_default() };
    Ok(cx.area.0.run(tenant, &calls, given, false, || cx.is_abandoned()).await)
}

impl Subsystem for CodeMode {
    fn name(&self) -> &'static str {
        "codemode"
    }

    fn calls() -> Vec<&'static str> {
        router().names().to_vec()
    }

    fn handlers(self: Arc<Self>) -> Router<Call> {
        router().over(move |call| Ok(Cx::new(self.clone(), call)))
    }

    fn start(self: Arc<Self>) -> Later<Result<(), store::Error>> {
        Box::pin(async move {
            let config = self.0.gateway.store().config();
            for (key, value) in config.matching("config", Settings::is_known).await? {
                self.0.settings.apply(&key, Some(&value));
            }
            Ok(())
        })
    }

    fn stop(self: Arc<Self>) -> Later<()> {
        self.0.pool.close();
        Box::pin(async {})
    }

    fn gone(self: Arc<Self>, gone: Gone) -> Later<()> {
        if let Gone::User(uid) = gone {
            self.0.pool.forget_user(uid);
        }
        Box::pin(async {})
    }

    fn metrics(&self, gauges: &mut Gauges) {
        gauges.gauge("gsv_guests_busy", "Children that run code that is not ours.", self.0.pool.busy());
        gauges.gauge("gsv_guests_waiting", "Children that are ready to.", self.0.pool.waiting());
    }

    fn config_changed(&self, key: &str, value: Option<&str>) {
        self.0.settings.apply(key, value);
    }
}
