//! Guard in front of the interpreter's `find`, which does not know who owns files here, and does not enter a link to a
//! directory that is named with a slash at its end.

use std::sync::Arc;

use async_trait::async_trait;
use base::limits;
use bashkit::hooks::{HookAction, ToolEvent};
use bashkit::{Builtin, BuiltinContext, BuiltinRegistry, ExecResult, ExecutionPlan};
use vfs::{FileKind, Follow, View};

use crate::adapter::ScriptContext;
use crate::passthrough;

/// The command that answers for one file whose it is. People do not type it.
const OWNED: &str = "find:owned";

/// Actions; without any of them `find` prints what it finds.
const ACTIONS: &[&str] = &[
    "-print", "-print0", "-printf", "-fprint", "-fprint0", "-fprintf", "-ls", "-fls", "-delete", "-exec",
    "-execdir", "-ok", "-okdir",
];

/// Puts both commands in front of the interpreter's own.
pub(crate) fn guard(registry: &BuiltinRegistry, script_context: &Arc<ScriptContext>) {
    registry.insert("find", Arc::new(Find { script_context: script_context.clone() }));
    registry.insert(OWNED, Arc::new(Owned { script_context: script_context.clone() }));
}

/// Asked before any `find` is run, by its path too: one that is too deep becomes one that says so.
pub(crate) fn bounded(event: ToolEvent) -> HookAction<ToolEvent> {
    if event.name == "find" && is_too_deep(&event.args) {
        return HookAction::Continue(ToolEvent { args: vec![TOO_DEEP.to_string()], ..event });
    }
    HookAction::Continue(event)
}

/// No word that `find` knows; it is named in the complaint.
const TOO_DEEP: &str = "-expression-is-too-long-or-nested-too-deeply";

/// The interpreter reads the expression by calling itself.
fn is_too_deep(args: &[String]) -> bool {
    let nests = |word: &&String| matches!(word.as_str(), "(" | "!" | "-not");
    args.len() > limits::native_shell::FIND_WORDS_MAX
        || args.iter().filter(nests).count() > limits::native_shell::FIND_DEPTH_MAX
}

struct Find {
    script_context: Arc<ScriptContext>,
}

#[async_trait]
impl Builtin for Find {
    /// Never asked for: there is always a plan.
    async fn execute(&self, _: BuiltinContext<'_>) -> bashkit::Result<ExecResult> {
        Ok(ExecResult::err("find: not possible here\n".to_string(), 1))
    }

    async fn execution_plan(&self, ctx: &BuiltinContext<'_>) -> bashkit::Result<Option<ExecutionPlan>> {
        let view = self.script_context.view.at(&ctx.cwd.to_string_lossy());
        let begin = ctx.args.iter().position(|word| begins_expression(word)).unwrap_or(ctx.args.len());
        let (starts, expression) = ctx.args.split_at(begin);
        let mut args = Vec::new();
        if enters_links(&view, starts).await {
            args.push("-H".to_string());
        }
        args.extend(starts.iter().cloned());
        args.extend(translated(expression));
        Ok(Some(passthrough::plan("find", args, ctx)))
    }
}

fn begins_expression(word: &str) -> bool {
    matches!(word, "(" | "!" | ")" | ",")
        || (word.len() > 1 && word.starts_with('-') && !matches!(word, "-H" | "-L" | "-P"))
}

/// Whether the links among the starting points, and there are some, all have a slash at their end.
async fn enters_links(view: &View, starts: &[String]) -> bool {
    let mut enters = false;
    for start in starts {
        if matches!(start.as_str(), "-H" | "-L" | "-P") {
            return false;
        }
        let Ok(path) = view.path(start) else { continue };
        if view.stat(&path, Follow::No).await.is_ok_and(|stat| stat.kind == FileKind::Link) {
            if !start.ends_with('/') {
                return false;
            }
            enters = true;
        }
    }
    enters
}

/// The expression with the questions about owners put to commands that know the answer.
fn translated(expression: &[String]) -> Vec<String> {
    let (mut words, mut asks, mut acts) = (Vec::new(), false, false);
    let mut rest = expression.iter();
    while let Some(word) = rest.next() {
        let asked: Option<Vec<&str>> = match word.as_str() {
            "-readable" => Some(vec!["test", "-r"]),
            "-writable" => Some(vec!["test", "-w"]),
            "-executable" => Some(vec!["test", "-x"]),
            "-user" | "-group" | "-uid" | "-gid" => match rest.next() {
                Some(whose) => Some(vec![OWNED, &word[1..], whose]),
                None => None,
            },
            "-nouser" | "-nogroup" => Some(vec![OWNED, &word[1..], ""]),
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                acts = true;
                words.push(word.clone());
                copy_command(&mut rest, &mut words);
                continue;
            }
            _ => None,
        };
        acts |= ACTIONS.contains(&word.as_str());
        let Some(command) = asked else {
            words.push(word.clone());
            continue;
        };
        asks = true;
        words.push("-exec".to_string());
        words.extend(command.into_iter().map(str::to_string));
        words.extend(["{}".to_string(), ";".to_string()]);
    }
    if !asks || acts {
        return words;
    }
    // Asking is an action, and so takes away the printing that was meant.
    let mut whole = vec!["(".to_string()];
    whole.append(&mut words);
    whole.extend([")".to_string(), "-print".to_string()]);
    whole
}

/// The words of a command up to its end are its own.
fn copy_command<'a>(rest: &mut impl Iterator<Item = &'a String>, words: &mut Vec<String>) {
    for word in rest {
        let is_end = word == ";" || (word == "+" && words.last().is_some_and(|last| last == "{}"));
        words.push(word.clone());
        if is_end {
            return;
        }
    }
}

struct Owned {
    script_context: Arc<ScriptContext>,
}

#[async_trait]
impl Builtin for Owned {
    async fn execute(&self, ctx: BuiltinContext<'_>) -> bashkit::Result<ExecResult> {
        let view = self.script_context.view.at(&ctx.cwd.to_string_lossy());
        let [question, whose, file] = ctx.args else {
            return Ok(ExecResult::err(String::new(), 1));
        };
        Ok(match crate::commands::owned::is_owned(&view, question, whose, file).await {
            Ok(is) => ExecResult { exit_code: i32::from(!is), ..ExecResult::default() },
            Err(why) => ExecResult::err(format!("find: {why}\n"), 1),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::translated;

    fn of(line: &str) -> String {
        translated(&line.split(' ').map(str::to_string).collect::<Vec<_>>()).join(" ")
    }

    #[test]
    fn questions_about_owners_are_put_to_commands() {
        assert_eq!(of("-name x -type f"), "-name x -type f");
        assert_eq!(of("-type f -readable"), "( -type f -exec test -r {} ; ) -print");
        assert_eq!(of("! -user bob -print0"), "! -exec find:owned user bob {} ; -print0");
        assert_eq!(of("-exec echo -user {} ;"), "-exec echo -user {} ;");
        assert_eq!(of("-exec ls {} + -writable"), "-exec ls {} + -exec test -w {} ;");
    }
}
