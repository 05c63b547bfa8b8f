//! JSON-RPC 2.0 messages as MCP uses them: what is sent, and what came.

use serde_json::{Map, Value, json};

use crate::failure::Failure;

/// A message that came.
#[derive(Debug)]
pub(crate) enum Incoming {
    /// The answer to a request of ours, by its number.
    Answer(u64, Result<Value, Failure>),
    /// The server asks something.
    Asked { id: Value, method: String },
    /// The server tells something.
    Told(String),
}

/// A request.
pub(crate) fn request(id: u64, method: &str, params: &Map<String, Value>) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// A notification.
pub(crate) fn notification(method: &str, params: Option<Value>) -> Value {
    match params {
        Some(params) => json!({ "jsonrpc": "2.0", "method": method, "params": params }),
        None => json!({ "jsonrpc": "2.0", "method": method }),
    }
}

/// What is answered to what a server asks: it is told what it was told before, that this client can do nothing for it.
pub(crate) fn reply(id: &Value, method: &str) -> Value {
    if method == "ping" {
        return json!({ "jsonrpc": "2.0", "id": id, "result": {} });
    }
    let error = json!({ "code": -32601, "message": "this client offers nothing to servers" });
    json!({ "jsonrpc": "2.0", "id": id, "error": error })
}

/// The messages in a text: one, or several at once as 2025-03-26 allowed.
pub(crate) fn parse(text: &[u8]) -> Result<Vec<Incoming>, Failure> {
    let value: Value = serde_json::from_slice(text).map_err(|_| {
        Failure::Unexpected("the server answered with something that is not JSON".to_string())
    })?;
    match value {
        Value::Array(many) => Ok(many.into_iter().filter_map(one).collect()),
        value => Ok(one(value).into_iter().collect()),
    }
}

fn one(value: Value) -> Option<Incoming> {
    let Value::Object(mut object) = value else { return None };
    let method = object.get("method").and_then(Value::as_str).map(str::to_string);
    match (method, object.remove("id")) {
        (Some(method), Some(id)) if !id.is_null() => Some(Incoming::Asked { id, method }),
        (Some(method), _) => Some(Incoming::Told(method)),
        (None, id) => {
            // Some servers give numbers back as texts.
            let id = id.and_then(|id| id.as_u64().or_else(|| id.as_str()?.parse().ok()));
            let answer = match (object.remove("error"), object.remove("result")) {
                (Some(error), _) if !error.is_null() => Err(Failure::of_rpc(&error)),
                (_, Some(result)) => Ok(result),
                _ => Err(Failure::Unexpected("the server gave neither a result nor an error".to_string())),
            };
            match (id, answer) {
                (Some(id), answer) => Some(Incoming::Answer(id, answer)),
                // An error about a request that could not be read has no number; it is nobody's else.
                (None, Err(failure)) => Some(Incoming::Answer(NOBODYS, Err(failure))),
                (None, Ok(_)) => None,
            }
        }
    }
}

/// The number of answers that name no request.
pub(crate) const NOBODYS: u64 = 0;

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<String> {
        let said = |message: &Incoming| match message {
            Incoming::Answer(id, Ok(_)) => format!("ok {id}"),
            Incoming::Answer(id, Err(failure)) => format!("err {id} {failure}"),
            Incoming::Asked { method, .. } => format!("asked {method}"),
            Incoming::Told(method) => format!("told {method}"),
        };
        parse(text.as_bytes()).unwrap().iter().map(said).collect()
    }

    #[test]
    fn messages_are_told_apart() {
        assert_eq!(kinds(r#"{"jsonrpc":"2.0","id":7,"result":{}}"#), ["ok 7"]);
        assert_eq!(kinds(r#"{"id":"7","result":null}"#), ["ok 7"]);
        assert_eq!(kinds(r#"{"id":null,"error":{"code":-1,"message":"no"}}"#), ["err 0 no (code -1)"]);
        assert_eq!(
            kinds(r#"[{"id":1,"method":"ping"},{"method":"notifications/x"},{"id":2,"result":1},3,{}]"#)
                .len(),
            4
        );
        assert!(parse(b"<html>").is_err());
    }

    #[test]
    fn servers_get_an_answer_to_what_they_ask() {
        assert_eq!(reply(&json!("a"), "ping"), json!({ "jsonrpc": "2.0", "id": "a", "result": {} }));
        assert_eq!(reply(&json!(1), "sampling/createMessage")["error"]["code"], -32601);
    }
}
