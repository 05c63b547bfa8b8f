//! Literal and three-state types: `true`, `false` and "absent, null or a value", so that schemas and printed
//! TypeScript say exactly that.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error as _, Unexpected};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Marks a schema whose `null` must be kept although the field may be absent; [`crate::schema`] removes it.
pub(crate) const KEEP_NULL: &str = "x-keep-null";

macro_rules! literals {
    ($($(#[$meta:meta])* $name:ident = $value:literal;)*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name;

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_bool($value)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                match bool::deserialize(deserializer)? {
                    $value => Ok($name),
                    other => Err(D::Error::invalid_value(Unexpected::Bool(other), &stringify!($value))),
                }
            }
        }

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "const": $value })
            }
        }
    )*};
}

literals! {
    /// Always `true`.
    True = true;
    /// Always `false`.
    False = false;
}

/// A field that may be absent, `null` or a value, where the three mean different things.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Nullable<T> {
    /// The field is not there.
    #[default]
    Absent,
    /// The field is `null`.
    Null,
    /// The field has a value.
    Value(T),
}

impl<T> Nullable<T> {
    /// Whether the field is not there.
    pub fn is_absent(&self) -> bool {
        matches!(self, Nullable::Absent)
    }

    /// The value, if there is one.
    pub fn value(self) -> Option<T> {
        match self {
            Nullable::Value(value) => Some(value),
            Nullable::Absent | Nullable::Null => None,
        }
    }
}

impl<T> From<Option<T>> for Nullable<T> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Nullable::Null, Nullable::Value)
    }
}

impl<T: Serialize> Serialize for Nullable<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Nullable::Value(value) => value.serialize(serializer),
            Nullable::Absent | Nullable::Null => serializer.serialize_none(),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Nullable<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Option::deserialize(deserializer)?.into())
    }
}

impl<T: JsonSchema> JsonSchema for Nullable<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Nullable{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [generator.subschema_for::<T>(), { "type": "null" }], KEEP_NULL: true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Patch {
        ok: True,
        #[serde(default, skip_serializing_if = "Nullable::is_absent")]
        note: Nullable<String>,
    }

    #[test]
    fn absent_null_and_a_value_are_told_apart_both_ways() {
        for (text, note) in [
            (r#"{"ok":true}"#, Nullable::Absent),
            (r#"{"ok":true,"note":null}"#, Nullable::Null),
            (r#"{"ok":true,"note":"x"}"#, Nullable::Value("x".to_string())),
        ] {
            let patch: Patch = serde_json::from_str(text).unwrap();
            assert_eq!(patch.note, note);
            assert_eq!(serde_json::to_string(&patch).unwrap(), text);
        }
    }

    #[test]
    fn a_literal_takes_no_other_value() {
        let error = serde_json::from_str::<Patch>(r#"{"ok":false}"#).unwrap_err();
        assert!(error.to_string().contains("expected true"), "{error}");
        assert!(serde_json::from_str::<False>("true").is_err());
    }
}
