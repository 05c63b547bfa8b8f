//! `whoami`, `id`, `groups`, `hostname`, `uname`, `ps`, `devices`, `config`, `notify`, `gsv`.

use protocol::error::Error;
use serde_json::{Value, json};

use crate::commands::stage::{NOW_MS, Stage, text};

#[tokio::test]
async fn everybody_knows_who_and_where_they_are() {
    let stage = Stage::new().await;
    assert_eq!(stage.prints(&["whoami"]).await, "alice\n");
    assert_eq!(
        stage.prints(&["id"]).await,
        "uid=1000(alice) gid=1000(alice) groups=1000(alice),100(users)\n"
    );
    assert_eq!(stage.prints(&["id", "-u"]).await, "1000\n");
    assert_eq!(stage.prints(&["id", "-un"]).await, "alice\n");
    assert_eq!(stage.prints(&["id", "-g"]).await, "1000\n");
    assert_eq!(stage.prints(&["id", "-Gn"]).await, "alice users\n");
    assert_eq!(stage.prints(&["groups"]).await, "alice users\n");
    assert_eq!(stage.fails(&["id", "-ug"]).await.0, 1);
    assert_eq!(text(&stage.run("root", &["id", "-u"]).await.stdout), "0\n");
    assert_eq!(stage.prints(&["hostname"]).await, "tower\n");
    assert_eq!(stage.prints(&["uname"]).await, "GSV\n");
    assert_eq!(stage.prints(&["uname", "-r"]).await, "1.2.3\n");
    assert_eq!(stage.prints(&["uname", "-sn"]).await, "GSV tower\n");
    assert!(stage.prints(&["uname", "-a"]).await.starts_with("GSV tower 1.2.3 #1 "));
}

#[tokio::test]
async fn ps_lists_the_callers_processes() {
    let stage = Stage::new().await;
    let process = json!({
        "pid": "init:1000", "uid": 1000, "profile": "init", "parentPid": null, "state": "idle",
        "label": "init\t(alice)", "createdAt": NOW_MS, "workspaceId": null, "cwd": "/home/alice",
    });
    stage.answer("proc.list", Ok(json!({ "processes": [process] })));
    assert_eq!(stage.prints(&["ps"]).await, "PID\tSTATE\tLABEL\ninit:1000\tidle\tinit (alice)\n");
    assert_eq!(stage.last("proc.list"), Some(json!({ "uid": 1000 })));
    stage.run("alice", &["ps", "-A"]).await;
    assert_eq!(stage.last("proc.list"), Some(json!({ "uid": 1000 })));
    stage.run("root", &["ps", "-A"]).await;
    assert_eq!(stage.last("proc.list"), Some(json!({})));
    stage.answer("proc.list", Err(Error::permission_denied("proc.list")));
    assert_eq!(stage.fails(&["ps"]).await, (1, "ps: Permission denied: proc.list\n".to_string()));
}

fn device(id: &str, online: bool) -> Value {
    json!({
        "deviceId": id, "ownerUid": 1000, "description": "for tests", "platform": "linux", "version": "1",
        "online": online, "lastSeenAt": NOW_MS, "implements": ["fs.*", "shell.exec"], "firstSeenAt": NOW_MS,
        "connectedAt": NOW_MS, "disconnectedAt": null,
    })
}

