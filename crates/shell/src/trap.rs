//! Signal handlers of scripts: `trap`. The interpreter runs the handlers of `EXIT` and `ERR` itself and
//! forgets all of them when a script is ended from outside. So it is noted here what a script wants done then;
//! `engine` does it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use base::sync::lock;
use bashkit::{Builtin, BuiltinContext, BuiltinRegistry, ExecResult, ExecutionPlan};

use crate::cancellation::StopReason;
use crate::passthrough;

const NAME: &str = "trap";

/// What a script wants done when it is ended.
#[derive(Clone, Default)]
pub(crate) struct Handlers(Arc<Mutex<BTreeMap<String, String>>>);

impl Handlers {
    /// Puts a command that notes them in front of the interpreter's own.
    pub(crate) fn guard(&self, registry: &BuiltinRegistry) {
        registry.insert(NAME, Arc::new(Trap { handlers: self.clone() }));
    }

    /// The script that does what is wanted for a reason: the signal's own handler, then that of the end. Nothing is
    /// done for a kill, for a stop of the gateway, or for one who wanted too much.
    pub(crate) fn script(&self, why: StopReason) -> Option<String> {
        let signal = match why {
            StopReason::Signal(2) => "INT",
            StopReason::Signal(15) | StopReason::Time(_) => "TERM",
            _ => return None,
        };
        let handlers = lock(&self.0);
        let wanted: Vec<&String> = [signal, "EXIT"].iter().filter_map(|name| handlers.get(*name)).collect();
        let of = |handler: &&String| format!("{handler}\n");
        Some(wanted.iter().map(of).collect::<String>()).filter(|script| !script.trim().is_empty())
    }

    /// Whether something is done at the end.
    pub(crate) fn has_end(&self) -> bool {
        lock(&self.0).contains_key("EXIT")
    }

    fn note(&self, args: &[String]) {
        let args = args.strip_prefix(&["--".to_string()]).unwrap_or(args);
        let mut handlers = lock(&self.0);
        match args {
            // What is asked for is shown, nothing is set.
            [first, ..] if first == "-p" || first == "-l" || first == "-lp" => {}
            [first, signals @ ..] if first == "-" => {
                signals.iter().for_each(|name| drop(handlers.remove(&known(name))))
            }
            [only] => drop(handlers.remove(&known(only))),
            [handler, signals @ ..] => {
                for name in signals {
                    handlers.insert(known(name), handler.clone());
                }
            }
            [] => {}
        }
    }
}

/// `SIGTERM`, `term` and `15` are `TERM`.
fn known(name: &str) -> String {
    let upper = name.to_ascii_uppercase();
    match upper.strip_prefix("SIG").unwrap_or(&upper) {
        "0" => "EXIT".to_string(),
        "2" => "INT".to_string(),
        "15" => "TERM".to_string(),
        name => name.to_string(),
    }
}

struct Trap {
    handlers: Handlers,
}

#[async_trait]
impl Builtin for Trap {
    /// Never asked for: there is always a plan.
    async fn execute(&self, _: BuiltinContext<'_>) -> bashkit::Result<ExecResult> {
        Ok(ExecResult::err(format!("bash: {NAME}: not possible here\n"), 1))
    }

    async fn execution_plan(&self, ctx: &BuiltinContext<'_>) -> bashkit::Result<Option<ExecutionPlan>> {
        self.handlers.note(ctx.args);
        Ok(Some(passthrough::plan(NAME, ctx.args.to_vec(), ctx)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handlers_are_noted_and_forgotten() {
        let handlers = Handlers::default();
        let note = |words: &[&str]| {
            handlers.note(&words.iter().map(|word| word.to_string()).collect::<Vec<_>>());
            handlers.script(StopReason::Signal(15))
        };
        assert_eq!(note(&["echo bye", "EXIT"]).as_deref(), Some("echo bye\n"));
        assert_eq!(note(&["echo term", "SIGTERM", "2"]).as_deref(), Some("echo term\necho bye\n"));
        assert_eq!(note(&["-p"]).as_deref(), Some("echo term\necho bye\n"));
        assert_eq!(note(&["-", "term"]).as_deref(), Some("echo bye\n"));
        assert_eq!(note(&["EXIT"]), None);
        assert_eq!(handlers.script(StopReason::Signal(2)).as_deref(), Some("echo term\n"));
        assert_eq!(handlers.script(StopReason::Signal(9)), None);
    }
}
