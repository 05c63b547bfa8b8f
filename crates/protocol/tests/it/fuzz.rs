//! Mutation fuzzer for everything that reads bytes from a socket. It must never panic, and cutting members out of raw
//! JSON must agree with doing the same on decoded values.
//!
//! Runs a few seconds; `GSV_FUZZ_SECONDS` lengthens it and `GSV_FUZZ_SEED` repeats a run.

use std::time::Duration;

use base::clock::Clock;
use protocol::args::Members;
use protocol::frame::{self, Frame};
use protocol::{capability, transfer};
use serde_json::Value;

const SECONDS: u64 = 5;

/// Real frames and arguments to start from.
const CORPUS: &[&str] = &[
    r#"{"type":"req","id":"1","call":"sys.connect","args":{"protocol":1,"client":{"id":"c","version":"0.1.0","platform":"linux","role":"user"},"auth":{"username":"alice","password":"secret"}}}"#,
    r#"{"type":"req","id":"a\u0062\n","call":"fs.read","args":{"target":"macbook","path":"/home/alice/\"x\"","offset":0,"limit":1e3}}"#,
    r#"{"type":"req","id":"2","call":"shell.exec","args":{"sessionId":"sh_01","input":"y\n","target":null}}"#,
    r#"{ "args" : { "target" : "a" , "n": -0.50, "deep": {"target":[1, 2, {"x":"\ud83d\ude00"}]}} , "type":"req" , "id":"x","call":"fs.write" }"#,
    r#"{"type":"res","id":"1","ok":true,"data":{"ok":true,"path":"/x","size":18446744073709551615}}"#,
    r#"{"type":"res","id":"1","ok":false,"error":{"code":404,"message":"no","details":{"a":[]},"retryable":false}}"#,
    r#"{"type":"sig","signal":"proc.run.stream","payload":{"event":{"type":"text_delta","delta":"hé"}},"seq":3}"#,
    r#"{"target":"gsv","path":"x","path":"y","":0,"t\u0061rget":"twice"}"#,
    r#"{"type":"req","type":"sig","id":"1","id":2,"signal":"s","call":"a.b","args":[]}"#,
    r#"{"transferId":7,"sha256":"00","mode":420,"big":123456789012345678901234567890,"e":1E-7}"#,
];

/// Pieces that make trouble when they turn up in the middle of something.
const TOKENS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "\"",
    "\\",
    ",",
    ":",
    "null",
    "true",
    "-",
    "1e999",
    "0x",
    "\\u0000",
    "\\ud800",
    "\u{0}",
    "\u{feff}",
    "é",
    "😀",
    "\"target\":",
    "\"type\":\"req\"",
    "*",
    ".",
    "fs.*",
    " ",
    "\n",
    "[[[[[[[[[[[[[[[[",
];

#[test]
fn hostile_input_never_panics_and_rewriting_agrees_with_decoding() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seed = number("GSV_FUZZ_SEED").unwrap_or_else(|| u64::from(std::process::id()) << 17 | 0x9e37_79b9);
    let limit = Duration::from_secs(number("GSV_FUZZ_SECONDS").unwrap_or(SECONDS));
    let mut random = Random(seed | 1);
    let start = Clock::system().instant();
    let mut rounds = 0u64;
    while rounds == 0 || start.elapsed() < limit {
        for _ in 0..256 {
            let bytes = mutated(&mut random);
            let outcome = std::panic::catch_unwind(|| check(&bytes));
            assert!(outcome.is_ok(), "seed {seed}, round {rounds}: {:?}", String::from_utf8_lossy(&bytes));
            rounds += 1;
        }
    }
    assert!(rounds >= 256);
}

#[test]
fn the_corpus_itself_is_read() {
    let frames = CORPUS.iter().filter(|text| frame::parse(text).is_ok()).count();
    assert_eq!(frames, 8);
    CORPUS.iter().for_each(|text| check(text.as_bytes()));
    let Ok(Frame::Request(request)) = frame::parse(CORPUS[1]) else { panic!("a request") };
    assert_eq!(request.id, "ab\n");
}

