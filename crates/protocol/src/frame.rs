//! Zero-copy frame codec: requests, responses and signals, whose payloads stay raw text. Parsing borrows; payloads
//! stay raw text.

use std::borrow::Cow;

use serde::Serialize;

use crate::args::{push_string, text_of};
use crate::error::Error;
use crate::scan;

/// The id an answer carries when the frame it answers had none that could be read.
pub const UNKNOWN_ID: &str = "?";

/// One parsed frame.
#[derive(Debug)]
pub enum Frame<'a> {
    /// Asks for a call.
    Request(Request<'a>),
    /// Answers one.
    Response(Response<'a>),
    /// Tells without being asked.
    Signal(Signal<'a>),
}

/// `{"type":"req","id","call","args"}`, and for drivers that remember results `durable` and `again`.
#[derive(Debug)]
pub struct Request<'a> {
    /// Chosen by the caller; comes back in the answer.
    pub id: Cow<'a, str>,
    /// The syscall's name.
    pub call: Cow<'a, str>,
    /// The text of a JSON object.
    pub args: &'a str,
    /// Whether the driver is to remember the result.
    pub durable: bool,
    /// Whether the gateway does not know what became of the request, which it may have sent before.
    pub again: bool,
}

/// `{"type":"res","id","ok","data"|"error"}`
#[derive(Debug)]
pub struct Response<'a> {
    /// The id of the request.
    pub id: Cow<'a, str>,
    /// Whether the call was carried out.
    pub ok: bool,
    /// Raw JSON, when `ok`.
    pub data: Option<&'a str>,
    /// Raw JSON, when not `ok`.
    pub error: Option<&'a str>,
}

impl Response<'_> {
    /// The error of a failed response, whatever shape the other side gave it.
    pub fn to_error(&self) -> Error {
        self.error
            .and_then(|raw| serde_json::from_str::<Error>(raw).ok())
            .unwrap_or_else(|| Error::new(500, "the other side failed without saying why"))
    }
}

/// `{"type":"sig","signal","payload","seq"}`
#[derive(Debug)]
pub struct Signal<'a> {
    /// The signal's name.
    pub signal: Cow<'a, str>,
    /// Raw JSON, `null` when absent.
    pub payload: &'a str,
    /// Position in the receiver's sequence, where signals are counted.
    pub seq: Option<u64>,
}

/// Why a text is not a frame, and whom to tell.
#[derive(Debug)]
pub struct Invalid {
    /// The frame's id, or `?`.
    pub id: String,
    /// What to answer.
    pub error: Error,
}

/// Parses one text message.
pub fn parse(text: &str) -> Result<Frame<'_>, Invalid> {
    let Some(envelope) = Envelope::parse(text) else {
        let valid_json = scan::is_valid(text);
        let error = if valid_json { Error::invalid_frame_type() } else { Error::malformed_json() };
        return Err(Invalid { id: UNKNOWN_ID.into(), error });
    };
    let id = envelope.id.and_then(text_of);
    let fail = |error: Error| Invalid { id: id.as_deref().unwrap_or(UNKNOWN_ID).to_string(), error };
    match envelope.kind.and_then(text_of).as_deref() {
        Some("req") => {
            let call = envelope.call.and_then(text_of).ok_or_else(|| fail(Error::invalid_frame("call")))?;
            let args = envelope.args.filter(|raw| *raw != "null").unwrap_or("{}");
            if !args.starts_with('{') {
                return Err(fail(Error::invalid_frame("args")));
            }
            let id =
                id.ok_or_else(|| Invalid { id: UNKNOWN_ID.into(), error: Error::invalid_frame("id") })?;
            let (durable, again) = (envelope.durable == Some("true"), envelope.again == Some("true"));
            Ok(Frame::Request(Request { id, call, args, durable, again }))
        }
        Some("res") => {
            let ok = match envelope.ok {
                Some("true") => true,
                Some("false") => false,
                _ => return Err(fail(Error::invalid_frame("ok"))),
            };
            let id =
                id.ok_or_else(|| Invalid { id: UNKNOWN_ID.into(), error: Error::invalid_frame("id") })?;
            Ok(Frame::Response(Response { id, ok, data: envelope.data, error: envelope.error }))
        }
        Some("sig") => {
            let signal =
                envelope.signal.and_then(text_of).ok_or_else(|| fail(Error::invalid_frame("signal")))?;
            let seq = envelope.seq.and_then(|raw| raw.parse().ok());
            Ok(Frame::Signal(Signal { signal, payload: envelope.payload.unwrap_or("null"), seq }))
        }
        _ => Err(Invalid { id: UNKNOWN_ID.into(), error: Error::invalid_frame_type() }),
    }
}

