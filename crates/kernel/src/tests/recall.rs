//! Tests of the recovery of calls whose answers were lost with the gateway.

use gateway::Recalled;
use protocol::ids::Uid;
use store::change::Change;

use super::*;
use crate::recall::{self, recall_within};

const PID: &str = "init:1000";
const UID: Uid = Uid(1000);

/// Sets the system up; returns the token of the device `desk`.
async fn set_up(kernel: &Arc<Kernel>) -> Value {
    let connection = kernel.opened(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let args = json!({ "username": "ann", "password": "ann-password", "node": { "deviceId": "desk" } });
    send(kernel, &connection, json!({ "type": "req", "id": "1", "call": "sys.setup", "args": args }));
    let token = next(&connection).await["data"]["nodeToken"]["token"].clone();
    let who = process(kernel).await.identity;
    let row = ProcessRow::idle(Pid::from(PID), who.uid, "init", &who.home, 1);
    kernel.store.processes().create(&row).await.unwrap();
    token
}

async fn connect(kernel: &Arc<Kernel>, token: &Value, instance: &str, remembers: bool) -> Arc<Connection> {
    let connection = kernel.opened(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let driver =
        json!({ "implements": ["fs.*", "shell.exec"], "instance": instance, "remembers": remembers });
    let args = json!({
        "protocol": 1, "client": { "id": "desk", "role": "driver" },
        "driver": driver, "auth": { "username": "ann", "token": token },
    });
    send(kernel, &connection, json!({ "type": "req", "id": "2", "call": "sys.connect", "args": args }));
    assert_eq!(next(&connection).await["ok"], true);
    assert_eq!(next(&connection).await["signal"], "device.status");
    connection
}

/// Makes a call as the process; the answer is never waited for.
async fn start_call(
    kernel: &Arc<Kernel>,
    id: &'static str,
    call: &'static str,
    mut args: Value,
) -> tokio::task::JoinHandle<()> {
    args["target"] = json!("desk");
    let (kernel, caller) = (kernel.clone(), process(kernel).await);
    tokio::spawn(async move { drop(kernel.call(caller, id, call, &args.to_string()).await) })
}

async fn recall(kernel: &Arc<Kernel>, uid: Uid, pid: &Pid, id: &str) -> Recalled {
    recall::recall(kernel, uid, pid, id, base::limits::process::RECALL_WAIT).await
}

fn asked(kernel: &Arc<Kernel>, id: &'static str) -> tokio::task::JoinHandle<Recalled> {
    let kernel = kernel.clone();
    tokio::spawn(async move { recall(&kernel, UID, &Pid::from(PID), id).await })
}

fn answer(kernel: &Arc<Kernel>, driver: &Arc<Connection>, request: &Value, data: Value) {
    send(kernel, driver, json!({ "type": "res", "id": request["id"], "ok": true, "data": data }));
}

fn refuse(kernel: &Arc<Kernel>, driver: &Arc<Connection>, request: &Value, error: &protocol::error::Error) {
    send(kernel, driver, json!({ "type": "res", "id": request["id"], "ok": false, "error": error }));
}

/// A gateway that has sent a call and is gone, and its successor.
async fn after_a_crash(
    data: &tempfile::TempDir,
    call: &'static str,
    args: Value,
) -> (Arc<Kernel>, Value, Value) {
    let first = kernel(data).await;
    let token = set_up(&first).await;
    let driver = connect(&first, &token, "i", true).await;
    let calling = start_call(&first, "r/1/0", call, args).await;
    let request = next(&driver).await;
    assert_eq!((&request["durable"], &request["again"]), (&json!(true), &Value::Null));
    calling.abort();
    drop((first, driver));
    // The store is let go once the last task of the first gateway is.
    let options = store::Options { data: data.path().to_path_buf(), url: None };
    let store = loop {
        match Store::open(&options).await {
            Ok(store) => break store,
            Err(store::OpenError::Held(_)) => tokio::time::sleep(Duration::from_millis(5)).await,
            Err(error) => panic!("{error}"),
        }
    };
    let second = Kernel::start(store, &data.path().join("files"), Clock::system(), "test").await.unwrap();
    (second, token, request)
}

#[tokio::test]
async fn the_row_of_a_call_in_the_journal_is_the_processs_to_remove() {
    let data = tempfile::tempdir().unwrap();
    let kernel = kernel(&data).await;
    let token = set_up(&kernel).await;
    let driver = connect(&kernel, &token, "i", true).await;
    let calling = {
        let (kernel, caller) = (kernel.clone(), process(&kernel).await);
        let args = json!({ "target": "desk", "path": "/x" }).to_string();
        tokio::spawn(async move { kernel.call(caller, "r/1/0", "fs.delete", &args).await })
    };
    let request = next(&driver).await;
    answer(&kernel, &driver, &request, json!({ "n": 1 }));
    assert_eq!(calling.await.unwrap().unwrap(), r#"{"n":1}"#);
    let row = kernel.store.routes().of(&Pid::from(PID), "r/1/0").await.unwrap().unwrap();
    assert_eq!(row.wire_id.as_deref(), request["id"].as_str());
    assert_eq!((row.instance.as_deref(), row.args.as_deref()), (Some("i"), Some(r#"{"path":"/x"}"#)));
    kernel.store.keep(Change::new(&Pid::from(PID)).route_done("r/1/0")).await.unwrap();
    assert!(kernel.store.routes().all().await.unwrap().is_empty());
    assert!(matches!(recall(&kernel, UID, &Pid::from(PID), "r/1/0").await, Recalled::NeverSent));
}

/// A call as the process makes it.
fn called(
    kernel: &Arc<Kernel>,
    target: &str,
) -> tokio::task::JoinHandle<Result<String, protocol::error::Error>> {
    let args = json!({ "target": target, "path": "/x" }).to_string();
    let gateway = kernel.gateway.clone();
    tokio::spawn(async move {
        let caller = gateway.on_behalf_of(UID, Origin::Process(Pid::from(PID))).await?;
        gateway.call(caller, "r/2/0", "fs.delete", &args).await
    })
}

#[tokio::test]
async fn after_a_restart_a_call_waits_for_the_device_to_come_back() {
    let data = tempfile::tempdir().unwrap();
    let (kernel, token, _) = after_a_crash(&data, "fs.delete", json!({ "path": "/x" })).await;
    let error = called(&kernel, "other").await.unwrap().unwrap_err();
    assert_eq!(error.code, 403, "nobody waits for what was never there: {error:?}");
    let calling = called(&kernel, "desk");
    let driver = connect(&kernel, &token, "i", true).await;
    let request = next(&driver).await;
    assert_eq!((&request["call"], &request["args"]), (&json!("fs.delete"), &json!({ "path": "/x" })));
    answer(&kernel, &driver, &request, json!({ "n": 1 }));
    assert_eq!(calling.await.unwrap().unwrap(), r#"{"n":1}"#);
    kernel.closed(&driver);
    let error = called(&kernel, "desk").await.unwrap().unwrap_err();
    assert_eq!(error.message, "Device offline: desk", "it went by itself this time");
}

#[tokio::test]
async fn a_driver_that_does_not_remember_is_not_asked() {
    let data = tempfile::tempdir().unwrap();
    let kernel = kernel(&data).await;
    let token = set_up(&kernel).await;
    let driver = connect(&kernel, &token, "i", false).await;
    start_call(&kernel, "r/1/0", "fs.delete", json!({ "path": "/x" })).await;
    let request = next(&driver).await;
    assert_eq!(request["durable"], Value::Null);
    assert!(matches!(recall(&kernel, UID, &Pid::from(PID), "r/1/0").await, Recalled::Unknown));
}

#[tokio::test]
async fn a_device_that_comes_back_is_asked_for_the_result() {
    let data = tempfile::tempdir().unwrap();
    let (kernel, token, request) = after_a_crash(&data, "fs.delete", json!({ "path": "/x" })).await;
    let recalling = asked(&kernel, "r/1/0");
    let driver = connect(&kernel, &token, "i", true).await;
    let again = next(&driver).await;
    assert_eq!((&again["id"], &again["args"]), (&request["id"], &json!({ "path": "/x" })));
    assert_eq!((&again["durable"], &again["again"]), (&json!(true), &json!(true)));
    // The socket is lost once more.
    kernel.closed(&driver);
    let driver = connect(&kernel, &token, "i", true).await;
    let again = next(&driver).await;
    answer(&kernel, &driver, &again, json!({ "ok": true }));
    let Recalled::Answered(Ok(text)) = recalling.await.unwrap() else { panic!("an answer") };
    assert_eq!(text, r#"{"ok":true}"#);
    assert_eq!(kernel.store.routes().all().await.unwrap().len(), 1, "the process removes it");
}

#[tokio::test]
async fn what_the_device_says_is_understood() {
    let data = tempfile::tempdir().unwrap();
    let (kernel, token, _) = after_a_crash(&data, "fs.delete", json!({ "path": "/x" })).await;
    let driver = connect(&kernel, &token, "i", true).await;
    let said = async |error: protocol::error::Error| {
        let recalling = asked(&kernel, "r/1/0");
        let again = next(&driver).await;
        refuse(&kernel, &driver, &again, &error);
        recalling.await.unwrap()
    };
    use protocol::error::Error;
    assert!(matches!(said(Error::call_forgotten()).await, Recalled::Unknown));
    let failed = said(Error::too_busy("no more sessions")).await;
    assert!(matches!(failed, Recalled::Answered(Err(error)) if error.code == 429));
    let failed = said(Error::not_found("Unknown shell session: x")).await;
    assert!(matches!(failed, Recalled::Answered(Err(error)) if error.code == 404));
    assert!(matches!(said(Error::call_never_seen()).await, Recalled::NeverSent));
    assert!(kernel.store.routes().all().await.unwrap().is_empty(), "it is made again under the same id");
}

#[tokio::test]
async fn another_program_on_the_device_knows_nothing() {
    let data = tempfile::tempdir().unwrap();
    let (kernel, token, _) = after_a_crash(&data, "fs.delete", json!({ "path": "/x" })).await;
    let driver = connect(&kernel, &token, "another", true).await;
    assert!(matches!(recall(&kernel, UID, &Pid::from(PID), "r/1/0").await, Recalled::Unknown));
    assert!(driver.outbox.take().is_none(), "it was not asked");
}

#[tokio::test]
async fn a_command_that_runs_has_a_session_of_the_gateways() {
    let data = tempfile::tempdir().unwrap();
    let (kernel, token, _) = after_a_crash(&data, "shell.exec", json!({ "input": "sleep 99" })).await;
    let driver = connect(&kernel, &token, "i", true).await;
    let recalling = asked(&kernel, "r/1/0");
    let again = next(&driver).await;
    let running = json!({ "ok": true, "status": "running", "output": "", "sessionId": "own-7" });
    answer(&kernel, &driver, &again, running);
    let Recalled::Answered(Ok(text)) = recalling.await.unwrap() else { panic!("an answer") };
    let data: Value = serde_json::from_str(&text).unwrap();
    let session = data["sessionId"].as_str().unwrap();
    assert!(session.starts_with("sh_"), "{session}");
    let args = json!({ "sessionId": session, "input": "" });
    start_call(&kernel, "r/2/0", "shell.exec", args).await;
    assert_eq!(next(&driver).await["args"]["sessionId"], "own-7");
}

#[tokio::test]
async fn a_device_that_does_not_come_back_is_not_waited_for_forever() {
    let data = tempfile::tempdir().unwrap();
    let (kernel, token, _) = after_a_crash(&data, "fs.delete", json!({ "path": "/x" })).await;
    let pid = Pid::from(PID);
    let (short, long) = (Duration::from_millis(20), Duration::from_secs(60));
    for (all, wait) in [(short, long), (long, short)] {
        let nobody = recall_within(all, wait, &kernel, UID, &pid, "r/1/0").await;
        assert!(matches!(nobody, Recalled::Unknown));
    }
    // Nor is one that says nothing.
    let _driver = connect(&kernel, &token, "i", true).await;
    let silent = recall_within(short, long, &kernel, UID, &pid, "r/1/0").await;
    assert!(matches!(silent, Recalled::Unknown));
}

#[tokio::test]
async fn rows_go_with_their_process() {
    let data = tempfile::tempdir().unwrap();
    let (kernel, ..) = after_a_crash(&data, "fs.delete", json!({ "path": "/x" })).await;
    let mut row = kernel.store.routes().all().await.unwrap().pop().unwrap();
    (row.route_id, row.pid) = ("other".into(), Pid::from("gone"));
    kernel.store.routes().open(row).await.unwrap();
    recall::sweep(&kernel.store).await.unwrap();
    let left: Vec<String> =
        kernel.store.routes().all().await.unwrap().into_iter().map(|row| row.pid.0).collect();
    assert_eq!(left, [PID]);
}
