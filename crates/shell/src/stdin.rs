//! Interactive stdin: what callers write to a running command. The interpreter takes stdin only as a whole and
//! beforehand, so the commands that read it are wrapped: one that has nothing piped or redirected into it waits for
//! the caller.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bashkit::{Builtin, BuiltinContext, BuiltinRegistry, ExecResult, ExecutionPlan, SubCommand};
use session::Session;
use tokio::sync::{Mutex, mpsc};
use tokio::time::timeout;

use crate::builtins;
use crate::passthrough;
use crate::scan;
use crate::stdin_demand::Demand;

/// The stdin of one command.
pub(crate) struct Stdin {
    session: Arc<Session>,
    source: Mutex<Source>,
}

struct Source {
    lines: mpsc::Receiver<Vec<u8>>,
    left: Vec<u8>,
    has_ended: bool,
}

impl Stdin {
    pub(crate) fn new(session: Arc<Session>, lines: mpsc::Receiver<Vec<u8>>) -> Stdin {
        Stdin { session, source: Mutex::new(Source { lines, left: Vec::new(), has_ended: false }) }
    }

    /// Wraps the commands of a script that may read stdin.
    pub(crate) fn wrap(self, script: &str, registry: &BuiltinRegistry) {
        let stdin = Arc::new(self);
        for name in scan::stdin_readers(script) {
            registry.insert(name, Arc::new(Reader { name, stdin: stdin.clone() }));
        }
    }

    /// As much as is demanded; less only at the end.
    async fn take(&self, demand: &Demand) -> Vec<u8> {
        let mut source = self.source.lock().await;
        let mut seen = 0;
        loop {
            if let Some(length) = demand.found_in(&source.left, seen) {
                let rest = source.left.split_off(length);
                return std::mem::replace(&mut source.left, rest);
            }
            seen = source.left.len();
            if source.has_ended {
                return std::mem::take(&mut source.left);
            }
            match source.lines.recv().await {
                Some(line) => {
                    self.session.took_stdin(line.len());
                    source.left.extend_from_slice(&line);
                }
                None => source.has_ended = true,
            }
        }
    }
}

/// A command of the interpreter that reads stdin.
struct Reader {
    name: &'static str,
    stdin: Arc<Stdin>,
}

#[async_trait]
impl Builtin for Reader {
    /// Never asked for: there is always a plan.
    async fn execute(&self, _: BuiltinContext<'_>) -> bashkit::Result<ExecResult> {
        Ok(ExecResult::err(format!("{}: could not be run\n", self.name), 1))
    }

    async fn execution_plan(&self, ctx: &BuiltinContext<'_>) -> bashkit::Result<Option<ExecutionPlan>> {
        let stdin = match ctx.stdin {
            Some(piped) => Some(piped.clone()),
            None => match builtins::demand(self.name, ctx.args) {
                Some(demand) => Some(self.wait(&demand, ctx.args).await.into()),
                None => None,
            },
        };
        // By its path the command is found past this wrapping.
        let command = SubCommand {
            name: passthrough::program(self.name),
            args: ctx.args.to_vec(),
            stdin,
            assignments: vec![],
        };
        Ok(Some(ExecutionPlan::Batch { commands: vec![command] }))
    }
}

impl Reader {
    async fn wait(&self, demand: &Demand, args: &[String]) -> Vec<u8> {
        match builtins::seconds(self.name, args) {
            None => self.stdin.take(demand).await,
            // Nothing came in time, which is as if nothing would.
            Some(seconds) => {
                timeout(Duration::from_secs_f64(seconds), self.stdin.take(demand)).await.unwrap_or_default()
            }
        }
    }
}
