//! Tests of `sys.mcp.*` against MCP servers that others wrote: the reference server of npm and the Python SDK, over every
//! transport they have. The test command installs them; elsewhere a test without its peer says so and is skipped.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::{Gateway, Peer};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

/// Where the test command puts them, below the target directory.
fn peers() -> Option<PathBuf> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let target =
        target.unwrap_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target")));
    let folder = target.join("xtask/mcp-peers");
    let is_there = folder.join("node_modules").is_dir() && folder.join("py").is_dir();
    if !is_there {
        // The test command says that they must be there.
        assert!(std::env::var_os("GSV_MCP_PEERS").is_none(), "the MCP peers are not in {}", folder.display());
        eprintln!("skipped: the MCP peers are not installed; `cargo xtask test` installs them");
    }
    is_there.then_some(folder)
}

/// A port that was free a moment ago.
async fn free_port() -> u16 {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.local_addr().unwrap().port()
}

/// Starts a server and waits until it takes connections. It ends with the test.
async fn start(mut command: Command, port: u16) -> Child {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    while tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_err() {
        assert!(child.try_wait().unwrap().is_none(), "the server ended by itself");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    child
}

async fn everything(transport: &str) -> Option<(Child, u16)> {
    let folder = peers()?;
    let port = free_port().await;
    let mut command = Command::new("node");
    command.arg(folder.join("node_modules/@modelcontextprotocol/server-everything/dist/index.js"));
    command.arg(transport).env("PORT", port.to_string());
    Some((start(command, port).await, port))
}

async fn python(transport: &str) -> Option<(Child, u16)> {
    const PROGRAM: &str = "\
import sys
from mcp.server import MCPServer
server = MCPServer('adder', instructions='Adds.')
@server.tool()
def add(a: int, b: int) -> int:
    '''Adds two numbers.'''
    return a + b
@server.resource('note://one')
def one() -> str:
    return 'one'
server.run(sys.argv[1], host='127.0.0.1', port=int(sys.argv[2]))
";
    let folder = peers()?;
    let port = free_port().await;
    let mut command = Command::new(folder.join("py/bin/python"));
    command.args(["-c", PROGRAM, transport, &port.to_string()]);
    Some((start(command, port).await, port))
}

async fn add(user: &mut Peer, url: &str, transport: &str) -> Value {
    let args = json!({ "name": "Peer", "url": url, "transport": { "type": transport } });
    user.call("sys.mcp.add", args).await.unwrap()["server"].clone()
}

async fn call(user: &mut Peer, server: &Value, name: &str, arguments: Value) -> Value {
    let args = json!({ "serverId": server["serverId"], "name": name, "arguments": arguments });
    user.call("sys.mcp.call", args).await.unwrap()
}

async fn echoes(path: &str, program: &str, transport: &str) {
    let Some((_child, port)) = everything(program).await else { return };
    let gateway = Gateway::set_up().await;
    let mut alice = gateway.user().await;
    let server = add(&mut alice, &format!("http://localhost:{port}{path}"), transport).await;
    assert_eq!(server["state"], "ready", "{server}");
    assert!(server["tools"].as_array().unwrap().len() >= 10, "{server}");
    assert!(
        server["resourceCount"].as_u64() > Some(0) && server["promptCount"].as_u64() > Some(0),
        "{server}"
    );
    let said = call(&mut alice, &server, "echo", json!({ "message": "hi" })).await;
    assert_eq!(said["content"][0]["text"], "Echo: hi");
    let refreshed = alice.call("sys.mcp.refresh", json!({ "serverId": server["serverId"] })).await.unwrap();
    assert_eq!(refreshed["server"]["state"], "ready");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_reference_server_over_streamable_http() {
    echoes("/mcp", "streamableHttp", "auto").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_reference_server_over_sse() {
    echoes("/sse", "sse", "sse").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_reference_server_over_sse_is_found_by_itself() {
    echoes("/sse", "sse", "auto").await;
}

async fn adds(transport: &str, path: &str) {
    let Some((_child, port)) = python(transport).await else { return };
    let gateway = Gateway::set_up().await;
    let mut alice = gateway.user().await;
    let server = add(&mut alice, &format!("http://127.0.0.1:{port}{path}"), "auto").await;
    assert_eq!((&server["state"], &server["instructions"]), (&json!("ready"), &json!("Adds.")), "{server}");
    assert_eq!(server["resourceCount"], 1);
    let sum = call(&mut alice, &server, "add", json!({ "a": 2, "b": 40 })).await;
    assert_eq!(sum["structuredContent"], json!({ "result": 42 }), "{sum}");
    let wrong = call(&mut alice, &server, "add", json!({ "a": "x" })).await;
    assert_eq!(wrong["isError"], true, "{wrong}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_python_sdk_without_sessions() {
    adds("streamable-http", "/mcp").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_python_sdk_over_sse() {
    adds("sse", "/sse").await;
}
