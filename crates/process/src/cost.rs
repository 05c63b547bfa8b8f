//! Tokens and money: from a model's usage to what the store adds up, and back to the wire.

use model::Usage;
use protocol::error::Error;
use protocol::ids::Uid;
use protocol::proc::cost::{ConversationCost, Cost as Args, Costs, RunCost};
use protocol::signal::stream::Cost;
use store::runs::{RunRow, Used};

use crate::host::{Host, store_error};
use crate::world::World;

/// Billionths of a dollar in a dollar.
const NANO: f64 = 1e9;
/// Runs that are listed when nobody says how many, and at most.
const NEWEST: u64 = 20;
const NEWEST_MAX: u64 = 500;

/// What is added to a run's row.
pub(crate) fn used(usage: &Usage) -> Used {
    let cost = &usage.cost;
    let parts = [cost.input, cost.output, cost.cache_read, cost.cache_write].map(money);
    let (sum, total) = (parts.iter().sum::<f64>(), money(cost.total));
    // A provider that tells its own price gives only the whole; the parts are made to add up to it.
    let [input, output, cache_read, cache_write] = match (sum > 0.0, total > 0.0) {
        (true, true) => parts.map(|part| part * (total / sum)),
        (false, true) => [0.0, total, 0.0, 0.0],
        _ => parts,
    };
    Used {
        input_tokens: whole(usage.input),
        output_tokens: whole(usage.output),
        cache_read_tokens: whole(usage.cache_read),
        cache_write_tokens: whole(usage.cache_write),
        input_nano: nano(input),
        output_nano: nano(output),
        cache_read_nano: nano(cache_read),
        cache_write_nano: nano(cache_write),
    }
}

/// What the wire shows of it.
pub(crate) fn usage(used: &Used) -> Usage {
    let tokens = |count: i64| count.max(0) as u64;
    let dollars = |nano: i64| nano as f64 / NANO;
    let counts =
        [used.input_tokens, used.output_tokens, used.cache_read_tokens, used.cache_write_tokens].map(tokens);
    Usage {
        input: counts[0],
        output: counts[1],
        cache_read: counts[2],
        cache_write: counts[3],
        total_tokens: counts.into_iter().fold(0, u64::saturating_add),
        cost: Cost {
            input: dollars(used.input_nano),
            output: dollars(used.output_nano),
            cache_read: dollars(used.cache_read_nano),
            cache_write: dollars(used.cache_write_nano),
            total: dollars(total_nano(used)),
        },
    }
}

/// All money together.
pub(crate) fn total_nano(used: &Used) -> i64 {
    let parts = [used.input_nano, used.output_nano, used.cache_read_nano, used.cache_write_nano];
    parts.into_iter().fold(0, i64::saturating_add)
}

/// Both together.
pub(crate) fn sum(a: &Used, b: &Used) -> Used {
    let add = i64::saturating_add;
    Used {
        input_tokens: add(a.input_tokens, b.input_tokens),
        output_tokens: add(a.output_tokens, b.output_tokens),
        cache_read_tokens: add(a.cache_read_tokens, b.cache_read_tokens),
        cache_write_tokens: add(a.cache_write_tokens, b.cache_write_tokens),
        input_nano: add(a.input_nano, b.input_nano),
        output_nano: add(a.output_nano, b.output_nano),
        cache_read_nano: add(a.cache_read_nano, b.cache_read_nano),
        cache_write_nano: add(a.cache_write_nano, b.cache_write_nano),
    }
}

impl Host {
    /// What a user's agents have used and cost. Who may ask is the caller's matter.
    pub async fn costs(&self, uid: Uid, args: &Args) -> Result<Costs, Error> {
        costs(&self.world, uid, args).await.map_err(store_error)
    }
}

async fn costs(world: &World, uid: Uid, args: &Args) -> store::Result<Costs> {
    let since_ms = args.since.unwrap_or(i64::MIN);
    let mut rows = world.store.used_by_conversation(uid, since_ms).await?;
    rows.retain(|(pid, ..)| args.pid.as_ref().is_none_or(|wanted| wanted == pid));
    rows.sort_by_key(|(.., used)| std::cmp::Reverse(total_nano(used)));
    let total = rows.iter().fold(Used::default(), |so_far, (.., used)| sum(&so_far, used));
    let limit = args.limit.unwrap_or(NEWEST).min(NEWEST_MAX);
    let newest = world.store.runs_newest(uid, args.pid.as_ref(), since_ms, limit).await?;
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

/// What a provider said something cost; nonsense costs nothing.
fn money(dollars: f64) -> f64 {
    if dollars.is_finite() && dollars > 0.0 { dollars } else { 0.0 }
}

fn nano(dollars: f64) -> i64 {
    // A cast of a float stops at the largest number.
    (dollars * NANO).round() as i64
}

fn whole(tokens: u64) -> i64 {
    i64::try_from(tokens).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use store::change::Change;
    use store::runs::{RunEnd, RunStatus};

    use super::*;
    use crate::ground::Ground;

    fn spent(parts: [f64; 4], total: f64) -> Usage {
        let [input, output, cache_read, cache_write] = parts;
        let cost = Cost { input, output, cache_read, cache_write, total };
        Usage { input: 10, output: 20, cache_read: 30, cache_write: 40, total_tokens: 100, cost }
    }

    #[tokio::test]
    async fn costs_are_added_up_by_conversation_and_the_newest_runs_come_first() {
        let ground = Ground::with("task", serde_json::json!({})).await;
        let (store, uid) = (&ground.host.world.store, ground.process.uid);
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
        let host = ground.restarted();
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

    #[test]
    fn usage_comes_back_as_it_went_in() {
        let before = spent([0.000_003, 0.3, 0.000_000_001, 0.0], 0.300_003_001);
        let used = used(&before);
        assert_eq!((used.input_nano, used.output_nano, used.cache_read_nano), (3_000, 300_000_000, 1));
        assert_eq!(usage(&used), before);
    }

    #[test]
    fn a_told_price_is_the_sum_of_the_parts() {
        assert_eq!(total_nano(&used(&spent([0.1, 0.3, 0.0, 0.0], 0.2))), 200_000_000);
        assert_eq!(used(&spent([0.0; 4], 0.25)).output_nano, 250_000_000);
    }

    #[test]
    fn nonsense_costs_nothing_and_large_numbers_stop() {
        assert_eq!(total_nano(&used(&spent([f64::NAN, -1.0, 0.0, 0.0], f64::INFINITY))), 0);
        let huge = Usage { input: u64::MAX, ..spent([0.0, 1e300, 0.0, 0.0], 1e300) };
        let used = used(&huge);
        assert_eq!((used.input_tokens, used.output_nano), (i64::MAX, i64::MAX));
        assert_eq!(sum(&used, &used).output_nano, i64::MAX);
    }
}
