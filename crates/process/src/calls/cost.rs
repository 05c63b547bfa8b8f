//! `proc.cost`: what a user's agents have used and cost, added up.

use protocol::error::Error;
use protocol::ids::Uid;
use protocol::proc::cost::{ConversationCost, Cost as Args, Costs, RunCost};
use store::runs::{RunRow, Used};

use crate::cost::{sum, total_nano, usage};
use crate::host::Host;
use crate::world::World;

/// Runs that are listed when nobody says how many, and at most.
const NEWEST: u64 = 20;
const NEWEST_MAX: u64 = 500;

impl Host {
    /// What a user's agents have used and cost. Who may ask is the caller's matter.
    pub async fn costs(&self, uid: Uid, args: &Args) -> Result<Costs, Error> {
        costs(&self.world, uid, args).await.map_err(Error::from)
    }
}

async fn costs(world: &World, uid: Uid, args: &Args) -> store::Result<Costs> {
    let since_ms = args.since.unwrap_or(i64::MIN);
    let mut rows = world.store.runs().used_by_conversation(uid, since_ms).await?;
    rows.retain(|(pid, ..)| args.pid.as_ref().is_none_or(|wanted| wanted == pid));
    rows.sort_by_key(|(.., used)| std::cmp::Reverse(total_nano(used)));
    let total = rows.iter().fold(Used::default(), |so_far, (.., used)| sum(&so_far, used));
    let limit = args.limit.unwrap_or(NEWEST).min(NEWEST_MAX);
    let newest = world.store.runs().newest(uid, args.pid.as_ref(), since_ms, limit).await?;
    Ok(Costs {
        uid,
        total: usage(&total),
        runs: rows.iter().map(|(_, _, runs, _)| runs).sum(),
        conversations: rows
            .into_iter()
            .map(|(pid, conversation_id, runs, used)| ConversationCost {
                pid,
                conversation_id,
                runs,
                usage: usage(&used),
            })
            .collect(),
        newest: newest.into_iter().map(run_cost).collect(),
    })
}

fn run_cost(run: RunRow) -> RunCost {
    RunCost {
        run_id: run.run_id,
        pid: run.pid,
        conversation_id: run.conversation_id,
        status: run.status.as_str().to_string(),
        error: run.error,
        provider: run.provider,
        model: run.model,
        turns: run.turns,
        tool_calls: run.tool_calls,
        started_at: run.started_at,
        finished_at: run.finished_at,
        usage: usage(&run.used),
    }
}

#[cfg(test)]
mod tests {
    use model::Usage;
    use protocol::signal::stream::Cost;
    use store::change::Change;
    use store::runs::{RunEnd, RunStatus};

    use super::*;
    use crate::cost::used;
    use crate::fixture::Fixture;

    fn spent(parts: [f64; 4], total: f64) -> Usage {
        let [input, output, cache_read, cache_write] = parts;
        let cost = Cost { input, output, cache_read, cache_write, total };
        Usage { input: 10, output: 20, cache_read: 30, cache_write: 40, total_tokens: 100, cost }
    }

    #[tokio::test]
    async fn costs_are_added_up_by_conversation_and_the_newest_runs_come_first() {
        let fixture = Fixture::with("task", serde_json::json!({})).await;
        let (store, uid) = (&fixture.host.world.store, fixture.process.uid);
        for (id, conversation, at, dollars) in
            [("r1", "default", 10, 0.1), ("r2", "default", 20, 0.1), ("r3", "other", 30, 0.5)]
        {
            let row = RunRow::begun(id.into(), &"p1".into(), uid, &conversation.into(), at);
            let used = used(&spent([0.0, dollars, 0.0, 0.0], dollars));
            let change = Change::new(&row.pid).run_begin(&row);
            store.keep(change.run_turn(&row.run_id, ("demo", "demo"), 2, &used)).await.unwrap();
        }
        let why = Some("Generation failed: no such model".to_string());
        let end = RunEnd {
            status: RunStatus::Error,
            reason: "generation.error",
            error: why.as_deref(),
            now_ms: 40,
        };
        store.keep(Change::new(&"p1".into()).run_end(&"r2".into(), &end)).await.unwrap();
        let host = fixture.restarted();
        let all = host.costs(uid, &Args::default()).await.unwrap();
        assert_eq!((all.runs, all.total.cost.total, all.total.output), (3, 0.7, 60));
        let by: Vec<_> =
            all.conversations.iter().map(|one| (one.conversation_id.as_str(), one.runs)).collect();
        assert_eq!(by, [("other", 1), ("default", 2)], "the most expensive first");
        let newest: Vec<&str> = all.newest.iter().map(|run| run.run_id.as_str()).collect();
        assert_eq!((newest, all.newest[0].tool_calls), (vec!["r3", "r2", "r1"], 2));
        let ends: Vec<_> = all.newest.iter().map(|run| (run.status.as_str(), run.error.clone())).collect();
        assert_eq!(ends, [("active", None), ("error", why), ("active", None)]);
        let since = Args { since: Some(20), limit: Some(1), ..Args::default() };
        let late = host.costs(uid, &since).await.unwrap();
        assert_eq!((late.runs, late.newest.len()), (2, 1));
        let foreign = Args { pid: Some("p2".to_string().into()), ..Args::default() };
        let none = host.costs(uid, &foreign).await.unwrap();
        assert_eq!((none.runs, none.total.total_tokens, none.newest.len()), (0, 0, 0));
    }
}
