//! Property test of replay: whatever connections, readers and runs do, a client that comes back gets exactly what it
//! missed, or is told that it cannot.

use std::collections::BTreeMap;

use proptest::prelude::*;
use protocol::sys::{ResumeStatus, Streams};
use serde_json::{Value, json};

use super::stage::{Client, Stage};

const CLIENTS: usize = 3;
const RUNS: usize = 3;

#[derive(Clone, Debug)]
enum Act {
    /// A signal for everybody.
    Change,
    /// A signal of a run that is no event.
    Tool(usize),
    /// So many events of a run.
    Speak(usize, usize),
    /// Runs speak in turns, so many times.
    Babble(usize),
    /// A client reads so many frames.
    Read(usize, usize),
    /// Its socket breaks with so many of the newest frames on their way.
    Break(usize, usize),
    /// It comes back.
    Return(usize),
    /// It starts a run.
    Start(usize, usize),
}

fn act(babble: usize) -> impl Strategy<Value = Act> {
    prop_oneof![
        1 => Just(Act::Change),
        1 => (0..RUNS).prop_map(Act::Tool),
        3 => (0..RUNS, 1..6usize).prop_map(|(run, count)| Act::Speak(run, count)),
        2 => (1..=babble).prop_map(Act::Babble),
        3 => (0..CLIENTS, 1..8usize).prop_map(|(client, count)| Act::Read(client, count)),
        1 => (0..CLIENTS, 0..4usize).prop_map(|(client, lost)| Act::Break(client, lost)),
        2 => (0..CLIENTS).prop_map(Act::Return),
        1 => (0..RUNS, 0..CLIENTS).prop_map(|(run, client)| Act::Start(run, client)),
    ]
}

/// One signal, or deltas of one block that follow each other in their run.
#[derive(Clone, Debug, PartialEq)]
struct Seen {
    seq: u64,
    what: String,
    delta: Option<String>,
}

/// What was seen of each run, and of everything else; the order across runs is that of the places.
type Sight = BTreeMap<String, Vec<Seen>>;

fn see(sight: &mut Sight, run: &str, seen: Seen) {
    let line = sight.entry(run.to_string()).or_default();
    if let (Some(Seen { seq, what, delta: Some(delta) }), Some(more)) = (line.last_mut(), &seen.delta)
        && *what == seen.what
    {
        *seq = seen.seq;
        delta.push_str(more);
        return;
    }
    line.push(seen);
}

/// A signal that was sent.
struct Sent {
    run: String,
    seen: Seen,
    only: Option<usize>,
}

struct Watcher {
    client: Client,
    is_there: bool,
    /// The place from which on it must have seen everything.
    since: u64,
    /// What it was sent again: everything after the first place, up to the second.
    replayed: Vec<(u64, u64)>,
    /// Frames that arrived for sure since then.
    have: Vec<Value>,
    resumed: bool,
}

struct Play {
    stage: Stage,
    watchers: Vec<Watcher>,
    sent: Vec<Sent>,
    /// Which client each run was started by, and on which of its connections.
    starters: BTreeMap<usize, (usize, u64)>,
    newest: u64,
    refreshed: usize,
    texts: usize,
}

impl Play {
    fn new() -> Play {
        let stage = Stage::new();
        let watch = |n: usize| {
            let mode = if n == 0 { Streams::Full } else { Streams::Compact };
            let client = stage.client(&format!("c{n}"), mode);
            Watcher {
                since: client.last_seq,
                client,
                is_there: true,
                replayed: Vec::new(),
                have: Vec::new(),
                resumed: false,
            }
        };
        let watchers: Vec<_> = (0..CLIENTS).map(watch).collect();
        let newest = watchers[0].since;
        let (sent, starters) = (Vec::new(), BTreeMap::new());
        let mut play = Play { stage, watchers, sent, starters, newest, refreshed: 0, texts: 0 };
        (0..RUNS).for_each(|run| play.give_words(run));
        play
    }

    fn name(&self, run: usize) -> String {
        format!("r{run}-of-{}", self.stage.uid)
    }

    fn give_words(&mut self, run: usize) {
        self.texts += 1;
        let (name, text) = (self.name(run), self.texts);
        self.stage.say(&name, (0..40).map(|n| format!("{run}.{text}.{n} ")).collect());
    }

    /// Who alone gets signals of a run.
    fn starter(&self, run: usize) -> Option<usize> {
        let (client, number) = *self.starters.get(&run)?;
        let watcher = &self.watchers[client];
        (watcher.is_there && watcher.client.connection.number == number).then_some(client)
    }

    fn log(&mut self, run: Option<usize>, what: &str, delta: Option<String>) {
        self.newest += 1;
        let only = run.and_then(|run| self.starter(run));
        let run = run.map_or_else(String::new, |run| self.name(run));
        self.sent.push(Sent { run, seen: Seen { seq: self.newest, what: what.to_string(), delta }, only });
    }

    fn speak(&mut self, run: usize) {
        let name = self.name(run);
        let said = self.stage.speak(&name).unwrap_or_else(|| {
            self.give_words(run);
            self.stage.speak(&name).unwrap()
        });
        self.log(Some(run), said["type"].as_str().unwrap(), said["delta"].as_str().map(str::to_string));
    }