/// A request's text, around raw arguments.
pub fn request(id: &str, call: &str, raw_args: &str) -> String {
    let mut out = request_head(id, call, raw_args.len() + 1);
    out.push_str(raw_args);
    out.push('}');
    out
}

/// The start of a request: append the arguments' JSON, then `}`.
pub fn request_head(id: &str, call: &str, room: usize) -> String {
    let mut out = String::with_capacity(48 + id.len() + call.len() + room);
    out.push_str(r#"{"type":"req","id":"#);
    push_string(&mut out, id);
    out.push_str(r#","call":"#);
    push_string(&mut out, call);
    out.push_str(r#","args":"#);
    out
}

/// The end of a request whose result the driver is to remember; `again` when it may have been sent before.
pub fn durable_tail(out: &mut String, again: bool) {
    out.push_str(if again { r#","durable":true,"again":true}"# } else { r#","durable":true}"# });
}

/// The start of a successful response: append the data's JSON, then `}`.
pub fn response_head(id: &str, room: usize) -> String {
    let mut out = String::new();
    response_head_into(&mut out, id, room);
    out
}

/// The same, appended to a text, with room for so much behind it.
pub fn response_head_into(out: &mut String, id: &str, room: usize) {
    out.reserve(40 + id.len() + room);
    out.push_str(r#"{"type":"res","id":"#);
    push_string(out, id);
    out.push_str(r#","ok":true,"data":"#);
}

/// A successful response around raw data.
pub fn response(id: &str, raw_data: Option<&str>) -> String {
    let mut out = String::new();
    response_into(&mut out, id, raw_data);
    out
}

/// The same, appended to a text.
pub fn response_into(out: &mut String, id: &str, raw_data: Option<&str>) {
    response_head_into(out, id, raw_data.map_or(0, str::len) + 1);
    match raw_data {
        Some(raw) => out.push_str(raw),
        None => out.truncate(out.len() - r#","data":"#.len()),
    }
    out.push('}');
}

/// A failed response.
pub fn failure(id: &str, error: &Error) -> String {
    let mut out = String::with_capacity(80 + id.len() + error.message.len());
    out.push_str(r#"{"type":"res","id":"#);
    push_string(&mut out, id);
    out.push_str(r#","ok":false,"error":"#);
    out.push_str(&to_json(error));
    out.push('}');
    out
}

/// A signal's text, where signals are not counted.
pub fn signal<T: Serialize>(name: &str, payload: &T) -> String {
    let payload = to_json(payload);
    let mut out = signal_head(name, payload.len());
    out.push_str(&payload);
    out.push('}');
    out
}

/// The start of a signal: append the payload's JSON, then [`signal_tail`].
pub fn signal_head(name: &str, room: usize) -> String {
    let mut out = String::with_capacity(72 + name.len() + room);
    out.push_str(r#"{"type":"sig","signal":"#);
    push_string(&mut out, name);
    out.push_str(r#","payload":"#);
    out
}

/// The end of a signal that has a place in the receiver's sequence.
pub fn signal_tail(out: &mut String, seq: u64) {
    out.push_str(r#","seq":"#);
    out.push_str(&seq.to_string());
    out.push('}');
}

/// JSON text of a value of ours. Our wire types always have one.
pub fn to_json<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_else(|error| {
        debug_assert!(false, "a wire type that is not JSON: {error}");
        "null".to_string()
    })
}

#[derive(Default)]
struct Envelope<'a> {
    kind: Option<&'a str>,
    id: Option<&'a str>,
    call: Option<&'a str>,
    args: Option<&'a str>,
    ok: Option<&'a str>,
    data: Option<&'a str>,
    error: Option<&'a str>,
    signal: Option<&'a str>,
    payload: Option<&'a str>,
    seq: Option<&'a str>,
    durable: Option<&'a str>,
    again: Option<&'a str>,
}

impl<'a> Envelope<'a> {
    /// `None` when the text is not one JSON object. Of members with the same name the last one counts.
    fn parse(text: &'a str) -> Option<Envelope<'a>> {
        let mut out = Envelope::default();
        scan::members(text, |(key, value)| {
            let slot = match key.as_ref() {
                "type" => &mut out.kind,
                "id" => &mut out.id,
                "call" => &mut out.call,
                "args" => &mut out.args,
                "ok" => &mut out.ok,
                "data" => &mut out.data,
                "error" => &mut out.error,
                "signal" => &mut out.signal,
                "payload" => &mut out.payload,
                "seq" => &mut out.seq,
                "durable" => &mut out.durable,
                "again" => &mut out.again,
                _ => return,
            };
            *slot = Some(value);
        })?;
        Some(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> (String, i32, String) {
        let invalid = parse(text).expect_err(text);
        (invalid.id, invalid.error.code, invalid.error.message)
    }

    #[test]
    fn a_request_keeps_its_arguments_as_they_are() {
        let text = r#"{"type":"req","id":"a\n","call":"fs.read","args":{"n": 1.0 },"more":[1]}"#;
        let Frame::Request(request) = parse(text).unwrap() else { panic!() };
        assert_eq!(
            (request.id.as_ref(), request.call.as_ref(), request.args),
            ("a\n", "fs.read", r#"{"n": 1.0 }"#)
        );
    }

    #[test]
    fn a_request_may_be_durable() {
        for (tail, durable, again) in [
            ("}", false, false),
            (r#","durable":true}"#, true, false),
            (r#","durable":true,"again":true}"#, true, true),
            (r#","durable":1,"again":"true"}"#, false, false),
        ] {
            let text = request_head("1", "fs.read", 2) + "{}" + tail;
            let Frame::Request(request) = parse(&text).unwrap() else { panic!() };
            assert_eq!((request.durable, request.again), (durable, again), "{tail}");
        }
        for again in [false, true] {
            let mut text = request_head("1", "fs.read", 2) + "{}";
            durable_tail(&mut text, again);
            assert!(matches!(parse(&text).unwrap(), Frame::Request(it) if it.durable && it.again == again));
        }
    }

    #[test]
    fn missing_and_null_args_are_an_empty_object() {
        for text in
            [r#"{"type":"req","id":"1","call":"x.y"}"#, r#"{"type":"req","id":"1","call":"x.y","args":null}"#]
        {
            let Frame::Request(request) = parse(text).unwrap() else { panic!() };
            assert_eq!(request.args, "{}");
        }
    }

    #[test]
    fn what_is_not_a_frame_is_told_so() {
        for text in ["", "{", "nonsense", "{\"type\":\"req\"", "\u{0}"] {
            assert_eq!(refused(text), ("?".into(), 400, "Malformed JSON".into()), "{text}");
        }
        for text in ["null", "3", "[]", "\"req\"", "{}", r#"{"type":"evt"}"#, r#"{"type":3,"id":"x"}"#] {
            assert_eq!(refused(text), ("?".into(), 400, "Invalid frame type".into()), "{text}");
        }
        assert_eq!(refused(r#"{"type":"req","call":"a.b"}"#).0, "?");
        assert_eq!(refused(r#"{"type":"req","id":7,"call":"a.b"}"#).0, "?");
        assert_eq!(refused(r#"{"type":"req","id":"7"}"#), ("7".into(), 400, "Invalid frame: call".into()));
        assert_eq!(refused(r#"{"type":"req","id":"7","call":"a.b","args":[]}"#).2, "Invalid frame: args");
    }

    #[test]
    fn deep_nesting_is_no_danger() {
        let deep = "[".repeat(200_000) + &"]".repeat(200_000);
        let text = format!(r#"{{"type":"req","id":"1","call":"a.b","args":{{"x":{deep}}}}}"#);
        assert!(parse(&text).is_ok());
    }

    #[test]
    fn written_frames_parse_again() {
        let text = request("i\"d", "fs.read", r#"{"path":"x"}"#);
        assert!(matches!(parse(&text).unwrap(), Frame::Request(r) if r.id == "i\"d"));
        let text = response("1", None);
        assert!(matches!(parse(&text).unwrap(), Frame::Response(r) if r.ok && r.data.is_none()));
        let text = response("1", Some("[1]"));
        assert!(matches!(parse(&text).unwrap(), Frame::Response(r) if r.data == Some("[1]")));
        let mut text = signal_head("s\"1", 0) + "{}";
        signal_tail(&mut text, u64::MAX);
        let Frame::Signal(signal) = parse(&text).unwrap() else { panic!() };
        assert_eq!((signal.signal.as_ref(), signal.payload, signal.seq), ("s\"1", "{}", Some(u64::MAX)));
        let text = failure("1", &Error::not_connected());
        let Frame::Response(response) = parse(&text).unwrap() else { panic!() };
        assert_eq!(response.to_error().code, 403);
    }
}
