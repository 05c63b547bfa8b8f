//! Benchmark fixture with agents: the model is in this program, and one socket talks to many processes.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::child::Server;
use crate::gateway::Gateway;
use crate::model::Model;
use crate::wire::{self, Socket};

/// How long nothing at all may happen.
const LIMIT: Duration = Duration::from_secs(60);
/// A conversation is cleared after so many turns, so that the model gets no longer and longer requests.
const TURNS_KEPT: usize = 10;

/// A running gateway whose agents ask the model of this program.
pub(crate) struct Agents {
    /// The data directory and who may log in.
    pub set_up: Gateway,
    /// The running program.
    pub server: Server,
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

    /// A socket with so many processes.
    pub(crate) async fn crowd(&self, name: &str, processes: usize) -> Result<Crowd> {
        let mut login = self.set_up.login(name);
        login["streams"] = json!("compact");
        let mut socket = wire::open(self.server.address, "/ws", wire::busy()).await?;
        wire::call(&mut socket, "sys.connect", &login).await?;
        let mut crowd = Crowd { socket, pids: Vec::new(), said: vec![0; processes] };
        for _ in 0..processes {
            let spawned = wire::call(&mut crowd.socket, "proc.spawn", &json!({ "profile": "task" })).await?;
            crowd.pids.push(spawned["pid"].as_str().context("proc.spawn gave no pid")?.to_string());
        }
        Ok(crowd)
    }
}

/// A socket and the processes it talks to.
pub(crate) struct Crowd {
    socket: Socket,
    pids: Vec<String>,
    /// Turns since each conversation was cleared.
    said: Vec<usize>,
}

impl Crowd {
    /// Talks to all processes at once until so many turns are done; every event of an answer is shown to `seen`.
    pub(crate) async fn talk(
        &mut self,
        message: &str,
        turns: usize,
        mut seen: impl FnMut(&str),
    ) -> Result<()> {
        let places: HashMap<String, usize> =
            self.pids.iter().enumerate().map(|(place, pid)| (pid.clone(), place)).collect();
        let (mut left, mut open) = (turns, 0);
        for place in 0..self.pids.len().min(turns) {
            self.say(place, message).await?;
            left -= 1;
            open += 1;
        }
        while open > 0 {
            let next = tokio::time::timeout(LIMIT, self.socket.next()).await.context("nothing happens")?;
            let Some(next) = next else { bail!("the socket closed") };
            let Message::Text(text) = next? else { continue };
            if text.starts_with(r#"{"type":"res""#) {
                if !text.contains(r#""ok":true,"data":{"ok":true"#) {
                    bail!("a call was refused: {text}");
                }
                if let Some(place) = cleared(&text) {
                    self.said[place] = 0;
                    self.say(place, message).await?;
                }
            } else if text.contains(r#""signal":"proc.run.stream""#) {
                seen(&text);
            } else if text.contains(r#""signal":"proc.run.finished""#) {
                let frame: Value = serde_json::from_str(&text)?;
                let payload = &frame["payload"];
                if payload["status"] != "ok" {
                    bail!("a run failed: {text}");
                }
                open -= 1;
                let place = payload["pid"].as_str().and_then(|pid| places.get(pid)).copied();
                let Some(place) = place.filter(|_| left > 0) else { continue };
                left -= 1;
                open += 1;
                if self.said[place] >= TURNS_KEPT {
                    let args = json!({ "pid": self.pids[place], "archive": false });
                    let request = wire::request(&format!("r{place}"), "proc.conversation.reset", &args);
                    self.socket.send(Message::text(request)).await?;
                } else {
                    self.say(place, message).await?;
                }
            }
        }
        Ok(())
    }

    async fn say(&mut self, place: usize, message: &str) -> Result<()> {
        self.said[place] += 1;
        let args = json!({ "pid": self.pids[place], "message": message });
        self.socket.send(Message::text(wire::request(&format!("s{place}"), "proc.send", &args))).await?;
        Ok(())
    }
}

/// The process whose conversation was cleared, if the answer says that.
fn cleared(answer: &str) -> Option<usize> {
    let id = wire::frame_id(answer.as_bytes())?;
    std::str::from_utf8(id).ok()?.strip_prefix('r')?.parse().ok()
}
