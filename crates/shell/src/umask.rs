//! Tracking of `umask` for files that the interpreter makes itself: by redirections, and by those of its commands that
//! write. It keeps the mask in a variable, so that a subshell has its own, and does not look at it. Here every command
//! that stands before one of the interpreter's tells the script's meter what the variable says.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use base::sync::lock;
use bashkit::{Builtin, BuiltinContext, BuiltinRegistry, ExecResult, ExecutionPlan};
use vfs::FileKind;

use crate::builtins;
use crate::commands::masks::UMASK_VARIABLE;
use crate::commands::modes::Change;
use crate::meter::Meter;
use crate::passthrough;

const NAME: &str = "umask";

/// The commands of a script, as long as it runs. They hold this command, which must not hold them any longer.
type Commands = Arc<Mutex<Option<BuiltinRegistry>>>;

/// Puts this one in front of the interpreter's own, for as long as what is returned is held.
pub(crate) fn guard(registry: &BuiltinRegistry, meter: &Arc<Meter>) -> Tie {
    let commands: Commands = Arc::new(Mutex::new(Some(registry.clone())));
    registry.insert(NAME, Arc::new(Umask { commands: commands.clone(), meter: meter.clone() }));
    Tie(commands)
}

/// Held while a script runs.
#[must_use = "nothing is looked after once it is gone"]
pub(crate) struct Tie(Commands);

impl Drop for Tie {
    fn drop(&mut self) {
        lock(&self.0).take();
    }
}

struct Umask {
    /// Taken when the commands that write are looked after.
    commands: Commands,
    meter: Arc<Meter>,
}

#[async_trait]
impl Builtin for Umask {
    /// Never asked for: there is always a plan.
    async fn execute(&self, _: BuiltinContext<'_>) -> bashkit::Result<ExecResult> {
        Ok(ExecResult::err(format!("bash: {NAME}: not possible here\n"), 1))
    }

    async fn execution_plan(&self, ctx: &BuiltinContext<'_>) -> bashkit::Result<Option<ExecutionPlan>> {
        self.meter.learn_umask(ctx.variables.get(UMASK_VARIABLE));
        if let Some(mask) = wanted(ctx.args, self.meter.umask()) {
            self.meter.learn_umask(Some(&format!("{mask:o}")));
            let commands = lock(&self.commands).take();
            if let Some(commands) = commands {
                for name in builtins::names(|io| io.writes) {
                    let (before, meter) = (commands.lookup(name), self.meter.clone());
                    commands.insert(name, Arc::new(Writer { name, before, meter }));
                }
            }
        }
        Ok(Some(passthrough::plan(NAME, ctx.args.to_vec(), ctx)))
    }
}

/// The mask that the words ask for, if they ask for one that can be.
fn wanted(args: &[String], now: u32) -> Option<u32> {
    let word = args.iter().find(|word| !word.starts_with('-'))?;
    match Change::parse(word)? {
        Change::Octal(mask) => Some(mask).filter(|mask| *mask <= 0o777),
        symbolic => Some(0o777 & !symbolic.apply(0o777 & !now, FileKind::Directory)),
    }
}

struct Writer {
    name: &'static str,
    before: Option<Arc<dyn Builtin>>,
    meter: Arc<Meter>,
}

#[async_trait]
impl Builtin for Writer {
    /// Asked for when what stood there has no plan.
    async fn execute(&self, ctx: BuiltinContext<'_>) -> bashkit::Result<ExecResult> {
        match &self.before {
            Some(before) => before.execute(ctx).await,
            None => Ok(ExecResult::err(format!("{}: not possible here\n", self.name), 1)),
        }
    }

    async fn execution_plan(&self, ctx: &BuiltinContext<'_>) -> bashkit::Result<Option<ExecutionPlan>> {
        self.meter.learn_umask(ctx.variables.get(UMASK_VARIABLE));
        passthrough::plan_of(self.before.as_ref(), self.name, ctx).await
    }
}

#[cfg(test)]
mod tests {
    use super::wanted;

    #[test]
    fn masks_are_read_in_both_ways() {
        let of = |word: &str| wanted(&[word.to_string()], 0o022);
        assert_eq!([of("077"), of("0"), of("u=rwx,g=,o=")], [Some(0o077), Some(0), Some(0o077)]);
        assert_eq!(
            [of("g-r"), of("o+w"), of("-S"), of("999"), of("q=r")],
            [Some(0o062), Some(0o020), None, None, None]
        );
    }
}
