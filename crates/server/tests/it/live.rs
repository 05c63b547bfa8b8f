//! Tests of virtual files over real sockets: what is shown to whom, and what a write does.

use serde_json::{Value, json};
use testkit::gateway::ROOT_PASSWORD;
use testkit::{Gateway, Peer};

/// The text of a file, without the line numbers.
async fn cat(peer: &mut Peer, path: &str) -> String {
    let read = peer.call("fs.read", json!({ "path": path })).await.unwrap();
    assert_eq!(read["ok"], true, "{path}: {read}");
    let text = read["content"].as_str().unwrap_or_default();
    let bare = |line: &str| line.split_once('\t').map_or(line, |(_, rest)| rest).to_string();
    text.lines().map(|line| bare(line) + "\n").collect()
}

async fn names(peer: &mut Peer, path: &str) -> Vec<String> {
    let read = peer.call("fs.read", json!({ "path": path })).await.unwrap();
    let of = |field: &str| -> Vec<String> { serde_json::from_value(read[field].clone()).unwrap() };
    let mut names = [of("files"), of("directories")].concat();
    names.sort();
    names
}

async fn write(peer: &mut Peer, path: &str, text: &str) -> Value {
    peer.call("fs.write", json!({ "path": path, "content": text })).await.unwrap()
}

/// Why something was refused: the words of the frame error, or of the outcome.
async fn refused(peer: &mut Peer, call: &str, args: Value) -> (i64, String) {
    match peer.call(call, args.clone()).await {
        Err(error) => (error.code, error.message),
        Ok(outcome) => {
            assert_eq!(outcome["ok"], false, "{call} {args}: {outcome}");
            (200, outcome["error"].as_str().unwrap().to_string())
        }
    }
}

async fn refused_read(peer: &mut Peer, path: &str) -> (i64, String) {
    refused(peer, "fs.read", json!({ "path": path })).await
}

async fn refused_write(peer: &mut Peer, path: &str, text: &str) -> (i64, String) {
    refused(peer, "fs.write", json!({ "path": path, "content": text })).await
}

#[tokio::test]
async fn config_is_read_and_written_as_files() {
    let gateway = Gateway::set_up().await;
    let (mut root, mut user) = (gateway.root().await, gateway.user().await);
    assert_eq!(cat(&mut user, "/sys/config/server/name").await, "gsv\n");
    write(&mut root, "/sys/config/server/name", "tower\n").await;
    let got = user.call("sys.config.get", json!({ "key": "config/server/name" })).await.unwrap();
    assert_eq!(got["entries"][0]["value"], "tower");
    assert!(names(&mut user, "/sys/config").await.contains(&"server".to_string()));
    let (code, why) = refused_write(&mut user, "/sys/config/server/name", "mine\n").await;
    assert_eq!((code, why.as_str()), (403, "EPERM: only root can write to /sys/config/"));
    let (_, why) = refused_write(&mut root, "/sys/config/server/timezone", "Mars/Olympus\n").await;
    assert!(why.contains("config/server/timezone must be an IANA time zone"), "{why}");
    let (_, why) = refused_write(&mut root, "/sys/config/server", "x").await;
    assert!(why.starts_with("EISDIR"), "{why}");
    let (_, why) = refused_write(&mut root, "/sys/config/server/name/x", "x").await;
    assert!(why.starts_with("ENOTDIR"), "{why}");
    root.call("fs.delete", json!({ "path": "/sys/config/server/name" })).await.unwrap();
    assert_eq!(cat(&mut user, "/sys/config/server/name").await, "gsv\n");
}

