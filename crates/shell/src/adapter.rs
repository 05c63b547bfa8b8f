//! Adapter: runs a command of this system as a builtin of the interpreter.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use base::clock::Clock;
use bashkit::{Builtin, BuiltinContext, ExecResult};
use protocol::calls::Calls;
use vfs::View;

use crate::builtins;
use crate::commands::masks::UMASK_VARIABLE;
use crate::commands::{Command, Cx};
use crate::meter::Meter;
use crate::settings::Settings;
use crate::stdin_demand::Demand;

/// What the commands of one script share.
pub(crate) struct ScriptContext {
    pub(crate) view: View,
    pub(crate) calls: Calls,
    pub(crate) settings: Settings,
    pub(crate) clock: Clock,
    pub(crate) meter: Arc<Meter>,
}

/// A command of this system under one of its names.
pub(crate) struct Adapter {
    pub(crate) name: &'static str,
    pub(crate) command: &'static Command,
    pub(crate) script_context: Arc<ScriptContext>,
}

#[async_trait]
impl Builtin for Adapter {
    async fn execute(&self, ctx: BuiltinContext<'_>) -> bashkit::Result<ExecResult> {
        let around = &self.script_context;
        around.meter.learn_umask(ctx.variables.get(UMASK_VARIABLE));
        let device = around.meter.fed(self.name);
        let pipes = pipes(&ctx).await;
        let view = around.view.at(&ctx.cwd.to_string_lossy());
        let mut done = (self.command.run)(&Cx {
            name: self.name,
            args: ctx.args,
            env: ctx.env,
            variables: ctx.variables,
            stdin: ctx.stdin.map(bashkit::StreamData::as_bytes).unwrap_or_default(),
            pipes: &pipes,
            view: &view,
            calls: &around.calls,
            settings: &around.settings,
            clock: &around.clock,
        })
        .await;
        if let Some(device) = device.filter(|_| builtins::demand(self.name, ctx.args) == Some(Demand::All)) {
            done.stderr.extend(format!("{}: {}\n", self.name, Meter::never_ends(&device)).bytes());
            done.code = done.code.max(1);
        }
        Ok(ExecResult {
            stdout: done.stdout.into(),
            stderr: done.stderr.into(),
            exit_code: done.code,
            ..ExecResult::default()
        })
    }
}

/// What the `<(…)` among the arguments printed. Only the interpreter knows them; they are not in the tree.
async fn pipes(ctx: &BuiltinContext<'_>) -> HashMap<String, Vec<u8>> {
    let mut pipes = HashMap::new();
    for word in ctx.args.iter().filter(|word| word.starts_with("/dev/fd/")) {
        if let Ok(printed) = ctx.fs.read_file(Path::new(word)).await {
            pipes.insert(word.clone(), printed);
        }
    }
    pipes
}
