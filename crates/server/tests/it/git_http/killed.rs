//! Tests of pushes whose git is killed at some moment: the ref is old or new, the repository sound, and the next push goes
//! through.

use std::path::Path;
use std::process::Command;

use super::bed::{Bed, noise};

/// Processes that serve a push into a repository, and those they started.
fn servers(bare: &Path) -> Vec<String> {
    let bare = bare.to_str().unwrap().as_bytes();
    let is_server = |pid: &String| {
        let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let is_receiving = command.windows(12).any(|part| part == b"receive-pack");
        is_receiving && command.windows(bare.len()).any(|part| part == bare)
    };
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let all = all.map(|entry| entry.file_name().to_string_lossy().into_owned());
    all.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())).filter(is_server).collect()
}

/// Kills the whole group that such a process leads; false where there was none.
fn kill_group(pid: &str) -> bool {
    Command::new("kill").args(["-KILL", "--", &format!("-{pid}")]).output().unwrap().status.success()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_some_moment_of_a_push() {
    let bed = Bed::new().await;
    let (work, url) = (bed.work("work"), bed.url("alice", "alice/killed"));
    work.push_first(&url).await;
    let bare = bed.bare("alice/killed");
    let mut old = work.ok(&["rev-parse", "HEAD"]).await;
    let (mut killed, mut lost) = (0, 0);
    for round in 0..24 {
        // Some pushes are unpacked, some stay packs.
        for file in 0..if round % 2 == 0 { 3 } else { 120 } {
            std::fs::write(work.path(&format!("f{file}")), noise(2_048, round * 1_000 + file)).unwrap();
        }
        work.commit_bytes("large", &noise(512 << 10, round), "more").await;
        let new = work.ok(&["rev-parse", "HEAD"]).await;
        let push = ["push", &url, "main"];
        let pushing = work.git(&push);
        let killing = tokio::task::spawn_blocking({
            let bare = bare.clone();
            move || {
                for _ in 0..20_000 {
                    if let Some(pid) = servers(&bare).first() {
                        // Each time a little later.
                        for _ in 0..round * round * 2_000 {
                            std::hint::spin_loop();
                        }
                        return kill_group(pid);
                    }
                }
                false
            }
        });
        let (pushed, was_killed) = tokio::join!(pushing, killing);
        killed += usize::from(was_killed.unwrap());
        lost += usize::from(pushed.code != 0);
        let now = bed.at(&bare).ok(&["rev-parse", "main"]).await;
        assert!(now == old || now == new, "{now} is neither {old} nor {new}");
        assert!(pushed.code != 0 || now == new, "what was acknowledged is there");
        bed.fsck("alice/killed").await;
        old = now;
    }
    assert!(killed > 0 && lost > 0, "{killed} were killed, {lost} were lost");
    // A lock that the dead left may have to be old enough; another branch has none.
    work.ok(&["push", &url, "main:refs/heads/after"]).await;
    bed.fsck("alice/killed").await;
}
