//! JSON Schema generation for all calls and signals, from the same types that are on the wire.
//!
//! A field that may be absent is not `required`; only a field that is really sent as `null` admits `null`.

use std::collections::BTreeMap;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::literal::KEEP_NULL;
use crate::signal::SIGNALS;
use crate::spec::{Route, Spec};

/// Where definitions are within a schema document.
pub const DEFS: &str = "#/$defs/";

/// The schemas of everything, with shared definitions.
pub struct Bundle {
    /// Named types by name.
    pub defs: BTreeMap<String, Value>,
    /// Arguments and result of each call, in the order of the tables.
    pub calls: Vec<(&'static Spec, Value, Value)>,
    /// Payload of each signal by name, in the order of the table.
    pub signals: Vec<(&'static str, Value)>,
}

impl Bundle {
    /// The schemas of all calls, all signals and the error shape.
    pub fn all() -> Bundle {
        let mut generator = generator();
        let mut calls = Vec::new();
        for spec in crate::calls() {
            let args = (spec.args)(&mut generator).to_value();
            let result = (spec.result)(&mut generator).to_value();
            let args = routable_args(spec, clean(args), &mut generator);
            calls.push((spec, args, clean(result)));
        }
        let mut signals = Vec::new();
        for spec in SIGNALS {
            signals.push((spec.name, clean((spec.payload)(&mut generator).to_value())));
        }
        generator.subschema_for::<crate::error::Error>();
        Bundle { defs: definitions(&mut generator), calls, signals }
    }

    /// One JSON Schema 2020-12 document: `$defs`, and beside them `calls` and `signals` that refer to it.
    pub fn document(&self) -> Value {
        let mut calls = Map::new();
        for (spec, args, result) in &self.calls {
            calls.insert(
                spec.name.into(),
                json!({ "description": spec.text(), "args": args, "result": result }),
            );
        }
        let signals: Map<String, Value> =
            self.signals.iter().map(|(name, payload)| (name.to_string(), payload.clone())).collect();
        sorted(json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "GSV calls and signals",
            "$defs": self.defs,
            "calls": calls,
            "signals": signals,
        }))
    }
}

/// The schema of one call's arguments, complete in itself: for command line flags and for agents' tools.
pub fn args_of(spec: &Spec) -> Value {
    let mut generator = generator();
    let args = clean((spec.args)(&mut generator).to_value());
    let mut defs = definitions(&mut generator);
    let mut args = args
        .get("$ref")
        .and_then(Value::as_str)
        .and_then(|name| defs.remove(name.strip_prefix(DEFS)?))
        .unwrap_or(args);
    if let Some(object) = args.as_object_mut().filter(|_| !defs.is_empty()) {
        object.insert("$defs".into(), json!(defs));
    }
    args
}

/// The schema of one type, complete in itself.
pub fn of<T: JsonSchema>() -> Value {
    clean(generator().into_root_schema_for::<T>().to_value())
}

fn generator() -> SchemaGenerator {
    SchemaSettings::draft2020_12().for_serialize().into_generator()
}

fn definitions(generator: &mut SchemaGenerator) -> BTreeMap<String, Value> {
    generator.take_definitions(true).into_iter().map(|(name, schema)| (name, clean(schema))).collect()
}

/// `target` is taken out before a handler sees the arguments, so no argument type has it.
fn routable_args(spec: &Spec, args: Value, generator: &mut SchemaGenerator) -> Value {
    if spec.route != Route::Target {
        return args;
    }
    json!({ "allOf": [args, generator.subschema_for::<Routable>()] })
}

/// What every routable call takes besides its own arguments.
#[derive(JsonSchema, serde::Serialize)]
struct Routable {
    /// `gsv`, or the device to run on; `gsv` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    target: Option<String>,
}

/// Members in the order of their names, also when some crate in the build lets maps keep another order.
fn sorted(mut value: Value) -> Value {
    value.sort_all_objects();
    value
}

/// Takes `null` out of fields that may be absent, and defaults out of fields that may not.
fn clean(schema: Value) -> Value {
    sorted(without_null(schema))
}

fn without_null(mut schema: Value) -> Value {
    match &mut schema {
        Value::Object(object) => {
            let required = object.get("required").cloned().unwrap_or_default();
            if let Some(Value::Object(properties)) = object.get_mut("properties") {
                for (name, property) in properties.iter_mut() {
                    let Value::Object(property) = property else { continue };
                    if required.as_array().is_some_and(|names| names.iter().any(|other| other == name)) {
                        property.remove("default");
                    } else if property.remove(KEEP_NULL).is_none() {
                        drop_null(property);
                    }
                }
            }
            for (key, value) in object.iter_mut() {
                // The keys of these are names, not keywords: a field may be called `required`.
                match value {
                    Value::Object(named) if key == "properties" || key == "$defs" => {
                        named.values_mut().for_each(|value| *value = without_null(value.take()));
                    }
                    value => *value = without_null(value.take()),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = without_null(item.take())),
        _ => {}
    }
    schema
}

fn drop_null(property: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = property.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            property.insert("type".into(), only);
        }
    }
    if let Some(Value::Array(values)) = property.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(members)) = property.get_mut("anyOf") {
        members.retain(|member| member.get("type").is_none_or(|kind| kind != "null"));
        if let [Value::Object(only)] = members.as_slice() {
            let only = only.clone();
            property.remove("anyOf");
            // The description of the field says more than that of its type.
            for (key, value) in only {
                property.entry(key).or_insert(value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Syscall;

    #[test]
    fn an_absent_field_is_not_null_and_a_null_field_is_not_absent() {
        let schema = args_of(&crate::fs::Read::SPEC);
        assert_eq!(schema["required"], json!(["path"]));
        assert_eq!(schema["properties"]["offset"]["type"], "integer");
        let device = of::<crate::sys::device::Detail>();
        assert_eq!(device["properties"]["connectedAt"]["type"], json!(["integer", "null"]));
        assert!(device["required"].as_array().unwrap().contains(&json!("connectedAt")));
    }

    #[test]
    fn a_field_that_may_be_absent_or_null_says_both() {
        let bundle = Bundle::all();
        let description = &bundle.defs["SchedulePatch"]["properties"]["description"];
        assert_eq!(description["anyOf"], json!([{ "type": "string" }, { "type": "null" }]));
        assert!(!bundle.document().to_string().contains(KEEP_NULL));
    }

    #[test]
    fn every_reference_has_its_definition() {
        fn walk(value: &Value, defs: &BTreeMap<String, Value>) {
            match value {
                Value::Object(object) => {
                    if let Some(Value::String(name)) = object.get("$ref") {
                        let name = name.strip_prefix(DEFS).expect(name);
                        assert!(defs.contains_key(name), "{name}");
                    }
                    object.values().for_each(|value| walk(value, defs));
                }
                Value::Array(items) => items.iter().for_each(|value| walk(value, defs)),
                _ => {}
            }
        }
        let bundle = Bundle::all();
        walk(&bundle.document(), &bundle.defs);
    }
}
