//! Tests of the kernel without sockets: calls of processes, whose routes outlive the gateway.

mod agents_never;
mod codec;
mod confine;
mod doors;
mod live_matrix;
mod many_users;
mod native;
mod recall;
mod reload;
mod week;

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use base::clock::Clock;
use base::limits;
use gateway::{Caller, Origin};
use protocol::identity::Role;
use protocol::ids::{Gid, Pid};
use serde_json::{Value, json};
use store::Store;
use store::processes::ProcessRow;

use crate::connections::Connection;
use crate::{Kernel, routes};

async fn kernel(data: &tempfile::TempDir) -> Arc<Kernel> {
    let options = store::Options { data: data.path().to_path_buf(), url: None };
    let store = Store::open(&options).await.unwrap();
    Kernel::start(store, &data.path().join("files"), Clock::system(), "test").await.unwrap()
}

fn send(kernel: &Arc<Kernel>, connection: &Arc<Connection>, frame: Value) {
    send_late(kernel, connection, frame, Duration::ZERO);
}

/// The same for what had arrived so long ago, and waited for its turn.
fn send_late(kernel: &Arc<Kernel>, connection: &Arc<Connection>, frame: Value, waited: Duration) {
    // Large values are passed on as slices of the message they came in.
    let whole = bytes::Bytes::from(frame.to_string());
    let text = std::str::from_utf8(&whole).unwrap();
    let arrived = kernel.clock.instant().checked_sub(waited).unwrap();
    kernel.receive_text(connection, arrived, text, || whole.clone());
}

