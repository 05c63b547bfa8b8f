//! `mkdir`: new directories.

use vfs::{Code, FileKind, Follow};

use super::masks::umask;
use super::modes::Change;
use super::operand_path::path_of;
use super::options::{Opt, Options, flag, valued};
use super::{Command, Cx, Done, words};
use crate::builtin_io::Io;

pub(super) static COMMAND: Command = Command {
    name: "mkdir",
    aliases: &[],
    about: "make directories",
    usage: "[-pv] [-m MODE] DIRECTORY...",
    manual: "\
  -p  also the missing directories on the way; one that is there already is no mistake
  -m  the permission bits, such as 700 or u=rwx,go=          -v  say what is made",
    io: Io::PLAIN,
    run: |cx| Box::pin(run(cx)),
};

const KNOWN: &[Opt] = &[flag('p', "parents"), flag('v', "verbose"), valued('m', "mode")];

async fn run(cx: &Cx<'_>) -> Done {
    let options = match Options::parse(cx, &COMMAND, KNOWN, 1) {
        Ok(options) => options,
        Err(done) => return done,
    };
    if options.operands.is_empty() {
        return cx.misused("missing operand");
    }
    let usual = 0o777 & !umask(cx);
    let mode = match options.value("mode").map(|text| (text, Change::parse(text))) {
        None => usual,
        Some((_, Some(change))) => change.apply(0o777, FileKind::Directory),
        Some((text, None)) => return cx.misused(format!("invalid mode '{text}'")),
    };
    let mut done = Done::default();
    for operand in &options.operands {
        let made = match options.has("parents") {
            true => with_parents(cx, operand, usual, mode, &options, &mut done).await,
            false => make(cx, operand, mode, &options, &mut done).await,
        };
        if let Err(why) = made {
            done.complain(cx.name, format!("cannot create directory '{why}"), 1);
        }
    }
    done
}

async fn make(
    cx: &Cx<'_>,
    display: &str,
    mode: u32,
    options: &Options,
    done: &mut Done,
) -> Result<(), String> {
    let why = |fault: vfs::Fault| format!("{display}': {}", words(&fault));
    let path = path_of(cx.view, display).await.map_err(why)?;
    cx.view.mkdir(&path, false, mode & 0o777).await.map_err(why)?;
    // What is made gets at most what the usual umask leaves.
    if mode & !0o755 != 0 {
        cx.view.chmod(&path, mode).await.map_err(why)?;
    }
    if options.has("verbose") {
        done.print(format!("{}: created directory '{display}'\n", cx.name));
    }
    Ok(())
}

/// Longest path that is made part by part, as on Linux: each part is looked up from the first one.
const PATH_BYTES_MAX: usize = 4_095;

async fn with_parents(
    cx: &Cx<'_>,
    operand: &str,
    usual: u32,
    mode: u32,
    options: &Options,
    done: &mut Done,
) -> Result<(), String> {
    if operand.len() > PATH_BYTES_MAX {
        return Err(format!("{operand}': {}", Code::NameTooLong.shell_words()));
    }
    let whole = operand.trim_end_matches('/');
    let ends = whole.match_indices('/').map(|(at, _)| at).filter(|at| *at > 0).chain([whole.len()]);
    for end in ends {
        let (display, is_last) = (&operand[..end], end == whole.len());
        if display.is_empty() || display.ends_with('/') {
            continue;
        }
        let found = match path_of(cx.view, display).await {
            Ok(path) => cx.view.stat(&path, Follow::Yes).await,
            Err(fault) => Err(fault),
        };
        match found {
            Ok(stat) if stat.kind == FileKind::Directory => {}
            Ok(_) => {
                let code = if is_last { Code::Exists } else { Code::NotDirectory };
                return Err(format!("{display}': {}", code.shell_words()));
            }
            // Whoever makes a directory on the way must be able to go on in it.
            Err(fault) if fault.code == Code::NotFound => {
                make(cx, display, if is_last { mode } else { usual | 0o300 }, options, done).await?;
            }
            Err(fault) => return Err(format!("{display}': {}", words(&fault))),
        }
    }
    Ok(())
}
