//! Permission check for `cd` and `pushd` into a directory that the user may not enter. The interpreter asks only
//! whether there is one.

use std::sync::Arc;

use async_trait::async_trait;
use bashkit::{Builtin, BuiltinContext, BuiltinRegistry, ExecResult, ExecutionPlan};
use vfs::Code;

use crate::adapter::ScriptContext;
use crate::passthrough;

/// Puts the question in front of the commands that enter directories.
pub(crate) fn guard(registry: &BuiltinRegistry, script_context: &Arc<ScriptContext>) {
    for name in ["cd", "pushd"] {
        registry.insert(name, Arc::new(Entering { name, script_context: script_context.clone() }));
    }
}

struct Entering {
    name: &'static str,
    script_context: Arc<ScriptContext>,
}

#[async_trait]
impl Builtin for Entering {
    /// Asked for when there is no plan: the directory is refused.
    async fn execute(&self, ctx: BuiltinContext<'_>) -> bashkit::Result<ExecResult> {
        let words = Code::Denied.shell_words();
        let target = target(&ctx).unwrap_or_default();
        Ok(ExecResult::err(format!("bash: {}: {target}: {words}\n", self.name), 1))
    }

    async fn execution_plan(&self, ctx: &BuiltinContext<'_>) -> bashkit::Result<Option<ExecutionPlan>> {
        if let Some(target) = target(ctx)
            && !self.may_enter(&target, ctx).await
        {
            return Ok(None);
        }
        Ok(Some(passthrough::plan(self.name, self.words(ctx), ctx)))
    }
}

impl Entering {
    /// After `set -P` links are not part of where one is.
    fn words(&self, ctx: &BuiltinContext<'_>) -> Vec<String> {
        let is_physical = self.name == "cd" && ctx.variables.get("SHOPT_P").is_some_and(|value| value == "1");
        let physical = is_physical.then(|| "-P".to_string());
        physical.into_iter().chain(ctx.args.iter().cloned()).collect()
    }

    /// Whether there is nothing against it; a directory that is not there is the command's own business.
    async fn may_enter(&self, target: &str, ctx: &BuiltinContext<'_>) -> bool {
        let view = self.script_context.view.at(&ctx.cwd.to_string_lossy());
        let Ok(path) = view.path(target) else { return true };
        match view.may(&path, 1).await {
            Ok(may) => may,
            Err(fault) => fault.code != Code::Denied,
        }
    }
}

/// Where it wants to go, if that can be told before it goes.
fn target(ctx: &BuiltinContext<'_>) -> Option<String> {
    let variable = |name: &str| ctx.variables.get(name).or_else(|| ctx.env.get(name)).cloned();
    let is_option = |word: &&String| word.len() > 1 && (word.starts_with('-') || word.starts_with('+'));
    match ctx.args.iter().find(|word| !is_option(word)).map(String::as_str) {
        Some("-") => variable("OLDPWD"),
        // What is found along a search path may be anywhere.
        Some(word)
            if !word.starts_with(['/', '.']) && variable("CDPATH").is_some_and(|path| !path.is_empty()) =>
        {
            None
        }
        // `~` was the shell's business; here it is a name.
        Some(word) if word.starts_with('~') => Some(format!("./{word}")),
        Some(word) => Some(word.to_string()).filter(|word| !word.is_empty()),
        None if ctx.args.is_empty() => variable("HOME"),
        None => None,
    }
}
