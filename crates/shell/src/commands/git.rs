//! `git`: a reading git over the repositories of this gateway, with `add`, `commit` and `clone`. It is not the git
//! program: everything it knows it asks the `repo.*` calls, in the caller's name.

mod blame;
mod branch;
mod clone;
mod commit;
mod content;
mod dates;
mod diff;
mod formats;
mod history;
mod hunks;
mod live;
mod log;
mod patch;
mod pathspec;
mod place;
mod quote;
mod rev_parse;
mod revisions;
mod show;
mod stat;
mod status;
mod trees;
mod words;

use super::options::OptionError;
use super::{Command, Cx, Done, flat};
use crate::builtin_io::Io;

pub(super) static COMMAND: Command = Command {
    name: "git",
    aliases: &[],
    about: "history of homes, workspaces and other repositories",
    usage: "[-C DIR] log | show | diff | status | blame | branch | rev-parse | add | commit | clone ...",
    manual: "\
A reading git over the repositories of this gateway. Your home (context.d, skills.d and knowledge) and every
workspace are repositories; changes there are committed by themselves within seconds.
    git log [-n N] [--oneline | --format=F] [--stat | -p | --name-only] [A..B] [-- PATH...]
    git show [REV | REV:PATH]
    git diff [REV [REV] | A..B] [--stat | --name-only | --name-status] [-- PATH...]
        without REV: what is not committed yet; --cached counts new files too
    git status [-s] [-b] [--porcelain]
    git blame [-L FROM,TO] [REV] FILE
    git branch [-v] [--show-current]
    git rev-parse HEAD | --show-toplevel | --abbrev-ref HEAD
    git add PATH..., git commit -m MESSAGE [PATH...]
        commits now what is not committed yet, with that message, new files included
    git clone OWNER/NAME [DIR], git clone /workspaces/ID [DIR], -b BRANCH
        copies the files into DIR, with a file .gsv-clone that says of which repository and commit they are;
        log, show, diff, status and blame work there. It is a copy: nothing is committed from it
REV is HEAD, a branch, a tag, a hash or its beginning, each with ~N or ^ behind it. Examples:
    git log --oneline -n 5
    git show HEAD~1:context.d/00-me.md
    git diff HEAD~3 --stat
Histories are followed along first parents. A moved file is shown as deleted and added, as with --no-renames. Times
are UTC. There is no index and no .gitignore: every file counts. Everything else (push, pull, merge ...) is for the git
program on a machine; `gsv auth git` sets it up there. Exit code 128 when something is wrong.",
    io: Io::PLAIN,
    run: |cx| Box::pin(async move { flat(run(cx).await) }),
};

/// The version whose formats these are.
const LIKE: &str = "2.47";

async fn run(cx: &Cx<'_>) -> Result<Done, Done> {
    let (mut view, mut at) = (cx.view.clone(), 0);
    let (name, rest) = loop {
        let Some(word) = cx.args.get(at) else { return Err(Done { code: 1, ..help() }) };
        at += 1;
        match word.as_str() {
            "-C" => {
                let directory = cx.args.get(at).ok_or_else(|| usage("no directory given for '-C' option"))?;
                at += 1;
                let path = view.path(directory).map_err(|fault| fatal(super::words(&fault)))?;
                let stat = view.stat(&path, vfs::Follow::Yes).await;
                if !stat.is_ok_and(|stat| stat.kind == vfs::FileKind::Directory) {
                    return Err(fatal(format!("cannot change to '{directory}': No such file or directory")));
                }
                view = view.at(path.as_str());
            }
            "--no-pager" | "-P" | "--no-optional-locks" | "--literal-pathspecs" => {}
            "--version" | "-v" => {
                return Ok(Done::printed(format!("git version {LIKE} (gsv {})\n", cx.settings.version)));
            }
            "--help" | "-h" => return Ok(help()),
            option if option.starts_with('-') => return Err(usage(format!("unknown option: {option}"))),
            name => break (name, &cx.args[at..]),
        }
    };
    if rest.iter().take_while(|word| *word != "--").any(|word| word == "--help") {
        return Ok(help());
    }
    let cx = &Cx { args: rest, view: &view, ..*cx };
    match name {
        "log" => log::run(cx).await,
        "show" => show::run(cx).await,
        "diff" => diff::run(cx).await,
        "status" => status::run(cx).await,
        "blame" | "annotate" => blame::run(cx).await,
        "branch" => branch::run(cx).await,
        "rev-parse" => rev_parse::run(cx).await,
        "add" | "stage" => commit::add(cx).await,
        "commit" => commit::commit(cx).await,
        "clone" => clone::run(cx).await,
        "help" => Ok(help()),
        "version" => Ok(Done::printed(format!("git version {LIKE} (gsv {})\n", cx.settings.version))),
        name => Err(elsewhere(name)),
    }
}

fn help() -> Done {
    Done::printed(format!("{}{}\n", COMMAND.usage_line(), COMMAND.manual))
}

/// What git does and this does not.
fn elsewhere(what: &str) -> Done {
    fatal(format!(
        "git {what} is not available here: this git reads, adds, commits and clones what is on this gateway. \
         For the rest use the git program on a machine; `gsv auth git` sets it up there"
    ))
}

/// It can not go on.
fn fatal(why: impl std::fmt::Display) -> Done {
    Done { stderr: format!("fatal: {why}\n").into_bytes(), code: 128, ..Done::default() }
}

/// Its words are wrong.
fn usage(why: impl std::fmt::Display) -> Done {
    let text = format!("error: {why}\n{}", COMMAND.usage_line());
    Done { stderr: text.into_bytes(), code: 129, ..Done::default() }
}

/// The same for words that an option parser did not take.
fn misread(wrong: OptionError) -> Done {
    match wrong {
        OptionError::Help => help(),
        OptionError::Because(why) => usage(format!("{why}; `git help` lists what is here")),
    }
}

/// A call was refused.
fn refused(error: &protocol::error::Error) -> Done {
    fatal(&error.message)
}

#[cfg(test)]
mod tests;
