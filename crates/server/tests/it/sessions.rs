//! Tests of shell sessions: the gateway's own ids, their owner, and that they outlive the gateway.

use serde_json::{Value, json};
use testkit::gateway::DEVICE;
use testkit::{Gateway, Peer};

async fn start(user: &mut Peer, driver: &mut Peer) -> Value {
    let id = user
        .send_call("shell.exec", json!({ "target": DEVICE, "input": "sleep 9", "sessionId": "  " }))
        .await;
    let request = driver.request().await;
    assert_eq!(request["args"], json!({ "input": "sleep 9" }));
    driver
        .reply(&request, json!({ "ok": true, "status": "running", "sessionId": "dev-7", "output": "a" }))
        .await;
    let running = user.answer(&id).await.unwrap();
    assert_eq!((&running["status"], &running["output"]), (&json!("running"), &json!("a")));
    running["sessionId"].clone()
}

#[tokio::test]
async fn a_running_command_is_continued_by_session_alone_also_after_a_restart() {
    let gateway = Gateway::set_up().await;
    let (mut driver, mut user) = (gateway.driver().await, gateway.user().await);
    let session = start(&mut user, &mut driver).await;
    assert!(session.as_str().unwrap().starts_with("sh_"));
    drop((driver, user));

    let gateway = gateway.restart().await;
    let mut user = gateway.user().await;
    let poll = json!({ "sessionId": session, "input": "" });
    assert_eq!(
        user.call("shell.exec", poll.clone()).await.unwrap_err().pair(),
        (503, "Device offline: laptop")
    );
    let mut driver = gateway.driver().await;
    let id = user.send_call("shell.exec", poll.clone()).await;
    let request = driver.request().await;
    assert_eq!(request["args"], json!({ "input": "", "sessionId": "dev-7" }));
    let done =
        json!({ "ok": true, "status": "completed", "sessionId": "dev-7", "output": "b", "exitCode": 0 });
    driver.reply(&request, done).await;
    let done = user.answer(&id).await.unwrap();
    assert_eq!((&done["sessionId"], &done["exitCode"]), (&session, &json!(0)));

    let id = user.send_call("shell.exec", poll).await;
    let request = driver.request().await;
    let error = json!({ "code": -1, "message": "Unknown shell session: dev-7" });
    driver.send(json!({ "type": "res", "id": request["id"], "ok": false, "error": error })).await;
    let refused = user.answer(&id).await.unwrap_err();
    assert_eq!(
        refused.pair(),
        (404, format!("Unknown shell session: {}", session.as_str().unwrap()).as_str())
    );
}

#[tokio::test]
async fn a_session_belongs_to_its_user_and_its_device() {
    let gateway = Gateway::set_up().await;
    let (mut driver, mut user) = (gateway.driver().await, gateway.user().await);
    let session = start(&mut user, &mut driver).await;
    let poll = json!({ "sessionId": session, "input": "" });
    for peer in [&mut gateway.add_user("bob").await, &mut gateway.root().await] {
        assert_eq!(peer.call("shell.exec", poll.clone()).await.unwrap_err().code, 404);
    }
    let unknown = user.call("shell.exec", json!({ "sessionId": "dev-7", "input": "" })).await.unwrap_err();
    assert_eq!(unknown.pair(), (404, "Unknown shell session: dev-7"), "the device's own id opens nothing");
    let mismatch = json!({ "sessionId": session, "input": "", "target": "elsewhere" });
    let refused = user.call("shell.exec", mismatch).await.unwrap_err();
    assert_eq!(refused.pair(), (400, "Shell session target does not match the requested target"));
    let id =
        user.send_call("shell.exec", json!({ "sessionId": session, "input": "y\n", "target": DEVICE })).await;
    let request = driver.request().await;
    assert_eq!(request["args"], json!({ "input": "y\n", "sessionId": "dev-7" }));
    driver.reply(&request, json!({ "status": "running", "sessionId": "dev-7", "output": "" })).await;
    assert_eq!(user.answer(&id).await.unwrap()["sessionId"], session);
}

#[tokio::test]
async fn a_command_that_ended_at_once_has_no_session() {
    let gateway = Gateway::set_up().await;
    let (mut driver, mut user) = (gateway.driver().await, gateway.user().await);
    let id = user.send_call("shell.exec", json!({ "target": DEVICE, "input": "true" })).await;
    let request = driver.request().await;
    let data = json!({ "ok": true, "status": "completed", "sessionId": "dev-1", "output": "", "exitCode": 0, "error": null });
    driver.reply(&request, data).await;
    let done = user.answer(&id).await.unwrap();
    assert_eq!(
        done,
        json!({ "ok": true, "status": "completed", "output": "", "exitCode": 0, "error": null })
    );
}

#[tokio::test]
async fn exec_status_of_a_driver_is_taken_in_and_goes_no_further() {
    let gateway = Gateway::set_up().await;
    let (mut driver, mut user) = (gateway.driver().await, gateway.user().await);
    let session = start(&mut user, &mut driver).await;
    let payload = json!({ "sessionId": "dev-7", "event": "finished", "exitCode": 0, "eventId": "e" });
    driver.send(json!({ "type": "sig", "signal": "exec.status", "payload": payload })).await;
    driver.call("sys.nothing", json!({})).await.unwrap_err();
    assert!(user.saw_no(|frame| frame["signal"] == "exec.status").await);
    let id = user.send_call("shell.exec", json!({ "sessionId": session, "input": "" })).await;
    let request = driver.request().await;
    driver.reply(&request, json!({ "status": "completed", "sessionId": "dev-7", "output": "end" })).await;
    assert_eq!(
        user.answer(&id).await.unwrap()["output"],
        "end",
        "the last output still comes from the device"
    );
}
