//! Memory guard in front of builtins that hold each line of what is piped into them on its own: too many lines are
//! refused before they are taken apart. What they read from files is counted where it is read (`meter`).

use std::sync::Arc;

use async_trait::async_trait;
use base::limits;
use bashkit::{Builtin, BuiltinContext, BuiltinRegistry, ExecResult, ExecutionPlan};

use crate::builtin_io::{self, Holds};
use crate::{builtins, passthrough};

/// Puts the question in front of every such command.
pub(crate) fn guard(registry: &BuiltinRegistry) {
    for name in builtins::names(|io| io.holds == Holds::Lines) {
        let before = registry.lookup(name);
        registry.insert(name, Arc::new(LineBudget { name, before }));
    }
}

struct LineBudget {
    name: &'static str,
    /// What stood there: it may have stdin for the command.
    before: Option<Arc<dyn Builtin>>,
}

#[async_trait]
impl Builtin for LineBudget {
    /// Asked for when there is no plan: it is refused.
    async fn execute(&self, ctx: BuiltinContext<'_>) -> bashkit::Result<ExecResult> {
        if let Some(before) = &self.before
            && !self.is_too_much(&ctx)
        {
            return before.execute(ctx).await;
        }
        let (name, most) = (self.name, limits::native_shell::SORT_MAX_BYTES / 1024 / 1024);
        Ok(ExecResult::err(format!("{name}: the input takes more than {most} MiB of memory\n"), 2))
    }

    async fn execution_plan(&self, ctx: &BuiltinContext<'_>) -> bashkit::Result<Option<ExecutionPlan>> {
        if self.is_too_much(ctx) {
            return Ok(None);
        }
        passthrough::plan_of(self.before.as_ref(), self.name, ctx).await
    }
}

impl LineBudget {
    fn is_too_much(&self, ctx: &BuiltinContext<'_>) -> bool {
        let Some(stdin) = ctx.stdin else { return false };
        let bytes = builtin_io::cost(stdin.as_bytes());
        bytes.saturating_mul((builtins::io(self.name).growth)(ctx.args))
            > limits::native_shell::SORT_MAX_BYTES
    }
}
