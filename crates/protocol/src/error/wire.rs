//! Compatibility codec of errors: the reason stands in `details`, and errors of peers that give none get theirs here.
//!
//! This is the one place that looks at the wording of a message.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::{ERRORS, Error, Reason};

/// The member of `details` that programs branch on.
const REASON: &str = "reason";

/// What shipped drivers say of everything; it means no more than 500.
const ANY_FAILURE: i32 = -1;

/// How the messages begin, and go on, of errors that peers before 0.3.0 send without a reason and that somebody here
/// branches on. They have the code of the row, or -1.
const WITHOUT_REASON: &[(Reason, &str, &str)] = &[
    (Reason::unknown_session, "Unknown shell session", ""),
    (Reason::call_never_seen, "Call never seen", ""),
    (Reason::call_forgotten, "Call forgotten", ""),
    (Reason::device_busy, "Too many requests: the device works on as many as it can", ""),
    (Reason::not_implemented_by_device, "Device ", " does not implement "),
    (Reason::device_offline, "Device offline: ", ""),
    (Reason::device_disconnected, "Device disconnected: ", ""),
];

/// `{code, message, details?, retryable?}` as it comes.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "ErrorShape")]
struct Shape {
    /// What kind of failure; most are like HTTP's.
    code: i32,
    /// One sentence for a person.
    message: String,
    /// What programs branch on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Details>")]
    details: Option<Value>,
    /// Whether the same request may work later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retryable: Option<bool>,
}

/// What programs branch on.
#[derive(JsonSchema)]
#[schemars(rename = "ErrorDetails")]
struct Details {
    /// Why, in one word that does not change: see the reference of errors. Errors of older devices may have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[allow(dead_code, reason = "for the schema")]
    reason: Option<String>,
    /// What else belongs to this error.
    #[serde(flatten)]
    #[allow(dead_code, reason = "for the schema")]
    more: Map<String, Value>,
}

impl From<Shape> for Error {
    fn from(shape: Shape) -> Error {
        let Shape { mut code, message, mut details, retryable } = shape;
        let said = details.as_ref().and_then(|details| details.get(REASON)).and_then(Value::as_str);
        let said = said.and_then(|name| Reason::ALL.iter().copied().find(|reason| reason.as_str() == name));
        let reason = said.or_else(|| without_reason(code, &message));
        if said.is_some() {
            details = without_member(details);
        }
        if code == ANY_FAILURE {
            code = reason.and_then(code_of).unwrap_or(500);
        }
        Error { code, reason: reason.unwrap_or_else(|| Reason::of_code(code)), message, details, retryable }
    }
}

/// Details without the reason; it is kept beside them. One that is not known here stays where it is.
fn without_member(details: Option<Value>) -> Option<Value> {
    let Some(Value::Object(mut members)) = details else { return details };
    members.remove(REASON);
    (!members.is_empty()).then_some(Value::Object(members))
}

fn without_reason(code: i32, message: &str) -> Option<Reason> {
    let meant = |(reason, start, middle): &&(Reason, &str, &str)| {
        let has_code = code == ANY_FAILURE || code_of(*reason) == Some(code);
        has_code && message.strip_prefix(start).is_some_and(|rest| rest.contains(middle))
    };
    WITHOUT_REASON.iter().find(meant).map(|(reason, ..)| *reason)
}

fn code_of(reason: Reason) -> Option<i32> {
    ERRORS.iter().find(|row| row.reason == reason).map(|row| row.code)
}

impl<'de> Deserialize<'de> for Error {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Shape::deserialize(deserializer).map(Error::from)
    }
}

impl Serialize for Error {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_map(None)?;
        out.serialize_entry("code", &self.code)?;
        out.serialize_entry("message", &self.message)?;
        out.serialize_entry("details", &WithReason(self))?;
        if let Some(retryable) = self.retryable {
            out.serialize_entry("retryable", &retryable)?;
        }
        out.end()
    }
}

/// The details of an error with its reason among them. Details that are no object, which only a device can send, and
/// a reason of a device that is not known here go on as they came.
struct WithReason<'a>(&'a Error);

impl Serialize for WithReason<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let more = match &self.0.details {
            Some(Value::Object(more)) => Some(more),
            Some(other) => return other.serialize(serializer),
            None => None,
        };
        let mut out = serializer.serialize_map(None)?;
        if more.is_none_or(|more| !more.contains_key(REASON)) {
            out.serialize_entry(REASON, self.0.reason.as_str())?;
        }
        for (name, value) in more.into_iter().flatten() {
            out.serialize_entry(name, value)?;
        }
        out.end()
    }
}

impl JsonSchema for Error {
    fn schema_name() -> Cow<'static, str> {
        Shape::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Shape::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: Value) -> Error {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn the_reason_stands_in_the_details_and_comes_back() {
        for error in [Error::stopping(), Error::bad("x"), Error::setup_required(), Error::new(-7, "x")] {
            let value = serde_json::to_value(&error).unwrap();
            assert_eq!(value["details"]["reason"], error.reason.as_str());
            assert_eq!(read(value), error);
        }
        let setup = json!({ "code": 425, "message": "Setup required",
            "details": { "reason": "setup_required", "setupMode": true, "next": "sys.setup" } });
        assert_eq!(serde_json::to_value(Error::setup_required()).unwrap(), setup);
    }

    #[test]
    fn errors_of_older_peers_get_their_reason_from_their_words() {
        let of = |code: i32, message: &str| {
            let error = read(json!({ "code": code, "message": message }));
            (error.code, error.reason)
        };
        assert_eq!(of(-1, "Unknown shell session: dev-7"), (404, Reason::unknown_session));
        assert_eq!(of(-1, "anything"), (500, Reason::failed));
        assert_eq!(of(404, "Call never seen"), (404, Reason::call_never_seen));
        assert_eq!(of(410, "Call forgotten"), (410, Reason::call_forgotten));
        let busy = "Too many requests: the device works on as many as it can";
        assert_eq!(of(429, busy), (429, Reason::device_busy));
        assert_eq!(
            of(429, "Too many requests: 3 shell sessions are running"),
            (429, Reason::too_many_requests)
        );
        assert_eq!(of(400, "Device d does not implement fs.read"), (400, Reason::not_implemented_by_device));
        assert_eq!(of(503, "Device disconnected: d"), (503, Reason::device_disconnected));
        assert_eq!(of(500, "Device disconnected: d"), (500, Reason::failed), "the code counts too");
    }

    #[test]
    fn what_another_version_says_is_passed_on() {
        let newer = json!({ "code": 409, "message": "x", "details": { "reason": "of_tomorrow", "n": 1 } });
        assert_eq!(read(newer.clone()).reason, Reason::conflict);
        assert_eq!(serde_json::to_value(read(newer.clone())).unwrap(), newer);
        let plain = json!({ "code": 409, "message": "x", "details": "words", "retryable": true });
        assert_eq!(serde_json::to_value(read(plain.clone())).unwrap(), plain);
    }
}
