//! Transcripts: files of frames that are sent and expected, played against a fresh gateway each. They are the examples
//! of the documentation, so what it shows is what happens.
//!
//! A file begins with a sentence. A line `alice -> {…}` is a frame that alice's socket sends, `alice <- {…}` one that
//! it receives: the answer with that id, the request of that call, or the signal of that name, whatever else comes in
//! between. What differs every time is written as a hole, `<time>`, `<id>` and so on; `<alice 1 /data/path>` in a frame
//! that is sent stands for what is at that place of a frame that came (by id, call or signal).
//! A line `alice => 7 text` is a binary message of transfer 7 that alice sends, `alice <= 7 text` one that she receives.
//! A line `laptop is online.` is for those who have nothing to say yet. What agents say is written beforehand, in lines
//! `The model says "…"`, `The model calls Read {…}` and `The model thinks.`, which is for ever.
//! With `GSV_TRANSCRIPTS=refresh` what comes is written down instead of compared; a line `alice <- {"id":"1"}` is enough
//! to begin with.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use protocol::transfer::{message, split};
use serde_json::{Map, Value, json};
use testkit::fake_model::{Piece, Reply, Server, Turn, chat_reply};
use testkit::{Gateway, Peer};
use tokio::task::JoinSet;

/// Transcripts that are played at the same time.
const AT_ONCE: usize = 4;

/// One line of a file.
#[derive(Clone, PartialEq)]
enum Line {
    Text(String),
    Sent { who: String, frame: String },
    Came { who: String, frame: Value },
    SentBytes { who: String, id: u32, text: String },
    CameBytes { who: String, id: u32, text: String },
}

impl Line {
    fn parse(line: &str) -> Line {
        if let Some((who, frame)) = line.split_once(" -> ") {
            return Line::Sent { who: who.trim().to_string(), frame: frame.to_string() };
        }
        if let Some((who, frame)) = line.split_once(" <- ") {
            let frame = serde_json::from_str(frame).unwrap_or_else(|error| panic!("{error}: {line}"));
            return Line::Came { who: who.trim().to_string(), frame };
        }
        let bytes = |mark: &str| {
            let (who, message) = line.split_once(mark)?;
            let (id, text) = message.split_once(' ').unwrap_or((message, ""));
            Some((who.to_string(), id.parse().ok()?, text.to_string()))
        };
        if let Some((who, id, text)) = bytes(" => ") {
            return Line::SentBytes { who, id, text };
        }
        match bytes(" <= ") {
            Some((who, id, text)) => Line::CameBytes { who, id, text },
            None => Line::Text(line.to_string()),
        }
    }

    fn write(&self) -> String {
        match self {
            Line::Text(text) => format!("{text}\n"),
            Line::Sent { who, frame } => format!("{who} -> {frame}\n"),
            Line::Came { who, frame } => format!("{who} <- {}\n", readable(frame)),
            Line::SentBytes { who, id, text } => format!("{who} => {}\n", format!("{id} {text}").trim_end()),
            Line::CameBytes { who, id, text } => format!("{who} <= {}\n", format!("{id} {text}").trim_end()),
        }
    }
}

/// A frame as people read it: what it is comes first.
fn readable(frame: &Value) -> String {
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
    _model: Option<Server>,
}

impl Stage {
    async fn for_file(name: &str, lines: &[Line]) -> Stage {
        // Only a gateway that was not set up can be set up.
        let gateway = match name.starts_with("sys.setup") {
            true => Gateway::fresh().await,
            false => Gateway::set_up().await,
        };
        let about_model = |line: &Line| matches!(line, Line::Text(text) if text.starts_with("The model "));
        let model = match lines.iter().any(about_model) {
            true => Some(model(&gateway, lines.iter().filter_map(turn_of).collect()).await),
            false => None,
        };
        Stage { gateway, peers: BTreeMap::new(), came: BTreeMap::new(), _model: model }
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
    async fn play(&mut self, line: &Line) -> Option<Line> {
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
                Some(Line::Came { who: who.clone(), frame: with_holes("", came) })
            }
            Line::SentBytes { who, id, text } => {
                self.peer(who).await.send_binary(message(*id, text.as_bytes())).await;
                None
            }
            Line::CameBytes { who, .. } => {
                let came = self.peer(who).await.binary().await;
                let (id, text) = split(&came).unwrap();
                let text = String::from_utf8(text.to_vec()).unwrap();
                Some(Line::CameBytes { who: who.clone(), id, text })
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

/// What the model does, if a line says so.
fn turn_of(line: &Line) -> Option<Reply> {
    let Line::Text(text) = line else { return None };
    let says = text.strip_prefix("The model says \"").and_then(|rest| rest.strip_suffix('"'));
    let turn = match (says, text.strip_prefix("The model calls ")) {
        (Some(words), _) => Turn::text(words),
        (None, Some(call)) => {
            let (tool, args) = call.split_once(' ').unwrap();
            Turn::tool(&format!("call-{tool}"), tool, serde_json::from_str(args).unwrap())
        }
        (None, None) if text == "The model thinks." => Turn::new().think("…").piece(Piece::Hang),
        (None, None) => return None,
    };
    Some(chat_reply(&turn.tokens(10, 5)))
}

/// A model that gives these answers, and hears and speaks; the gateway is told of it.
async fn model(gateway: &Gateway, turns: Vec<Reply>) -> Server {
    let turns = Mutex::new(turns.into_iter());
    let model = Server::start(move |request| match request.path.as_str() {
        "/v1/audio/transcriptions" => Reply::json(200, json!({ "text": "hello", "language": "en" })),
        "/v1/audio/speech" => Reply::cut("audio/mpeg", "sound", usize::MAX),
        _ => turns.lock().unwrap().next().unwrap_or_else(|| Reply::json(500, json!({}))),
    });
    let model = model.await.unwrap();
    let mut root = gateway.root().await;
    let base_url = model.base_url();
    for (key, value) in [
        ("provider", "openai-chat"),
        ("input", "text,image"),
        ("model", "example"),
        ("base_url", &base_url[..]),
        ("api_key", "secret"),
        ("transcription/model", "ears"),
        ("transcription/base_url", &base_url[..]),
        ("transcription/api_key", "secret"),
        ("speech/model", "voice"),
        ("speech/base_url", &base_url[..]),
        ("speech/api_key", "secret"),
    ] {
        let args = json!({ "key": format!("config/ai/{key}"), "value": value });
        root.call("sys.config.set", args).await.unwrap();
    }
    model
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
            "durationMs" | "authorTime" | "commitTime" => json!("<time>"),
            // Follows from the length of the prompt.
            "estimatedInputTokens" => json!("<tokens>"),
            _ if number.as_i64().is_some_and(|number| number > 1_600_000_000_000) => json!("<time>"),
            _ => Value::Number(number),
        },
        Value::String(text) => Value::String(match hole_of(name, &text) {
            Some(hole) => hole.to_string(),
            None => without_hashes(&without_ids(&text)),
        }),
        other => other,
    }
}

fn hole_of(name: &str, text: &str) -> Option<&'static str> {
    match name {
        "token" if text.starts_with("gsv_") => Some("<token>"),
        "tokenPrefix" => Some("<token>"),
        "authorizationUrl" => Some("<url>"),
        "serverId" if text.starts_with("mcp_") => Some("<id>"),
        "sessionId" if text.starts_with("sh_") => Some("<session>"),
        _ => None,
    }
}

