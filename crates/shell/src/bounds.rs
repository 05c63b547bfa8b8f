//! Resource limits of a script, and what is said when it wants more.

use std::time::Duration;

use base::limits;
use bashkit::{Error, ExecutionBudgetExceeded, ExecutionLimits, LimitExceeded, MemoryLimits, SessionLimits};

/// Exit code of a script whose time was up.
pub(crate) const TIMED_OUT: i32 = 124;
/// Exit code of a script that wanted too much.
pub(crate) const TOO_MUCH: i32 = 137;
/// Exit code of a script that bash cannot read.
pub(crate) const SYNTAX: i32 = 2;

/// The interpreter's own limits. Time is watched from outside too: not everything here looks at the clock.
pub(crate) fn execution(time: Duration) -> ExecutionLimits {
    ExecutionLimits::new()
        .max_commands(limits::native_shell::COMMANDS_MAX)
        .max_loop_iterations(limits::native_shell::LOOPS_MAX)
        .max_total_loop_iterations(limits::native_shell::LOOPS_MAX)
        .max_function_depth(limits::native_shell::FUNCTION_DEPTH_MAX)
        .max_subshell_depth(limits::native_shell::SUBSHELL_DEPTH_MAX)
        .max_subst_depth(limits::native_shell::SUBSHELL_DEPTH_MAX)
        .max_background_jobs(limits::native_shell::JOBS_MAX)
        .max_live_intermediate_bytes(limits::native_shell::MEMORY_MAX_BYTES)
        .max_aggregate_input_bytes(u64::MAX)
        .max_work_units(u64::MAX)
        .max_input_bytes(limits::native_shell::SCRIPT_MAX_BYTES)
        .max_parser_operations(limits::native_shell::SCRIPT_MAX_BYTES)
        .max_stdout_bytes(limits::native_shell::STREAM_MAX_BYTES)
        .max_stderr_bytes(limits::native_shell::STREAM_MAX_BYTES)
        .max_word_split_fields(1_000_000)
        .max_word_split_bytes(limits::native_shell::STREAM_MAX_BYTES)
        .timeout(time)
}

pub(crate) fn memory() -> MemoryLimits {
    MemoryLimits::new()
        .max_total_variable_bytes(limits::native_shell::VARIABLE_MAX_BYTES)
        .max_array_entries(1_000_000)
}

pub(crate) fn session() -> SessionLimits {
    SessionLimits::unlimited()
}

/// Why the interpreter gave a script up.
pub(crate) enum GivenUp {
    /// It was told to: the reason is known elsewhere.
    Cancelled,
    /// Its time was up.
    TimedOut,
    /// A limit was reached; the words say which.
    Limit(String),
    /// The script cannot be read.
    Syntax(String),
    /// Anything else.
    Failed(String),
}

/// Whether a script was given up because its time was up.
pub(crate) fn is_time_up(error: &Error) -> bool {
    let Error::ResourceLimit(limit) = error else { return false };
    matches!(
        limit,
        LimitExceeded::Timeout(_) | LimitExceeded::ExecutionBudget(ExecutionBudgetExceeded::Deadline { .. })
    )
}

/// Puts the interpreter's error into words.
pub(crate) fn given_up(error: Error, script: &str) -> GivenUp {
    if let Some(report) = error.syntax_report("bash", script) {
        return GivenUp::Syntax(report);
    }
    match error {
        Error::Cancelled => GivenUp::Cancelled,
        Error::ResourceLimit(limit) => beyond(limit),
        Error::Parse { message, line, .. } => {
            let line = if line > 0 { format!("line {line}: ") } else { String::new() };
            GivenUp::Syntax(format!("bash: {line}syntax error: {message}\n"))
        }
        Error::Execution(why) => match why.strip_prefix("budget validation failed: ") {
            Some(limit) => GivenUp::Limit(limit.to_string()),
            None => GivenUp::Failed(why),
        },
        other => GivenUp::Failed(other.to_string()),
    }
}

fn beyond(limit: LimitExceeded) -> GivenUp {
    use LimitExceeded as L;
    GivenUp::Limit(match limit {
        L::Timeout(_) => return GivenUp::TimedOut,
        L::ExecutionBudget(ExecutionBudgetExceeded::Deadline { .. }) => return GivenUp::TimedOut,
        L::ExecutionBudget(ExecutionBudgetExceeded::Cancelled) => return GivenUp::Cancelled,
        L::ExecutionBudget(ExecutionBudgetExceeded::LiveBytes { limit, .. }) => {
            format!("more than {} MiB of memory", limit / 1024 / 1024)
        }
        L::MaxCommands(count) => format!("more than {count} commands"),
        L::MaxLoopIterations(count) | L::MaxTotalLoopIterations(count) => {
            format!("more than {count} turns of loops")
        }
        L::MaxFunctionDepth(depth) => format!("functions and scripts nested deeper than {depth}"),
        L::MaxSubstDepth(depth) => format!("command substitutions nested deeper than {depth}"),
        L::MaxSubshellDepth(depth) => format!("subshells nested deeper than {depth}"),
        L::MaxConcurrentJobs(count) => format!("more than {count} jobs at once"),
        L::InputTooLarge(_, max) => format!("a script of more than {max} bytes"),
        L::Memory(what) => format!("too much memory: {what}"),
        other => other.to_string(),
    })
}
