//! Tests of the TypeScript printer.

use serde_json::json;

use super::*;

fn inline(schema: Value) -> String {
    print(&schema, References::Inline(&schema))
}

#[test]
fn plain_types() {
    for (schema, expected) in [
        (json!(true), "unknown"),
        (json!(false), "never"),
        (json!({}), "unknown"),
        (json!({"type": "integer"}), "number"),
        (json!({"type": ["string", "null"]}), "string | null"),
        (json!({"type": "string", "nullable": true}), "string | null"),
        (json!({"type": "string", "pattern": "^.*#.*$"}), "`${string}#${string}`"),
        (json!({"type": "string", "pattern": "^[a-z]+$"}), "string"),
        (json!({"const": "a\"b"}), r#""a\"b""#),
        (json!({"enum": ["a", 1, null, true]}), r#""a" | 1 | null | true"#),
        (json!({"oneOf": [{"const": "a", "description": "x"}, {"const": "a"}]}), r#""a""#),
    ] {
        assert_eq!(inline(schema.clone()), expected, "{schema}");
    }
}

#[test]
fn arrays_and_tuples() {
    for (schema, expected) in [
        (json!({"type": "array"}), "unknown[]"),
        (json!({"items": {"enum": [1, 2]}}), "(1 | 2)[]"),
        (json!({"type": "array", "items": {"type": "array", "items": {"type": "string"}}}), "string[][]"),
        (json!({"prefixItems": [{"type": "string"}], "items": {"type": "number"}}), "[string, ...number[]]"),
        (json!({"prefixItems": [{"type": "string"}, true], "items": false}), "[string, unknown]"),
        (json!({"type": "array", "items": [{"type": "string"}], "maxItems": 1}), "[string]"),
    ] {
        assert_eq!(inline(schema.clone()), expected, "{schema}");
    }
}

#[test]
fn objects_and_maps() {
    for (schema, expected) in [
        (json!({"type": "object"}), "Record<string, unknown>"),
        (json!({"type": "object", "additionalProperties": false}), "Record<string, never>"),
        (json!({"additionalProperties": {"type": ["string", "null"]}}), "Record<string, string | null>"),
        (
            json!({"properties": {"a": {"type": "string"}, "b-c": true}, "required": ["a"]}),
            r#"{ a: string; "b-c"?: unknown }"#,
        ),
        (
            json!({"properties": {"a": {"type": "string"}}, "additionalProperties": true}),
            "{ a?: string; [key: string]: unknown }",
        ),
        (
            json!({"properties": {"a": {"type": "string", "description": "one */ two"}}}),
            "{\n  /** one *\\/ two */\n  a?: string;\n}",
        ),
    ] {
        assert_eq!(inline(schema.clone()), expected, "{schema}");
    }
}

#[test]
fn combinations_keep_their_order_of_binding() {
    let schema = json!({
        "allOf": [{"anyOf": [{"type": "string"}, {"type": "number"}]}, {"$ref": "#/$defs/A"}, {"description": "x"}]
    });
    assert_eq!(print(&schema, References::Named), "(string | number) & A");
    let schema = json!({"type": "object", "oneOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}]});
    assert_eq!(print(&schema, References::Named), "A | B");
    let schema =
        json!({"properties": {"k": {"const": 1}}, "required": ["k"], "oneOf": [{"$ref": "#/$defs/A"}]});
    assert_eq!(print(&schema, References::Named), "A & { k: 1 }");
}

#[test]
fn inline_references_end_somewhere() {
    let schema = json!({
        "properties": {"next": {"$ref": "#"}, "leaf": {"$ref": "#/definitions/a~1b"}, "lost": {"$ref": "#/nowhere"}},
        "definitions": {"a/b": {"type": "boolean"}}
    });
    let text = inline(schema);
    assert!(
        text.contains("leaf?: boolean") && text.contains("lost?: unknown") && text.contains("next?: unknown")
    );
}

#[test]
fn declarations() {
    let schema =
        json!({"description": "A point.", "type": "object", "properties": {"x": {"type": "number"}}});
    assert_eq!(declare("Point", &schema), "/** A point. */\nexport interface Point {\n  x?: number;\n}\n");
    assert_eq!(declare("Kind", &json!({"enum": ["a"]})), "export type Kind = \"a\";\n");
    assert_eq!(declare("None", &json!({"type": "object"})), "export type None = Record<string, never>;\n");
}
