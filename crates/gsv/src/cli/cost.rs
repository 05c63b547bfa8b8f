//! `gsv cost`: what agents have used, in tokens and money.

use clap::Args;
use protocol::ids::{Pid, Uid};
use protocol::proc::cost::Cost;
use terminal::failure::{Failure, Result};
use terminal::times;

use crate::context::Context;
use crate::session;

/// Arguments of `gsv cost`.
#[derive(Args, Debug)]
pub struct CostArgs {
    /// Only runs since then: a span such as 7d or 12h, or a point in time.
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only this process.
    #[arg(long, value_name = "PID")]
    pid: Option<String>,
    /// Of this user, by uid (root only) [default: your own].
    #[arg(long, value_name = "UID")]
    uid: Option<u32>,
    /// How many of the newest runs to list.
    #[arg(long, value_name = "COUNT", default_value_t = 10)]
    limit: u64,
}

/// Shows what was used.
pub async fn run(context: &Context, args: CostArgs) -> Result<u8> {
    let now_ms = context.clock.now_ms();
    let since =
        args.since.as_deref().map(|text| parse_since(text, now_ms)).transpose().map_err(Failure::usage)?;
    let call = Cost { uid: args.uid.map(Uid), pid: args.pid.map(Pid), since, limit: Some(args.limit) };
    let answer = session::open(context).await?.call(&call).await?;
    if context.output.json {
        context.output.raw_json(&answer.raw)?;
    } else {
        context.output.text(&chat::cost::table(&answer.value, context.output.colour))?;
    }
    Ok(0)
}

/// A span reaches back from now; everything else is a point in time.
fn parse_since(text: &str, now_ms: i64) -> std::result::Result<i64, String> {
    let parsed = times::parse(text, now_ms)?;
    let is_span = text.ends_with(['s', 'm', 'h', 'd', 'w']);
    Ok(if is_span { now_ms.saturating_mul(2).saturating_sub(parsed) } else { parsed })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_reach_back_and_times_are_times() {
        assert_eq!(parse_since("1h", 10_000_000), Ok(10_000_000 - 3_600_000));
        assert_eq!(parse_since("5000", 10_000_000), Ok(5_000));
        assert_eq!(parse_since("1970-01-01T00:00:01Z", 10_000_000), Ok(1_000));
        assert!(parse_since("yesterday", 0).is_err());
    }
}
