//! `hostname`: the name of the gateway.

use super::{Command, Cx, Done};
use crate::builtin_io::Io;

pub(super) static COMMAND: Command = Command {
    name: "hostname",
    aliases: &[],
    about: "print the gateway's name",
    usage: "",
    manual: "The name is config/server/name; root changes it with `config set config/server/name NAME`.",
    io: Io::PLAIN,
    run: |cx| Box::pin(run(cx)),
};

async fn run(cx: &Cx<'_>) -> Done {
    match cx.args.first().map(String::as_str) {
        None | Some("-s" | "-f" | "--short" | "--fqdn") => {
            Done::printed(format!("{}\n", cx.settings.hostname))
        }
        Some(_) => cx.misused("the name is set with `config set config/server/name NAME`"),
    }
}
