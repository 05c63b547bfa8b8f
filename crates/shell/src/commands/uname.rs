//! `uname`: the name and version of this system.

use super::options::{Opt, Options, flag};
use super::{Command, Cx, Done};
use crate::builtin_io::Io;

pub(super) static COMMAND: Command = Command {
    name: "uname",
    aliases: &[],
    about: "print what system this is",
    usage: "[-asnrvmpio]",
    manual: "\
-s the system (GSV), -n the gateway's name, -r its version, -v the build, -m -p -i the machine, -o GSV, -a all.",
    io: Io::PLAIN,
    run: |cx| Box::pin(run(cx)),
};

const KNOWN: &[Opt] = &[
    flag('a', "all"),
    flag('s', "kernel-name"),
    flag('n', "nodename"),
    flag('r', "kernel-release"),
    flag('v', "kernel-version"),
    flag('m', "machine"),
    flag('p', "processor"),
    flag('i', "hardware-platform"),
    flag('o', "operating-system"),
];

async fn run(cx: &Cx<'_>) -> Done {
    let options = match Options::parse(cx, &COMMAND, KNOWN, 1) {
        Ok(options) => options,
        Err(done) => return done,
    };
    if let Some(extra) = options.operands.first() {
        return cx.misused(format!("extra operand '{extra}'"));
    }
    let facts = [
        ("kernel-name", "GSV"),
        ("nodename", cx.settings.hostname.as_str()),
        ("kernel-release", cx.settings.version.as_str()),
        ("kernel-version", "#1"),
        ("machine", std::env::consts::ARCH),
        ("processor", std::env::consts::ARCH),
        ("hardware-platform", std::env::consts::ARCH),
        ("operating-system", "GSV"),
    ];
    let all = ["kernel-name", "nodename", "kernel-release", "kernel-version", "machine"];
    let nothing = options.given().next().is_none();
    let wanted = |name: &str| {
        options.has(name) || (options.has("all") && all.contains(&name)) || (nothing && name == "kernel-name")
    };
    let words: Vec<&str> = facts.iter().filter(|(name, _)| wanted(name)).map(|(_, value)| *value).collect();
    Done::printed(words.join(" ") + "\n")
}
