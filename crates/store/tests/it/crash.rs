//! Crash test: `kill -9` in the middle of many writes loses nothing that was acknowledged.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use store::{Options, Store};

use crate::home::Home;

const CHILD_DATA: &str = "GSV_STORE_CRASH_DATA";
const TASKS: usize = 8;

#[tokio::test]
async fn a_killed_gateway_loses_no_acknowledged_write() {
    let home = Home::sqlite();
    drop(home.open().await);
    for round in 0..4 {
        let acknowledged = write_until_killed(&home, round);
        assert!(acknowledged.len() > round * 100);
        let store = home.open().await;
        for key in &acknowledged {
            assert_eq!(store.config().value(key).await.unwrap().as_deref(), Some(key.as_str()));
        }
        // Each pair was one transaction.
        let rows = store.groups().all().await.unwrap().len();
        let accounts = store.accounts().all().await.unwrap().len();
        assert_eq!(rows, accounts, "a user without its group, or a group without its user");
    }
}

/// Starts this binary as a child that writes, kills it, and returns the keys it said were written.
fn write_until_killed(home: &Home, round: usize) -> Vec<String> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::child", "--nocapture"])
        .env(CHILD_DATA, home.data.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut keys = Vec::new();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // What it wrote before it died is read to the end of the pipe.
    while let Some(Ok(line)) = lines.next() {
        keys.extend(line.strip_prefix("acknowledged ").map(str::to_string));
        if keys.len() == round * 150 + 1 {
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    keys
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child() {
    let Some(data) = std::env::var_os(CHILD_DATA) else { return };
    let store = Store::open(&Options { data: data.into(), url: None }).await.unwrap();
    let run = base::random::uuid();
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| {
            let (store, run) = (store.clone(), run.clone());
            tokio::spawn(async move {
                for number in 0..100_000 {
                    let key = format!("crash/{run}/{task}/{number}");
                    store.config().set(&key, &key).await.unwrap();
                    writeln!(std::io::stdout().lock(), "acknowledged {key}").unwrap();
                    let name = format!("{run}{task}-{number}");
                    store.accounts().create(crate::home::person(&name)).await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}
