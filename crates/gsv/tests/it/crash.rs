//! kill -9 and a full disk: what was acknowledged is there afterwards, and everything goes on.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use base::clock::Clock;
use serde_json::json;
use testkit::Peer;

use crate::world::World;

/// Logs in as root.
async fn root(world: &World) -> Peer {
    let mut peer = Peer::open(&world.url()).await;
    let auth = json!({ "auth": { "username": "root", "password": "root-password" } });
    peer.connect("user", &base::random::uuid(), auth).await.unwrap();
    peer
}

/// Sets one key after the other until the gateway is gone; every acknowledged one is noted.
async fn write_until_death(mut peer: Peer, round: usize, noted: Arc<Mutex<Vec<String>>>) {
    for number in 0.. {
        let key = format!("config/ai/context.d/{round}-{number:06}");
        let args = json!({ "key": key, "value": key });
        match peer.try_call("sys.config.set", args).await {
            Some(answer) => {
                answer.unwrap();
                noted.lock().unwrap().push(key);
            }
            None => return,
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_any_moment_the_gateway_loses_nothing_it_acknowledged() {
    let mut world = World::set_up();
    let noted = Arc::new(Mutex::new(Vec::new()));
    for round in 0..8 {
        let mut writers = Vec::new();
        for writer in 0..4 {
            let peer = root(&world).await;
            writers.push(tokio::spawn(write_until_death(peer, round * 10 + writer, noted.clone())));
        }
        let before = noted.lock().unwrap().len();
        while noted.lock().unwrap().len() < before + 1 + round * 7 {
            tokio::time::sleep(Duration::from_micros(300)).await;
        }
        world.gateway.child.kill().unwrap();
        world.gateway.child.wait().unwrap();
        for writer in writers {
            writer.await.unwrap();
        }
        world.restart_gateway();
        let found =
            root(&world).await.call("sys.config.get", json!({ "key": "config/ai/context.d" })).await.unwrap();
        let entries = found["entries"].as_array().unwrap();
        for key in noted.lock().unwrap().iter() {
            let entry = entries.iter().find(|entry| entry["key"] == key.as_str());
            assert_eq!(entry.map(|entry| entry["value"].clone()), Some(json!(key)), "round {round}");
        }
    }
    world.ok(&["devices"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn setup_killed_in_the_middle_is_done_or_not_done() {
    for delay_ms in [0, 20, 60, 100, 140, 180, 220, 300] {
        let mut world = World::fresh();
        let mut peer = Peer::open(&world.url()).await;
        let args = json!({
            "username": "alice", "password": "alice-password", "rootPassword": "root-password",
            "node": { "deviceId": "desk" },
        });
        peer.send_call("sys.setup", args.clone()).await;
        tokio::time::sleep(Duration::from_millis(delay_ms)).await;
        world.gateway.child.kill().unwrap();
        world.gateway.child.wait().unwrap();
        world.restart_gateway();
        let mut peer = Peer::open(&world.url()).await;
        match peer.call("sys.setup", args).await {
            Ok(_) => {}
            Err(refused) => assert_eq!(refused.pair(), (409, "System already initialized")),
        }
        let tokens = root(&world).await.call("sys.token.list", json!({})).await.unwrap();
        assert_eq!(tokens["tokens"].as_array().unwrap().len(), 1, "all of setup is there, once");
    }
}

#[test]
fn a_killed_driver_fails_its_calls_and_comes_back() {
    let mut world = World::with_device();
    let session = world.json(&["run", "--target", "desk", "--detach", "--", "sleep 60"]);
    let session = session["sessionId"].as_str().unwrap().to_string();
    let mut device = world.take_device();
    device.child.kill().unwrap();
    device.child.wait().unwrap();
    let deadline = Clock::system().instant() + crate::world::PATIENCE;
    loop {
        let error = world.fails(1, &["run", "--target", "desk", "--", "true"]);
        if error.contains("Device offline: desk") {
            break;
        }
        assert!(Clock::system().instant() < deadline, "{error}");
    }
    world.connect_device();
    assert_eq!(world.ok(&["run", "--target", "desk", "--", "echo back"]), "back\n");
    let args = json!({ "sessionId": session, "input": "" }).to_string();
    let error = world.fails(1, &["call", "shell.exec", "--args", &args]);
    assert!(error.contains(&format!("Unknown shell session: {session}")), "{error}");
}

/// Needs root, to make a disk that is small enough to fill; `cargo xtask test` in CI runs as root.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_full_disk_writes_are_refused_and_reads_go_on() {
    let mut world = World::set_up();
    let data = world.home.path().join("data");
    world.gateway.child.kill().unwrap();
    world.gateway.child.wait().unwrap();
    let Some(disk) = SmallDisk::over(&data) else { return };
    world.restart_gateway();
    let mut root = root(&world).await;
    std::fs::write(data.join("ballast"), vec![7u8; 64 * 1024 * 1024]).unwrap_err();
    let value = "v".repeat(200_000);
    let mut refused = None;
    for number in 0..400 {
        let args = json!({ "key": format!("config/ai/context.d/fill-{number}"), "value": value });
        if let Err(error) = root.call("sys.config.set", args).await {
            refused = Some(error);
            break;
        }
    }
    assert_eq!(refused.expect("a full disk is noticed").code, 507);
    let file = json!({ "path": "/root/note", "content": value });
    let answer = root.call("fs.write", file.clone()).await.unwrap();
    assert_eq!(answer["ok"], false, "{answer}");
    assert!(answer["error"].as_str().unwrap().contains("no space left on device"), "{answer}");
    assert!(root.call("sys.user.list", json!({})).await.is_ok(), "reading goes on");
    std::fs::remove_file(data.join("ballast")).unwrap();
    assert_eq!(root.call("fs.write", file).await.unwrap()["ok"], true);
    let args = json!({ "key": "config/ai/context.d/after", "value": "works" });
    assert_eq!(root.call("sys.config.set", args).await.unwrap(), json!({ "ok": true }));
    drop(root);
    world.gateway.child.kill().unwrap();
    world.gateway.child.wait().unwrap();
    drop(disk);
}

/// A disk of a few megabytes in the place of a directory, with the directory's content.
struct SmallDisk(std::path::PathBuf);

impl SmallDisk {
    fn over(directory: &std::path::Path) -> Option<SmallDisk> {
        let run = |program: &str, args: &[&std::ffi::OsStr]| {
            std::process::Command::new(program).args(args).status().is_ok_and(|status| status.success())
        };
        let aside = directory.with_extension("aside");
        std::fs::rename(directory, &aside).unwrap();
        std::fs::create_dir(directory).unwrap();
        let (directory, from) = (directory.as_os_str(), aside.join("."));
        let options = ["-t", "tmpfs", "-o", "size=32m,mode=700", "tmpfs"].map(std::ffi::OsStr::new);
        if !run("mount", &[&options[..], &[directory]].concat()) {
            return None;
        }
        assert!(run("cp", &["-a".as_ref(), from.as_os_str(), directory]));
        Some(SmallDisk(directory.into()))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: the last file may still be open for a moment.
        drop(std::process::Command::new("umount").arg("-l").arg(&self.0).status());
    }
}
