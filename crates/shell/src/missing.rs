//! Fallback resolver: a command that does not exist, in bash's own words. The interpreter would add advice that leads
//! nowhere here.

use std::sync::Arc;

use async_trait::async_trait;
use bashkit::{Builtin, BuiltinContext, CommandResolver, ExecResult};

/// Finds the command of every name that nobody knows.
pub(crate) struct Missing;

impl CommandResolver for Missing {
    fn resolve(&self, name: &str) -> Option<Arc<dyn Builtin>> {
        Some(Arc::new(Unknown { name: name.to_string() }))
    }
}

struct Unknown {
    name: String,
}

#[async_trait]
impl Builtin for Unknown {
    async fn execute(&self, _: BuiltinContext<'_>) -> bashkit::Result<ExecResult> {
        Ok(ExecResult::err(format!("bash: {}: command not found\n", self.name), 127))
    }
}
