//! Tests of `codemode.run` over real sockets, in real guests: what blocks find, what they return, what they are refused.

use serde_json::{Value, json};
use testkit::{Gateway, Peer};

/// Runs a block as a person.
pub async fn run(peer: &mut Peer, code: &str) -> Value {
    run_with(peer, json!({ "code": code })).await
}

pub async fn run_with(peer: &mut Peer, args: Value) -> Value {
    peer.call("codemode.run", args.clone()).await.unwrap_or_else(|refused| panic!("{args}: {refused:?}"))
}

/// What a block that must complete returned.
async fn returned(peer: &mut Peer, code: &str) -> Value {
    let ended = run(peer, code).await;
    assert_eq!(ended["status"], "completed", "{code}: {ended}");
    ended["result"].clone()
}

/// Why a block that must fail failed.
pub async fn failed(peer: &mut Peer, code: &str) -> String {
    let ended = run(peer, code).await;
    assert_eq!(ended["status"], "failed", "{code}: {ended}");
    ended["error"].as_str().unwrap().to_string()
}

#[tokio::test]
async fn a_block_is_the_body_of_an_async_function() {
    let gateway = Gateway::set_up().await;
    let mut alice = gateway.user().await;
    assert_eq!(run(&mut alice, "return 1+1").await, json!({ "status": "completed", "result": 2 }));
    assert_eq!(
        run(&mut alice, "1+1").await,
        json!({ "status": "completed" }),
        "nothing is returned by itself"
    );
    assert_eq!(run(&mut alice, "return null").await, json!({ "status": "completed", "result": null }));
    let asynchronous = "const x = await new Promise(done => setTimeout(() => done(7), 5)); return x";
    assert_eq!(returned(&mut alice, asynchronous).await, 7);
    for code in [
        "async () => 5",
        "export default async function main() { return 5 }",
        "```ts\nreturn (5 as number)\n```",
        "interface Five { five: 5 }\nconst f = <T,>(x: T): T => x\nreturn f<number>(5)",
        "(async () => { return 5 })()",
        "function five() { return 5 }\nreturn five()",
    ] {
        assert_eq!(returned(&mut alice, code).await, 5, "{code}");
    }
}

#[tokio::test]
async fn logs_are_kept_with_what_came_of_the_block() {
    let gateway = Gateway::set_up().await;
    let mut alice = gateway.user().await;
    let code = "console.log('a', 1, {}); console.warn('b'); console.error('c'); console.info('no'); throw new Error('x')";
    let logs = json!(["a 1 [object Object]", "[warn] b", "[error] c"]);
    assert_eq!(run(&mut alice, code).await, json!({ "status": "failed", "error": "x", "logs": logs }));
}

#[tokio::test]
async fn arguments_and_the_web_are_there_and_the_machine_is_not() {
    let gateway = Gateway::set_up().await;
    let mut alice = gateway.user().await;
    let args = json!({
        "code": "return { argv, args, frozen: Object.isFrozen(argv), tools: mcpTools }",
        "argv": ["a", "b"], "args": { "n": [1, null] },
    });
    let expected = json!({ "argv": ["a", "b"], "args": { "n": [1, null] }, "frozen": true, "tools": [] });
    assert_eq!(run_with(&mut alice, args).await["result"], expected);
    assert_eq!(run(&mut alice, "return args").await["result"], Value::Null);
    let web = r#"
        const url = new URL("../b?x=1&y=%C3%BC#z", "https://user@example.com:8443/a/c");
        url.searchParams.append("q", "a b&c");
        const bytes = new TextEncoder().encode("aü€😀");
        const map = structuredClone({ a: [1, { b: new Date(5) }], m: new Map([[1, new Set([2])]]) });
        return [url.href, url.host, url.searchParams.get("y"), [...bytes], new TextDecoder().decode(bytes),
            new TextDecoder().decode(new Uint8Array([97, 255, 226, 130])), map.a[1].b.getTime(), map.m.get(1).has(2),
            /^[0-9a-f-]{36}$/.test(crypto.randomUUID()), URL.canParse("nope")];
    "#;
    let bytes = "aü€😀".as_bytes();
    let expected = json!([
        "https://user@example.com:8443/b?x=1&y=%C3%BC&q=a+b%26c#z",
        "example.com:8443",
        "ü",
        bytes,
        "aü€😀",
        "a\u{fffd}\u{fffd}",
        5,
        true,
        true,
        false,
    ]);
    assert_eq!(returned(&mut alice, web).await, expected);
    let absent = "return ['fetch','require','process','Deno','WebAssembly','SharedArrayBuffer','Atomics','performance',\
                  'XMLHttpRequest','WebSocket'].filter(name => name in globalThis)";
    assert_eq!(returned(&mut alice, absent).await, json!([]));
    assert_eq!(returned(&mut alice, "return Date.now() % 1 + new Date().getTimezoneOffset()").await, 0);
    assert!(failed(&mut alice, "return await import('fs')").await.contains("Error"));
}