/// The next frame that waits for a socket.
async fn next(connection: &Connection) -> Value {
    let waiting = async {
        loop {
            match connection.outbox.take_text() {
                Some(text) => return serde_json::from_str(&text).unwrap(),
                None => tokio::time::sleep(Duration::from_millis(1)).await,
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(20), waiting).await.unwrap()
}

/// Sets the system up and connects the device `desk`.
async fn with_driver(kernel: &Arc<Kernel>) -> Arc<Connection> {
    let connection = kernel.opened(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let args = json!({ "username": "ann", "password": "ann-password", "node": { "deviceId": "desk" } });
    send(kernel, &connection, json!({ "type": "req", "id": "1", "call": "sys.setup", "args": args }));
    let token = next(&connection).await["data"]["nodeToken"]["token"].clone();
    let args = json!({
        "protocol": 1, "client": { "id": "desk", "role": "driver" },
        "driver": { "implements": ["fs.*"], "instance": "i" }, "auth": { "username": "ann", "token": token },
    });
    send(kernel, &connection, json!({ "type": "req", "id": "2", "call": "sys.connect", "args": args }));
    assert_eq!(next(&connection).await["ok"], true);
    assert_eq!(next(&connection).await["signal"], "device.status");
    connection
}

async fn process(kernel: &Kernel) -> Caller {
    let account = kernel.store.accounts().by_name("ann").await.unwrap().unwrap();
    Caller {
        identity: Arc::new(account.identity()),
        role: Role::User,
        capabilities: kernel.grants.of(&[Gid::USERS]),
        as_of: kernel.gateway.standing_generation(),
        may_approve: false,
        origin: Origin::Process(Pid::from("init:1000")),
        permit: None,
        door: None,
    }
}

#[tokio::test]
async fn a_socket_that_never_logs_in_is_overdue_in_the_end_and_others_never_are() {
    let data = tempfile::tempdir().unwrap();
    let kernel = kernel(&data).await;
    let driver = with_driver(&kernel).await;
    let probe = kernel.opened(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let overdue = |wait: Duration| -> Vec<u64> {
        let found = kernel.connections.overdue(kernel.clock.instant() + wait);
        found.iter().map(|connection| connection.number).collect()
    };
    assert!(overdue(limits::socket::PENDING_SOCKET_TIMEOUT - Duration::from_secs(5)).is_empty());
    assert_eq!(overdue(limits::socket::PENDING_SOCKET_TIMEOUT + Duration::from_secs(1)), [probe.number]);
    assert!(driver.login().is_some());
}

#[test]
fn only_drivers_that_do_not_name_their_instance_are_given_time_to_settle() {
    let moment = Duration::from_millis(1);
    assert_eq!(routes::connect_grace(true, Duration::ZERO), Duration::ZERO);
    let wait = routes::connect_grace(false, Duration::ZERO);
    // Shipped drivers lose what arrives within 5 ms.
    assert!(wait >= Duration::from_millis(50), "{wait:?}");
    assert_eq!(routes::connect_grace(false, moment), wait - moment);
    assert_eq!(routes::connect_grace(false, wait + moment), Duration::ZERO);
}

/// A tool call of a process on the device.
async fn read_on_desk(kernel: Arc<Kernel>, caller: Caller) -> Result<String, protocol::error::Error> {
    let args = json!({ "target": "desk", "path": "/x" }).to_string();
    kernel.call(caller, "tool-1", "fs.read", &args).await
}

#[tokio::test]
async fn a_call_that_waited_for_its_turn_has_the_whole_time_for_the_device() {
    let data = tempfile::tempdir().unwrap();
    let kernel = kernel(&data).await;
    let driver = with_driver(&kernel).await;
    let client = kernel.opened(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let auth = json!({ "username": "ann", "password": "ann-password" });
    let args = json!({ "protocol": 1, "client": { "id": "c", "role": "user" }, "auth": auth });
    send(&kernel, &client, json!({ "type": "req", "id": "1", "call": "sys.connect", "args": args }));
    assert_eq!(next(&client).await["ok"], true);
    let args = json!({ "target": "desk", "path": "/x" });
    let request = json!({ "type": "req", "id": "2", "call": "fs.read", "args": args });
    let timeout = kernel.settings.route_timeout();
    send_late(&kernel, &client, request, timeout - Duration::from_secs(1));
    let request = next(&driver).await;
    routes::expire(&kernel, &driver, kernel.clock.instant() + timeout / 2);
    send(&kernel, &driver, json!({ "type": "res", "id": request["id"], "ok": true, "data": { "n": 1 } }));
    assert_eq!(next(&client).await["data"], json!({ "n": 1 }));
}

#[tokio::test]
async fn a_call_of_a_process_has_a_row_until_it_is_answered() {
    let data = tempfile::tempdir().unwrap();
    let kernel = kernel(&data).await;
    let driver = with_driver(&kernel).await;
    let caller = process(&kernel).await;
    let calling = tokio::spawn(read_on_desk(kernel.clone(), caller));
    let request = next(&driver).await;
    assert_eq!(request["args"], json!({ "path": "/x" }));
    let rows = kernel.store.routes().all().await.unwrap();
    assert_eq!((rows.len(), rows[0].request_id.as_str(), rows[0].pid.as_str()), (1, "tool-1", "init:1000"));
    send(&kernel, &driver, json!({ "type": "res", "id": request["id"], "ok": true, "data": { "n": 1 } }));
    assert_eq!(calling.await.unwrap().unwrap(), r#"{"n":1}"#);
    assert!(kernel.store.routes().all().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_call_of_a_process_fails_with_its_device_and_leaves_no_row() {
    let data = tempfile::tempdir().unwrap();
    let kernel = kernel(&data).await;
    let driver = with_driver(&kernel).await;
    let caller = process(&kernel).await;
    let calling = tokio::spawn(read_on_desk(kernel.clone(), caller));
    next(&driver).await;
    kernel.closed(&driver);
    let error = calling.await.unwrap().unwrap_err();
    assert_eq!((error.code, error.message.as_str()), (503, "Device disconnected: desk"));
    assert!(kernel.store.routes().all().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_process_may_make_the_calls_that_connections_may_not() {
    let data = tempfile::tempdir().unwrap();
    let kernel = kernel(&data).await;
    drop(with_driver(&kernel).await);
    let caller = process(&kernel).await;
    assert!(!caller.capabilities.cover("ai.tools"), "nobody grants it to users");
    let tools = kernel.call(caller.clone(), "1", "ai.tools", "{}").await.unwrap();
    assert!(tools.contains("\"tools\""), "{tools}");
    for name in ["proc.setidentity", "proc.ipc.deliver"] {
        let refused = kernel.call(caller.clone(), "2", name, "{}").await.unwrap_err();
        assert_eq!((refused.code, refused.message), (403, format!("{name} is kernel-only")));
    }
    let person = Caller { origin: Origin::Inside, ..caller };
    let refused = kernel.call(person, "3", "ai.tools", "{}").await.unwrap_err();
    assert_eq!((refused.code, refused.message.as_str()), (403, "Permission denied: ai.tools"));
}
