//! Replacement of `sleep`: for as long as it is asked to. The interpreter's own stops after a minute and calls it
//! success.

use std::time::Duration;

use async_trait::async_trait;
use bashkit::{Builtin, BuiltinContext, ExecResult};

use crate::timeout;

/// `sleep NUMBER[smhd]...`
pub(crate) struct Sleep;

#[async_trait]
impl Builtin for Sleep {
    async fn execute(&self, ctx: BuiltinContext<'_>) -> bashkit::Result<ExecResult> {
        match asked(ctx.args) {
            Ok(time) => {
                // Whoever ends the script ends this wait too; time is bounded where it is read.
                tokio::time::sleep(time).await;
                Ok(ExecResult::ok(String::new()))
            }
            Err(why) => {
                let hint = "Try 'sleep --help' for more information.";
                Ok(ExecResult::err(format!("sleep: {why}\n{hint}\n"), 1))
            }
        }
    }
}

/// The sum of all that is asked for.
fn asked(args: &[String]) -> Result<Duration, String> {
    let (mut sum, mut count, mut is_plain) = (Duration::ZERO, 0, false);
    for word in args {
        if !is_plain && word == "--" {
            is_plain = true;
        } else if !is_plain && word.len() > 1 && word.starts_with('-') {
            let letter = word.trim_start_matches('-').chars().next().unwrap_or('-');
            return Err(format!("invalid option -- '{letter}'"));
        } else {
            let time = timeout::seconds(word).ok_or_else(|| format!("invalid time interval '{word}'"))?;
            sum = sum.saturating_add(time);
            count += 1;
        }
    }
    if count == 0 { Err("missing operand".to_string()) } else { Ok(timeout::bounded(sum)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_added_up_and_mistakes_named() {
        let of = |line: &str| {
            let words: Vec<String> = line.split_whitespace().map(str::to_string).collect();
            asked(&words).map(|time| time.as_millis())
        };
        for (line, ms) in [("90", 90_000), ("1m .5", 60_500), ("1h 1s", 3_601_000), ("-- 0", 0)] {
            assert_eq!(of(line), Ok(ms), "{line}");
        }
        assert_eq!(of("infinity"), Ok(u128::from(base::limits::shell::TIMEOUT_MAX_MS)));
        assert_eq!(of("").unwrap_err(), "missing operand");
        assert_eq!(of("1x").unwrap_err(), "invalid time interval '1x'");
        assert_eq!(of("-1").unwrap_err(), "invalid option -- '1'");
    }
}
