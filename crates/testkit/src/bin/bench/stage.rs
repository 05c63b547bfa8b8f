//! Shared fixture of the benchmarks: the programs, a set-up gateway, and the servers that compete.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::json;
use tempfile::TempDir;
use tokio::sync::OnceCell;

use crate::Effort;
use crate::baseline::driver::DEVICE;
use crate::child::Server;
use crate::contest::Side;
use crate::gateway::Gateway;
use crate::load::{Question, Shape};
use crate::wire;

/// What a measure gets to work with. Servers start when the first measure asks for them.
pub(crate) struct Stage {
    gsv: std::path::PathBuf,
    folder: TempDir,
    /// How long and how often.
    pub effort: Effort,
    gateway: OnceCell<Gateway>,
    servers: OnceCell<Servers>,
}

/// The servers that compete, and the driver attached to two of them.
struct Servers {
    set_up: Gateway,
    gateway: Server,
    echo: Server,
    relay: Server,
    _driver: Server,
}

/// Which bare server is the baseline.
#[derive(Clone, Copy)]
pub(crate) enum Baseline {
    /// Every message goes back.
    Echo,
    /// Messages travel to the driver and back.
    Relay,
}

impl Stage {
    /// Starts nothing yet.
    pub(crate) fn new(gsv: &Path, effort: Effort) -> Result<Stage> {
        let gsv = gsv.canonicalize().with_context(|| format!("find {}", gsv.display()))?;
        let folder = tempfile::tempdir().context("make a directory for logs")?;
        Ok(Stage { gsv, folder, effort, gateway: OnceCell::new(), servers: OnceCell::new() })
    }

    /// A gateway for measures that start it themselves, one at a time. Its data directory is not the one of the
    /// competing gateway, which may be running.
    pub(crate) async fn gateway(&self) -> Result<&Gateway> {
        self.gateway.get_or_try_init(|| Gateway::set_up(&self.gsv)).await.context("set up the gateway")
    }

    /// The gateway's binary.
    pub(crate) fn gsv(&self) -> &Path {
        &self.gsv
    }

    /// The last lines the competing gateway logged, to explain a failure.
    pub(crate) fn last_words(&self) -> Option<String> {
        self.servers.get().map(|servers| servers.gateway.last_words())
    }

    /// Starts this program as one of its bare servers.
    pub(crate) fn start_bare(&self, role: &str, arguments: &[String]) -> Result<Server> {
        let mut command = self.bare_command(role)?;
        Server::start(command.args(arguments), &self.folder.path().join(format!("{role}.log")))
            .with_context(|| format!("start the bare {role}"))
    }

    /// This program again, in the role of a baseline server.
    pub(crate) fn bare_command(&self, role: &str) -> Result<Command> {
        let mut command = Command::new(std::env::current_exe().context("find this program")?);
        command.arg(role);
        Ok(command)
    }

    /// The gateway with sockets that are logged in, ready to be asked.
    pub(crate) async fn gateway_side(&self, shape: Shape, question: Question) -> Result<Side> {
        let Servers { set_up: gateway, gateway: server, .. } = self.servers().await?;
        let mut sockets = Vec::new();
        for number in 0..shape.connections {
            let client_id = format!("bench-{number}");
            sockets.push(gateway.log_in(server.address, &client_id, wire::busy()).await?);
        }
        Ok(Side { pid: server.pid(), sockets, question })
    }

    /// A bare server with open sockets, ready to be asked.
    pub(crate) async fn bare_side(
        &self,
        baseline: Baseline,
        shape: Shape,
        question: Question,
    ) -> Result<Side> {
        let servers = self.servers().await?;
        let server = match baseline {
            Baseline::Echo => &servers.echo,
            Baseline::Relay => &servers.relay,
        };
        let mut sockets = Vec::new();
        for _ in 0..shape.connections {
            sockets.push(wire::open(server.address, "/client", wire::busy()).await?);
        }
        Ok(Side { pid: server.pid(), sockets, question })
    }

    /// The home directory of the competing gateway's user, as it lies on disk.
    pub(crate) async fn home(&self) -> Result<std::path::PathBuf> {
        Ok(self.servers().await?.set_up.home())
    }

    async fn servers(&self) -> Result<&Servers> {
        self.servers.get_or_try_init(|| self.start_servers()).await
    }

    async fn start_servers(&self) -> Result<Servers> {
        let set_up = Gateway::set_up(&self.gsv).await.context("set up the gateway")?;
        let gateway = set_up.start().context("start the gateway")?;
        let echo = self.start_bare("echo", &[])?;
        let relay = self.start_bare("relay", &[])?;
        let attachments = [
            format!("--relay={}", relay.address),
            format!("--gateway={}", gateway.address),
            format!("--username={}", set_up.username()),
            format!("--token={}", set_up.node_token),
        ];
        let driver = self.start_bare("driver", &attachments)?;
        // The first routed call may have to wait until the gateway counts the driver as ready.
        let mut socket = set_up.log_in(gateway.address, "bench-first", wire::idle()).await?;
        let args = json!({"target": DEVICE, "path": "/x"});
        wire::call(&mut socket, "fs.read", &args).await.context("a first routed call")?;
        Ok(Servers { set_up, gateway, echo, relay, _driver: driver })
    }
}