fn check(bytes: &[u8]) {
    match transfer::split(bytes) {
        Some((id, payload)) => assert_eq!(transfer::message(id, payload), bytes),
        None => assert!(bytes.len() < transfer::HEADER_BYTES),
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    check_pattern(text);
    check_members(text);
    match frame::parse(text) {
        Ok(Frame::Request(request)) => {
            check_members(request.args);
            let again = frame::request(&request.id, &request.call, request.args);
            let Ok(Frame::Request(same)) = frame::parse(&again) else {
                panic!("a written frame parses: {again}")
            };
            assert_eq!((&same.id, &same.call, same.args), (&request.id, &request.call, request.args));
        }
        Ok(Frame::Response(response)) => {
            response.to_error();
            let again = frame::response(&response.id, response.data);
            assert!(frame::parse(&again).is_ok(), "{again}");
        }
        Ok(Frame::Signal(signal)) => assert!(!signal.payload.is_empty()),
        Err(invalid) => {
            assert_eq!(invalid.error.code, 400);
            assert!(frame::parse(&frame::failure(&invalid.id, &invalid.error)).is_ok());
        }
    }
}

fn check_pattern(text: &str) {
    let valid = capability::is_valid(text);
    for name in ["fs.read", "sys.mcp.call", text] {
        let covered = capability::matches(text, name);
        assert!(!valid || text.contains('*') || covered == (text == name));
    }
}

/// Cutting and setting members on the text must give what the same gives on the decoded value.
fn check_members(text: &str) {
    let Some(members) = Members::parse(text) else {
        let object = serde_json::from_str::<Value>(text).is_ok_and(|value| value.is_object());
        assert!(!object, "an object that could not be split: {text}");
        return;
    };
    for (drop, set) in [
        (&["target"][..], &[][..]),
        (&[], &[("sessionId", r#""sh_1""#)]),
        (&["target", "path", ""], &[("transferId", "7"), ("sha256", "null")]),
    ] {
        let rewritten = members.rewrite(drop, set);
        // Values nested deeper than the decoder goes, or numbers it does not take, stay raw and unjudged.
        let Ok(mut expected) = serde_json::from_str::<Value>(text) else { continue };
        let object = expected.as_object_mut().expect("an object");
        object.retain(|name, _| !drop.contains(&name.as_str()));
        for (name, raw) in set {
            object.insert(name.to_string(), serde_json::from_str(raw).expect("our own JSON"));
        }
        let actual: Value = serde_json::from_str(&rewritten).expect("what was rewritten is JSON");
        assert_eq!(actual, expected, "{text}");
    }
    for name in ["target", "path", ""] {
        if let Ok(value) = serde_json::from_str::<Value>(text) {
            let raw = members.get(name).map(|raw| serde_json::from_str::<Value>(raw).expect("a raw value"));
            assert_eq!(raw.as_ref(), value.get(name), "{text}");
        }
    }
}

fn mutated(random: &mut Random) -> Vec<u8> {
    let mut bytes = random.pick(CORPUS).as_bytes().to_vec();
    for _ in 0..random.below(6) {
        let at = random.below(bytes.len() + 1);
        let end = (at + random.below(12)).min(bytes.len());
        match random.below(7) {
            0 => drop(bytes.drain(at..end)),
            1 => drop(bytes.splice(at..at, random.pick(TOKENS).bytes())),
            2 => drop(bytes.splice(at..end, random.pick(TOKENS).bytes())),
            3 => bytes.truncate(at.max(1)),
            4 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            5 => {
                let piece = bytes[at..end].to_vec();
                let to = random.below(bytes.len() + 1);
                drop(bytes.splice(to..to, piece));
            }
            _ => {
                let other = random.pick(CORPUS).as_bytes();
                let from = random.below(other.len());
                drop(bytes.splice(at..end, other[from..].iter().copied()));
            }
        }
    }
    bytes
}

/// Xorshift: small, fast and repeatable.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    fn pick<'a>(&mut self, items: &[&'a str]) -> &'a str {
        items[self.below(items.len())]
    }
}
