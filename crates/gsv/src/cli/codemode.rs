//! `gsv codemode`: runs a script over files, commands and devices, in the gateway's sandbox.

use std::io::Read;

use clap::Args;
use protocol::codemode::{ExecResult, Run};
use protocol::ids::Pid;
use serde_json::{Map, Value};
use terminal::failure::{Failure, Result};

use crate::context::Context;
use crate::session;

/// Arguments of `gsv codemode`.
#[derive(Args, Debug)]
#[command(
    after_help = "The script is the body of an async function: `await` works at the top, and `return` gives the \
    result.\n\nExamples:\n  gsv codemode -e 'return (await shell(\"uname\", { target: \"laptop\" })).output'\n  \
    gsv codemode ./check.js --target laptop --cwd '~/project' -- one two"
)]
pub struct CodeModeArgs {
    /// A script on this machine, or `-` for standard input. A leading `run` may stand before it.
    #[arg(value_name = "FILE", num_args = 0..)]
    words: Vec<String>,
    /// The code itself.
    #[arg(short = 'e', long, value_name = "CODE")]
    eval: Option<String>,
    /// Where calls go that name no target.
    #[arg(long, value_name = "TARGET")]
    target: Option<String>,
    /// Where relative paths start.
    #[arg(long, value_name = "DIR")]
    cwd: Option<String>,
    /// A value of `args`; may be repeated.
    #[arg(long = "arg", value_name = "KEY=VALUE")]
    pairs: Vec<String>,
    /// `args` as JSON.
    #[arg(long, value_name = "JSON")]
    args_json: Option<String>,
    /// The process to run in [default: your init process].
    #[arg(long, value_name = "PID")]
    pid: Option<String>,
    /// Seen by the script as `argv`.
    #[arg(last = true, value_name = "ARG")]
    argv: Vec<String>,
}

/// Runs a script and prints what it returned. A script that fails makes the command fail with 1.
pub async fn run(context: &Context, args: CodeModeArgs) -> Result<u8> {
    let given = arguments(args.args_json.as_deref(), &args.pairs).map_err(Failure::usage)?;
    let mut words = args.words.into_iter().peekable();
    if args.eval.is_none() && words.len() > 1 && words.peek().is_some_and(|word| word == "run") {
        words.next();
    }
    let code = match (args.eval, words.next()) {
        (Some(_), Some(_)) => {
            return Err(Failure::usage("use either -e/--eval or a script file, not both"));
        }
        (Some(code), None) => code,
        (None, Some(file)) => read(&file)?,
        (None, None) => return Err(Failure::usage("name a script file, or give the code with -e")),
    };
    let argv: Vec<String> = words.chain(args.argv).collect();
    let (pid, target, cwd) = (args.pid.map(Pid), args.target, args.cwd);
    let call = Run { pid, code, target, cwd, argv: Some(argv), args: given };
    let answer = session::open(context).await?.call(&call).await?;
    let failed = u8::from(matches!(answer.value, ExecResult::Failed { .. }));
    if context.output.json {
        context.output.raw_json(&answer.raw)?;
        return Ok(failed);
    }
    let (ExecResult::Completed { logs, .. } | ExecResult::Failed { logs, .. }) = &answer.value;
    for line in logs.iter().flatten() {
        context.output.note(line);
    }
    match &answer.value {
        ExecResult::Completed { result: None | Some(Value::Null), .. } => {}
        ExecResult::Completed { result: Some(Value::String(text)), .. } => {
            context.output.text(&format!("{text}\n"))?;
        }
        ExecResult::Completed { result: Some(value), .. } => context.output.text(&format!("{value:#}\n"))?,
        ExecResult::Failed { error, .. } => context.output.note(error),
    }
    Ok(failed)
}

fn read(file: &str) -> Result<String> {
    let text = match file {
        "-" => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).map(|_| text)
        }
        file => std::fs::read_to_string(file),
    };
    text.map_err(|error| Failure::new(format!("cannot read {file}: {error}")))
}

fn arguments(json: Option<&str>, pairs: &[String]) -> std::result::Result<Option<Value>, String> {
    let given = json.map(serde_json::from_str::<Value>).transpose();
    let mut given = given.map_err(|error| format!("--args-json: {error}"))?;
    for pair in pairs {
        let pair = pair.split_once('=').filter(|(key, _)| !key.is_empty());
        let (key, value) = pair.ok_or("--arg requires key=value")?;
        let args = given.get_or_insert_with(|| Value::Object(Map::new()));
        let args = args.as_object_mut().ok_or("--arg needs --args-json to be an object")?;
        args.insert(key.to_string(), value.into());
    }
    Ok(given)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn arguments_are_merged() {
        let pair = |text: &str| text.to_string();
        assert_eq!(arguments(None, &[]), Ok(None));
        let both = arguments(Some("{\"a\":1,\"b\":2}"), &[pair("a=x")]);
        assert_eq!(both, Ok(Some(json!({ "a": "x", "b": 2 }))));
        assert!(arguments(Some("[1]"), &[pair("a=x")]).is_err());
        assert!(arguments(None, &[pair("a")]).is_err());
    }
}
