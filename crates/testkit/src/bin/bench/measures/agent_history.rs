//! Benchmark of many stored conversations: how long a restart takes, and whether a long history makes its last page
//! slower.

use std::time::Duration;

use anyhow::{Context, Result};
use base::clock::Clock;
use protocol::ids::{ConversationId, Pid, Uid};
use protocol::proc::history::MessageRole;
use serde_json::{Value, json};
use store::Store;
use store::change::Change;
use store::messages::MessageRow;
use store::processes::ProcessRow;

use crate::agents::Agents;
use crate::report::{Bar, Row, Spread};
use crate::stage::Stage;
use crate::wire;

/// Conversations of one process.
const PER_PROCESS: usize = 100;
/// Messages of the short and of the long history.
const SHORT: usize = 100;
/// See [`SHORT`].
const LONG: usize = 20_000;

/// Writes the rows while the gateway is stopped, then starts it.
pub(crate) async fn run(stage: &Stage) -> Result<Vec<Row>> {
    let conversations = if stage.effort.rounds > 3 { 100_000 } else { 10_000 };
    let Agents { set_up, server, model } = Agents::start(stage.gsv()).await?;
    let mut socket = set_up.log_in(server.address, "bench-uid", wire::idle()).await?;
    let listed = wire::call(&mut socket, "proc.list", &json!({})).await?;
    let uid = listed.pointer("/processes/0/uid").and_then(Value::as_u64).context("there is no process")?;
    drop(socket);
    server.stop()?;
    let uid = Uid(u32::try_from(uid)?);
    let options = store::Options { data: set_up.data(), url: None };
    let store = Store::open(&options).await.context("open the gateway's store")?;
    fill(&store, uid, conversations).await?;
    history(&store, uid, "bench-short", SHORT).await?;
    history(&store, uid, "bench-long", LONG).await?;
    store.close().await?;
    drop(store);

    let begun = Clock::system().instant();
    let server = set_up.start().context("start the gateway again")?;
    let mut socket = set_up.log_in(server.address, "bench-after", wire::busy()).await?;
    let ready_ms = begun.elapsed().as_secs_f64() * 1_000.0;
    let mut ratios = Vec::new();
    let (mut shorts, mut longs) = (Vec::new(), Vec::new());
    for _ in 0..stage.effort.rounds {
        let short = pages(&mut socket, "bench-short").await?;
        let long = pages(&mut socket, "bench-long").await?;
        ratios.push(long / short);
        shorts.push(short);
        longs.push(long);
    }
    drop((socket, model));
    server.stop()?;
    let restart = Row::figure(
        &format!("restart with {conversations} stored conversations, to the first sys.connect"),
        "ms",
        ready_ms,
        None,
        Bar::AtMost(1_000.0),
    );
    let page = Row::ratio(
        &format!("last page of proc.history, {LONG} messages against {SHORT}"),
        "ms",
        Spread::of(longs),
        Spread::of(shorts),
        Spread::of(ratios),
        Some(Bar::AimAtMost(1.5)),
    );
    Ok(vec![restart, page])
}

/// Milliseconds of one reading of the last fifty messages, on average.
async fn pages(socket: &mut wire::Socket, pid: &str) -> Result<f64> {
    const COUNT: u32 = 100;
    let begun = Clock::system().instant();
    for _ in 0..COUNT {
        let args = json!({ "pid": pid, "tail": true, "limit": 50 });
        let page = wire::call(socket, "proc.history", &args).await?;
        anyhow::ensure!(page["messages"].as_array().is_some_and(|all| all.len() == 50), "{page}");
    }
    Ok((begun.elapsed() / COUNT).as_secs_f64() * 1_000.0)
}

async fn fill(store: &Store, uid: Uid, conversations: usize) -> Result<()> {
    let mut writes = Vec::new();
    for number in 0..conversations / PER_PROCESS {
        let (store, pid) = (store.clone(), Pid(format!("bench-{number}")));
        writes.push(async move {
            store.processes().create(&process(&pid, uid)).await?;
            let mut change = Change::new(&pid);
            for place in 0..PER_PROCESS {
                let id = ConversationId(format!("c{place}"));
                change = change.conversation_ensure(&id, 1);
                change = change.message(&message(place as i64 + 1, &id));
            }
            store.keep(change).await
        });
        if writes.len() == 64 {
            futures_util::future::try_join_all(std::mem::take(&mut writes)).await?;
        }
    }
    futures_util::future::try_join_all(writes).await?;
    Ok(())
}

async fn history(store: &Store, uid: Uid, pid: &str, messages: usize) -> Result<()> {
    let pid = Pid(pid.to_string());
    store.processes().create(&process(&pid, uid)).await?;
    let conversation = ConversationId("default".to_string());
    for first in (0..messages).step_by(1_000) {
        let mut change = Change::new(&pid);
        for place in first..(first + 1_000).min(messages) {
            change = change.message(&message(place as i64 + 1, &conversation));
        }
        tokio::time::timeout(Duration::from_secs(60), store.keep(change)).await??;
    }
    Ok(())
}

fn process(pid: &Pid, uid: Uid) -> ProcessRow {
    ProcessRow { next_message_id: 1_000_000, ..ProcessRow::idle(pid.clone(), uid, "task", "/", 1) }
}

fn message(id: i64, conversation: &ConversationId) -> MessageRow {
    MessageRow {
        id,
        conversation_id: conversation.clone(),
        generation: 1,
        role: MessageRole::User,
        content: "What shall I say to this?".to_string(),
        meta: None,
        tool_call_id: None,
        media: None,
        origin: None,
        run_id: None,
        created_at: id,
    }
}