#[tokio::test]
async fn secrets_and_the_settings_of_others_are_not_shown() {
    let gateway = Gateway::set_up().await;
    let (mut root, mut user) = (gateway.root().await, gateway.user().await);
    let mut bob = gateway.add_user("bob").await;
    write(&mut root, "/sys/config/ai/api_key", "s3cret\n").await;
    write(&mut root, "/sys/config/ai/model", "m\n").await;
    write(&mut user, "/sys/users/1000/ai/model", "mine\n").await;
    assert_eq!(cat(&mut user, "/sys/users/1000/ai/model").await, "mine\n");
    assert_eq!(cat(&mut root, "/sys/config/ai/api_key").await, "s3cret\n");
    let (seen, all) = (names(&mut user, "/sys/config/ai").await, names(&mut root, "/sys/config/ai").await);
    let has = |names: &[String], name: &str| names.iter().any(|one| one == name);
    assert!(has(&seen, "model") && !has(&seen, "api_key"), "{seen:?}");
    assert!(has(&all, "model") && has(&all, "api_key"), "{all:?}");
    assert_eq!(refused_read(&mut user, "/sys/config/ai/api_key").await.0, 403);
    for path in ["/sys/users/1000", "/sys/users/1000/ai/model", "/sys/users/1000/ai/none", "/sys/users/77"] {
        assert_eq!(refused_read(&mut bob, path).await.0, 403, "{path}");
    }
    assert_eq!(refused_write(&mut bob, "/sys/users/1000/ai/model", "x").await.0, 403);
    assert_eq!(refused_write(&mut user, "/sys/users/1000/files/quota_bytes", "0").await.0, 403);
    assert_eq!(names(&mut bob, "/sys/users").await, ["1001"]);
    assert_eq!(names(&mut root, "/sys/users").await, ["0", "1000", "1001"]);
    user.call("fs.delete", json!({ "path": "/sys/users/1000/ai/model" })).await.unwrap();
    assert_eq!(refused_read(&mut user, "/sys/users/1000/ai/model").await.0, 200);
}

#[tokio::test]
async fn devices_are_shown_to_those_who_may_use_them() {
    let gateway = Gateway::set_up().await;
    let mut user = gateway.user().await;
    let mut bob = gateway.add_user("bob").await;
    let _driver = gateway.driver().await;
    assert_eq!(names(&mut user, "/sys/devices").await, ["laptop"]);
    assert_eq!(names(&mut bob, "/sys/devices").await, Vec::<String>::new());
    assert_eq!(
        names(&mut user, "/sys/devices/laptop").await,
        ["description", "implements", "owner", "platform", "status", "version"]
    );
    assert_eq!(cat(&mut user, "/sys/devices/laptop/status").await, "online\n");
    assert_eq!(cat(&mut user, "/sys/devices/laptop/owner").await, "1000\n");
    assert_eq!(cat(&mut user, "/sys/devices/laptop/implements").await, "fs.*\nshell.exec\n");
    write(&mut user, "/sys/devices/laptop/description", "my desk\n").await;
    let got = user.call("sys.device.get", json!({ "deviceId": "laptop" })).await.unwrap();
    assert_eq!(got["device"]["description"], "my desk");
    assert_eq!(refused_write(&mut user, "/sys/devices/laptop/owner", "0").await.0, 403);
    assert_eq!(refused_read(&mut bob, "/sys/devices/laptop/status").await.0, 200);
    let (code, why) = refused_write(&mut bob, "/sys/devices/laptop/description", "x").await;
    assert!(code == 200 && why.starts_with("ENOENT"), "{why}");
}

