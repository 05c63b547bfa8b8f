//! Gateway under test as a child process: set up once, then started on its data directory as often as needed.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;

use crate::baseline::driver::DEVICE;
use crate::child::Server;
use crate::wire::{self, Socket};

const USERNAME: &str = "bench";
const PASSWORD: &str = "bench-password";

/// A data directory with one user, a token for its sessions and one for the fake driver.
pub(crate) struct Gateway {
    gsv: PathBuf,
    folder: TempDir,
    user_token: String,
    /// Logs in the fake driver.
    pub node_token: String,
}

impl Gateway {
    /// Sets a gateway up and stops it again. Whoever measures starts it anew, so that the memory that hashing
    /// the password took is in no result.
    pub(crate) async fn set_up(gsv: &Path) -> Result<Gateway> {
        let folder = tempfile::tempdir().context("make a data directory")?;
        let mut gateway =
            Gateway { gsv: gsv.into(), folder, user_token: String::new(), node_token: String::new() };
        let server = gateway.start()?;
        let made = gateway.make_account(server.address).await;
        made.with_context(|| server.last_words())?;
        server.stop()?;
        Ok(gateway)
    }

    async fn make_account(&mut self, address: SocketAddr) -> Result<()> {
        let mut socket = wire::open(address, "/ws", wire::idle()).await?;
        let setup = json!({"username": USERNAME, "password": PASSWORD, "node": {"deviceId": DEVICE}});
        let done = wire::call(&mut socket, "sys.setup", &setup).await?;
        self.node_token = text(&done, "/nodeToken/token")?;
        let login = wire::user_login("bench-setup", json!({"username": USERNAME, "password": PASSWORD}));
        wire::call(&mut socket, "sys.connect", &login).await?;
        let token = wire::call(&mut socket, "sys.token.create", &json!({"kind": "user"})).await?;
        self.user_token = text(&token, "/token/token")?;
        Ok(())
    }

    /// Starts it on a free port.
    pub(crate) fn start(&self) -> Result<Server> {
        Server::start(&mut self.command("127.0.0.1:0"), &self.log())
    }

    /// The command that starts it.
    pub(crate) fn command(&self, listen: &str) -> Command {
        let mut command = Command::new(&self.gsv);
        command.arg("serve").arg("--listen").arg(listen).arg("--data").arg(self.folder.path().join("data"));
        for (name, _value) in std::env::vars_os() {
            // What the person has set for their own gateway must not change the result.
            if name.to_string_lossy().starts_with("GSV_") || name == "RUST_LOG" || name == "RUST_BACKTRACE" {
                command.env_remove(name);
            }
        }
        command
    }

    /// Opens a socket and logs the user in.
    pub(crate) async fn log_in(
        &self,
        address: SocketAddr,
        client_id: &str,
        config: WebSocketConfig,
    ) -> Result<Socket> {
        let mut socket = wire::open(address, "/ws", config).await?;
        wire::call(&mut socket, "sys.connect", &self.login(client_id)).await?;
        Ok(socket)
    }

    /// Arguments of `sys.connect` with the user's token.
    pub(crate) fn login(&self, client_id: &str) -> Value {
        wire::user_login(client_id, json!({"username": USERNAME, "token": self.user_token}))
    }

    /// Whose the gateway is.
    pub(crate) fn username(&self) -> &'static str {
        USERNAME
    }

    /// Where git finds a repository of the user's, with a login.
    pub(crate) fn git_url(&self, address: SocketAddr, repo: &str) -> String {
        format!("http://{USERNAME}:{}@{address}/git/{repo}", self.user_token)
    }

    /// Its data directory.
    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// The user's home directory as it lies on disk.
    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().join("data/files/home").join(USERNAME)
    }

    /// Path of the binary under test.
    pub(crate) fn binary(&self) -> &Path {
        &self.gsv
    }

    /// Where its errors go.
    pub(crate) fn log(&self) -> PathBuf {
        self.folder.path().join("gateway.log")
    }
}

fn text(value: &Value, pointer: &str) -> Result<String> {
    let found = value.pointer(pointer).and_then(Value::as_str);
    found.map(String::from).with_context(|| format!("the answer has no {pointer}: {value}"))
}
