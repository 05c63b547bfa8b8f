//! `config`: settings of the gateway and of the user.

use protocol::sys::{ConfigGet, ConfigSet};
use serde_json::Value;

use super::{Command, Cx, Done, flat};
use crate::builtin_io::Io;

pub(super) static COMMAND: Command = Command {
    name: "config",
    aliases: &[],
    about: "read and change settings",
    usage: "get [KEY | PREFIX] | set KEY VALUE | unset KEY",
    manual: "\
`config get KEY` prints one value, `config get PREFIX` every KEY=VALUE below it, `config get` all that you may read.
Root sets any key; others set theirs below users/<uid>/ai/. The same values are files in /sys/config and /sys/users.",
    io: Io::PLAIN,
    run: |cx| Box::pin(run(cx)),
};

async fn run(cx: &Cx<'_>) -> Done {
    let words: Vec<&str> = cx.args.iter().map(String::as_str).collect();
    flat(match words.as_slice() {
        [] | ["get" | "list" | "ls"] => get(cx, None).await,
        ["get" | "list" | "ls", key] => get(cx, Some(key)).await,
        ["set", key, value @ ..] if !value.is_empty() => set(cx, key, Value::String(value.join(" "))).await,
        ["unset" | "rm", key] => set(cx, key, Value::Null).await,
        ["--help" | "-h" | "help"] => {
            Ok(Done::printed(format!("{}{}\n", COMMAND.usage_line(), COMMAND.manual)))
        }
        _ => Err(Done { stderr: COMMAND.usage_line().into_bytes(), code: 1, ..Done::default() }),
    })
}

async fn get(cx: &Cx<'_>, key: Option<&str>) -> Result<Done, Done> {
    let entries = cx.call(&ConfigGet { key: key.map(str::to_string) }).await?.entries;
    let wanted = key.unwrap_or_default().trim_end_matches('/');
    match entries.as_slice() {
        [] if key.is_some() => Err(cx.misused(format!("no such key: {wanted}"))),
        [one] if one.key == wanted => Ok(Done::printed(format!("{}\n", one.value))),
        many => {
            let line = |value: &str| value.replace('\n', "\\n");
            Ok(Done::printed(
                many.iter()
                    .map(|entry| format!("{}={}\n", entry.key, line(&entry.value)))
                    .collect::<String>(),
            ))
        }
    }
}

async fn set(cx: &Cx<'_>, key: &str, value: Value) -> Result<Done, Done> {
    cx.call(&ConfigSet { key: key.to_string(), value }).await?;
    Ok(Done::default())
}
