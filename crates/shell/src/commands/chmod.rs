//! `chmod`: changes permission bits.

use vfs::{FileKind, Follow};

use super::modes::Change;
use super::operand_path::resolve;
use super::options::{Opt, Options, flag, valued};
use super::walk::walk_from;
use super::{Command, Cx, Done, modes, words};
use crate::builtin_io::Io;

pub(super) static COMMAND: Command = Command {
    name: "chmod",
    aliases: &[],
    about: "change permission bits",
    usage: "[-R] [-v] MODE FILE... | --reference=FILE FILE...",
    manual: "\
MODE is octal, such as 640, or clauses such as u+rwx,g-w,a=r with u, g, o, a; +, -, =; and r, w, x, X, s, t.
X is x for directories and for files that somebody may execute. -R works on everything below.
--reference gives the mode of another file.
Only the owner of a file and root may change it.",
    io: Io::PLAIN,
    run: |cx| Box::pin(run(cx)),
};

const KNOWN: &[Opt] = &[
    flag('R', "recursive"),
    flag('v', "verbose"),
    flag('f', "silent"),
    flag('c', "changes"),
    valued('\0', "reference"),
];

async fn run(cx: &Cx<'_>) -> Done {
    let (mode, cx_args) = take_minus_mode(cx.args);
    let cx = &Cx { args: &cx_args, ..*cx };
    let mut options = match Options::parse(cx, &COMMAND, KNOWN, 1) {
        Ok(options) => options,
        Err(done) => return done,
    };
    let reference = match options.value("reference") {
        Some(file) => match mode_of(cx, file).await {
            Ok(mode) => Some(mode),
            Err(done) => return done,
        },
        None => None,
    };
    let mode = match reference.or(mode) {
        Some(mode) => mode,
        None if options.operands.is_empty() => return cx.misused("missing operand"),
        None => options.operands.remove(0),
    };
    if options.operands.is_empty() {
        return cx.misused(format!("missing operand after '{mode}'"));
    }
    let Some(change) = Change::parse(&mode) else {
        return cx.misused(format!("invalid mode: '{mode}'"));
    };
    let mut done = Done::default();
    for operand in &options.operands {
        apply(cx, operand, &change, &options, &mut done).await;
    }
    if options.has("silent") {
        done.stderr.clear();
    }
    done
}

/// The mode of another file, as one would type it.
async fn mode_of(cx: &Cx<'_>, file: &str) -> Result<String, Done> {
    let stat = match cx.view.path(file) {
        Ok(path) => cx.view.stat(&path, Follow::Yes).await,
        Err(fault) => Err(fault),
    };
    match stat {
        Ok(stat) => Ok(format!("{:04o}", stat.mode)),
        Err(fault) => Err(cx.misused(format!("failed to get attributes of '{file}': {}", words(&fault)))),
    }
}

/// `-w` or `-x+r` is a mode, not an option.
fn take_minus_mode(args: &[String]) -> (Option<String>, Vec<String>) {
    let is_mode = |word: &String| {
        word.len() > 1 && word.starts_with('-') && word[1..].chars().all(|c| "rwxXstugo+-=,".contains(c))
    };
    let at = args.iter().take_while(|word| *word != "--").position(is_mode);
    let mut rest = args.to_vec();
    (at.map(|at| rest.remove(at)), rest)
}

async fn apply(cx: &Cx<'_>, operand: &str, change: &Change, options: &Options, done: &mut Done) {
    let met = match resolve(cx.view, operand, Follow::Yes).await {
        Ok(path) => walk_from(cx.view, path, operand, options.has("recursive"), Follow::Yes).await,
        Err(fault) => Err(fault),
    };
    let (met, unread) = match met {
        Ok(both) => both,
        Err(fault) => {
            return done.complain(cx.name, format!("cannot access '{operand}': {}", words(&fault)), 1);
        }
    };
    for file in met {
        // A link below has no mode of its own, and where it leads was not named.
        if file.stat.kind == FileKind::Link {
            continue;
        }
        let mode = change.apply(file.stat.mode, file.stat.kind);
        let changed = mode != file.stat.mode;
        if let Err(fault) = cx.view.chmod_met(&file.path, mode).await {
            let what = format!("changing permissions of '{}'", file.display);
            done.complain(cx.name, format!("{what}: {}", words(&fault)), 1);
        } else if options.has("verbose") || (options.has("changes") && changed) {
            let as_text = |mode| modes::text(&vfs::Stat { mode, ..file.stat })[1..].to_string();
            let (was, is) = (as_text(file.stat.mode), as_text(mode));
            let (old, display) = (file.stat.mode, &file.display);
            done.print(match changed {
                true => format!("mode of '{display}' changed from {old:04o} ({was}) to {mode:04o} ({is})\n"),
                false => format!("mode of '{display}' retained as {mode:04o} ({is})\n"),
            });
        }
    }
    for directory in unread {
        let what = format!("cannot read directory '{}'", directory.display);
        done.complain(cx.name, format!("{what}: {}", words(&directory.fault)), 1);
    }
}
