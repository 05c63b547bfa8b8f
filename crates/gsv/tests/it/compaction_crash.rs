//! `kill -9` at every write of a compaction: no archive is left that belongs to nothing, none is missing, and no summary
//! that was paid for is forgotten once it is known.

use serde_json::{Value, json};
use testkit::Peer;
use testkit::fake_model::{Turn, chat_reply};

use crate::agents_crash::Sweep;
use crate::world::wait_until;

async fn segments(alice: &mut Peer) -> Vec<String> {
    let listed = alice.call("proc.conversation.segments", json!({})).await.unwrap();
    let path = |segment: &Value| segment["archivePath"].as_str().unwrap().to_string();
    let mut paths: Vec<String> = listed["segments"].as_array().unwrap().iter().map(path).collect();
    paths.sort();
    paths
}

/// Every file of the archives on disk, as the tree names it; those that nobody is shown too.
fn files(sweep: &Sweep) -> Vec<String> {
    let top = sweep.world.home.path().join("data/files");
    let (mut files, mut directories) = (Vec::new(), vec![top.join("var/sessions")]);
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).into_iter().flatten() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => directories.push(path),
                false => files.push(format!("/{}", path.strip_prefix(&top).unwrap().to_str().unwrap())),
            }
        }
    }
    files.sort();
    files
}

/// Compacts with a gateway that dies at that write; false when it lived.
async fn compact(sweep: &mut Sweep, die_at: &str) -> bool {
    sweep.world.gateway.child.kill().unwrap();
    sweep.world.gateway.child.wait().unwrap();
    if !sweep.world.try_restart_gateway_with(&[("GSV_DIE_AT_WRITE", die_at)]) {
        return true;
    }
    let Some(mut alice) = sweep.alice().await else { return true };
    let args = json!({ "generateSummary": true, "keepLast": 1 });
    match alice.try_call("proc.conversation.compact", args).await {
        None => true,
        Some(answer) => {
            assert_eq!(answer.unwrap()["ok"], true);
            false
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_compaction_that_is_killed_leaves_nothing_behind() {
    let mut sweep = Sweep::with_model(|_| chat_reply(&Turn::text("They met.").tokens(100, 7))).await;
    let mut alice = sweep.alice().await.unwrap();
    alice.call("proc.send", json!({ "message": "hello" })).await.unwrap();
    alice.signal("proc.run.finished").await;
    let (mut kills, mut unclaimed, mut lived) = (0, 0, [false; 2]);
    for write in 1.. {
        for (place, before) in ["before:", ""].into_iter().enumerate() {
            let died = compact(&mut sweep, &format!("{before}{write}")).await;
            lived[place] = !died;
            kills += usize::from(died);
            if !died {
                sweep.world.gateway.child.kill().unwrap();
            }
            sweep.world.gateway.child.wait().unwrap();
            let behind = files(&sweep);
            sweep.world.restart_gateway();
            let kept = segments(&mut sweep.alice().await.unwrap()).await;
            unclaimed += usize::from(behind.len() > kept.len());
            wait_until("only what is referred to stays", || files(&sweep) == kept);
        }
        if lived == [true; 2] {
            break;
        }
    }
    assert!(unclaimed > 0, "{kills} kills, and never was an archive under way");
    let mut alice = sweep.alice().await.unwrap();
    let (kept, costs) = (segments(&mut alice).await.len(), alice.call("proc.cost", json!({})).await.unwrap());
    let summaries = costs["runs"].as_u64().unwrap() - 1;
    assert_eq!(costs["total"]["input"], 100 * (summaries + 1), "{costs}");
    assert!(summaries as usize > kept, "{kept} were kept, and those that were not are charged too: {costs}");
}
