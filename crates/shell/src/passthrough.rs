//! Decorator plumbing for guards in front of builtins: runs the guarded command itself, past its guards.

use std::sync::Arc;

use bashkit::{Builtin, BuiltinContext, ExecutionPlan, SubCommand};

/// The path of a command's program. A command that is named by its path is found past every guard.
pub(crate) fn program(name: &str) -> String {
    format!("/usr/bin/{name}")
}

/// The plan that runs the command itself, with these words and the stdin it was given.
pub(crate) fn plan(name: &str, args: Vec<String>, ctx: &BuiltinContext<'_>) -> ExecutionPlan {
    let command =
        SubCommand { name: program(name), args, stdin: ctx.stdin.cloned(), assignments: Vec::new() };
    ExecutionPlan::Batch { commands: vec![command] }
}

/// The plan of the guard that stood there before, or else of the command itself.
pub(crate) async fn plan_of(
    before: Option<&Arc<dyn Builtin>>,
    name: &str,
    ctx: &BuiltinContext<'_>,
) -> bashkit::Result<Option<ExecutionPlan>> {
    match before {
        Some(before) => before.execution_plan(ctx).await,
        None => Ok(Some(plan(name, ctx.args.to_vec(), ctx))),
    }
}
