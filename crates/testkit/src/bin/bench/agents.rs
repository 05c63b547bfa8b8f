//! A gateway with agents, for the measures about them: the model is in this program, and each person has one socket.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::child::Server;
use crate::gateway::Gateway;
use crate::model::Model;
use crate::wire::{self, Socket};

/// How long one answer may take.
const LIMIT: Duration = Duration::from_secs(60);

/// A running gateway whose agents ask the model of this program.
pub(crate) struct Agents {
    /// The data directory and who may log in.
    pub set_up: Gateway,
    /// The running program.
    pub server: Server,
    /// The model.
    pub model: Model,
}

impl Agents {
    /// Sets everything up and starts it.
    pub(crate) async fn start(gsv: &std::path::Path) -> Result<Agents> {
        let set_up = Gateway::set_up(gsv).await.context("set up the gateway")?;
        let model = Model::start().await?;
        let server = set_up.start().context("start the gateway")?;
        let agents = Agents { set_up, server, model };
        agents.configure().await?;
        Ok(agents)
    }

    async fn configure(&self) -> Result<()> {
        let mut socket = self.set_up.log_in(self.server.address, "bench-agents", wire::idle()).await?;
        let uid = wire::call(&mut socket, "proc.list", &json!({})).await?;
        let uid =
            uid.pointer("/processes/0/uid").and_then(Value::as_u64).context("there is no init process")?;
        let base_url = self.model.base_url();
        for (key, value) in
            [("provider", "openai-chat"), ("model", "bench"), ("base_url", &base_url), ("api_key", "none")]
        {
            let args = json!({ "key": format!("users/{uid}/ai/{key}"), "value": value });
            wire::call(&mut socket, "sys.config.set", &args).await?;
        }
        Ok(())
    }

    /// A socket with a process of its own.
    pub(crate) async fn person(&self, number: usize) -> Result<Person> {
        let name = format!("bench-person-{number}");
        let login = {
            let mut login = self.set_up.login(&name);
            login["streams"] = json!("compact");
            login
        };
        let mut socket = wire::open(self.server.address, "/ws", wire::busy()).await?;
        wire::call(&mut socket, "sys.connect", &login).await?;
        let spawned = wire::call(&mut socket, "proc.spawn", &json!({ "profile": "task" })).await?;
        let pid = spawned["pid"].as_str().context("proc.spawn gave no pid")?.to_string();
        Ok(Person { socket, pid })
    }
}

/// A socket and its process.
pub(crate) struct Person {
    /// The socket.
    pub socket: Socket,
    /// The process.
    pub pid: String,
}

impl Person {
    /// Says something and waits for the end of the run; every event of the answer is shown to `seen`.
    pub(crate) async fn say(&mut self, message: &str, mut seen: impl FnMut(&str)) -> Result<()> {
        let args = json!({ "pid": self.pid, "message": message });
        let asking = async {
            self.socket.send(Message::text(wire::request("1", "proc.send", &args))).await?;
            let mut taken = false;
            let mut ended = false;
            loop {
                let Some(next) = self.socket.next().await else { bail!("the socket closed") };
                let Message::Text(text) = next? else { continue };
                if text.starts_with(r#"{"type":"res""#) {
                    if !text.contains(r#""ok":true"#) {
                        bail!("proc.send was refused: {text}");
                    }
                    taken = true;
                } else if text.contains(r#""signal":"proc.run.stream""#) {
                    seen(&text);
                } else if text.contains(r#""signal":"proc.run.finished""#) {
                    if !text.contains(r#""status":"ok""#) {
                        bail!("the run failed: {text}");
                    }
                    ended = true;
                }
                if taken && ended {
                    return Ok(());
                }
            }
        };
        tokio::time::timeout(LIMIT, asking).await.context("no answer from the agent")?
    }

    /// Forgets what was said, so that the conversation does not grow.
    pub(crate) async fn forget(&mut self) -> Result<()> {
        let args = json!({ "pid": self.pid, "archive": false });
        wire::call(&mut self.socket, "proc.conversation.reset", &args).await.map(drop)
    }
}
