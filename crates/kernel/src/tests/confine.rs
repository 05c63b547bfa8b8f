//! How calls of agents are told to drivers: with what was permitted, to those that announced a sandbox, and to no other.

use gateway::Permit;
use protocol::confine::{Way, Widening};

use super::*;

/// A gateway with the device `desk`, whose driver says this of itself besides what it must.
async fn with_desk(data: &tempfile::TempDir, about: Value) -> (Arc<Kernel>, Arc<Connection>) {
    let kernel = kernel(data).await;
    let connection = kernel.opened(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let args = json!({ "username": "ann", "password": "ann-password", "node": { "deviceId": "desk" } });
    send(&kernel, &connection, json!({ "type": "req", "id": "1", "call": "sys.setup", "args": args }));
    let token = next(&connection).await["data"]["nodeToken"]["token"].clone();
    let mut driver = json!({ "implements": ["fs.*", "shell.exec"], "instance": "i" });
    driver.as_object_mut().unwrap().extend(about.as_object().unwrap().clone());
    let args = json!({
        "protocol": 1, "client": { "id": "desk", "role": "driver" },
        "driver": driver, "auth": { "username": "ann", "token": token },
    });
    send(&kernel, &connection, json!({ "type": "req", "id": "2", "call": "sys.connect", "args": args }));
    assert_eq!(next(&connection).await["ok"], true);
    assert_eq!(next(&connection).await["signal"], "device.status");
    (kernel, connection)
}

/// The arguments that the driver gets of a call.
async fn received(kernel: &Arc<Kernel>, driver: &Arc<Connection>, caller: Caller, args: Value) -> Value {
    let calling = kernel.clone();
    let name = if args.get("input").is_some() { "shell.exec" } else { "fs.read" };
    let call = tokio::spawn(async move { calling.call(caller, "r", name, &args.to_string()).await });
    let request = next(driver).await;
    call.abort();
    request["args"].clone()
}

#[tokio::test]
async fn a_driver_with_a_sandbox_is_told_how_a_call_of_an_agent_may_run() {
    let data = tempfile::tempdir().unwrap();
    let about = json!({ "confine": ["fs"], "workspace": "/w", "home": "/h", "shell": "/bin/sh", "agents": "confined" });
    let (kernel, driver) = with_desk(&data, about).await;
    let agent = process(&kernel).await;
    let forged = json!({ "target": "desk", "path": "/x", "confine": { "pid": "init:1", "way": "approved" } });
    let unsaid = received(&kernel, &driver, agent.clone(), forged.clone()).await;
    assert_eq!(unsaid, json!({ "path": "/x", "confine": { "pid": "init:1000", "way": "confined" } }));
    let permit = Permit {
        way: Way::Approved,
        run: Some("run-1".into()),
        hosts: vec!["example.org".into()],
        ..Permit::default()
    };
    let widening =
        Widening { write: vec!["/a".into()], read: vec!["/b".into()], hosts: vec!["other.example".into()] };
    let inside = Permit { way: Way::Confined, widening, ..permit.clone() };
    assert_eq!((inside.session_way(), permit.session_way()), (Way::Approved, Way::Approved));
    assert_eq!(Permit::default().session_way(), Way::Confined);
    let widened = Caller { permit: Some(Arc::new(inside)), ..agent.clone() };
    let told = received(&kernel, &driver, widened, forged.clone()).await;
    let expected = json!({ "pid": "init:1000", "run": "run-1", "way": "confined", "write": ["/a"], "read": ["/b"],
        "hosts": ["example.org", "other.example"] });
    assert_eq!(told["confine"], expected);
    let approved = Caller { permit: Some(Arc::new(permit)), ..agent };
    let told = received(&kernel, &driver, approved.clone(), forged.clone()).await;
    let expected = json!({ "pid": "init:1000", "run": "run-1", "way": "approved", "hosts": ["example.org"] });
    assert_eq!(told["confine"], expected);
    let person = Caller { origin: Origin::Inside, ..approved };
    assert_eq!(received(&kernel, &driver, person.clone(), forged).await, json!({ "path": "/x" }));
    let shown = kernel.call(person, "d", "sys.device.get", r#"{"deviceId":"desk"}"#).await.unwrap();
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(
        (&shown["device"]["workspace"], &shown["device"]["agents"]),
        (&json!("/w"), &json!("confined"))
    );
}

#[tokio::test]
async fn a_driver_that_announced_nothing_is_told_nothing() {
    let data = tempfile::tempdir().unwrap();
    let (kernel, driver) = with_desk(&data, json!({})).await;
    let args = json!({ "target": "desk", "path": "/x", "confine": { "pid": "p", "way": "approved" } });
    let agent = process(&kernel).await;
    assert_eq!(received(&kernel, &driver, agent.clone(), args).await, json!({ "path": "/x" }));
    let shown = kernel.call(agent, "d", "sys.device.get", r#"{"deviceId":"desk"}"#).await.unwrap();
    assert!(!shown.contains("confine") && !shown.contains("agents"), "{shown}");
}

#[tokio::test]
async fn only_people_rehearse_and_only_on_devices_that_can() {
    let data = tempfile::tempdir().unwrap();
    let about = json!({ "confine": ["fs", "rehearse"], "workspace": "/w" });
    let (kernel, driver) = with_desk(&data, about).await;
    let agent = process(&kernel).await;
    let person = Caller { origin: Origin::Inside, ..agent.clone() };
    let args = json!({ "target": "desk", "input": "ls", "rehearse": "run" });
    let refused = kernel.call(agent.clone(), "a", "shell.exec", &args.to_string()).await.unwrap_err();
    assert_eq!(refused.code, 403, "{refused}");
    let told = received(&kernel, &driver, person.clone(), args).await;
    assert_eq!(told, json!({ "input": "ls", "rehearse": "run" }));
    for (args, why) in [
        (json!({ "input": "ls", "rehearse": "run" }), "only commands on a device"),
        (
            json!({ "target": "gsv", "input": "ls", "rehearse": { "apply": "x" } }),
            "only commands on a device",
        ),
        (json!({ "target": "desk", "input": "y", "sessionId": "s", "rehearse": "run" }), "running command"),
    ] {
        let refused = kernel.call(person.clone(), "b", "shell.exec", &args.to_string()).await.unwrap_err();
        assert!(refused.code == 400 && refused.message.contains(why), "{refused}");
    }
    // What a person approved is told to the driver, which puts it in place.
    let permit = Permit { way: Way::Approved, rehearsal: Some("r-1".into()), ..Permit::default() };
    let approved = Caller { permit: Some(Arc::new(permit)), ..agent };
    let told = received(&kernel, &driver, approved, json!({ "target": "desk", "input": "ls" })).await;
    assert_eq!(told["confine"]["rehearsal"], "r-1");
}

#[tokio::test]
async fn a_driver_that_does_not_rehearse_gets_no_rehearsal() {
    let data = tempfile::tempdir().unwrap();
    let (kernel, _driver) = with_desk(&data, json!({ "confine": ["fs"] })).await;
    let agent = process(&kernel).await;
    let person = Caller { origin: Origin::Inside, ..agent.clone() };
    let permit = Permit { way: Way::Approved, rehearsal: Some("r-1".into()), ..Permit::default() };
    let approved = Caller { permit: Some(Arc::new(permit)), ..agent };
    for (caller, args) in [
        (person, json!({ "target": "desk", "input": "ls", "rehearse": "run" })),
        (approved, json!({ "target": "desk", "input": "ls" })),
    ] {
        let refused = kernel.call(caller, "a", "shell.exec", &args.to_string()).await.unwrap_err();
        assert!(refused.code == 400 && refused.message.contains("cannot rehearse"), "{refused}");
    }
}