#[tokio::test]
async fn devices_lists_gsv_first() {
    let stage = Stage::new().await;
    stage.answer("sys.device.list", Ok(json!({ "devices": [device("macbook", true)] })));
    stage.answer("sys.device.get", Ok(json!({ "device": device("macbook", true) })));
    let header = "TARGET\tKIND\tSTATE\tLIFE\tPLATFORM\tCAPS\tLABEL\n";
    let gsv = "gsv\tgsv\tonline\tpersistent\tgsv\tfs.*,shell.exec\ttower\n";
    let mac = "macbook\tnative-device\tonline\tpersistent\tlinux\tfs.*,shell.exec\tfor tests\n";
    assert_eq!(stage.prints(&["devices"]).await, format!("{header}{gsv}{mac}"));
    assert_eq!(stage.prints(&["targets", "list", "--all"]).await, format!("{header}{gsv}{mac}"));
    assert_eq!(stage.last("sys.device.list"), Some(json!({ "includeOffline": true })));
    assert_eq!(stage.prints(&["devices", "search", "MAC"]).await, format!("{header}{mac}"));
    assert_eq!(stage.prints(&["devices", "list", "--kind", "gsv"]).await, format!("{header}{gsv}"));
    assert_eq!(stage.prints(&["devices", "--offset", "1"]).await, format!("{header}{mac}"));
    let page = stage.run("alice", &["devices", "--limit", "1"]).await;
    assert_eq!((page.code, text(&page.stderr).as_str()), (0, "devices: 1 more: --offset 1\n"));
    let json: Value = serde_json::from_str(&stage.prints(&["devices", "--json"]).await).unwrap();
    assert_eq!(json["targets"][1]["target"], "macbook");
    assert!(stage.prints(&["devices", "show", "macbook"]).await.contains("implements: fs.* shell.exec\n"));
    stage.answer("sys.device.get", Ok(json!({ "device": null })));
    assert_eq!(
        stage.fails(&["devices", "show", "x"]).await,
        (1, "devices: target 'x' not found\n".to_string())
    );
    stage.answer("sys.device.list", Err(Error::permission_denied("sys.device.list")));
    assert_eq!(
        stage.fails(&["targets"]).await,
        (1, "targets: Permission denied: sys.device.list\n".to_string())
    );
}

#[tokio::test]
async fn config_reads_and_writes_settings() {
    let stage = Stage::new().await;
    let entry = |key: &str, value: &str| json!({ "key": key, "value": value });
    stage.answer("sys.config.get", Ok(json!({ "entries": [entry("config/server/name", "tower")] })));
    assert_eq!(stage.prints(&["config", "get", "config/server/name"]).await, "tower\n");
    assert_eq!(stage.prints(&["config", "get", "config/server"]).await, "config/server/name=tower\n");
    assert_eq!(stage.prints(&["config"]).await, "config/server/name=tower\n");
    assert_eq!(stage.last("sys.config.get"), Some(json!({})));
    stage.answer("sys.config.get", Ok(json!({ "entries": [] })));
    assert_eq!(
        stage.fails(&["config", "get", "no/such"]).await,
        (1, "config: no such key: no/such\n".to_string())
    );
    stage.answer("sys.config.set", Ok(json!({ "ok": true })));
    assert_eq!(stage.prints(&["config", "set", "config/server/name", "my", "box"]).await, "");
    assert_eq!(stage.last("sys.config.set"), Some(json!({ "key": "config/server/name", "value": "my box" })));
    stage.prints(&["config", "unset", "config/server/name"]).await;
    assert_eq!(stage.last("sys.config.set"), Some(json!({ "key": "config/server/name", "value": null })));
    stage.answer("sys.config.set", Err(Error::permission_denied("sys.config.set")));
    let refused = stage.fails(&["config", "set", "a", "b"]).await;
    assert_eq!(refused, (1, "config: Permission denied: sys.config.set\n".to_string()));
    assert_eq!(stage.fails(&["config", "set", "a"]).await.0, 1);
}

