//! Agents survive `kill -9` at any step: the real binary is killed at each of its writes in turn, while a scripted model,
//! a device and a person who approves are at work. Afterwards nothing accepted is lost, no run is stuck, and no effect
//! happened twice.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use base::clock::Clock;
use serde_json::{Value, json};
use testkit::Peer;
use testkit::fake_model::{Received, Reply, Server, Turn, chat_reply};

use crate::world::{PATIENCE, World};

/// Worlds that are swept at the same time, each with another scenario.
const WORLDS: u64 = 4;
/// How long the sweep goes on unless `GSV_SWEEP_SECONDS` says otherwise.
const SWEEP: Duration = Duration::from_secs(45);

/// A small generator of numbers: the same seed gives the same scenario.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// One tool call of the scripted model.
struct Step {
    id: String,
    tool: &'static str,
    args: Value,
    /// The file that gets a line each time the call takes effect.
    log: Option<&'static str>,
}

/// What the model does in a scenario, turn by turn. `tag` makes its effects unlike those of any other run.
fn scenario(seed: u64, tag: &str) -> Vec<Vec<Step>> {
    let mut dice = Dice(seed + 1);
    let turns = 2 + dice.roll(2);
    let step = |turn: u64, place: u64, kind: u64| {
        let id = format!("{tag}-{turn}-{place}");
        let shell = |input: String, target: &str| json!({ "input": input, "target": target });
        let (tool, args, log) = match kind {
            0 | 1 => ("Shell", shell(format!("echo {id} >> effects.log"), "desk"), Some("effects.log")),
            2 => {
                ("Shell", shell(format!("rm -f none; echo {id} >> effects.log"), "desk"), Some("effects.log"))
            }
            3 => ("Shell", shell(format!("echo {id} >> effects.log"), "gsv"), Some("native.log")),
            4 => ("Write", json!({ "path": format!("{id}.txt"), "content": id, "target": "desk" }), None),
            _ => ("Read", json!({ "path": "/no/such/file", "target": "desk" }), None),
        };
        Step { id, tool, args, log }
    };
    let mut script = Vec::new();
    for turn in 0..turns {
        let calls = 1 + dice.roll(3);
        script.push((0..calls).map(|place| step(turn, place, dice.roll(6))).collect());
    }
    script
}

/// The model: its next turn follows from what the request holds.
fn answer(request: &Received) -> Reply {
    let body = request.json();
    let messages = body["messages"].as_array().cloned().unwrap_or_default();
    let text = body.to_string();
    let Some(spec) = text.split("scenario ").nth(1) else { return chat_reply(&Turn::text("No scenario.")) };
    let mut words = spec.split(' ');
    let seed = words.next().unwrap_or_default().parse().unwrap_or(0);
    let tag = words.next().unwrap_or_default();
    let done = messages.iter().filter(|message| message["tool_calls"].is_array()).count();
    let turn = match scenario(seed, tag).into_iter().nth(done) {
        None => Turn::text("All done."),
        Some(steps) => steps
            .into_iter()
            .fold(Turn::new().say("Working. "), |turn, step| turn.call(&step.id, step.tool, step.args)),
    };
    chat_reply(&turn.tokens(10, 5))
}

/// A set-up gateway with a device, a model and alice's token.
pub struct Sweep {
    pub world: World,
    token: String,
    _model: Server,
}

/// What alice knows of a run that may have been cut short.
#[derive(Default)]
struct Known {
    pid: Option<String>,
    /// Messages that were acknowledged, with their run ids.
    accepted: Vec<(String, String)>,
}

impl Sweep {
    async fn set_up() -> Sweep {
        Sweep::with_model(answer).await
    }

    pub async fn with_model(answers: impl Fn(&Received) -> Reply + Send + Sync + 'static) -> Sweep {
        let model = Server::start(answers).await.unwrap();
        let world = World::with_device();
        let mut peer = Peer::open(&world.url()).await;
        let auth = json!({ "auth": { "username": "alice", "password": "alice-password" } });
        let login = peer.connect("user", "sweep-setup", auth).await.unwrap();
        let uid = login["identity"]["process"]["uid"].as_u64().unwrap();
        for (key, value) in [
            ("provider", "openai-chat"),
            ("model", "fake"),
            ("base_url", &model.base_url()),
            ("api_key", "k"),
        ] {
            let args = json!({ "key": format!("users/{uid}/ai/{key}"), "value": value });
            peer.call("sys.config.set", args).await.unwrap();
        }
        let token = peer.call("sys.token.create", json!({ "kind": "user" })).await.unwrap();
        let token = token["token"]["token"].as_str().unwrap().to_string();
        Sweep { world, token, _model: model }
    }