#[tokio::test]
async fn calls_under_way_and_sessions_are_shown_to_their_users() {
    let gateway = Gateway::set_up().await;
    let (mut user, mut root) = (gateway.user().await, gateway.root().await);
    let mut bob = gateway.add_user("bob").await;
    let mut driver = gateway.driver().await;
    let mut other = gateway.user().await;
    let id = other.send_call("fs.read", json!({ "target": "laptop", "path": "/x" })).await;
    let request = driver.request().await;
    let open = names(&mut user, "/sys/routes").await;
    assert_eq!(open.len(), 1);
    let text = cat(&mut root, &format!("/sys/routes/{}", open[0])).await;
    assert!(text.contains("call: fs.read\ndevice: laptop\nuid: 1000\nstarted_at_ms: "), "{text}");
    assert!(names(&mut bob, "/sys/routes").await.is_empty());
    assert_eq!(refused_read(&mut bob, &format!("/sys/routes/{}", open[0])).await.0, 200);
    driver.reply(&request, json!({})).await;
    other.answer(&id).await.unwrap();
    assert!(names(&mut user, "/sys/routes").await.is_empty());

    let id = other.send_call("shell.exec", json!({ "target": "laptop", "input": "sleep 9" })).await;
    let request = driver.request().await;
    let running = json!({ "status": "running", "sessionId": "d1", "output": "" });
    driver.reply(&request, running).await;
    let session = other.answer(&id).await.unwrap()["sessionId"].as_str().unwrap().to_string();
    assert_eq!(names(&mut user, "/sys/sessions").await, [session.as_str()]);
    let text = cat(&mut root, &format!("/sys/sessions/{session}")).await;
    assert!(text.contains("target: laptop\nstatus: running\nuid: 1000\n"), "{text}");
    assert!(names(&mut bob, "/sys/sessions").await.is_empty());
}

#[tokio::test]
async fn what_a_process_was_told_is_in_its_directory() {
    let gateway = Gateway::set_up().await;
    let (mut user, mut root) = (gateway.user().await, gateway.root().await);
    let mut bob = gateway.add_user("bob").await;
    let file = |name: &str, text: &str| json!({ "name": name, "text": text });
    let files = [file("role.md", "You count\nsheep."), file("a/b", "slash"), file("role.md", "again")];
    let args = json!({ "assignment": { "contextFiles": files } });
    let spawned = user.call("proc.spawn", args).await.unwrap();
    let process = format!("/proc/{}", spawned["pid"].as_str().unwrap());
    assert_eq!(names(&mut user, &process).await, ["context.d", "identity", "status"]);
    let context = format!("{process}/context.d");
    for peer in [&mut user, &mut root] {
        assert_eq!(names(peer, &context).await, ["a%2Fb", "role.md"]);
        assert_eq!(cat(peer, &format!("{context}/role.md")).await, "You count\nsheep.\n");
        assert_eq!(cat(peer, &format!("{context}/a%2Fb")).await, "slash\n");
    }
    assert_eq!(refused_read(&mut bob, &format!("{context}/role.md")).await.0, 200);
    assert!(refused_read(&mut user, &format!("{context}/none")).await.1.contains("Not found"));
    let (code, why) = refused_write(&mut user, &format!("{context}/role.md"), "x").await;
    assert_eq!((code, why.as_str()), (403, "EPERM: /proc is read-only"));
    assert!(names(&mut user, "/proc/self/context.d").await.is_empty(), "init was told nothing");
}

#[tokio::test]
async fn processes_and_the_small_devices() {
    let gateway = Gateway::set_up().await;
    let (mut user, mut root) = (gateway.user().await, gateway.root().await);
    assert_eq!(names(&mut user, "/proc").await, ["init:1000", "self", "uptime", "version"]);
    assert_eq!(names(&mut root, "/proc").await, ["init:0", "init:1000", "self", "uptime", "version"]);
    assert_eq!(cat(&mut user, "/proc/version").await, "GSV alice test\n");
    let status = cat(&mut user, "/proc/self/status").await;
    assert!(status.starts_with("Name:\tinit\nPid:\tinit:1000\nPPid:\t0\n"), "{status}");
    assert_eq!(cat(&mut root, "/proc/init:1000/status").await, status);
    let identity: Value = serde_json::from_str(&cat(&mut user, "/proc/self/identity").await).unwrap();
    assert_eq!((&identity["username"], &identity["home"]), (&json!("alice"), &json!("/home/alice")));
    assert_eq!(refused_read(&mut user, "/proc/init:0/status").await.0, 200);
    let cases = [
        ("/proc/version", "EPERM: /proc is read-only"),
        ("/sys/routes/x", "EPERM: read-only region of /sys/"),
        ("/dev/zero", "EPERM: cannot write to virtual device '/dev/zero'"),
        ("/usr/share/man/man7/gsv", "EPERM: /usr/share is read-only"),
    ];
    for (path, words) in cases {
        assert_eq!(refused_write(&mut root, path, "x").await, (403, words.to_string()));
    }
    assert_eq!(names(&mut user, "/dev").await, ["full", "null", "random", "urandom", "zero"]);
    assert_eq!(write(&mut user, "/dev/null", "gone").await["ok"], true);
    assert_eq!(cat(&mut user, "/dev/null").await, "");
    assert!(refused_write(&mut user, "/dev/full", "x").await.1.starts_with("ENOSPC"));
}

