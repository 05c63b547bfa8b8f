//! Transcripts: files of frames that are sent and expected, played against a fresh gateway each. They are the examples
//! of the documentation, so what it shows is what happens.
//!
//! A file begins with a sentence. A line `alice -> {…}` is a frame that alice's socket sends, `alice <- {…}` one that
//! it receives: the answer with that id, the request of that call, or the signal of that name, whatever else comes in
//! between. What differs every time is written as a hole, `<time>`, `<id>` and so on; `<alice 1 /data/path>` in a frame
//! that is sent stands for what is at that place of a frame that came (by id, call or signal).
//! A line `laptop is online.` is for those who have nothing to say yet.
//! With `GSV_TRANSCRIPTS=refresh` what comes is written down instead of compared; a line `alice <- {"id":"1"}` is enough
//! to begin with.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use testkit::{Gateway, Peer};

/// One line of a file.
#[derive(Clone)]
enum Line {
    Text(String),
    Sent { who: String, frame: String },
    Came { who: String, frame: Value },
}

impl Line {
    fn parse(line: &str) -> Line {
        if let Some((who, frame)) = line.split_once(" -> ") {
            return Line::Sent { who: who.trim().to_string(), frame: frame.to_string() };
        }
        match line.split_once(" <- ") {
            Some((who, frame)) => {
                let frame = serde_json::from_str(frame).unwrap_or_else(|error| panic!("{error}: {line}"));
                Line::Came { who: who.trim().to_string(), frame }
            }
            None => Line::Text(line.to_string()),
        }
    }

    fn write(&self) -> String {
        match self {
            Line::Text(text) => format!("{text}\n"),
            Line::Sent { who, frame } => format!("{who} -> {frame}\n"),
            Line::Came { who, frame } => format!("{who} <- {}\n", shown(frame)),
        }
    }
}

/// A frame as people read it: what it is comes first.
fn shown(frame: &Value) -> String {
    let mut members = frame.as_object().cloned().unwrap_or_default();
    let first =
        ["type", "id", "call", "signal", "ok"].into_iter().filter_map(|key| members.remove_entry(key));
    let first: Vec<(String, Value)> = first.collect();
    let members = first.into_iter().chain(members);
    let members: Vec<String> = members.map(|(key, value)| format!("\"{key}\":{value}")).collect();
    format!("{{{}}}", members.join(","))
}

/// Who takes part, and what each was told.
struct Stage {
    gateway: Gateway,
    peers: BTreeMap<String, Peer>,
    came: BTreeMap<(String, String), Value>,
}

impl Stage {
    async fn for_file(name: &str) -> Stage {
        // Only a gateway that was not set up can be set up.
        let gateway = match name.starts_with("sys.setup") {
            true => Gateway::fresh().await,
            false => Gateway::set_up().await,
        };
        Stage { gateway, peers: BTreeMap::new(), came: BTreeMap::new() }
    }

    async fn peer(&mut self, who: &str) -> &mut Peer {
        if !self.peers.contains_key(who) {
            let peer = match who {
                "root" => self.gateway.root().await,
                "alice" => self.gateway.user().await,
                "laptop" => self.gateway.driver().await,
                "nobody" => self.gateway.peer().await,
                other => panic!("there is no {other} in transcripts"),
            };
            self.peers.insert(who.to_string(), peer);
        }
        self.peers.get_mut(who).unwrap()
    }

    /// Plays a line; what came, as it is to be written down.
    async fn play(&mut self, line: &Line) -> Option<Value> {
        match line {
            Line::Text(text) => {
                if let Some(who) = text.strip_suffix(" is online.") {
                    self.peer(who).await;
                }
                None
            }
            Line::Sent { who, frame } => {
                let frame = self.fill(frame);
                self.peer(who).await.send_text(frame).await;
                None
            }
            Line::Came { who, frame } => {
                let key = key_of(frame);
                let came = self.peer(who).await.next_where(|other| key_of(other) == key).await;
                self.came.insert((who.clone(), key), came.clone());
                Some(with_holes("", came))
            }
        }
    }

    /// A frame with what came before in its holes.
    fn fill(&self, frame: &str) -> String {
        let (mut out, mut rest) = (String::new(), frame);
        while let Some((before, after)) = rest.split_once("\"<") {
            let (hole, after) = after.split_once(">\"").unwrap_or_else(|| panic!("an open hole: {frame}"));
            let mut words = hole.splitn(3, ' ');
            let mut word = || words.next().unwrap_or_default().to_string();
            let (who, key, place) = (word(), word(), word());
            let found = self.came.get(&(who, key)).and_then(|frame| frame.pointer(&place));
            let found = found.unwrap_or_else(|| panic!("nothing is at <{hole}>"));
            out.push_str(before);
            out.push_str(&found.to_string());
            rest = after;
        }
        out + rest
    }
}