    pub async fn alice(&self) -> Option<Peer> {
        self.connect(json!({})).await.map(|(peer, _)| peer)
    }

    /// A socket of alice that goes on after a place; the answer's `resume`.
    pub async fn resume(&self, seq: u64) -> (Peer, Value) {
        let (peer, mut login) = self.connect(json!({ "resume": { "seq": seq } })).await.unwrap();
        (peer, login["resume"].take())
    }

    async fn connect(&self, mut args: Value) -> Option<(Peer, Value)> {
        let mut peer = Peer::try_open(&self.world.url()).await.ok()?;
        args["protocol"] = json!(1);
        args["auth"] = json!({ "username": "alice", "token": self.token });
        args["client"] = json!({ "id": "sweep", "version": "0", "platform": "linux", "role": "user" });
        let login = peer.try_call("sys.connect", args).await?.unwrap();
        Some((peer, login))
    }

    /// Waits until the gateway knows the device, or is gone.
    async fn device(&self, peer: &mut Peer) -> Option<()> {
        loop {
            let found = peer.try_call("sys.device.get", json!({ "deviceId": "desk" })).await?.unwrap();
            if found["device"]["online"] == true {
                return Some(());
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Starts the scenario; `None` when the gateway died on the way.
    async fn begin(&self, peer: &mut Peer, known: &mut Known, seed: u64, tag: &str) -> Option<()> {
        let spawned = peer.try_call("proc.spawn", json!({ "profile": "task" })).await?.unwrap();
        let pid = spawned["pid"].as_str().unwrap().to_string();
        known.pid = Some(pid.clone());
        for message in [format!("scenario {seed} {tag} please"), format!("and this too, {tag}")] {
            let args = json!({ "pid": pid, "message": message });
            let sent = peer.try_call("proc.send", args).await?.unwrap();
            known.accepted.push((message, sent["runId"].as_str().unwrap().to_string()));
        }
        Some(())
    }

    /// Approves what is asked until the process is idle; `None` when the gateway died on the way.
    async fn approve_until_idle(&self, peer: &mut Peer, pid: &str) -> Option<()> {
        let deadline = Clock::system().instant() + PATIENCE * 2;
        loop {
            let pending = peer.try_call("proc.approvals.pending", json!({ "pid": pid })).await?.unwrap();
            for request in pending["pending"].as_array().unwrap() {
                let args = json!({ "pid": pid, "requestId": request["requestId"], "decision": "approve" });
                // It may have been answered before the gateway died, and be listed no longer.
                let answered = peer.try_call("proc.hil", args).await?.unwrap();
                assert!(answered["ok"].is_boolean(), "{answered}");
            }
            let listed = peer.try_call("proc.list", json!({})).await?.unwrap();
            let all = listed["processes"].as_array().unwrap();
            let process = all.iter().find(|process| process["pid"] == pid).unwrap();
            if process["state"] == "idle" && process["queuedCount"].as_u64().unwrap_or(0) == 0 {
                return Some(());
            }
            assert!(Clock::system().instant() < deadline, "a run is stuck: {process}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// The next gateway dies too, at its first write: often that is what a device said when it was asked what became
    /// of a call.
    async fn die_once_more(&mut self, pid: &str, die_at: &str) {
        let listens = self.world.try_restart_gateway_with(&[("GSV_DIE_AT_WRITE", die_at)]);
        let lived = match self.alice().await.filter(|_| listens) {
            None => None,
            Some(mut peer) => self.approve_until_idle(&mut peer, pid).await,
        };
        if lived.is_some() {
            self.world.gateway.child.kill().unwrap();
        }
        self.world.gateway.child.wait().unwrap();
    }

    /// Plays the scenario with a gateway that dies at the given write. False when it lived to the end.
    async fn play(&mut self, seed: u64, tag: &str, die_at: &str) -> bool {
        self.world.restart_gateway_with(&[("GSV_DIE_AT_WRITE", die_at)]);
        let mut known = Known::default();
        let died = match self.alice().await {
            None => true,
            Some(mut peer) => {
                let played = async {
                    self.device(&mut peer).await?;
                    self.begin(&mut peer, &mut known, seed, tag).await?;
                    let pid = known.pid.clone()?;
                    self.approve_until_idle(&mut peer, &pid).await
                };
                played.await.is_none()
            }
        };
        if died {
            self.world.gateway.child.wait().unwrap();
            if let Some(pid) = &known.pid {
                self.die_once_more(pid, if die_at.starts_with("before") { "1" } else { "before:1" }).await;
            }
            self.world.restart_gateway();
        }
        let mut peer = self.alice().await.unwrap();
        if let Some(pid) = &known.pid {
            self.approve_until_idle(&mut peer, pid).await.unwrap();
            self.check(&mut peer, &known, seed, tag, die_at).await;
        }
        drop(peer);
        self.world.gateway.child.kill().unwrap();
        self.world.gateway.child.wait().unwrap();
        died
    }

    async fn check(&self, peer: &mut Peer, known: &Known, seed: u64, tag: &str, die_at: &str) {
        let place = format!("scenario {seed}, killed at write {die_at}");
        let pid = known.pid.as_deref().unwrap();
        let history = peer.call("proc.history", json!({ "pid": pid, "limit": 1000 })).await.unwrap();
        let messages = history["messages"].as_array().unwrap();
        let runs = peer.call("proc.cost", json!({ "pid": pid, "limit": 500 })).await.unwrap();
        for (message, run_id) in &known.accepted {
            let count =
                messages.iter().filter(|one| one["role"] == "user" && one["content"] == **message).count();
            assert_eq!(count, 1, "{place}: `{message}` is there {count} times: {history}");
            let run = runs["newest"].as_array().unwrap().iter().find(|run| run["runId"] == **run_id);
            let status = run.map(|run| run["status"].clone());
            assert_eq!(status, Some(json!("ok")), "{place}: the run of `{message}`: {runs}");
        }
        let results = results(messages);
        for message in messages.iter().filter(|message| message["role"] == "assistant") {
            for call in message["content"]["toolCalls"].as_array().into_iter().flatten() {
                let id = call["id"].as_str().unwrap();
                assert_eq!(results.get(id).map(Vec::len), Some(1), "{place}: results of {id}: {history}");
            }
        }
        for step in scenario(seed, tag).into_iter().flatten() {
            let (Some(log), Some(result)) = (step.log, results.get(&step.id)) else { continue };
            let times = self.effects(log, &step.id);
            let failed = result[0]["isError"] == true;
            assert!(times <= 1, "{place}: {} happened {times} times", step.id);
            assert!(failed || times == 1, "{place}: {} is told as done and was not: {history}", step.id);
        }
    }

    /// How often a call took effect.
    fn effects(&self, log: &str, id: &str) -> usize {
        let path = match log {
            "native.log" => self.world.home.path().join("data/files/home/alice/effects.log"),
            log => self.world.workspace().join(log),
        };
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.lines().filter(|line| *line == id).count()
    }
}

/// The results of tool calls by the id of the call.
fn results(messages: &[Value]) -> HashMap<String, Vec<Value>> {
    let mut found: HashMap<String, Vec<Value>> = HashMap::new();
    for message in messages.iter().filter(|message| message["role"] == "toolResult") {
        let id = message["content"]["toolCallId"].as_str().unwrap_or_default().to_string();
        found.entry(id).or_default().push(message["content"].clone());
    }
    found
}

async fn sweep(seed: u64, until: Instant) -> usize {
    let mut sweep = Sweep::set_up().await;
    sweep.world.gateway.child.kill().unwrap();
    sweep.world.gateway.child.wait().unwrap();
    let mut kills = 0;
    for round in 0.. {
        // Another scenario each round; the first goes through every write, so that none is left out for long.
        let seed = seed + round * WORLDS;
        for write in 1.. {
            let mut lived = true;
            for before in ["", "before:"] {
                let tag = format!("t{seed}-{write}{}", if before.is_empty() { "a" } else { "b" });
                let died = sweep.play(seed, &tag, &format!("{before}{write}")).await;
                kills += usize::from(died);
                lived &= !died;
                if Clock::system().instant() > until {
                    return kills;
                }
            }
            if lived {
                break;
            }
        }
    }
    kills
}

#[test]
fn killed_at_every_write_agents_lose_nothing_and_repeat_nothing() {
    let seconds = std::env::var("GSV_SWEEP_SECONDS").ok().and_then(|text| text.parse().ok());
    let until = Clock::system().instant() + seconds.map_or(SWEEP, Duration::from_secs);
    let sweep_alone = move |seed| {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        runtime.unwrap().block_on(sweep(seed, until))
    };
    let threads: Vec<_> = (0..WORLDS).map(|seed| std::thread::spawn(move || sweep_alone(seed))).collect();
    let kills: usize = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    assert!(kills >= WORLDS as usize * 4, "only {kills} kills: the sweep did not get anywhere");
    println!("{kills} kills");
}
