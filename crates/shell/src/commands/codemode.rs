//! `codemode`: runs a script over the tools of the system, in a sandbox.

use protocol::codemode::{ExecResult, Run};
use serde_json::{Map, Value};

use super::{Command, Cx, Done, flat, words};
use crate::builtin_io::Io;

pub(super) static COMMAND: Command = Command {
    name: "codemode",
    aliases: &[],
    about: "run a script over files, commands and devices",
    usage: "[run] FILE | -e CODE [--target T] [--cwd DIR] [--arg KEY=VALUE]... [--args-json JSON] [--json] [-- ARG...]",
    manual: "\
The script is the body of an async function: await works at the top, and return gives the result, which is printed.
It has shell(input, options), fs.read, fs.write, fs.edit, fs.delete and fs.search, argv (what follows --) and args
(from --arg and --args-json). --target and --cwd are for calls that name none. With --json the whole outcome is
printed. A script that fails makes the command fail with 1.",
    io: Io::PLAIN,
    run: |cx| Box::pin(run(cx)),
};

/// What was asked for.
#[derive(Default)]
struct Asked {
    code: Option<String>,
    file: Option<String>,
    target: Option<String>,
    cwd: Option<String>,
    args: Option<Value>,
    argv: Vec<String>,
    json: bool,
}

async fn run(cx: &Cx<'_>) -> Done {
    let asked = match parse(cx.args) {
        Ok(asked) => asked,
        Err(why) => return cx.misused(why),
    };
    flat(carry_out(cx, asked).await)
}

async fn carry_out(cx: &Cx<'_>, asked: Asked) -> Result<Done, Done> {
    let code = match (asked.code, &asked.file) {
        (Some(_), Some(_)) => return Err(cx.misused("use either -e/--eval or a script file, not both")),
        (Some(code), None) => code,
        (None, Some(file)) => {
            let bytes = cx.read(file).await;
            let bytes = bytes.map_err(|fault| cx.misused(format_args!("{file}: {}", words(&fault))))?;
            String::from_utf8(bytes).map_err(|_| cx.misused(format_args!("{file}: not a text in UTF-8")))?
        }
        (None, None) => return Ok(Done::printed(COMMAND.usage_line())),
    };
    // The shell's directory means something on the gateway only.
    let is_here = asked.target.as_deref().is_none_or(|target| target.is_empty() || target == "gsv");
    let cwd = match asked.cwd {
        Some(cwd) if is_here => {
            Some(cx.view.path(&cwd).map_err(|fault| cx.misused(words(&fault)))?.to_string())
        }
        Some(cwd) => Some(cwd),
        None if is_here => Some(cx.view.path(".").map_err(|fault| cx.misused(words(&fault)))?.to_string()),
        None => None,
    };
    let (target, argv, args) = (asked.target, Some(asked.argv), asked.args);
    let ended = cx.call(&Run { pid: None, code, target, cwd, argv, args }).await?;
    Ok(told(&ended, asked.json))
}

/// Prints how a script ended.
fn told(ended: &ExecResult, json: bool) -> Done {
    let code = i32::from(matches!(ended, ExecResult::Failed { .. }));
    if json {
        let text = serde_json::to_string_pretty(ended).unwrap_or_default() + "\n";
        return Done { code, ..Done::printed(text) };
    }
    let (ExecResult::Completed { logs, .. } | ExecResult::Failed { logs, .. }) = ended;
    let mut stderr: String = logs.iter().flatten().map(|line| format!("{line}\n")).collect();
    let stdout = match ended {
        ExecResult::Completed { result: None | Some(Value::Null), .. } => String::new(),
        ExecResult::Completed { result: Some(Value::String(text)), .. } => format!("{text}\n"),
        ExecResult::Completed { result: Some(value), .. } => format!("{value:#}\n"),
        ExecResult::Failed { error, .. } => {
            stderr += &format!("{error}\n");
            String::new()
        }
    };
    Done { stdout: stdout.into_bytes(), stderr: stderr.into_bytes(), code }
}