#[tokio::test]
async fn the_manual_is_there() {
    let gateway = Gateway::set_up().await;
    let mut user = gateway.user().await;
    let page = cat(&mut user, "/usr/share/man/man2/fs.read").await;
    assert!(page.starts_with("fs.read(2)\n") && page.contains("path: string\n"), "{page}");
    assert!(names(&mut user, "/usr/share/man/man7").await.contains(&"devices".to_string()));
    assert_eq!(names(&mut user, "/usr").await, ["local", "share"]);
    for name in ["dev", "etc", "home", "proc", "sys", "usr"] {
        assert!(names(&mut user, "/").await.contains(&name.to_string()), "{name}");
    }
}

#[tokio::test]
async fn capabilities_are_the_lines_of_a_file() {
    let gateway = Gateway::set_up().await;
    let (mut root, mut user) = (gateway.root().await, gateway.user().await);
    let before = cat(&mut root, "/sys/capabilities/100").await;
    assert!(before.contains("fs.*\n"));
    assert_eq!(cat(&mut user, "/sys/capabilities/100").await, before);
    assert_eq!(names(&mut user, "/sys/capabilities").await, ["100", "1000"]);
    let (_, why) = refused_write(&mut root, "/sys/capabilities/100", "fs.*\nno good\n").await;
    assert_eq!(why, "EINVAL: line 2: not a capability: no good");
    assert_eq!(cat(&mut root, "/sys/capabilities/100").await, before);
    let (_, why) = refused_write(&mut root, "/sys/capabilities/0", "fs.*\n").await;
    assert!(why.starts_with("EPERM: root keeps its capability"), "{why}");
    assert_eq!(refused_write(&mut user, "/sys/capabilities/100", "*\n").await.0, 403);
    write(&mut root, "/sys/capabilities/100", &(before.replace("shell.*\n", "") + "sys.user.list\n")).await;
    assert_eq!(user.call("shell.exec", json!({ "input": "true" })).await.unwrap_err().code, 403);
    let listed = root.call("sys.capability.list", json!({ "gid": 100 })).await.unwrap();
    assert!(listed.to_string().contains("sys.user.list"));
}

#[tokio::test]
async fn account_files_are_shown_and_shadow_to_root_only() {
    let gateway = Gateway::set_up().await;
    let (mut root, mut user) = (gateway.root().await, gateway.user().await);
    let passwd = "root:x:0:0:root:/root:/bin/init\nalice:x:1000:1000:alice:/home/alice:/bin/init\n";
    assert_eq!(cat(&mut user, "/etc/passwd").await, passwd);
    let group = "root:x:0:\nusers:x:100:alice\ndrivers:x:101:\nservices:x:102:\nalice:x:1000:\n";
    assert_eq!(cat(&mut user, "/etc/group").await, group);
    assert_eq!(refused_read(&mut user, "/etc/shadow").await.0, 403);
    assert!(cat(&mut root, "/etc/shadow").await.starts_with("root:$argon2id$"));
    for path in ["/etc/passwd", "/etc/group", "/etc/shadow"] {
        assert_eq!(refused_write(&mut user, path, passwd).await.0, 403, "{path}");
        let args = json!({ "path": path });
        assert_eq!(refused(&mut root, "fs.delete", args).await.0, 403, "{path}");
    }
    assert!(names(&mut user, "/etc").await.contains(&"passwd".to_string()));
}

