//! A gateway that stops while a command of an agent runs on a device, with the real driver.

use std::path::Path;
use std::time::Duration;

use device::Report;
use serde_json::json;
use testkit::Gateway;
use testkit::fake_model::Turn;

use crate::agents::{Agents, saying};

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

/// The driver of the gateway's device; `report` is told what happens to it.
fn drive(
    gateway: &Gateway,
    workspace: &Path,
    report: impl Fn(Report) + Send + Sync + 'static,
) -> base::shutdown::Trigger {
    let options = device::Options {
        url: gateway.url(),
        username: testkit::gateway::USER.to_string(),
        token: Some(gateway.node_token.clone()),
        device_id: testkit::gateway::DEVICE.to_string(),
        workspace: workspace.to_path_buf(),
        root: None,
        allow: Vec::new(),
        version: "test".to_string(),
    };
    let (trigger, stop) = base::shutdown::channel();
    tokio::spawn(async move { device::run(options, stop, report).await.unwrap() });
    trigger
}

/// Has an agent run the command, stops the gateway in the middle of it, and returns what the model was told.
async fn through_a_restart(
    finish: impl Fn(&Path) + Send + Sync + 'static,
    finish_late: bool,
) -> (String, usize) {
    let workspace = tempfile::tempdir().unwrap();
    let path = workspace.path().to_path_buf();
    let args = json!({ "target": testkit::gateway::DEVICE, "input": COUNTED, "yieldMs": 30_000 });
    let turns = vec![Turn::tool("c1", "Shell", args), Turn::text("done")];
    let Agents { gateway, model } = saying(turns).await;
    let finish = std::sync::Arc::new(finish);
    let trigger = {
        let (path, finish) = (path.clone(), finish.clone());
        drive(&gateway, &path.clone(), move |report| {
            if matches!(report, Report::Lost { .. }) && !finish_late {
                finish(&path);
            }
        })
    };
    let mut peer = gateway.user().await;
    let online = async {
        while peer.call("sys.device.list", json!({})).await.unwrap()["devices"][0]["online"] != json!(true) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(LIMIT, online).await.unwrap();
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
    until(|| model.received().len() >= 2).await;
    let asked = model.received()[1].json();
    let told = asked["messages"].as_array().unwrap().iter().find(|it| it["role"] == "tool").unwrap().clone();
    let count = std::fs::read_to_string(path.join("count")).unwrap().lines().count();
    trigger.stop();
    gateway.stop().await;
    (told["content"].to_string(), count)
}

#[tokio::test]
async fn a_result_that_came_while_the_gateway_was_gone_is_not_lost() {
    let (told, count) = through_a_restart(|path| std::fs::write(path.join("go"), "").unwrap(), false).await;
    assert!(told.contains("went"), "{told}");
    assert_eq!(count, 1);
}

#[tokio::test]
async fn a_command_that_outlives_the_gateway_is_waited_for() {
    let (told, count) = through_a_restart(|path| std::fs::write(path.join("go"), "").unwrap(), true).await;
    assert!(told.contains("went"), "{told}");
    assert_eq!(count, 1);
}
