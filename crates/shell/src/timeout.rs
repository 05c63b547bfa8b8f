//! Guard in front of `timeout`, for the exit codes of its signals. The interpreter ends a command in time but knows
//! only one code.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use base::limits;
use bashkit::{Builtin, BuiltinContext, BuiltinRegistry, ExecResult, ExecutionPlan, SubCommand};

use crate::passthrough;

/// Puts this one in front of the interpreter's own.
pub(crate) fn guard(registry: &BuiltinRegistry) {
    registry.insert(NAME, Arc::new(Timeout));
}

const NAME: &str = "timeout";

/// Runs a command whose arguments follow; one that was ended gets the code that is given first, and after a kill the
/// shell says so.
const WITH_CODE: &str = r#"e=$1; t=$2; shift 2; "$t" --preserve-status "$@"; c=$?
if [ $c -eq 137 ]; then c=$e; [ $e -ne 137 ] || echo Killed >&2; fi; exit $c"#;

struct Timeout;

#[async_trait]
impl Builtin for Timeout {
    /// Asked for when there is no plan, and there always is one.
    async fn execute(&self, _: BuiltinContext<'_>) -> bashkit::Result<ExecResult> {
        Ok(ExecResult::err(format!("{NAME}: not started\n"), 125))
    }

    async fn execution_plan(&self, ctx: &BuiltinContext<'_>) -> bashkit::Result<Option<ExecutionPlan>> {
        let command = |name: String, args: Vec<String>| SubCommand {
            name,
            args,
            stdin: ctx.stdin.cloned(),
            assignments: Vec::new(),
        };
        let batch = |command| ExecutionPlan::Batch { commands: vec![command] };
        let Some(arguments) = Arguments::read(ctx.args) else {
            // Its own words for what is wrong; by its path it is found past this guard.
            return Ok(Some(batch(command(passthrough::program(NAME), ctx.args.to_vec()))));
        };
        let [name, args @ ..] = arguments.command else { return Ok(None) };
        let inner = command(name.clone(), args.to_vec());
        if arguments.time.is_zero() {
            return Ok(Some(batch(inner)));
        }
        if !arguments.preserve && arguments.signal != KILL {
            let (duration, preserve_status) = (arguments.time, false);
            return Ok(Some(ExecutionPlan::Timeout { duration, preserve_status, command: inner }));
        }
        let code = (128 + arguments.signal).to_string();
        let words = ["-c", WITH_CODE, NAME, &code, &passthrough::program(NAME)].map(str::to_string);
        let time = format!("{}s", arguments.time.as_secs_f64());
        let args = words.into_iter().chain([time]).chain(arguments.command.iter().cloned()).collect();
        Ok(Some(batch(command("bash".to_string(), args))))
    }
}

const KILL: i32 = 9;
const TERM: i32 = 15;

/// What was asked for.
#[derive(Debug, PartialEq)]
struct Arguments<'a> {
    signal: i32,
    preserve: bool,
    time: Duration,
    /// The command and its arguments.
    command: &'a [String],
}

impl Arguments<'_> {
    /// Reads the arguments; `None` when there is a mistake in them.
    fn read(args: &[String]) -> Option<Arguments<'_>> {
        let (mut signal_number, mut preserve, mut at) = (TERM, false, 0);
        while let Some(word) = args.get(at).filter(|word| word.len() > 1 && word.starts_with('-')) {
            at += 1;
            let mut value = |inline: &str| match inline {
                "" => {
                    at += 1;
                    args.get(at - 1).cloned()
                }
                inline => Some(inline.trim_start_matches('=').to_string()),
            };
            match word.as_str() {
                "--" => break,
                "--preserve-status" | "-p" => preserve = true,
                "--foreground" | "-f" | "--verbose" | "-v" => {}
                word => {
                    let after = |long: &str, short: &str| {
                        word.strip_prefix(long).or_else(|| word.strip_prefix(short)).map(str::to_string)
                    };
                    if let Some(inline) = after("--signal", "-s") {
                        signal_number = signal(&value(&inline)?)?;
                    } else if let Some(inline) = after("--kill-after", "-k") {
                        // A command is ended at once, so that there is nothing left to kill.
                        seconds(&value(&inline)?)?;
                    } else {
                        return None;
                    }
                }
            }
        }
        let time = seconds(args.get(at)?)?;
        let command = args.get(at + 1..).filter(|command| !command.is_empty())?;
        Some(Arguments { signal: signal_number, preserve, time, command })
    }
}

/// `0.5`, `2s`, `3m`, `1h`, `1d`; not longer than any script may take.
pub(crate) fn seconds(text: &str) -> Option<Duration> {
    if matches!(text, "inf" | "infinity") {
        return Some(bounded(Duration::MAX));
    }
    let unit = match text.chars().last()? {
        's' => 1.0,
        'm' => 60.0,
        'h' => 3_600.0,
        'd' => 86_400.0,
        _ => return Duration::try_from_secs_f64(text.parse().ok()?).ok().map(bounded),
    };
    let number: f64 = text[..text.len() - 1].parse().ok()?;
    Duration::try_from_secs_f64(number * unit).ok().map(bounded)
}

/// As long as any script may take at most.
pub(crate) fn bounded(time: Duration) -> Duration {
    time.min(Duration::from_millis(limits::shell::TIMEOUT_MAX_MS))
}

/// `KILL`, `SIGKILL` or `9`.
fn signal(text: &str) -> Option<i32> {
    const NAMES: &[(&str, i32)] = &[
        ("HUP", 1),
        ("INT", 2),
        ("QUIT", 3),
        ("ABRT", 6),
        ("KILL", KILL),
        ("USR1", 10),
        ("USR2", 12),
        ("PIPE", 13),
        ("ALRM", 14),
        ("TERM", TERM),
        ("CONT", 18),
        ("STOP", 19),
    ];
    let upper = text.to_ascii_uppercase();
    let name = upper.strip_prefix("SIG").unwrap_or(&upper);
    let named = NAMES.iter().find(|(known, _)| *known == name).map(|(_, number)| *number);
    named.or_else(|| text.parse().ok().filter(|number| (1..=64).contains(number)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_string).collect()
    }

    #[test]
    fn its_arguments_are_read() {
        for (line, signal, preserve, ms) in [
            ("0.2 sleep 5", 15, false, 200),
            ("-s KILL 1 x", 9, false, 1_000),
            ("-s9 1m x", 9, false, 60_000),
            ("--signal=sigint --preserve-status 2s x -s y", 2, true, 2_000),
            ("-k 5 -s INT 0 x", 2, false, 0),
            ("-- 1 x", 15, false, 1_000),
        ] {
            let args = words(line);
            let arguments = Arguments::read(&args).unwrap();
            let seen = (arguments.signal, arguments.preserve, arguments.time.as_millis());
            assert_eq!(seen, (signal, preserve, ms), "{line}");
        }
        for line in ["", "1", "x sleep", "-s NOPE 1 x", "-Q 1 x", "-1 x", "-s"] {
            assert_eq!(Arguments::read(&words(line)), None, "{line}");
        }
    }
}