#[tokio::test]
async fn files_and_commands_are_those_of_whoever_runs_the_block() {
    let gateway = Gateway::set_up().await;
    let mut alice = gateway.user().await;
    let code = r#"
        const written = await fs.write({ path: "notes/a.txt", content: "one\ntwo\n" });
        const edited = await fs.edit({ path: "notes/a.txt", oldString: "two", newString: "three" });
        const read = await fs.read({ path: "notes/a.txt" });
        const found = await fs.search({ path: "notes", query: "three" });
        const ran = await shell("cat a.txt; pwd", { cwd: "notes" });
        const missing = await fs.read({ path: "notes/none" });
        const gone = await fs.delete({ path: "notes" });
        return { ok: [written.ok, edited.ok, gone.ok], text: read.content, count: found.count, ran, missing };
    "#;
    let result = returned(&mut alice, code).await;
    assert_eq!(result["ok"], json!([true, true, true]));
    assert!(result["text"].as_str().unwrap().contains("three"));
    assert_eq!(result["count"], 1);
    assert_eq!(result["ran"]["output"], "one\nthree\n/home/alice/notes\n");
    assert_eq!(result["missing"]["ok"], false, "what the operation says does not throw");
    let foreign = failed(&mut alice, "await fs.read({ path: '/root/x', target: 'nowhere' })").await;
    assert!(foreign.contains("nowhere"), "{foreign}");
    // Defaults.
    let args = json!({
        "code": "await fs.write({ path: './x', content: 'y' }); return [(await shell('cat x; pwd')).output, (await fs.read({ path: '/home/alice/d/x' })).ok]",
        "cwd": "/home/alice/d/",
    });
    assert_eq!(run_with(&mut alice, args).await["result"], json!(["y/home/alice/d\n", true]));
}

#[tokio::test]
async fn wrong_arguments_are_errors_of_the_wrappers() {
    let gateway = Gateway::set_up().await;
    let mut alice = gateway.user().await;
    for (code, error) in [
        ("await shell(1)", "TypeError: shell(input, options) requires a string input"),
        (
            "await shell('a', 1)",
            "TypeError: shell(input, options) requires options to be an object when provided",
        ),
        ("await fs.read('x')", "TypeError: fs.read requires an object argument"),
    ] {
        let why = failed(&mut alice, code).await;
        assert!(why.starts_with(error), "{why}");
    }
    assert_eq!(failed(&mut alice, " \n").await, "codemode requires a non-empty code string");
    let why = failed(&mut alice, "const a = 1;\nconst b = a.b.c;\nreturn b").await;
    assert!(why.starts_with("TypeError: ") && why.contains("at line 2:") && why.contains("a.b.c"), "{why}");
    let why = failed(&mut alice, "return 1 +* 2").await;
    assert!(why.starts_with("SyntaxError: ") && why.contains("line 1"), "{why}");
    let why = failed(&mut alice, "git status --short").await;
    assert!(why.contains("use `return await shell("), "{why}");
    assert_eq!(failed(&mut alice, "throw 'a text'").await, "a text");
    assert_eq!(failed(&mut alice, "throw new Error('only this')").await, "only this");
    let why = failed(&mut alice, "const a = {}; a.a = a; return a").await;
    assert!(why.contains("circular"), "{why}");
    let why = failed(&mut alice, "enum A { B }\nreturn A.B").await;
    assert!(why.contains("enum"), "{why}");
}

#[tokio::test]
async fn a_block_runs_in_a_process_that_is_the_callers() {
    let gateway = Gateway::set_up().await;
    let mut alice = gateway.user().await;
    let mut bob = gateway.add_user("bob").await;
    let refused =
        bob.call("codemode.run", json!({ "code": "return 1", "pid": "init:1000" })).await.unwrap_err();
    assert_eq!(refused.code, 403, "{refused:?}");
    let refused = bob.call("codemode.run", json!({ "code": "return 1", "pid": "none" })).await.unwrap_err();
    assert_eq!(refused.pair(), (404, "Process not found: none"));
    let refused = alice.call("codemode.exec", json!({ "code": "return 1" })).await.unwrap_err();
    assert_eq!(refused.pair(), (403, "Permission denied: codemode.exec"));
    // Root in a process of alice is alice.
    let mut root = gateway.root().await;
    let args = json!({ "code": "return (await shell('whoami')).output", "pid": "init:1000" });
    assert_eq!(run_with(&mut root, args).await["result"], "alice\n");
}

#[tokio::test]
async fn calls_of_a_block_run_at_once() {
    let gateway = Gateway::set_up().await;
    let mut driver = gateway.driver().await;
    let mut alice = gateway.user().await;
    let code = "return (await Promise.all([1, 2, 3].map(n => shell(`c${n}`, { target: 'laptop' })))).map(r => r.output)";
    let id = alice.send_call("codemode.run", json!({ "code": code })).await;
    let mut requests = Vec::new();
    for _ in 0..3 {
        requests.push(driver.request().await);
    }
    // All three are there before one is answered; they are answered in another order.
    for request in requests.iter().rev() {
        let output = request["args"]["input"].clone();
        driver.reply(request, json!({ "status": "completed", "output": output, "exitCode": 0 })).await;
    }
    assert_eq!(alice.answer(&id).await.unwrap()["result"], json!(["c1", "c2", "c3"]));
}
