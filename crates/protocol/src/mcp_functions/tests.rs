//! Tests of names, declarations and results of MCP tools in CodeMode.

use serde_json::json;

use super::*;

fn server(id: &str, name: &str, tools: &[&str]) -> Server {
    let tools: Vec<Value> = tools
        .iter()
        .map(|tool| {
            json!({
                "name": tool, "description": "Looks *it* up. */", "outputSchema": null,
                "inputSchema": { "type": "object", "properties": { "query": { "type": "string" } }, "required": ["query"] },
            })
        })
        .collect();
    serde_json::from_value(json!({
        "serverId": id, "uid": 1000, "name": name, "url": "https://x/", "transport": "auto", "state": "ready",
        "authUrl": null, "error": null, "instructions": null, "capabilities": null, "tools": tools,
        "resourceCount": 0, "promptCount": 0, "createdAt": 0, "updatedAt": 0,
    }))
    .unwrap()
}

fn names(servers: &[Server]) -> Vec<Vec<String>> {
    functions(servers).into_iter().map(|tool| tool.functions).collect()
}

#[test]
fn a_unique_tool_has_its_bare_name_and_each_has_one_with_its_server() {
    let servers =
        [server("s1", "Search", &["lookup-record", "get"]), server("s2", "My Notes!", &["get", "2nd", ""])];
    assert_eq!(
        names(&servers),
        [
            vec!["lookup_record", "Search_lookup_record"],
            vec!["Search_get"],
            vec!["My_Notes__get"],
            vec!["_2nd", "My_Notes___2nd"],
            vec!["tool", "My_Notes__tool"],
        ]
    );
}

#[test]
fn reserved_names_and_clashes_get_out_of_the_way() {
    let servers = [
        server("s1", "A", &["shell", "delete", "__proto__", "Promise", "x"]),
        server("s2", "A", &["x", "A_x"]),
    ];
    let names = names(&servers);
    assert_eq!(names[0], ["A_shell"]);
    assert_eq!(names[1], ["A_delete"]);
    assert_eq!(names[2], ["A___proto__"]);
    assert_eq!(names[3], ["A_Promise"]);
    // `A_x` is the bare name of another tool, so both long ones get a hash.
    assert_eq!(names[4], [format!("A_x_{}", hash("s1", "x"))]);
    assert_eq!(names[5], [format!("A_x_{}", hash("s2", "x"))]);
    assert_eq!(names[6], ["A_x", "A_A_x"]);
    let all: Vec<&String> = names.iter().flatten().collect();
    let distinct: BTreeSet<&&String> = all.iter().collect();
    assert_eq!(distinct.len(), all.len());
}

#[test]
fn the_hash_is_fnv_1a() {
    // Known values of FNV-1a 32: "" is 811c9dc5, "a" is e40c292c; here with the colon between.
    assert_eq!(hash("", ""), base36(fnv(":")));
    assert_eq!(hash("foo", "bar"), base36(fnv("foo:bar")));
    assert_eq!(fnv("a"), 0xe40c_292c);
}

fn fnv(text: &str) -> u32 {
    let mut hash: u64 = 2_166_136_261;
    for byte in text.bytes() {
        hash = ((hash ^ u64::from(byte)) * 16_777_619) & 0xffff_ffff;
    }
    hash as u32
}

fn base36(number: u32) -> String {
    let digit = char::from_digit(number % 36, 36).unwrap();
    if number < 36 { digit.to_string() } else { format!("{}{digit}", base36(number / 36)) }
}

#[test]
fn only_servers_that_are_ready_are_bound() {
    let mut away = server("s1", "Away", &["x"]);
    away.state = ConnectionState::Authenticating;
    assert!(functions(&[away.clone()]).is_empty());
    // What is away does not take a name from what is there.
    assert_eq!(names(&[away, server("s2", "Here", &["x"])]), [["x", "Here_x"]]);
}

#[test]
fn declarations_keep_to_their_caps() {
    let tools = functions(&[server("s1", "Search", &["lookup-record"])]);
    let text = declarations(&tools, 10_000, 4_000);
    assert_eq!(
        text,
        "/** Looks *it* up. *\\/ (Search). Also Search_lookup_record. */\n\
         declare function lookup_record(args: { query: string }): Promise<unknown>;\n"
    );
    // One that is too long by itself is counted, and the others are still there.
    let short = declarations(&tools, 10_000, text.len() - 1);
    assert_eq!(short, "// 1 more: their names and schemas are in mcpTools.\n");

    let many: Vec<String> = (0..200).map(|number| format!("tool-{number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let tools = functions(&[server("s1", "Search", &many)]);
    let text = declarations(&tools, 3_000, 1_000);
    assert!(text.len() <= 3_000, "{}", text.len());
    assert!(text.trim_end().ends_with("more: their names and schemas are in mcpTools."), "{text}");
    assert_eq!(declarations(&tools, 10, 1_000), "");
}

#[test]
fn results_are_unwrapped_and_errors_thrown() {
    let result = |json: Value| unwrap(serde_json::from_value(json).unwrap());
    let text = |text: &str| json!([{ "type": "text", "text": text }]);
    assert_eq!(
        result(json!({ "structuredContent": { "a": 1 }, "content": text("x") })),
        Ok(json!({ "a": 1 }))
    );
    assert_eq!(result(json!({ "content": text(r#"{"a":1}"#) })), Ok(json!({ "a": 1 })));
    assert_eq!(result(json!({ "content": text("plain") })), Ok(json!("plain")));
    let mixed = json!([{ "type": "text", "text": "1" }, { "type": "image", "data": "" }]);
    assert_eq!(result(json!({ "content": mixed })), Ok(mixed));
    assert_eq!(result(json!({})), Ok(Value::Null));
    assert_eq!(result(json!({ "content": text("boom"), "isError": true })), Err("boom".to_string()));
    assert_eq!(result(json!({ "structuredContent": [1], "isError": true })), Err("[1]".to_string()));
    assert!(result(json!({ "isError": true })).is_err());
}

#[test]
fn a_call_names_the_very_tool_that_is_known() {
    let mut known = server("s1", "Search", &["lookup-record"]);
    known.tools[0].fingerprint = Some("abc".into());
    let call = functions(&[known])[0].call(Map::new());
    assert_eq!((call.server_id.as_str(), call.name.as_str()), ("s1", "lookup-record"));
    assert_eq!(call.fingerprint.as_deref(), Some("abc"));
}