fn parse(given: &[String]) -> Result<Asked, String> {
    let mut asked = Asked::default();
    let mut rest = given.iter().map(String::as_str).peekable();
    if rest.peek() == Some(&"run") {
        rest.next();
    }
    while let Some(word) = rest.next() {
        let (name, inline) = match word.split_once('=').filter(|_| word.starts_with("--")) {
            Some((name, value)) => (name, Some(value)),
            None => (word, None),
        };
        let mut value = || {
            inline
                .or_else(|| rest.next())
                .map(str::to_string)
                .ok_or_else(|| format!("{name} requires a value"))
        };
        match name {
            "--" => {
                asked.argv.extend(rest.map(str::to_string));
                break;
            }
            "-e" | "--eval" => asked.code = Some(value()?),
            "--target" => asked.target = Some(value()?),
            "--cwd" => asked.cwd = Some(value()?),
            "--json" => asked.json = true,
            "--arg" => {
                let pair = value()?;
                let pair = pair.split_once('=').filter(|(key, _)| !key.is_empty());
                let (key, text) = pair.ok_or("--arg requires key=value")?;
                let args = asked.args.get_or_insert_with(|| Value::Object(Map::new()));
                let args = args.as_object_mut().ok_or("--arg needs --args-json to be an object")?;
                args.insert(key.to_string(), text.into());
            }
            "--args-json" => {
                let given: Value =
                    serde_json::from_str(&value()?).map_err(|error| format!("--args-json: {error}"))?;
                asked.args = Some(merged(given, asked.args.take())?);
            }
            option if option.starts_with('-') && option != "-" => {
                return Err(format!("unknown option: {option}"));
            }
            file if asked.file.is_none() && asked.code.is_none() => asked.file = Some(file.to_string()),
            more => asked.argv.push(more.to_string()),
        }
    }
    Ok(asked)
}

/// What `--arg` says goes before what `--args-json` says, in whichever order they stand.
fn merged(mut given: Value, before: Option<Value>) -> Result<Value, String> {
    let Some(Value::Object(before)) = before else { return Ok(given) };
    given.as_object_mut().ok_or("--arg needs --args-json to be an object")?.extend(before);
    Ok(given)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn asked(words: &[&str]) -> Result<Asked, String> {
        parse(&words.iter().map(|word| word.to_string()).collect::<Vec<_>>())
    }

    #[test]
    fn options_stand_anywhere_and_the_rest_is_for_the_script() {
        let all = [
            "run",
            "./a.js",
            "--target",
            "mac",
            "--cwd=~/x",
            "--arg",
            "k=v=w",
            "one",
            "--json",
            "--",
            "--two",
        ];
        let asked = asked(&all).unwrap();
        assert_eq!(asked.file.as_deref(), Some("./a.js"));
        assert_eq!((asked.target.as_deref(), asked.cwd.as_deref()), (Some("mac"), Some("~/x")));
        assert_eq!(asked.args, Some(json!({ "k": "v=w" })));
        assert_eq!(asked.argv, ["one", "--two"]);
        assert!(asked.json);
    }

    #[test]
    fn arguments_are_merged_and_bad_ones_refused() {
        let both = asked(&["-e", "x", "--arg", "a=1", "--args-json", "{\"a\":2,\"b\":[3]}"]).unwrap();
        assert_eq!(both.args, Some(json!({ "a": "1", "b": [3] })));
        assert_eq!(asked(&["-e", "x", "--args-json", "[1]"]).unwrap().args, Some(json!([1])));
        for (words, why) in [
            (&["--arg", "novalue"][..], "--arg requires key=value"),
            (&["-e"], "-e requires a value"),
            (&["--nope"], "unknown option: --nope"),
        ] {
            assert_eq!(asked(words).err().as_deref(), Some(why));
        }
    }

    #[test]
    fn what_a_script_returns_is_printed_plainly() {
        let completed = |result| ExecResult::Completed { result, logs: Some(vec!["log".to_string()]) };
        assert_eq!(told(&completed(Some(json!("text"))), false).stdout, b"text\n");
        assert_eq!(told(&completed(Some(json!([1]))), false).stdout, b"[\n  1\n]\n");
        assert_eq!(told(&completed(None), false), Done { stderr: b"log\n".to_vec(), ..Done::default() });
        let failed = ExecResult::Failed { error: "no".to_string(), logs: None };
        assert_eq!(told(&failed, false), Done { stderr: b"no\n".to_vec(), code: 1, ..Done::default() });
        let json = told(&failed, true);
        assert!(json.code == 1 && json.stdout.starts_with(b"{\n  \"status\": \"failed\""));
    }
}