/// A text with holes in the place of random ids.
fn without_ids(text: &str) -> String {
    const LENGTH: usize = 36;
    let is_id = |at: usize| {
        let id = text.as_bytes().get(at..at + LENGTH);
        id.is_some_and(|id| {
            id.iter().enumerate().all(|(place, byte)| match place {
                8 | 13 | 18 | 23 => *byte == b'-',
                _ => byte.is_ascii_hexdigit(),
            })
        })
    };
    let (mut out, mut from) = (String::new(), 0);
    while let Some(at) = (from..text.len()).find(|at| is_id(*at)) {
        out.push_str(&text[from..at]);
        out.push_str("<id>");
        from = at + LENGTH;
    }
    out + &text[from..]
}

/// A text with holes in the place of git's hashes, which follow from the time.
fn without_hashes(text: &str) -> String {
    let words = text.split_inclusive(|c: char| !c.is_ascii_hexdigit());
    let without = |word: &str| {
        let hash = word.trim_end_matches(|c: char| !c.is_ascii_hexdigit());
        let is_hash = hash.len() == 40 && hash.bytes().any(|byte| byte != b'0');
        if is_hash { word.replacen(hash, "<hash>", 1) } else { word.to_string() }
    };
    words.map(without).collect()
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
    let lines: Vec<Line> = text.lines().map(Line::parse).collect();
    let mut stage = Stage::for_file(name, &lines).await;
    let (mut written, mut wrong) = (String::new(), Vec::new());
    for line in lines {
        let now = stage.play(&line).await.unwrap_or_else(|| line.clone());
        if now != line {
            wrong.push(format!("{name}: expected {}{name}:     came {}", line.write(), now.write()));
        }
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
    let (mut files, mut playing, mut wrong) = (files().into_iter(), JoinSet::new(), Vec::new());
    loop {
        while playing.len() < AT_ONCE
            && let Some((name, path)) = files.next()
        {
            playing.spawn(async move { play(&name, &path, refresh).await });
        }
        let Some(played) = playing.join_next().await else { break };
        wrong.extend(played.unwrap());
    }
    assert!(wrong.is_empty(), "{}\nrefresh with GSV_TRANSCRIPTS=refresh", wrong.join("\n"));
}

#[test]
fn every_call_that_is_built_has_a_transcript() {
    let played: String = files().iter().map(|(_, path)| std::fs::read_to_string(path).unwrap()).collect();
    let shown: BTreeSet<&str> = played
        .lines()
        .filter_map(|line| line.split_once(" -> {\"type\":\"req\",\"id\":\"")?.1.split_once("\"call\":\""))
        .filter_map(|(_, rest)| Some(rest.split_once('"')?.0))
        .collect();
    for (name, path) in files() {
        let call = protocol::calls().map(|spec| spec.name).find(|call| name.starts_with(call));
        assert!(call.is_some(), "{name}: a transcript is named for its call");
        let text = std::fs::read_to_string(path).unwrap();
        let first = text.lines().next().unwrap_or_default();
        assert!(first.ends_with('.') && !first.contains(" -> "), "{name}: it begins with a sentence");
    }
    let without: BTreeSet<&str> =
        protocol::calls().map(|spec| spec.name).filter(|call| !shown.contains(call)).collect();
    let unbuilt: BTreeSet<&str> = kernel::not_implemented().into_iter().collect();
    assert_eq!(without, unbuilt, "only calls that answer 501 are without a transcript");
}
