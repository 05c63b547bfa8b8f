//! Tests of recovery: a command of an agent runs on a device, with the real driver, while the gateway stops or the
//! device is lost.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use device::Report;
use serde_json::json;
use testkit::fake_model::{Server, Turn, chat_reply};
use testkit::{Gateway, Peer, Postgres};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::agents::{Agents, configured, saying};

const LIMIT: Duration = Duration::from_secs(60);

/// Counts itself in a file, and ends when the file `go` appears.
const COUNTED: &str = "echo x >> count; while [ ! -e go ]; do sleep 0.02; done; echo went";

async fn until(is_so: impl Fn() -> bool) {
    let waiting = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(LIMIT, waiting).await.unwrap();
}

/// The driver of the gateway's device, which finds it at `url`; `report` is told what happens to it.
fn drive(
    gateway: &Gateway,
    url: String,
    workspace: &Path,
    report: impl Fn(Report) + Send + Sync + 'static,
) -> base::shutdown::Trigger {
    let options = device::Options {
        url,
        username: testkit::gateway::USER.to_string(),
        token: Some(gateway.node_token.clone()),
        device_id: testkit::gateway::DEVICE.to_string(),
        workspace: workspace.to_path_buf(),
        root: None,
        allow: Vec::new(),
        agents: Default::default(),
        state: None,
        version: "test".to_string(),
    };
    let (trigger, stop) = base::shutdown::channel();
    tokio::spawn(async move { device::run(options, stop, report).await.unwrap() });
    trigger
}

/// The device of these tests has no sandbox: a rule of its owner's lets commands run unasked.
async fn let_commands_run(peer: &mut Peer) {
    let rules = r#"{"rules":[{"match":"shell.exec","action":"auto"}]}"#;
    let args = json!({ "key": "users/1000/ai/tools/approval", "value": rules });
    peer.call("sys.config.set", args).await.unwrap();
}

/// Waits until the gateway counts the device as connected, or as lost.
async fn until_online(peer: &mut Peer, online: bool) {
    let waiting = async {
        // One that is not connected is not in the list.
        while (peer.call("sys.device.list", json!({})).await.unwrap()["devices"][0]["online"] == true)
            != online
        {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(LIMIT, waiting).await.unwrap();
}

/// What the model was told of the command.
async fn told(model: &Server) -> String {
    until(|| model.received().len() >= 2).await;
    let asked = model.received()[1].json();
    let told = asked["messages"].as_array().unwrap().iter().find(|it| it["role"] == "tool").unwrap().clone();
    told["content"].to_string()
}

/// How often the command was begun.
fn count(workspace: &Path) -> usize {
    std::fs::read_to_string(workspace.join("count")).unwrap().lines().count()
}

/// Runs the command, then ends.
fn script() -> Vec<Turn> {
    let args = json!({ "target": testkit::gateway::DEVICE, "input": COUNTED, "yieldMs": 30_000 });
    vec![Turn::tool("c1", "Shell", args), Turn::text("done")]
}

/// Has an agent run the command, stops the gateway in the middle of it, and returns what the model was told.
async fn through_a_restart(
    agents: Agents,
    finish: impl Fn(&Path) + Send + Sync + 'static,
    finish_late: bool,
) -> (String, usize) {
    let workspace = tempfile::tempdir().unwrap();
    let path = workspace.path().to_path_buf();
    let Agents { gateway, model } = agents;
    let finish = std::sync::Arc::new(finish);
    let trigger = {
        let (path, finish) = (path.clone(), finish.clone());
        drive(&gateway, gateway.url(), &path.clone(), move |report| {
            if matches!(report, Report::Lost { .. }) && !finish_late {
                finish(&path);
            }
        })
    };
    let mut peer = gateway.user().await;
    let_commands_run(&mut peer).await;
    until_online(&mut peer, true).await;
    let sent = peer.call("proc.send", json!({ "message": "go on" })).await.unwrap();
    assert_eq!(sent["ok"], true, "{sent}");
    until(|| path.join("count").exists()).await;
    drop(peer);
    let gateway = gateway.restart().await;
    if finish_late {
        let mut peer = gateway.user().await;
        peer.call("sys.device.list", json!({})).await.unwrap();
        finish(&path);
    }
    let told = told(&model).await;
    trigger.stop();
    gateway.stop().await;
    (told, count(&path))
}

fn let_go(workspace: &Path) {
    std::fs::write(workspace.join("go"), "").unwrap();
}

#[tokio::test]
async fn with_postgresql_results_are_not_lost_either() {
    let postgres = tokio::task::spawn_blocking(Postgres::start).await.unwrap();
    let gateway = Gateway::set_up_on(&postgres.url).await;
    let model = Server::replying(script().iter().map(chat_reply).collect()).await.unwrap();
    let (told, count) = through_a_restart(configured(gateway, model).await, let_go, false).await;
    assert!(told.contains("went"), "{told}");
    assert_eq!(count, 1);
}

#[tokio::test]
async fn a_result_that_came_while_the_gateway_was_gone_is_not_lost() {
    let (told, count) = through_a_restart(saying(script()).await, let_go, false).await;
    assert!(told.contains("went"), "{told}");
    assert_eq!(count, 1);
}

#[tokio::test]
async fn a_command_that_outlives_the_gateway_is_waited_for() {
    let (told, count) = through_a_restart(saying(script()).await, let_go, true).await;
    assert!(told.contains("went"), "{told}");
    assert_eq!(count, 1);
}

/// What a device is connected by. It can be cut and restored.
struct Cable {
    url: String,
    cut: watch::Sender<bool>,
}

impl Cable {
    async fn to(gateway: SocketAddr) -> Cable {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("ws://{}/ws", listener.local_addr().unwrap());
        let (cut, is_cut) = watch::channel(false);
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                if !*is_cut.borrow() {
                    tokio::spawn(carry(near, gateway, is_cut.clone()));
                }
            }
        });
        Cable { url, cut }
    }
}

