//! `wget`: fetches a URL into a file; a thin layer over `curl`.

use super::options::{Opt, Options, flag, valued};
use super::{Command, Cx, Done, curl};
use crate::builtin_io::Io;

pub(super) static COMMAND: Command = Command {
    name: "wget",
    aliases: &[],
    about: "fetch a URL into a file",
    usage: "[-q] [-O FILE] [-U AGENT] URL...",
    manual: "\
The file is named after the URL, or index.html; -O - prints it. Redirects are followed.
The network is the one of curl, with the same limits: see `man curl`.",
    io: Io::PLAIN,
    run: |cx| Box::pin(run(cx)),
};

const KNOWN: &[Opt] = &[
    flag('q', "quiet"),
    valued('O', "output-document"),
    valued('U', "user-agent"),
    flag('\0', "no-verbose"),
    flag('\0', "no-check-certificate"),
];

async fn run(cx: &Cx<'_>) -> Done {
    let options = match Options::parse(cx, &COMMAND, KNOWN, 2) {
        Ok(options) => options,
        Err(done) => return done,
    };
    if options.has("no-check-certificate") {
        return Done::failed(cx.name, "certificates are always checked", 2);
    }
    if options.operands.is_empty() {
        return Done::failed(cx.name, "missing URL", 1);
    }
    let mut all = Done::default();
    for url in &options.operands {
        let file = options.value("output-document").map_or_else(|| name_of(url), str::to_string);
        let done = curl::fetch_to(cx, url, &file, options.value("user-agent")).await;
        all.print(done.stdout);
        if !options.has("quiet") {
            all.stderr.extend(done.stderr);
        }
        if done.code != 0 {
            // As wget has it: 4 for the network, 8 for what the server answered.
            all.code = if done.code == 22 { 8 } else { 4 };
        } else if !options.has("quiet") && file != "-" {
            all.stderr.extend(format!("'{file}' saved\n").into_bytes());
        }
    }
    all
}

/// The last part of the URL's path; it must stay in this directory.
fn name_of(url: &str) -> String {
    let path = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let name = path.split_once('/').map_or("", |(_, path)| path).rsplit('/').next().unwrap_or_default();
    if name.is_empty() || name == "." || name == ".." { "index.html".to_string() } else { name.to_string() }
}
