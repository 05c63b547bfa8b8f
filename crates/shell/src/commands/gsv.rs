//! `gsv`: any call of the protocol, from within the shell.

mod flags;

use protocol::spec::{Access, Route};
use serde_json::Value;

use super::devices::pretty;
use super::{Command, Cx, Done, find};
use crate::builtin_io::Io;

pub(super) static COMMAND: Command = Command {
    name: "gsv",
    aliases: &[],
    about: "make any call of the protocol",
    usage: "call NAME [--target ID] [--args JSON] [--FLAG VALUE]... | calls | COMMAND ...",
    manual: "\
`gsv call fs.read --path notes.md` prints the answer as JSON. Flags are the names of the call's arguments
(deviceId is --device-id); --args takes them all as one JSON object, or - for stdin. A value that is not meant to be
text is written as JSON. `gsv call NAME --help` says what a call takes, `gsv calls` lists all, `man 2 NAME` has it all.
`gsv devices`, `gsv config` and so on are the commands of those names.
Exit code 1 when the call is refused or its result says ok: false.",
    io: Io::PLAIN,
    run: |cx| Box::pin(run(cx)),
};

/// Commands that may be written after `gsv`, as they are outside.
const COMMANDS: [&str; 8] = ["config", "devices", "man", "mcp", "notify", "ps", "skills", "targets"];

async fn run(cx: &Cx<'_>) -> Done {
    let Some((first, rest)) = cx.args.split_first() else { return help() };
    match first.as_str() {
        "call" => call(cx, rest).await,
        "calls" => calls(),
        "help" | "--help" | "-h" => help(),
        "version" | "--version" | "-V" => Done::printed(format!("gsv {}\n", cx.settings.version)),
        "cp" => super::cp::across_targets(cx),
        name => match find(name).filter(|command| COMMANDS.contains(&name) && command.name != "gsv") {
            Some(command) => (command.run)(&Cx { name, args: rest, ..*cx }).await,
            None => {
                Done::failed(cx.name, format!("'{name}' is not a command here; `gsv help` lists them"), 1)
            }
        },
    }
}

fn help() -> Done {
    let mut out = COMMAND.usage_line() + "\n";
    out += "  call NAME ...   make a call and print its answer as JSON\n";
    out += "  calls           list all calls\n";
    for name in COMMANDS {
        if let Some(command) = find(name).filter(|command| command.name == name) {
            out += &format!("  {:<15} {}\n", command.name, command.about);
        }
    }
    Done::printed(out)
}

fn calls() -> Done {
    let line = |name: &str, doc: &str| format!("{name}\t{}\n", doc.lines().next().unwrap_or_default().trim());
    Done::printed(protocol::calls().map(|spec| line(spec.name, spec.doc)).collect::<String>())
}

async fn call(cx: &Cx<'_>, words: &[String]) -> Done {
    let Some((name, words)) = words.split_first() else {
        return cx.misused("call NAME: which call? `gsv calls` lists them");
    };
    let Some(spec) = protocol::spec(name) else {
        return cx.misused(format!("there is no call {name}; `gsv calls` lists them"));
    };
    if spec.access == Access::Open {
        return cx.misused(format!("{name} is made before logging in, and you are"));
    }
    let fields = flags::fields_of(spec);
    if words.iter().any(|word| word == "--help") {
        return Done::printed(flags::help(spec, &fields));
    }
    let args = match flags::parse(&fields, words, cx.stdin, spec.route == Route::Target) {
        Ok(args) => args,
        Err(why) => return cx.misused(why),
    };
    match cx.calls.raw(name, &args.to_string()).await {
        Ok(raw) => {
            let value = serde_json::from_str::<Value>(&raw).unwrap_or(Value::String(raw));
            let failed = value["ok"] == Value::Bool(false);
            Done { stdout: pretty(&value).into_bytes(), code: i32::from(failed), ..Done::default() }
        }
        Err(error) => cx.misused(format!("{name}: {error}")),
    }
}