/// Carries bytes both ways until one end goes or the cable is cut.
async fn carry(mut near: TcpStream, gateway: SocketAddr, mut is_cut: watch::Receiver<bool>) {
    let Ok(mut far) = TcpStream::connect(gateway).await else { return };
    let cut = async { while is_cut.changed().await.is_ok() && !*is_cut.borrow() {} };
    tokio::select! {
        _ = tokio::io::copy_bidirectional(&mut near, &mut far) => {}
        () = cut => {}
    }
}

/// Has an agent run the command and cuts the device off in the middle of it. `after` is what happens then; the cable is
/// restored after that. What the model was told, how often the command was begun, and how the run ended.
async fn through_a_cut(
    after: impl AsyncFnOnce(&Gateway, &Cable, &Path, &base::shutdown::Trigger),
) -> (String, usize, String) {
    let workspace = tempfile::tempdir().unwrap();
    let path = workspace.path();
    let Agents { gateway, model } = saying(script()).await;
    let cable = Cable::to(gateway.address).await;
    let trigger = drive(&gateway, cable.url.clone(), path, |_| ());
    let mut peer = gateway.user().await;
    let_commands_run(&mut peer).await;
    until_online(&mut peer, true).await;
    peer.call("proc.send", json!({ "message": "go on" })).await.unwrap();
    until(|| path.join("count").exists()).await;
    cable.cut.send_replace(true);
    until_online(&mut peer, false).await;
    after(&gateway, &cable, path, &trigger).await;
    cable.cut.send_replace(false);
    let told = told(&model).await;
    let ended = peer.signal("proc.run.finished").await["status"].to_string();
    let_go(path);
    trigger.stop();
    gateway.stop().await;
    (told, count(path), ended)
}

#[tokio::test]
async fn a_device_that_is_lost_in_the_middle_of_a_command_is_asked_for_its_result() {
    let end = async |_: &Gateway, _: &Cable, path: &Path, _: &base::shutdown::Trigger| {
        let_go(path);
    };
    let (told, count, ended) = through_a_cut(end).await;
    assert!(told.contains("went"), "{told}");
    assert_eq!((count, ended.as_str()), (1, "\"ok\""));
}

#[tokio::test]
async fn another_program_on_a_lost_device_knows_nothing_and_nothing_is_repeated() {
    // A driver stops when its trigger goes.
    let second = std::cell::RefCell::new(None);
    let replace = async |gateway: &Gateway, _: &Cable, path: &Path, first: &base::shutdown::Trigger| {
        first.stop();
        second.replace(Some(drive(gateway, gateway.url(), path, |_| ())));
        until_online(&mut gateway.user().await, true).await;
    };
    let (told, count, ended) = through_a_cut(replace).await;
    assert!(told.contains("It is not known whether it took effect"), "{told}");
    assert_eq!((count, ended.as_str()), (1, "\"ok\""));
}