#[tokio::test]
async fn notify_sends_lists_and_dismisses() {
    let stage = Stage::new().await;
    let unbuilt = stage.fails(&["notify", "list"]).await;
    assert_eq!(unbuilt, (1, "notify: Not implemented: notification.list\n".to_string()));
    let note = json!({
        "notificationId": "n1", "title": "Done", "body": "All\nof it", "level": "success", "createdAt": NOW_MS,
        "readAt": null, "dismissedAt": null, "expiresAt": null, "source": { "kind": "user" },
        "actions": [{ "kind": "open", "label": "Open" }],
    });
    stage.answer("notification.create", Ok(json!({ "notification": note })));
    let send = ["notify", "send", "--title", "Done", "--level", "success", "--ttl-ms", "5"];
    assert_eq!(stage.prints(&send).await, "sent n1\n");
    let asked = json!({ "title": "Done", "level": "success", "ttlMs": 5 });
    assert_eq!(stage.last("notification.create"), Some(asked));
    stage.answer("notification.list", Ok(json!({ "notifications": [note] })));
    let listed = "n1 [success] [unread] Done\n  created: 2026-11-15T12:00:00Z\n  body: All\n    of it\n  actions: Open\n";
    assert_eq!(stage.prints(&["notify", "list", "--unread", "--limit", "3"]).await, listed);
    let asked = json!({ "includeRead": false, "includeDismissed": false, "limit": 3 });
    assert_eq!(stage.last("notification.list"), Some(asked));
    stage.answer("notification.list", Ok(json!({ "notifications": [] })));
    assert_eq!(stage.prints(&["notify", "list"]).await, "No notifications.\n");
    stage.answer("notification.mark_read", Ok(json!({ "notification": note })));
    assert_eq!(stage.prints(&["notify", "read", "n1"]).await, "read n1\n");
    stage.answer("notification.dismiss", Ok(json!({ "notification": null })));
    let gone = stage.fails(&["notify", "dismiss", "n2"]).await;
    assert_eq!(gone, (1, "notify: Notification 'n2' not found\n".to_string()));
    assert_eq!(stage.fails(&["notify", "send"]).await, (1, "notify: --title is required\n".to_string()));
    assert_eq!(stage.fails(&["notify", "send", "--title", "x", "--level", "loud"]).await.0, 1);
}

#[tokio::test]
async fn gsv_makes_any_call() {
    let mut stage = Stage::new().await;
    stage.answer("fs.read", Ok(json!({ "ok": true, "content": "x" })));
    let read = stage.prints(&["gsv", "call", "fs.read", "--path", "a", "--target", "mac"]).await;
    assert_eq!(serde_json::from_str::<Value>(&read).unwrap(), json!({ "ok": true, "content": "x" }));
    assert_eq!(stage.last("fs.read"), Some(json!({ "path": "a", "target": "mac" })));
    stage.stdin = br#"{"path":"b"}"#.to_vec();
    stage.prints(&["gsv", "call", "fs.read", "--args", "-"]).await;
    assert_eq!(stage.last("fs.read"), Some(json!({ "path": "b" })));
    stage.answer("fs.read", Ok(json!({ "ok": false, "error": "Not found: a" })));
    let failed = stage.run("alice", &["gsv", "call", "fs.read", "--path", "a"]).await;
    assert!(failed.code == 1 && text(&failed.stdout).contains("Not found: a"));
    stage.answer("fs.read", Err(Error::permission_denied("fs.read")));
    let refused = stage.fails(&["gsv", "call", "fs.read", "--path", "a"]).await;
    assert_eq!(refused, (1, "gsv: fs.read: Permission denied: fs.read (code 403)\n".to_string()));
    assert!(stage.fails(&["gsv", "call", "no.such"]).await.1.contains("there is no call no.such"));
    assert!(stage.prints(&["gsv"]).await.contains("call NAME"));
    assert!(stage.prints(&["gsv", "calls"]).await.contains("fs.read\t"));
    assert!(stage.prints(&["gsv", "call", "fs.read", "--help"]).await.contains("--path"));
    assert_eq!(stage.prints(&["gsv", "version"]).await, "gsv 1.2.3\n");
    stage.answer("sys.config.get", Ok(json!({ "entries": [{ "key": "k", "value": "v" }] })));
    assert_eq!(stage.prints(&["gsv", "config", "get", "k"]).await, "v\n");
    assert_eq!(stage.fails(&["gsv", "frobnicate"]).await.0, 1);
}
