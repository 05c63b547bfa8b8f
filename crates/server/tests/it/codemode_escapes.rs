//! Corpus of escapes and floods: each ends within its limit, in `failed`, and nobody else notices.

use serde_json::json;
use testkit::{Gateway, Peer};

use crate::codemode::{failed, run};

/// A gateway whose blocks have little time and memory, and a user of it.
async fn tight() -> (Gateway, Peer) {
    let gateway = Gateway::set_up().await;
    let mut root = gateway.root().await;
    for (key, value) in [("timeout_ms", "700"), ("memory_bytes", "33554432")] {
        let args = json!({ "key": format!("config/codemode/{key}"), "value": value });
        root.call("sys.config.set", args).await.unwrap();
    }
    let alice = gateway.user().await;
    (gateway, alice)
}

/// Whether another block is served as if nothing had happened.
async fn still_serves(peer: &mut Peer) {
    assert_eq!(run(peer, "return 6 * 7").await, json!({ "status": "completed", "result": 42 }));
}

#[tokio::test]
async fn what_never_ends_is_ended() {
    let (gateway, mut alice) = tight().await;
    let mut bob = gateway.add_user("bob").await;
    for code in [
        "while (true) {}",
        "for (;;) { try { for (;;) {} } finally { continue } }",
        "const o = { get x() { while (true) {} } }; return JSON.stringify(o)",
        "return { get x() { while (true) {} } }",
        "return { toJSON() { while (true) {} } }",
        "const p = new Proxy({}, { get() { while (true) {} } }); return p.x",
        "return /^(a+)+$/.test('a'.repeat(40) + 'b')",
        "[3, 2, 1].sort(() => { while (true) {} })",
        "await { then() { while (true) {} } }",
        "await new Promise(done => setTimeout(done, 1e8))",
        "return new Array(1e9) + ''",
        "const tick = () => setTimeout(tick, 0); tick(); await new Promise(() => {})",
        "__crash('loop')",
    ] {
        assert_eq!(failed(&mut alice, code).await, "Execution timed out", "{code}");
    }
    still_serves(&mut alice).await;
    still_serves(&mut bob).await;
}

#[tokio::test]
async fn what_grows_hits_its_limit() {
    let (_gateway, mut alice) = tight().await;
    for (code, word) in [
        ("const all = []; for (;;) all.push(new Array(1000).fill({}))", "out of memory"),
        ("let s = 'x'; for (;;) s += s", ""),
        ("return 'x'.repeat(2 ** 29)", ""),
        ("let n = 2n; for (;;) n *= n", ""),
        ("new Uint8Array(2 ** 31)", ""),
        ("const f = () => f(); f()", "RangeError"),
        ("let o = {}; for (let i = 0; i < 1e6; i++) o = { o }; return JSON.stringify(o)", ""),
        ("for (;;) console.log('x'.repeat(1000))", "logged more than"),
        ("for (;;) fs.read({ path: '/' })", ""),
        (
            "for (let i = 0; i < 5000; i++) setTimeout(() => {}, 1000); await new Promise(() => {})",
            "too many timers",
        ),
        ("return 'x'.repeat(6 * 1024 * 1024)", "larger than"),
        ("__crash('memory')", ""),
    ] {
        let why = failed(&mut alice, code).await;
        assert!(why.contains(word), "{code}: {why}");
        assert!(!why.is_empty(), "{code}");
    }
    // Memory or time, whichever is used up first.
    for code in [
        "async function f() { await null; return f() } return f()",
        "const loop = () => Promise.resolve().then(loop); return loop()",
    ] {
        let why = failed(&mut alice, code).await;
        assert!(why.contains("out of memory") || why.contains("timed out"), "{code}: {why}");
    }
    still_serves(&mut alice).await;
}

#[tokio::test]
async fn native_crashes_and_forbidden_calls_of_the_system_end_one_block() {
    let (gateway, mut alice) = tight().await;
    for how in ["segfault", "abort", "exit", "open", "socket", "exec", "thread"] {
        let why =
            failed(&mut alice, &format!("console.log('before'); __crash('{how}'); return 'survived'")).await;
        assert!(why.contains("crashed its sandbox"), "{how}: {why}");
    }
    for how in ["open", "socket", "exec", "thread"] {
        let why = failed(&mut alice, &format!("__crash('{how}')")).await;
        assert!(why.contains("SIGSYS") || why.contains("signal: 31"), "the filter kills: {how}: {why}");
    }
    let ended = run(&mut alice, "console.log('kept'); __crash('segfault')").await;
    assert_eq!(ended["logs"], json!(["kept"]), "what was logged before is there");
    still_serves(&mut alice).await;
    drop(gateway);
}

#[tokio::test]
async fn there_is_no_way_out_of_the_engine() {
    let (_gateway, mut alice) = tight().await;
    for code in [
        "return this === undefined && typeof globalThis.host",
        "return typeof shell.constructor('return this')().host",
        "return typeof (async () => {}).constructor('return globalThis')",
        "Object.prototype.target = 'laptop'; Object.prototype.sessionId = 'x'; return (await fs.read({ path: '~' })).ok",
        "JSON.stringify = () => '{\"path\":\"/etc/shadow\"}'; return (await fs.read({ path: '~' })).ok",
        "Promise.prototype.then = null; return typeof fs.read({ path: '~' })",
        "Map.prototype.get = () => ({ resolve() {}, reject() {} }); return typeof shell('true')",
        "globalThis.fs = null; delete globalThis.shell; return typeof fs",
        "return Object.getOwnPropertyNames(globalThis).filter(name => name.startsWith('__') && name !== '__crash')",
    ] {
        // However it ends, it ends, and the next block finds everything as it was.
        let ended = run(&mut alice, code).await;
        assert!(ended["status"] == "completed" || ended["status"] == "failed", "{code}: {ended}");
        assert_eq!(
            run(&mut alice, "return [typeof fs.read, typeof shell]").await["result"],
            json!(["function", "function"])
        );
    }
    let leaked = "return Object.getOwnPropertyNames(globalThis).filter(name => name.startsWith('__') && name !== '__crash')";
    assert_eq!(run(&mut alice, leaked).await["result"], json!([]));
    let never = failed(&mut alice, "await { then() {} }").await;
    assert!(never.contains("nothing can settle"), "{never}");
}

#[tokio::test]
async fn what_a_block_left_is_not_there_for_the_next() {
    let (_gateway, mut alice) = tight().await;
    run(&mut alice, "globalThis.left = 1; Array.prototype.left = 2; return 1").await;
    assert_eq!(
        run(&mut alice, "return [typeof left, typeof [].left]").await["result"],
        json!(["undefined", "undefined"])
    );
}
