//! Tests of quotas: repositories count for their owner like files, and what does not fit is refused with the numbers.

use serde_json::{Value, json};
use testkit::Peer;

use super::bed::{Bed, noise};

const MIB: usize = 1 << 20;

async fn set_quota(bed: &Bed, bytes: usize) {
    let key = "users/1000/files/quota_bytes";
    let args = json!({ "key": key, "value": bytes.to_string() });
    bed.gateway.root().await.call("sys.config.set", args).await.unwrap();
}

fn apply(repo: &str, bytes: usize, seed: u64) -> Value {
    use base64::Engine;
    let content = base64::engine::general_purpose::STANDARD.encode(noise(bytes, seed));
    let put = json!({ "type": "put", "path": format!("f{seed}"), "contentBase64": content });
    json!({ "repo": repo, "message": "m", "ops": [put] })
}

async fn write(peer: &mut Peer, bytes: usize) -> Value {
    let args = json!({ "path": "~/file.txt", "content": "x".repeat(bytes) });
    peer.call("fs.write", args).await.unwrap()
}

#[tokio::test]
async fn repositories_and_files_share_their_owners_quota() {
    let bed = Bed::new().await;
    let mut alice = bed.gateway.user().await;
    set_quota(&bed, 4 * MIB).await;
    alice.call("repo.apply", apply("alice/notes", MIB, 1)).await.unwrap();
    let refused = alice.call("repo.apply", apply("alice/notes", 4 * MIB, 2)).await.unwrap_err();
    assert_eq!(refused.code, 413);
    for part in
        ["EDQUOT: disk quota exceeded: ", " of 4194304 bytes are used", "users/1000/files/quota_bytes"]
    {
        assert!(refused.message.contains(part), "{}", refused.message);
    }
    // A push is cut off when there is no more room, and git prints why.
    let (work, url) = (bed.work("work"), bed.url("alice", "alice/pushed"));
    work.push_first(&url).await;
    work.commit_bytes("large", &noise(4 * MIB, 3), "large").await;
    let pushed = work.git(&["push", &url, "main"]).await;
    assert!(pushed.code != 0, "{pushed:?}");
    let told = pushed.err.lines().filter(|line| line.starts_with("remote: ")).collect::<String>();
    assert!(
        told.contains("disk quota exceeded: ") && told.contains("of 4194304 bytes are used"),
        "{pushed:?}"
    );
    assert_eq!(bed.at(&bed.bare("alice/pushed")).ok(&["rev-list", "--count", "main"]).await.trim(), "1");
    // What did not get in is not counted; what did leaves less room for files.
    work.ok(&["reset", "-q", "--hard", "HEAD~1"]).await;
    work.commit_bytes("some", &noise(MIB, 4), "some").await;
    work.ok(&["push", &url, "main"]).await;
    assert_eq!(write(&mut alice, MIB).await["ok"], true);
    let full = write(&mut alice, 3 * MIB).await;
    assert!(full["ok"] == false && full["error"].as_str().unwrap().contains("quota"), "{full}");
    // Files count for repositories, too; and who is over it may still delete branches.
    assert_eq!(alice.call("repo.apply", apply("alice/notes", 2 * MIB, 5)).await.unwrap_err().code, 413);
    work.ok(&["push", "-q", &url, "main:refs/heads/topic"]).await;
    set_quota(&bed, MIB).await;
    work.ok(&["push", "-q", &url, ":refs/heads/topic"]).await;
    work.commit("x", "y", "more").await;
    assert_ne!(work.git(&["push", &url, "main"]).await.code, 0);
    // With none, everything goes again.
    set_quota(&bed, 0).await;
    work.ok(&["push", &url, "main"]).await;
    alice.call("repo.apply", apply("alice/notes", 4 * MIB, 6)).await.unwrap();
    bed.fsck("alice/notes").await;
    bed.fsck("alice/pushed").await;
}

#[tokio::test]
async fn a_restart_counts_what_is_there() {
    let bed = Bed::new().await;
    let mut alice = bed.gateway.user().await;
    alice.call("repo.apply", apply("alice/notes", 3 * MIB, 1)).await.unwrap();
    set_quota(&bed, 4 * MIB).await;
    let gateway = bed.gateway.restart().await;
    let mut alice = gateway.user().await;
    assert_eq!(alice.call("repo.apply", apply("alice/notes", 2 * MIB, 2)).await.unwrap_err().code, 413);
    alice.call("repo.apply", apply("alice/notes", MIB / 2, 3)).await.unwrap();
}
