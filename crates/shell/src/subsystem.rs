//! Subsystem of shells: `shell.exec` on the gateway itself, and the gateway's ids for commands that go on, wherever
//! they run.

mod exec;
mod rehearsals;
mod sessions;

use std::sync::{Arc, RwLock};

use base::sync::{read, write};
use gateway::{Call, Caller, Cx, Gateway, Gauges, Gone, Later, Located, Rewrite, RoutedCall, Subsystem};
use protocol::args::Members;
use protocol::config::ROUTING_TIMEOUT_MS;
use protocol::error::Error;
use protocol::ids::DeviceId;
use protocol::router::Router;
use protocol::signal::ExecStatus;

use crate::settings::{Settings, Texts};
use crate::shells::Shells;

/// The target that means the gateway itself.
const NATIVE: &str = "gsv";

/// Commands on the gateway, and sessions everywhere.
pub struct ShellArea {
    gateway: Gateway,
    shells: Shells,
    /// Texts that are set, and what they come to.
    settings: RwLock<(Texts, Settings)>,
}

impl ShellArea {
    /// State without any running command.
    pub fn new(gateway: Gateway) -> Arc<ShellArea> {
        let clock = gateway.clock().clone();
        let texts = Texts::new();
        let settings = Settings::of(&texts, gateway.version_text());
        let settings = RwLock::new((texts, settings));
        let area = Arc::new(ShellArea { shells: Shells::new(clock), gateway, settings });
        let weak = Arc::downgrade(&area);
        area.gateway.tree().show_sessions(Box::new(move |id| match (weak.upgrade(), id) {
            (None, _) => Vec::new(),
            (Some(area), None) => area.shells.infos(),
            (Some(area), Some(id)) => area.shells.info(id).into_iter().collect(),
        }));
        area
    }

    /// What a command runs with that such a caller starts. A client that does not ask again would lose one that outlasts
    /// the usual wait, so that it waits as long as any call may take.
    fn settings_for(&self, caller: &Caller) -> Settings {
        let known = read(&self.settings);
        let mut settings = known.1.clone();
        settings.pid = caller.origin.pid().map(|pid| pid.0.clone());
        if !caller.origin.follows_sessions() {
            let longest = ROUTING_TIMEOUT_MS.of([known.0.get(ROUTING_TIMEOUT_MS.name()).map(String::as_str)]);
            settings.wait_ms = settings.wait_ms.max(longest);
        }
        settings
    }
}

fn router() -> Router<Cx<ShellArea>> {
    Router::new().on(exec::exec)
}

impl Subsystem for ShellArea {
    fn name(&self) -> &'static str {
        "shells"
    }

    fn calls() -> Vec<&'static str> {
        router().names().to_vec()
    }

    fn handlers(self: Arc<Self>) -> Router<Call> {
        router().over(move |call| Ok(Cx::new(self.clone(), call)))
    }

    fn start(self: Arc<Self>) -> Later<Result<(), store::Error>> {
        Box::pin(async move {
            let (store, now_ms) = (self.gateway.store(), self.gateway.now_ms());
            sessions::end_native(store, now_ms).await?;
            for (key, value) in store.config().matching("config", |key| Settings::key(key).is_some()).await? {
                self.config_changed(&key, Some(&value));
            }
            Ok(())
        })
    }

    /// Tells every command to end.
    fn stop(self: Arc<Self>) -> Later<()> {
        self.shells.stop();
        Box::pin(async {})
    }

    /// Commands run with the rights that their user had; they end with these. Root loses none, and may well be changing
    /// itself with such a command.
    fn gone(self: Arc<Self>, gone: Gone) -> Later<()> {
        match gone {
            Gone::User(gone) => self.shells.end_of(|uid| uid == gone),
            Gone::Rights(of) => self.shells.end_of(|uid| !uid.is_root() && of.contains(&uid)),
            Gone::Socket(_) | Gone::Device(_) => {}
        }
        Box::pin(async {})
    }

    fn metrics(&self, gauges: &mut Gauges) {
        let running = self.shells.infos().len();
        gauges.gauge("gsv_shell_running", "Commands of the native shell that run.", running);
        gauges.gauge("gsv_shell_lost", "Commands that did not end when told to.", self.shells.lost_count());
    }

    fn config_changed(&self, key: &str, value: Option<&str>) {
        let Some(key) = Settings::key(key) else { return };
        let mut settings = write(&self.settings);
        match value {
            Some(value) => settings.0.insert(key, value.to_string()),
            None => settings.0.remove(key),
        };
        settings.1 = Settings::of(&settings.0, self.gateway.version_text());
    }

    fn intercepts(&self) -> &'static [&'static str] {
        &["shell.exec"]
    }

    fn locate(self: Arc<Self>, caller: &Caller, args: &Members<'_>) -> Result<Located, Error> {
        rehearsals::check_caller(caller, args)?;
        sessions::locate(self, caller, args)
    }

    fn routed(self: Arc<Self>, call: RoutedCall<'_>) -> Result<Rewrite, Error> {
        rehearsals::check_device(&self.gateway, &call)?;
        Ok(sessions::watched(self, call.caller, call.device_id.clone()))
    }

    fn told(self: Arc<Self>, device_id: &DeviceId, signal: &str, payload: &str) -> Option<Later<()>> {
        if signal != "exec.status" {
            return None;
        }
        let event = serde_json::from_str::<ExecStatus>(payload).ok()?;
        sessions::told(self, device_id, event)
    }
}
