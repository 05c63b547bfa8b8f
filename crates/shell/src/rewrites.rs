//! Argument rewriting for builtins that do what is meant only when it is put in other words: their
//! exit codes, and what they do with options they do not know. Each stands before its command and passes it on by its
//! path.

use std::sync::Arc;

use async_trait::async_trait;
use bashkit::hooks::{HookAction, ToolEvent};
use bashkit::{Builtin, BuiltinContext, BuiltinRegistry, ExecResult, ExecutionPlan, SubCommand};

use crate::passthrough;

/// Puts every one in front of the interpreter's own command.
pub(crate) fn guard(registry: &BuiltinRegistry) {
    let rows: [(&'static str, Putting); 2] = [("shopt", shopt), ("xargs", xargs)];
    for (name, put) in rows {
        let before = registry.lookup(name);
        registry.insert(name, Arc::new(Rewrite { name, put, before }));
    }
}

/// Puts the words of a command differently.
type Putting = fn(&[String]) -> Put;

/// What becomes of a command.
#[derive(Debug, PartialEq, Eq)]
enum Put {
    /// The command itself, with these words.
    Itself(Vec<String>),
    /// It is refused with these words.
    Refused(String),
}

struct Rewrite {
    name: &'static str,
    put: Putting,
    /// What stood there: it may have stdin for the command.
    before: Option<Arc<dyn Builtin>>,
}

#[async_trait]
impl Builtin for Rewrite {
    /// Asked for when there is no plan: it is refused.
    async fn execute(&self, ctx: BuiltinContext<'_>) -> bashkit::Result<ExecResult> {
        let why = match (self.put)(ctx.args) {
            Put::Refused(why) => why,
            Put::Itself(_) => "not possible here".to_string(),
        };
        Ok(ExecResult::err(format!("bash: {}: {why}\n", self.name), 1))
    }

    async fn execution_plan(&self, ctx: &BuiltinContext<'_>) -> bashkit::Result<Option<ExecutionPlan>> {
        let args = match (self.put)(ctx.args) {
            Put::Refused(_) => return Ok(None),
            Put::Itself(args) => args,
        };
        let mut plan = None;
        if let Some(before) = &self.before {
            plan = before.execution_plan(ctx).await?;
        }
        if let Some(ExecutionPlan::Batch { commands }) = &mut plan
            && let [command] = commands.as_mut_slice()
        {
            command.args = args;
            return Ok(plan);
        }
        let name = passthrough::program(self.name);
        let command = SubCommand { name, args, stdin: ctx.stdin.cloned(), assignments: Vec::new() };
        Ok(Some(ExecutionPlan::Batch { commands: vec![command] }))
    }
}

/// The options of `shopt` in bash 5.2.
#[rustfmt::skip]
const SHOPT: &[&str] = &[
    "assoc_expand_once", "autocd", "cdable_vars", "cdspell", "checkhash", "checkjobs", "checkwinsize", "cmdhist",
    "compat31", "compat32", "compat40", "compat41", "compat42", "compat43", "compat44", "complete_fullquote",
    "direxpand", "dirspell", "dotglob", "execfail", "expand_aliases", "extdebug", "extglob", "extquote", "failglob",
    "force_fignore", "globasciiranges", "globskipdots", "globstar", "gnu_errfmt", "histappend", "histreedit",
    "histverify", "hostcomplete", "huponexit", "inherit_errexit", "interactive_comments", "lastpipe", "lithist",
    "localvar_inherit", "localvar_unset", "login_shell", "mailwarn", "no_empty_cmd_completion", "nocaseglob",
    "nocasematch", "noexpand_translation", "nullglob", "patsub_replacement", "progcomp", "progcomp_alias",
    "promptvars", "restricted_shell", "shift_verbose", "sourcepath", "varredir_close", "xpg_echo",
];

/// A name that is no option of the shell must not list all of them.
fn shopt(args: &[String]) -> Put {
    let is_other = args.iter().any(|word| word.starts_with('-') && word.contains('o'));
    let unknown = args
        .iter()
        .find(|word| !word.starts_with('-') && !SHOPT.contains(&word.as_str()))
        .filter(|_| !is_other);
    match unknown {
        Some(name) => Put::Refused(format!("{name}: invalid shell option name")),
        None => Put::Itself(args.to_vec()),
    }
}

/// What runs the script that is piped into a shell with arguments of its own.
const FROM_STDIN: &str = r#"eval "$(cat)""#;

/// What runs the script behind a process substitution, whose path is the shell's name.
const FROM_PIPE: &str = r#"eval "$(cat "$0")""#;

/// Where process substitutions are.
pub(crate) const PIPES: &str = "/dev/fd/";

/// `bash -s ARGS`: the interpreter would take the first argument for a script file. And `bash` alone: what is piped into
/// it becomes a word of `eval`, so that it is looked at as every other script is before it runs. The same with `bash <(…)`.
pub(crate) fn shell_from_stdin(mut event: ToolEvent) -> HookAction<ToolEvent> {
    if matches!(event.name.as_str(), "bash" | "sh")
        && let Some(args) = with_stdin_script(&event.name, &event.args)
    {
        event.args = args;
    }
    HookAction::Continue(event)
}

fn with_stdin_script(name: &str, args: &[String]) -> Option<Vec<String>> {
    let is_option = |word: &&String| word.len() > 1 && word.starts_with('-') && *word != "--";
    let options: Vec<String> = args.iter().take_while(is_option).cloned().collect();
    let plain = |word: &String| !word.starts_with("--") && !word.contains(['c', 'o', 'O']);
    if !options.iter().all(plain) {
        return None;
    }
    let rest = &args[options.len()..];
    let rest = rest.strip_prefix(&["--".to_string()]).unwrap_or(rest);
    let has = |letter: char| options.iter().any(|word| word.contains(letter));
    if rest.first().is_some_and(|file| file.starts_with(PIPES)) && !has('n') && !has('s') {
        let script = ["-c", FROM_PIPE].map(str::to_string);
        return Some(options.into_iter().chain(script).chain(rest.iter().cloned()).collect());
    }
    // What is only read with `-n` does not run, and is told by its own lines.
    let reads_stdin = if rest.is_empty() { !has('n') } else { has('s') };
    if !reads_stdin {
        return None;
    }
    let script = ["-c", FROM_STDIN, name].map(str::to_string);
    Some(options.into_iter().chain(script).chain(rest.iter().cloned()).collect())
}

/// A number for the process of a script. There is no such process, and no two scripts should share what they name by it.
pub(crate) fn shell_number() -> u32 {
    // Below what a machine counts processes up to, above those that have a meaning.
    1_000 + u32::from_le_bytes(base::random::bytes()) % 4_000_000
}

/// `kill` of the script's own number: to the interpreter that is 1.
pub(crate) fn kill_by_number(mut event: ToolEvent, number: u32) -> HookAction<ToolEvent> {
    if event.name == "kill" {
        let number = number.to_string();
        event.args.iter_mut().filter(|word| **word == number).for_each(|word| *word = "1".to_string());
    }
    HookAction::Continue(event)
}

/// What runs each command of `xargs`: a failure of the command is 123, to be told from one of `xargs`.
const EACH: &str = r#""$@"; c=$?; [ $c -eq 0 ] || [ $c -gt 125 ] || c=123; exit $c"#;

fn xargs(args: &[String]) -> Put {
    let mut at = 0;
    while let Some(word) = args.get(at).filter(|word| word.len() > 1 && word.starts_with('-')) {
        at += 1;
        let takes = match word.strip_prefix("--") {
            Some("") => break,
            Some("verbose" | "interactive" | "help" | "version") => return Put::Itself(args.to_vec()),
            Some(long) => {
                let valued =
                    ["arg-file", "delimiter", "max-args", "max-chars", "max-procs", "process-slot-var"];
                valued.contains(&long)
            }
            None => match short_option(&word[1..]) {
                Some(takes) => takes,
                None => return Put::Itself(args.to_vec()),
            },
        };
        at += usize::from(takes);
    }
    if at >= args.len() {
        return Put::Itself(args.to_vec());
    }
    let each = ["bash", "-c", EACH, "xargs"].map(str::to_string);
    Put::Itself(args[..at].iter().cloned().chain(each).chain(args[at..].iter().cloned()).collect())
}

/// Whether the next word is the value of these letters; `None` when they show the commands, which stay as they are.
fn short_option(letters: &str) -> Option<bool> {
    for (at, letter) in letters.char_indices() {
        match letter {
            't' | 'p' => return None,
            'a' | 'd' | 'E' | 'I' | 'L' | 'n' | 'P' | 's' => return Some(at + 1 == letters.len()),
            'e' | 'i' | 'l' => return Some(false),
            _ => {}
        }
    }
    Some(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_string).collect()
    }

    #[test]
    fn shopt_knows_its_options() {
        for line in ["", "-s extglob", "-p nullglob globstar", "-o pipefail", "-qo errexit"] {
            assert_eq!(shopt(&words(line)), Put::Itself(words(line)));
        }
        let refused = Put::Refused("nosuch: invalid shell option name".to_string());
        assert_eq!(shopt(&words("-q nosuch")), refused);
    }

    #[test]
    fn a_shell_with_arguments_reads_its_script_from_stdin() {
        let rewritten = |line: &str| with_stdin_script("bash", &words(line)).map(|args| args.join(" "));
        let script = format!("-s -c {FROM_STDIN} bash one two");
        assert_eq!(rewritten("-s one two"), Some(script.clone()));
        assert_eq!(rewritten("-s -- one two"), Some(script.clone()));
        assert_eq!(rewritten("-es x"), Some(format!("-es -c {FROM_STDIN} bash x")));
        for line in ["", "-s", "-e", "--"] {
            let before = line.trim_start_matches("--").to_string();
            let before = if before.is_empty() { before } else { format!("{before} ") };
            assert_eq!(rewritten(line), Some(format!("{before}-c {FROM_STDIN} bash")), "{line}");
        }
        assert_eq!(rewritten("-e /dev/fd/63 x"), Some(format!("-e -c {FROM_PIPE} /dev/fd/63 x")));
        for line in ["-e file", "file -s x", "-c text -s x", "-sc text x", "-n", "--version", "-sn"] {
            assert_eq!(rewritten(line), None, "{line}");
        }
    }

    #[test]
    fn xargs_runs_its_command_within_one_that_tells_its_code() {
        let begins = |line: &str| match xargs(&words(line)) {
            Put::Itself(args) => args.iter().position(|word| word == EACH).map(|at| at - 2),
            Put::Refused(_) => None,
        };
        for (line, at) in [
            ("grep x", Some(0)),
            ("-n 2 grep -n x", Some(2)),
            ("-n2 -r grep", Some(2)),
            ("-0 -I {} mv {} d", Some(3)),
            ("-I{} mv {} d", Some(1)),
            ("-0n1 rm", Some(1)),
            ("--max-args 3 rm", Some(2)),
            ("--max-args=3 rm", Some(1)),
            ("-- rm", Some(1)),
            ("-t rm", None),
            ("-n1", None),
            ("", None),
        ] {
            assert_eq!(begins(line), at, "{line}");
        }
    }
}
