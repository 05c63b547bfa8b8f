//! Result union `{ok: true, …}` or `{ok: false, error}`: how an operation itself went, inside a successful frame.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The result of an operation that can fail without the call being refused.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome<T> {
    /// It worked; the fields of `T` stand beside `ok`.
    Done(T),
    /// It did not; the text says why.
    Failed(String),
}

impl<T> Outcome<T> {
    /// The value, or the text.
    pub fn into_result(self) -> Result<T, String> {
        match self {
            Outcome::Done(value) => Ok(value),
            Outcome::Failed(error) => Err(error),
        }
    }
}

impl<T> From<Result<T, String>> for Outcome<T> {
    fn from(result: Result<T, String>) -> Self {
        match result {
            Ok(value) => Outcome::Done(value),
            Err(error) => Outcome::Failed(error),
        }
    }
}

#[derive(Serialize)]
struct Done<'a, T> {
    ok: bool,
    #[serde(flatten)]
    value: &'a T,
}

#[derive(Serialize)]
struct Failed<'a> {
    ok: bool,
    error: &'a str,
}

impl<T: Serialize> Serialize for Outcome<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Outcome::Done(value) => Done { ok: true, value }.serialize(serializer),
            Outcome::Failed(error) => Failed { ok: false, error }.serialize(serializer),
        }
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Outcome<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        match value.get("ok").and_then(serde_json::Value::as_bool) {
            Some(true) => serde_json::from_value(value).map(Outcome::Done).map_err(D::Error::custom),
            Some(false) => {
                let error = value.get("error").and_then(serde_json::Value::as_str);
                Ok(Outcome::Failed(error.unwrap_or("the operation failed without saying why").to_string()))
            }
            None => Err(D::Error::custom("missing field `ok`")),
        }
    }
}

/// `{ok: false, error}`, so that schemas can refer to it by name.
struct OperationError;

impl JsonSchema for OperationError {
    fn schema_name() -> Cow<'static, str> {
        "OperationError".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "The call was carried out, but the operation itself failed.",
            "type": "object",
            "properties": { "ok": { "const": false }, "error": { "type": "string", "description": "Why." } },
            "required": ["ok", "error"]
        })
    }
}

impl<T: JsonSchema> JsonSchema for Outcome<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Outcome_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let value = generator.subschema_for::<T>();
        let failed = generator.subschema_for::<OperationError>();
        json_schema!({
            "anyOf": [
                { "allOf": [
                    { "type": "object", "properties": { "ok": { "const": true } }, "required": ["ok"] },
                    value
                ] },
                failed
            ]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    struct Sized {
        size: u32,
    }

    #[test]
    fn flattens_both_ways() {
        let done = Outcome::Done(Sized { size: 3 });
        let text = serde_json::to_string(&done).unwrap();
        assert_eq!(text, r#"{"ok":true,"size":3}"#);
        assert_eq!(serde_json::from_str::<Outcome<Sized>>(&text).unwrap(), done);
        let failed = Outcome::<Sized>::Failed("no".into());
        let text = serde_json::to_string(&failed).unwrap();
        assert_eq!(text, r#"{"ok":false,"error":"no"}"#);
        assert_eq!(serde_json::from_str::<Outcome<Sized>>(&text).unwrap(), failed);
    }
}