/// What a frame is asked for by: the id of an answer, the call of a request, the name of a signal.
fn key_of(frame: &Value) -> String {
    let member = match frame["type"].as_str() {
        Some("req") => "call",
        Some("sig") => "signal",
        _ => "id",
    };
    frame[member].as_str().unwrap_or_default().to_string()
}

/// A value with holes where it differs every time.
fn with_holes(name: &str, value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let request = members.get("type") == Some(&json!("req"));
            let hole = |(key, value): (String, Value)| {
                // The gateway names the requests that it sends.
                let inner = match request && key == "id" {
                    true => json!("<id>"),
                    false => with_holes(&key, value),
                };
                (key, inner)
            };
            Value::Object(members.into_iter().map(hole).collect::<Map<_, _>>())
        }
        Value::Array(items) => items.into_iter().map(|item| with_holes(name, item)).collect(),
        Value::Number(number) => match name {
            "seq" | "from" | "to" => json!("<seq>"),
            "pid" => json!("<pid>"),
            "durationMs" => json!("<time>"),
            _ if number.as_i64().is_some_and(|number| number > 1_600_000_000_000) => json!("<time>"),
            _ => Value::Number(number),
        },
        Value::String(text) => Value::String(match hole_of(name, &text) {
            Some(hole) => hole.to_string(),
            None => text,
        }),
        other => other,
    }
}

fn hole_of(name: &str, text: &str) -> Option<&'static str> {
    let is_uuid = text.len() == 36 && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    match name {
        "token" if text.starts_with("gsv_") => Some("<token>"),
        "tokenPrefix" => Some("<token>"),
        "sessionId" if text.starts_with("sh_") => Some("<session>"),
        _ if is_uuid => Some("<id>"),
        _ => None,
    }
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts")
}

fn files() -> Vec<(String, PathBuf)> {
    let entries = std::fs::read_dir(directory()).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        entries.map(|path| (path.file_stem().unwrap().to_string_lossy().into_owned(), path)).collect();
    files.sort();
    files
}

async fn play(name: &str, path: &Path, refresh: bool) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let mut stage = Stage::for_file(name).await;
    let (mut written, mut wrong) = (String::new(), Vec::new());
    for line in text.lines().map(Line::parse) {
        let came = stage.play(&line).await;
        let now = match (&line, came) {
            (Line::Came { who, frame }, Some(came)) => {
                if *frame != came {
                    wrong.push(format!("{name}: expected {frame}\n{name}:     came {came}"));
                }
                Line::Came { who: who.clone(), frame: came }
            }
            _ => line,
        };
        written.push_str(&now.write());
    }
    if refresh {
        std::fs::write(path, written).unwrap();
        wrong.clear();
    }
    wrong
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transcripts_are_what_happens() {
    let refresh = std::env::var("GSV_TRANSCRIPTS").is_ok_and(|how| how == "refresh");
    let mut wrong = Vec::new();
    for (name, path) in files() {
        wrong.extend(play(&name, &path, refresh).await);
    }
    assert!(wrong.is_empty(), "{}\nrefresh with GSV_TRANSCRIPTS=refresh", wrong.join("\n"));
}

/// Calls without a transcript. The list shrinks; what is added to the tables gets a transcript.
const WITHOUT: &str = include_str!("../transcripts.todo");

#[test]
fn every_call_has_a_transcript() {
    let played: String = files().iter().map(|(_, path)| std::fs::read_to_string(path).unwrap()).collect();
    let shows =
        |call: &str| played.contains(&format!(" -> {{\"type\":\"req\",\"id\":\"1\",\"call\":\"{call}\""));
    for (name, path) in files() {
        let call = protocol::calls().map(|spec| spec.name).find(|call| name.starts_with(call));
        assert!(call.is_some(), "{name}: a transcript is named for its call");
        let text = std::fs::read_to_string(path).unwrap();
        let first = text.lines().next().unwrap_or_default();
        assert!(first.ends_with('.') && !first.contains(" -> "), "{name}: it begins with a sentence");
    }
    let without: Vec<&str> = protocol::calls().map(|spec| spec.name).filter(|call| !shows(call)).collect();
    let listed: Vec<&str> = WITHOUT.lines().collect();
    assert_eq!(without, listed, "tests/transcripts.todo lists the calls without a transcript");
}
