//! `readlink`: prints the target of links.

use vfs::Fault;

use super::operand_path::{Missing, canonical, path_of};
use super::options::{Opt, Options, flag};
use super::{Command, Cx, Done, words};
use crate::builtin_io::Io;

pub(super) static COMMAND: Command = Command {
    name: "readlink",
    aliases: &[],
    about: "print where symbolic links lead",
    usage: "[-efmnvz] FILE...",
    manual: "\
Without an option it prints the link as it is written, and fails for what is not a link.
  -f  the path without links, all parts but the last must be there
  -e  the same, all parts must be there      -m  the same, no part need be there
  -n  no line break at the end               -z  end with NUL instead            -v  say why it failed",
    io: Io::PLAIN,
    run: |cx| Box::pin(run(cx)),
};

const KNOWN: &[Opt] = &[
    flag('f', "canonicalize"),
    flag('e', "canonicalize-existing"),
    flag('m', "canonicalize-missing"),
    flag('n', "no-newline"),
    flag('z', "zero"),
    flag('v', "verbose"),
    flag('q', "quiet"),
    flag('s', "silent"),
];

async fn run(cx: &Cx<'_>) -> Done {
    let options = match Options::parse(cx, &COMMAND, KNOWN, 1) {
        Ok(options) => options,
        Err(done) => return done,
    };
    if options.operands.is_empty() {
        return cx.misused("missing operand");
    }
    let missing = options.given().filter_map(|(name, _)| match name {
        "canonicalize" => Some(Missing::Last),
        "canonicalize-existing" => Some(Missing::Nothing),
        "canonicalize-missing" => Some(Missing::Any),
        _ => None,
    });
    let missing = missing.last();
    let end = match (options.has("zero"), options.has("no-newline") && options.operands.len() == 1) {
        (true, _) => "\0",
        (false, true) => "",
        (false, false) => "\n",
    };
    let mut done = Done::default();
    for operand in &options.operands {
        match leads(cx, operand, missing).await {
            Ok(path) => done.print(format!("{path}{end}")),
            Err(fault) if options.has("verbose") => {
                done.complain(cx.name, format!("{operand}: {}", words(&fault)), 1);
            }
            Err(_) => done.code = 1,
        }
    }
    done
}

async fn leads(cx: &Cx<'_>, operand: &str, missing: Option<Missing>) -> Result<String, Fault> {
    match missing {
        Some(missing) => canonical(cx.view, operand, missing).await.map(|path| path.to_string()),
        None => cx.view.read_link(&path_of(cx.view, operand).await?).await,
    }
}
