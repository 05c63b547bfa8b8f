//! Tests of guests with real children that lie, flood, hang and die: each harms one block.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use base::clock::Clock;
use guest::{Block, Failure, Pool, Report, Tenant};
use protocol::calls::Calls;
use protocol::ids::Uid;

fn pool() -> Pool {
    Pool::new(PathBuf::from(env!("CARGO_BIN_EXE_hostile-guest")), "hostile", Clock::system())
}

fn block(uid: u32, what: &str) -> Block {
    Block {
        id: base::random::uuid(),
        tenant: Tenant { uid: Uid(uid), pid: None },
        body: format!("\"{what}\""),
        may_call: &["fs.read"],
        own_time: Duration::from_millis(500),
        total: None,
        log: (100, 10_000),
    }
}

/// Calls that answer with their own name and arguments.
fn echo() -> Calls {
    Calls::new(|name, args| {
        let answer = format!("[\"{name}\",{args}]");
        Box::pin(async move { Ok(answer) })
    })
}

async fn run(pool: &Pool, uid: u32, what: &str) -> Report {
    block(uid, what).run(pool, &echo(), || false).await
}

async fn outcome(pool: &Pool, uid: u32, what: &str) -> Result<String, Failure> {
    run(pool, uid, what).await.outcome
}

#[tokio::test]
async fn a_block_calls_and_is_answered() {
    let pool = pool();
    assert_eq!(outcome(&pool, 1, "call").await, Ok(r#"["fs.read",{"path":"x"}]"#.to_string()));
    let refused = outcome(&pool, 1, "forbidden").await.unwrap();
    assert!(refused.contains("sys.token.create is not for code in a sandbox"), "{refused}");
}

#[tokio::test]
async fn a_child_serves_one_tenant_again_and_another_never() {
    let pool = pool();
    assert_eq!(outcome(&pool, 1, "count").await, Ok("1".to_string()));
    assert_eq!(outcome(&pool, 1, "count").await, Ok("2".to_string()), "it is kept for its tenant");
    assert_eq!(outcome(&pool, 2, "count").await, Ok("1".to_string()), "another user gets another");
    let mut agents = block(1, "count");
    agents.tenant.pid = Some("init:1".into());
    let agents = agents.run(&pool, &echo(), || false).await.outcome;
    assert_eq!(agents, Ok("1".to_string()), "what a person ran in is not for agents, nor the other way");
    pool.forget_user(Uid(1));
    assert_eq!(outcome(&pool, 1, "count").await, Ok("1".to_string()));
    let mut most = 0;
    for _ in 0..2 * base::limits::guest::BLOCKS_PER_CHILD {
        most = most.max(outcome(&pool, 1, "count").await.unwrap().parse::<u32>().unwrap());
    }
    assert_eq!(most, base::limits::guest::BLOCKS_PER_CHILD, "a child does not live for ever");
}

#[tokio::test]
async fn hostile_children_harm_one_block() {
    let pool = pool();
    for (what, expected) in [
        ("hang", "Execution timed out"),
        ("processor", "Execution timed out"),
        ("other block", "spoke of another block"),
        ("ready again", ""),
        ("logs", "logged more than 100 lines"),
        ("exit", "crashed its sandbox (exit status: 3)"),
        ("file", "crashed its sandbox (signal: 31"),
    ] {
        let why = outcome(&pool, 1, what).await.expect_err(what).to_string();
        assert!(why.contains(expected), "{what}: {why}");
        assert_eq!(
            outcome(&pool, 1, "count").await,
            Ok("1".to_string()),
            "{what}: the child was thrown away"
        );
        assert_eq!(pool.busy(), 0, "{what}");
    }
}

#[tokio::test]
async fn floods_of_calls_and_bytes_are_bounded() {
    let pool = pool();
    let never = Calls::new(|_, _| Box::pin(std::future::pending()));
    let abandoned = AtomicUsize::new(0);
    let flood = block(1, "calls");
    // Calls that nobody answers are waited for until nobody waits for the block any more.
    let is_abandoned = || abandoned.fetch_add(1, Ordering::Relaxed) > 0;
    let report = flood.run(&pool, &never, is_abandoned).await;
    let why = report.outcome.unwrap_err().to_string();
    assert!(why.contains("calls under way at once") || why.contains("Nobody waits"), "{why}");
    let why = outcome(&pool, 1, "calls").await.unwrap_err().to_string();
    assert!(why.contains("calls") || why.contains("did not take the answers"), "{why}");
    let why = outcome(&pool, 1, "bytes").await.unwrap_err().to_string();
    assert!(why.contains("sent more data") || why.contains("did not take"), "{why}");
}

#[tokio::test]
async fn what_a_block_still_called_is_waited_for() {
    let pool = pool();
    let made = Arc::new(AtomicUsize::new(0));
    let counted = made.clone();
    let slow = Calls::new(move |_, _| {
        let counted = counted.clone();
        Box::pin(async move {
            tokio::task::yield_now().await;
            counted.fetch_add(1, Ordering::Relaxed);
            Ok("1".to_string())
        })
    });
    let report = block(1, "unfinished").run(&pool, &slow, || false).await;
    assert_eq!((report.outcome, made.load(Ordering::Relaxed)), (Ok("1".to_string()), 1));
    assert_eq!(report.calls[0].result, Some(Ok(())));
}

#[tokio::test]
async fn a_program_that_is_no_guest_is_told() {
    let pool = Pool::new("/bin/true".into(), "hostile", Clock::system());
    let why = outcome(&pool, 1, "count").await.unwrap_err().to_string();
    assert!(why.contains("could not be set up"), "{why}");
    let pool = Pool::new("/nowhere".into(), "hostile", Clock::system());
    let why = outcome(&pool, 1, "count").await.unwrap_err().to_string();
    assert!(why.contains("could not be started"), "{why}");
}