#[tokio::test]
async fn accounts_are_changed_by_writing_and_a_bad_line_changes_nothing() {
    let gateway = Gateway::set_up().await;
    let mut root = gateway.root().await;
    let mut bob = gateway.add_user("bob").await;
    let passwd = cat(&mut root, "/etc/passwd").await;
    let before = root.call("sys.user.list", json!({})).await.unwrap();
    for (text, words) in [
        (String::new(), "root's line is missing"),
        (passwd.replace("root:x:0:0:root:/root:/bin/init\n", ""), "root's line is missing"),
        (passwd.clone() + "eve:x:::::\nwhat is this\n", "line 5: 7 fields are needed"),
        (passwd.replace("bob:x:1001", "bob:x:1005"), "line 3: the numbers of bob cannot be changed"),
        (passwd.replace("root:x:0:0", "root:x:9:9"), "line 1: the numbers of root cannot be changed"),
    ] {
        let (code, why) = refused_write(&mut root, "/etc/passwd", &text).await;
        assert!(
            why.starts_with(&format!("EINVAL: {words}")) && why.ends_with("nothing was changed"),
            "{why}"
        );
        assert_ne!(code, 500);
        assert_eq!(root.call("sys.user.list", json!({})).await.unwrap(), before);
    }
    // Bob goes, Eve comes without a password, Alice gets a name.
    let text =
        passwd.replace("bob:x:1001:1001:bob:/home/bob:/bin/init\n", "").replace(":alice:/", ":Alice A.:/");
    write(&mut root, "/etc/passwd", &(text + "eve:x:1002:1002:Eve:/home/eve:/bin/init\n")).await;
    assert!(bob.ended().await.is_some());
    let expected = "root:x:0:0:root:/root:/bin/init\nalice:x:1000:1000:Alice A.:/home/alice:/bin/init\n\
                    eve:x:1002:1002:Eve:/home/eve:/bin/init\n";
    assert_eq!(cat(&mut root, "/etc/passwd").await, expected);
    let users = root.call("sys.user.list", json!({})).await.unwrap();
    assert_eq!((&users["users"][2]["username"], &users["users"][2]["locked"]), (&json!("eve"), &json!(true)));
    assert!(names(&mut root, "/home/eve").await.contains(&"context.d".to_string()));
    assert!(names(&mut root, "/home").await.contains(&"bob".to_string()), "files stay");
}

#[tokio::test]
async fn groups_and_hashes_are_changed_by_writing() {
    let gateway = Gateway::set_up().await;
    let (mut root, mut user) = (gateway.root().await, gateway.user().await);
    let group = cat(&mut root, "/etc/group").await;
    write(&mut root, "/etc/group", &(group.clone() + "makers:x::alice\n")).await;
    assert!(cat(&mut root, "/etc/group").await.ends_with("makers:x:1001:alice\n"));
    assert!(cat(&mut user, "/proc/self/status").await.contains("Groups:\t100 1000 1001\n"));
    let (_, why) =
        refused_write(&mut root, "/etc/group", &group.replace("users:x:100:alice", "users:x:100:")).await;
    assert!(why.starts_with("EINVAL: line 2: alice is missing"), "{why}");

    let shadow = cat(&mut root, "/etc/shadow").await;
    let hash_of = |name: &str| {
        let line = shadow.lines().find(|line| line.starts_with(&format!("{name}:"))).unwrap();
        line.split(':').nth(1).unwrap().to_string()
    };
    let (alices, roots) = (hash_of("alice"), hash_of("root"));
    let (_, why) = refused_write(&mut root, "/etc/shadow", &shadow.replace(&alices, "plaintext")).await;
    assert!(why.starts_with("EINVAL: line 2: the second field must be ! or a hash"), "{why}");
    let (_, why) = refused_write(&mut root, "/etc/shadow", &shadow.replace(&roots, "!")).await;
    assert!(why.starts_with("EINVAL: line 1: root cannot be locked"), "{why}");
    assert_eq!(cat(&mut root, "/etc/shadow").await, shadow);
    // Alice gets root's password.
    write(&mut root, "/etc/shadow", &shadow.replace(&alices, &roots)).await;
    drop(gateway.login("alice", ROOT_PASSWORD).await);
    write(&mut root, "/etc/shadow", &shadow.replace(&format!("alice:{alices}"), &format!("alice:!{roots}")))
        .await;
    assert!(user.ended().await.is_some());
    let mut peer = gateway.peer().await;
    let auth = json!({ "username": "alice", "password": ROOT_PASSWORD });
    assert_eq!(peer.connect("user", "x", json!({ "auth": auth })).await.unwrap_err().code, 401);
}

