//! Memory guard in front of builtins that hold each line of what is piped into them on its own: too many lines are
//! refused before they are taken apart. What they read from files is counted where it is read (`meter`).

use std::sync::Arc;

use async_trait::async_trait;
use base::limits;
use bashkit::{Builtin, BuiltinContext, BuiltinRegistry, ExecResult, ExecutionPlan};

use crate::builtins::{self, Holds};
use crate::{meter, passthrough};

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
        let bytes = meter::cost(stdin.as_bytes());
        bytes.saturating_mul((builtins::io(self.name).growth)(ctx.args))
            > limits::native_shell::SORT_MAX_BYTES
    }
}

/// How many times as long the text may become that a `sed` makes: for each `s` with the flag `g`, by what a match
/// is replaced with, over the least it matches.
pub(crate) fn growth(args: &[String]) -> usize {
    let mut times = 1usize;
    for script in args {
        let mut rest = script.as_str();
        while let Some(at) = rest.find('s') {
            let is_command = !rest[..at].ends_with(|letter: char| letter.is_alphanumeric() || letter == '\\');
            rest = &rest[at + 1..];
            let Some(mark) = rest.chars().next().filter(|mark| mark.is_ascii_punctuation() && is_command)
            else {
                continue;
            };
            let mut parts = rest[1..].split(mark);
            let (Some(pattern), Some(with), Some(flags)) = (parts.next(), parts.next(), parts.next()) else {
                continue;
            };
            let flags = flags.split([';', '}', ' ', '\n']).next().unwrap_or_default();
            let copies = with.matches(['&', '\\']).count();
            let is_plain = !pattern.contains(['.', '*', '[', '\\', '^', '$', '+', '?', '(', '|', '{']);
            let least = if is_plain { pattern.len().max(1) } else { 1 };
            let more = if flags.contains('g') { with.len() / least } else { 0 };
            times = times.saturating_mul(copies.max(1).saturating_add(more));
        }
    }
    times
}

#[cfg(test)]
mod tests {
    use super::growth;

    #[test]
    fn a_substitution_makes_texts_longer_by_what_it_puts_in() {
        for (script, times) in [
            ("p", 1),
            ("s/foo/bar/", 1),
            ("s/foo/bar/g", 2),
            ("s/x/yyyyyyyyyyyyyyyy/g", 17),
            ("s/.*/&&/", 2),
            ("s/x/xxx/g;s/x/xxx/g", 16),
            ("/s/d", 1),
        ] {
            assert_eq!(growth(&[script.to_string()]), times, "{script}");
        }
    }
}
