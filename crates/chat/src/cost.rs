//! Cost report: tables of the tokens and the money that agents have used.

use protocol::proc::cost::Costs;
use protocol::signal::stream::Usage;
use terminal::output::{Table, or_dash};
use terminal::{escape, times};

/// All of it for a person: the sum, by conversation, the newest runs.
pub fn table(costs: &Costs, colour: bool) -> String {
    let runs = if costs.runs == 1 { "run" } else { "runs" };
    let mut out = format!("{} {runs}, {}\n", costs.runs, in_words(&costs.total));
    if costs.runs == 0 {
        return out;
    }
    let mut by_conversation = Table::new(
        &["PROCESS", "CONVERSATION", "RUNS", "INPUT", "CACHED", "OUTPUT", "COST"],
        "no conversations",
    );
    for conversation in &costs.conversations {
        let usage = &conversation.usage;
        by_conversation.row([
            conversation.pid.to_string(),
            conversation.conversation_id.to_string(),
            conversation.runs.to_string(),
            usage.input.to_string(),
            usage.cache_read.to_string(),
            usage.output.to_string(),
            money(usage.cost.total),
        ]);
    }
    let mut newest =
        Table::new(&["STARTED", "RUN", "MODEL", "STATUS", "TURNS", "TOOLS", "TOKENS", "COST"], "no runs");
    for run in &costs.newest {
        let model = match (&run.provider, &run.model) {
            (Some(provider), Some(model)) => Some(format!("{provider}/{model}")),
            (provider, model) => provider.clone().or_else(|| model.clone()),
        };
        newest.row([
            times::show(run.started_at),
            run.run_id.to_string(),
            or_dash(model),
            run.status.clone(),
            run.turns.to_string(),
            run.tool_calls.to_string(),
            run.usage.total_tokens.to_string(),
            money(run.usage.cost.total),
        ]);
    }
    out.push_str(&format!("\n{}\n{}", by_conversation.render(colour), newest.render(colour)));
    let failed = costs.newest.iter().filter_map(|run| Some((&run.run_id, run.error.as_deref()?)));
    let errors: String = failed.map(|(id, why)| format!("{id}: {}\n", escape::line(why))).collect();
    if !errors.is_empty() {
        out.push_str(&format!("\n{errors}"));
    }
    out
}

/// `1,234 tokens, $0.0123`.
pub fn in_words(usage: &Usage) -> String {
    let tokens = grouped(usage.total_tokens);
    match usage.cost.total {
        total if total > 0.0 => format!("{tokens} tokens, {}", money(total)),
        _ => format!("{tokens} tokens"),
    }
}

/// Money with as many digits as it needs to be seen.
fn money(dollars: f64) -> String {
    match dollars {
        0.0 => "-".to_string(),
        dollars if dollars < 0.01 => format!("${dollars:.6}"),
        dollars if dollars < 1.0 => format!("${dollars:.4}"),
        dollars => format!("${dollars:.2}"),
    }
}

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_runs_say_why_below_the_tables() {
        let mut costs = serde_json::json!({
            "uid": 1000, "runs": 1, "conversations": [], "total": null,
            "newest": [{
                "runId": "r1", "pid": "p", "conversationId": "default", "status": "error",
                "error": "Generation failed:\nno such model", "turns": 0, "toolCalls": 0, "startedAt": 0,
                "finishedAt": 1, "usage": null,
            }],
        });
        let money = serde_json::json!({ "input": 0.0, "output": 0.0, "cacheRead": 0.0, "cacheWrite": 0.0, "total": 0.0 });
        let usage = serde_json::json!({
            "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0, "cost": money,
        });
        costs["total"] = usage.clone();
        costs["newest"][0]["usage"] = usage;
        let mut costs: Costs = serde_json::from_value(costs).unwrap();
        let text = table(&costs, false);
        let last = text.lines().last().unwrap();
        assert!(last.starts_with("r1: Generation failed:") && last.ends_with("no such model"), "{text}");
        costs.newest[0].error = None;
        assert!(!table(&costs, false).contains("r1:"));
    }

    #[test]
    fn small_sums_can_be_seen() {
        assert_eq!(
            (money(0.0000123).as_str(), money(0.5).as_str(), money(12.0).as_str()),
            ("$0.000012", "$0.5000", "$12.00")
        );
        assert_eq!((grouped(7).as_str(), grouped(1234567).as_str()), ("7", "1,234,567"));
    }
}