    fn act(&mut self, act: &Act) {
        match *act {
            Act::Change => {
                self.stage.text("proc.changed", None, json!({}));
                self.log(None, "proc.changed", None);
            }
            Act::Tool(run) => {
                let name = self.name(run);
                self.stage.text("proc.run.tool.started", Some(&name), json!({ "runId": name }));
                self.log(Some(run), "proc.run.tool.started", None);
            }
            Act::Speak(run, count) => (0..count).for_each(|_| self.speak(run)),
            Act::Babble(count) => (0..count).for_each(|_| (0..RUNS).for_each(|run| self.speak(run))),
            Act::Read(client, count) => {
                let watcher = &mut self.watchers[client];
                if watcher.is_there {
                    watcher.client.read(count);
                }
            }
            Act::Break(client, lost) => {
                let watcher = &mut self.watchers[client];
                if std::mem::take(&mut watcher.is_there) {
                    self.stage.disconnect(&mut watcher.client, lost);
                    watcher.have.append(&mut watcher.client.received);
                }
            }
            Act::Return(client) => {
                let watcher = &mut self.watchers[client];
                if !std::mem::replace(&mut watcher.is_there, true) {
                    watcher.resumed = true;
                    watcher.replayed.push((watcher.client.last_seq, self.newest));
                    if self.stage.reconnect(&mut watcher.client) == ResumeStatus::Refresh {
                        self.refreshed += 1;
                        watcher.since = watcher.client.last_seq;
                        watcher.have.clear();
                        watcher.replayed.clear();
                    }
                }
            }
            Act::Start(run, client) => {
                if self.watchers[client].is_there {
                    let name = self.name(run);
                    self.stage.route(&name, &self.watchers[client].client);
                    self.starters.insert(run, (client, self.watchers[client].client.connection.number));
                }
            }
        }
    }

    /// Everybody comes back and reads to the end; then everybody has seen what they had to see.
    fn end(mut self) -> usize {
        for client in 0..CLIENTS {
            self.act(&Act::Return(client));
            self.act(&Act::Read(client, usize::MAX));
            let watcher = &mut self.watchers[client];
            watcher.have.append(&mut watcher.client.received);
        }
        for (number, watcher) in self.watchers.iter().enumerate() {
            let (mut expected, mut got) = (Sight::new(), Sight::new());
            // What went to another connection alone comes with the rest of what was missed.
            let again = |seq| watcher.replayed.iter().any(|(after, to)| (*after + 1..=*to).contains(&seq));
            let mine = |sent: &&Sent| sent.only.is_none_or(|only| only == number) || again(sent.seen.seq);
            for sent in self.sent.iter().filter(mine).filter(|sent| sent.seen.seq > watcher.since) {
                see(&mut expected, &sent.run, sent.seen.clone());
            }
            for frame in &watcher.have {
                see(&mut got, frame["payload"]["runId"].as_str().unwrap_or(""), seen(frame));
            }
            assert_eq!(got, expected, "client {number}");
            // Of these it does not know all of the text.
            let elsewhere = |sent: &&Sent| sent.only.is_some_and(|only| only != number);
            let elsewhere: Vec<_> =
                self.sent.iter().filter(elsewhere).map(|sent| sent.run.as_str()).collect();
            check_partials(&watcher.have, &elsewhere, watcher.resumed);
        }
        self.refreshed
    }
}

fn seen(frame: &Value) -> Seen {
    let event = &frame["payload"]["event"];
    let what = event["type"].as_str().unwrap_or_else(|| frame["signal"].as_str().unwrap());
    Seen {
        seq: frame["seq"].as_u64().unwrap(),
        what: what.to_string(),
        delta: event["delta"].as_str().map(str::to_string),
    }
}

/// Where there is a `partial`, it has at least the text of the deltas up to there; exactly that without a replay.
fn check_partials(frames: &[Value], except: &[&str], resumed: bool) {
    let mut texts: BTreeMap<&str, String> = BTreeMap::new();
    for frame in frames {
        let event = &frame["payload"]["event"];
        let run = frame["payload"]["runId"].as_str().filter(|run| !except.contains(run));
        let Some(run) = run else { continue };
        match event["type"].as_str() {
            Some("start") => drop(texts.insert(run, String::new())),
            Some("text_delta") => {
                let Some(text) = texts.get_mut(run) else { continue };
                text.push_str(event["delta"].as_str().unwrap());
                if let Some(partial) = event["partial"]["content"][0]["text"].as_str() {
                    assert!(partial.starts_with(text.as_str()));
                    assert!(resumed || partial == text);
                }
            }
            _ => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Short lines: deltas are merged with the last that waits only, and every place can be resumed from.
    #[test]
    fn a_client_that_comes_back_gets_exactly_what_it_missed(acts in prop::collection::vec(act(2), 0..60)) {
        let mut play = Play::new();
        for act in &acts {
            play.act(act);
            let full = play.watchers.iter().any(|watcher| {
                watcher.client.waiting().0 + 20 > base::limits::signal::WAITING_MANY
            });
            if full {
                (0..CLIENTS).for_each(|client| play.act(&Act::Read(client, usize::MAX)));
            }
        }
        // Whoever was away for long may come back to a long line.
        let waiting = play.sent.len() > base::limits::signal::WAITING_MANY;
        let refreshed = play.end();
        prop_assert!(refreshed == 0 || waiting);
    }

    /// Long lines: deltas are merged past other runs, and a client is told when it cannot go on.
    #[test]
    fn a_slow_client_gets_all_of_the_text_or_is_told(acts in prop::collection::vec(act(40), 0..60)) {
        let mut play = Play::new();
        acts.iter().for_each(|act| play.act(act));
        play.end();
    }
}