#[tokio::test]
async fn every_account_has_a_home() {
    let gateway = Gateway::set_up().await;
    let (mut root, mut user) = (gateway.root().await, gateway.user().await);
    let mut bob = gateway.add_user("bob").await;
    assert_eq!(names(&mut user, "~").await, ["context.d", "knowledge", "skills.d"]);
    assert_eq!(names(&mut user, "~/context.d").await, ["00-constitution.md", "10-user.md"]);
    assert!(cat(&mut bob, "~/context.d/10-user.md").await.contains("- Username: bob\n"));
    assert_eq!(names(&mut root, "~/knowledge").await, ["inbox"]);
    assert_eq!(refused_read(&mut bob, "/home/alice/context.d/10-user.md").await.0, 403);
    assert_eq!(refused_read(&mut user, "/root/context.d/10-user.md").await.0, 403);
}

#[tokio::test]
async fn a_home_that_was_left_behind_is_not_given_to_the_next_of_that_name() {
    let gateway = Gateway::set_up().await;
    let mut root = gateway.root().await;
    let mut bob = gateway.add_user("bob").await;
    write(&mut bob, "~/diary", "private").await;
    root.call("sys.user.remove", json!({ "username": "bob" })).await.unwrap();
    let mut next = gateway.add_user("bob").await;
    assert_eq!(refused_read(&mut next, "/home/bob/diary").await.0, 403);
    assert_eq!(cat(&mut root, "/home/bob/diary").await, "private\n");
}

