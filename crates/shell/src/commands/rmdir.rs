//! `rmdir`: removes empty directories.

use vfs::{Code, Fault, FileKind, Follow};

use super::operand_path::path_of;
use super::options::{Opt, Options, flag};
use super::{Command, Cx, Done, words};
use crate::builtin_io::Io;

pub(super) static COMMAND: Command = Command {
    name: "rmdir",
    aliases: &[],
    about: "remove empty directories",
    usage: "[-pv] [--ignore-fail-on-non-empty] DIRECTORY...",
    manual: "-p removes the directories on the way too, a/b/c as if it were a/b/c a/b a. -v says what is removed.",
    io: Io::PLAIN,
    run: |cx| Box::pin(run(cx)),
};

const KNOWN: &[Opt] = &[flag('p', "parents"), flag('v', "verbose"), flag('\0', "ignore-fail-on-non-empty")];

async fn run(cx: &Cx<'_>) -> Done {
    let options = match Options::parse(cx, &COMMAND, KNOWN, 1) {
        Ok(options) => options,
        Err(done) => return done,
    };
    if options.operands.is_empty() {
        return cx.misused("missing operand");
    }
    let mut done = Done::default();
    for operand in &options.operands {
        let mut display = operand.as_str();
        loop {
            if options.has("verbose") {
                done.print(format!("{}: removing directory, '{display}'\n", cx.name));
            }
            if let Err(fault) = remove(cx, display).await {
                let tolerated = fault.code == Code::NotEmpty && options.has("ignore-fail-on-non-empty");
                if !tolerated {
                    let what =
                        if display == operand { "failed to remove" } else { "failed to remove directory" };
                    done.complain(cx.name, format!("{what} '{display}': {}", words(&fault)), 1);
                }
                break;
            }
            match display.trim_end_matches('/').rsplit_once('/') {
                Some((above, _)) if options.has("parents") && !above.is_empty() => {
                    display = above.trim_end_matches('/');
                }
                _ => break,
            }
        }
    }
    done
}

async fn remove(cx: &Cx<'_>, operand: &str) -> Result<(), Fault> {
    let path = path_of(cx.view, operand).await?;
    if cx.view.stat(&path, Follow::No).await?.kind != FileKind::Directory {
        return Err(Fault::new(Code::NotDirectory, "rmdir", operand));
    }
    if matches!(operand.trim_end_matches('/').rsplit('/').next(), Some(".")) {
        return Err(Fault::new(Code::Invalid, "rmdir", operand));
    }
    cx.view.remove(&path, false).await
}
