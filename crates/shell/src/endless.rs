//! Guard in front of builtins into which a device without an end may be redirected and that could not say themselves
//! what is wrong. In scripts that name such a device they are asked how much of it they want; whoever wants all of it
//! is told.

use std::sync::Arc;

use async_trait::async_trait;
use bashkit::{Builtin, BuiltinContext, BuiltinRegistry, ExecResult, ExecutionPlan};

use crate::builtin_io::Redirected;
use crate::builtins;
use crate::meter::Meter;
use crate::passthrough;
use crate::stdin_demand::Demand;

/// Puts the question in front of every such command.
pub(crate) fn guard(registry: &BuiltinRegistry, meter: &Arc<Meter>) {
    for name in builtins::names(|io| matches!(io.redirected, Redirected::AskedFirst)) {
        let (before, meter) = (registry.lookup(name), meter.clone());
        registry.insert(name, Arc::new(EndlessGuard { name, before, meter }));
    }
}

struct EndlessGuard {
    name: &'static str,
    /// What stood there: it may have stdin for the command.
    before: Option<Arc<dyn Builtin>>,
    meter: Arc<Meter>,
}

#[async_trait]
impl Builtin for EndlessGuard {
    /// Asked for when there is no plan: it is refused, here or by what stood there.
    async fn execute(&self, ctx: BuiltinContext<'_>) -> bashkit::Result<ExecResult> {
        match (self.meter.fed(self.name), &self.before) {
            (None, Some(before)) => before.execute(ctx).await,
            (device, _) => {
                let why = Meter::never_ends(&device.unwrap_or_default());
                Ok(ExecResult::err(format!("bash: {}: {why}\n", self.name), 1))
            }
        }
    }

    async fn execution_plan(&self, ctx: &BuiltinContext<'_>) -> bashkit::Result<Option<ExecutionPlan>> {
        if let Some(device) = self.meter.fed(self.name)
            && !self.is_satisfied(ctx)
        {
            self.meter.feed(self.name, device);
            return Ok(None);
        }
        passthrough::plan_of(self.before.as_ref(), self.name, ctx).await
    }
}

impl EndlessGuard {
    /// Whether the command finds what it wants in the part that is there.
    fn is_satisfied(&self, ctx: &BuiltinContext<'_>) -> bool {
        let Some(stdin) = ctx.stdin else { return true };
        match builtins::demand(self.name, ctx.args) {
            Some(Demand::All) | None => false,
            Some(demand) => demand.found_in(stdin.as_bytes(), 0).is_some(),
        }
    }
}