/// What root does to the accounts over one socket, one thing after the other.
async fn busy_root(gateway: &Gateway, number: usize) {
    let mut root = gateway.root().await;
    for turn in 0..3 {
        let name = format!("u{number}t{turn}");
        match number % 3 {
            0 => {
                let input = format!("echo {name}:x::::: >> /etc/passwd");
                let done =
                    root.call("shell.exec", json!({ "input": input, "yieldMs": 60_000 })).await.unwrap();
                assert_eq!(done["exitCode"], 0, "{done}");
            }
            1 => {
                // The first line stays the first, whatever others add below it.
                let line = "root:x:0:0:root:/root:/bin/init\n";
                let args = json!({
                    "path": "/etc/passwd", "oldString": line, "newString": format!("{line}{name}:x:::::\n"),
                });
                assert_eq!(root.call("fs.edit", args).await.unwrap()["ok"], true);
            }
            _ => {
                let args = json!({ "username": name, "password": testkit::gateway::PASSWORD });
                root.call("sys.user.create", args).await.unwrap();
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_who_add_users_at_once_lose_none() {
    let gateway = Gateway::set_up().await;
    let mut bob = gateway.add_user("bob").await;
    futures_util::future::join_all((0..9).map(|number| busy_root(&gateway, number))).await;
    let mut root = gateway.root().await;
    let users = root.call("sys.user.list", json!({})).await.unwrap();
    let mut names: Vec<&str> =
        users["users"].as_array().unwrap().iter().map(|user| user["username"].as_str().unwrap()).collect();
    names.sort_unstable();
    let added = (0..9).flat_map(|number| (0..3).map(move |turn| format!("u{number}t{turn}")));
    let mut expected: Vec<String> = added.chain(["root", "alice", "bob"].map(String::from)).collect();
    expected.sort_unstable();
    assert_eq!(names, expected);
    assert_eq!(cat(&mut bob, "/proc/self/status").await.lines().count(), 10, "he is still logged in");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_who_edit_the_groups_at_once_lose_nothing() {
    let gateway = Gateway::set_up().await;
    let edit = async |number: usize| {
        let mut root = gateway.root().await;
        for turn in 0..3 {
            let line = "drivers:x:101:\n";
            let args = json!({
                "path": "/etc/group", "oldString": line,
                "newString": format!("{line}g{number}t{turn}:x::alice\n"),
            });
            assert_eq!(root.call("fs.edit", args).await.unwrap()["ok"], true);
            let args = json!({ "name": format!("c{number}t{turn}") });
            root.call("sys.group.create", args).await.unwrap();
        }
    };
    futures_util::future::join_all((0..4).map(edit)).await;
    let mut root = gateway.root().await;
    let groups = root.call("sys.group.list", json!({})).await.unwrap();
    let groups = groups["groups"].as_array().unwrap();
    let members = |name: &str| {
        let group = groups.iter().find(|group| group["name"] == name);
        group.unwrap_or_else(|| panic!("{name} is lost"))["members"].clone()
    };
    for (number, turn) in (0..4).flat_map(|number| (0..3).map(move |turn| (number, turn))) {
        assert_eq!(members(&format!("g{number}t{turn}")), json!(["alice"]));
        assert_eq!(members(&format!("c{number}t{turn}")), json!([]));
    }
    assert_eq!(groups.len(), 5 + 24);
}

#[tokio::test]
async fn things_are_found_one_by_one() {
    let gateway = Gateway::set_up().await;
    let (mut root, mut user) = (gateway.root().await, gateway.user().await);
    let mut bob = gateway.add_user("bob").await;
    for path in ["/proc/init:7", "/proc/init:01000", "/proc/init:", "/proc/1000", "/sys/capabilities/7"] {
        assert_eq!(refused_read(&mut root, path).await.0, 200, "{path}");
    }
    assert_eq!(refused_read(&mut bob, "/sys/capabilities/1000").await.0, 200);
    assert_eq!(cat(&mut root, "/sys/capabilities/1000").await, "");
    assert_eq!(refused_write(&mut root, "/sys/capabilities/7", "fs.*\n").await.0, 200);
    for path in ["/sys/routes/ff", "/sys/routes/+1", "/sys/sessions/sh_none", "/sys/sessions/.."] {
        let found = user.call("fs.read", json!({ "path": path })).await.unwrap();
        assert!(found["ok"] == false || path.ends_with(".."), "{path}: {found}");
    }
    let input = "sleep 80000";
    let running = user.call("shell.exec", json!({ "input": input, "background": true })).await.unwrap();
    let path = format!("/sys/sessions/{}", running["sessionId"].as_str().unwrap());
    let text = cat(&mut user, &path).await;
    assert!(text.contains("target: gsv\nstatus: running\nuid: 1000\ninput: sleep 80000\n"), "{text}");
    assert_eq!(cat(&mut root, &path).await, text);
    assert_eq!(refused_read(&mut bob, &path).await.0, 200);
    let key = "users/1000/files/quota_bytes";
    let bad = json!({ "key": key, "value": "10GB" });
    assert_eq!(root.call("sys.config.set", bad).await.unwrap_err().code, 400);
    root.call("sys.config.set", json!({ "key": key, "value": "10000000" })).await.unwrap();
    let (_, why) = refused_write(&mut root, "/sys/users/1000/files/quota_bytes", "much\n").await;
    assert!(why.contains("must be a whole number"), "{why}");
}
