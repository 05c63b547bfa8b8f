//! `ln`: symbolic links. The tree has no hard links, and says so rather than making something else.

use vfs::{Code, Fault, FileKind, Follow, VPath};

use super::operand_path::{Missing, canonical, last_name, path_of, relative};
use super::options::{Opt, Options, flag, valued};
use super::walk::beside;
use super::{Command, Cx, Done, words};
use crate::builtin_io::Io;

pub(super) static COMMAND: Command = Command {
    name: "ln",
    aliases: &[],
    about: "make symbolic links",
    usage: "-s [-fnrTv] [-t DIRECTORY] TARGET... [LINK]",
    manual: "\
  -f  replace what is there            -n  a link to a directory is replaced, not entered
  -r  a target relative to the link    -T  LINK is never a directory to make a link in      -v  say what is made
Without LINK the link is made in the current directory. This tree has no hard links.",
    io: Io::PLAIN,
    run: |cx| Box::pin(run(cx)),
};

const KNOWN: &[Opt] = &[
    flag('s', "symbolic"),
    flag('f', "force"),
    flag('n', "no-dereference"),
    flag('r', "relative"),
    flag('v', "verbose"),
    flag('T', "no-target-directory"),
    flag('L', "logical"),
    flag('P', "physical"),
    valued('t', "target-directory"),
];

async fn run(cx: &Cx<'_>) -> Done {
    let options = match Options::parse(cx, &COMMAND, KNOWN, 1) {
        Ok(options) => options,
        Err(done) => return done,
    };
    let mut targets = options.operands.clone();
    let plain = options.has("no-target-directory");
    if targets.is_empty() {
        return cx.misused("missing file operand");
    }
    let into = match options.value("target-directory") {
        Some(directory) => directory.to_string(),
        None if targets.len() == 1 && plain => {
            return cx.misused(format!("missing destination file operand after '{}'", targets[0]));
        }
        None if targets.len() == 1 => ".".to_string(),
        None => targets.pop().unwrap_or_default(),
    };
    let is_directory = !plain && is_directory(cx, &into, options.has("no-dereference")).await;
    if (targets.len() > 1 || options.has("target-directory")) && !is_directory {
        return cx.misused(format!("target '{into}' is not a directory"));
    }
    let mut done = Done::default();
    for target in &targets {
        let link = match (is_directory, into.as_str()) {
            (true, ".") => last_name(target).to_string(),
            (true, into) => beside(into, last_name(target)),
            (false, into) => into.to_string(),
        };
        match make(cx, target, &link, &options).await {
            Ok(target) if options.has("verbose") => done.print(format!("'{link}' -> '{target}'\n")),
            Ok(_) => {}
            Err(why) => done.complain(cx.name, why, 1),
        }
    }
    done
}

async fn is_directory(cx: &Cx<'_>, operand: &str, only_real: bool) -> bool {
    let Ok(path) = path_of(cx.view, operand).await else { return false };
    let follow = if only_real && !operand.ends_with('/') { Follow::No } else { Follow::Yes };
    cx.view.stat(&path, follow).await.is_ok_and(|stat| stat.kind == FileKind::Directory)
}

/// Makes one link; the answer is what it leads to as written.
async fn make(cx: &Cx<'_>, target: &str, link: &str, options: &Options) -> Result<String, String> {
    if !options.has("symbolic") {
        return Err(no_hard_link(cx, target, link).await);
    }
    let cannot = |fault: &Fault| format!("failed to create symbolic link '{link}': {}", words(fault));
    let path = path_of(cx.view, link).await.map_err(|fault| cannot(&fault))?;
    let text = match options.has("relative") {
        true => from_link(cx, target, &path).await.map_err(|fault| cannot(&fault))?,
        false => target.to_string(),
    };
    if text.is_empty() {
        return Err(cannot(&Fault::new(Code::NotFound, "symlink", link)));
    }
    match cx.view.symlink(&text, &path).await {
        Err(fault) if fault.code == Code::Exists && options.has("force") => {
            if path_of(cx.view, target).await.is_ok_and(|target| target == path) {
                return Err(format!("'{target}' and '{link}' are the same file"));
            }
            replace(cx, &text, &path).await.map_err(|fault| match fault.code {
                Code::IsDirectory => format!("{link}: cannot overwrite directory"),
                _ => cannot(&fault),
            })?;
        }
        made => made.map_err(|fault| cannot(&fault))?,
    }
    Ok(text)
}

/// Puts a link in the place of what is there; nobody sees the place empty.
async fn replace(cx: &Cx<'_>, target: &str, path: &VPath) -> Result<(), Fault> {
    let view = cx.view;
    if view.stat(path, Follow::No).await?.kind == FileKind::Directory {
        return Err(Fault::new(Code::IsDirectory, "symlink", path.as_str()));
    }
    let beside = path.parent().unwrap_or_else(VPath::root).join(&base::random::tagged(".ln-"));
    view.symlink(target, &beside).await?;
    let moved = view.rename(&beside, path).await;
    if moved.is_err() {
        view.remove(&beside, false).await?;
    }
    moved
}

async fn from_link(cx: &Cx<'_>, target: &str, link: &VPath) -> Result<String, Fault> {
    let directory = link.parent().unwrap_or_else(VPath::root);
    let from = canonical(cx.view, directory.as_str(), Missing::Any).await?;
    Ok(relative(&from, &canonical(cx.view, target, Missing::Any).await?))
}

async fn no_hard_link(cx: &Cx<'_>, target: &str, link: &str) -> String {
    let found = match path_of(cx.view, target).await {
        Ok(path) => cx.view.stat(&path, Follow::No).await,
        Err(fault) => Err(fault),
    };
    match found {
        Err(fault) => format!("failed to access '{target}': {}", words(&fault)),
        Ok(stat) if stat.kind == FileKind::Directory => {
            format!("{target}: hard link not allowed for directory")
        }
        Ok(_) => {
            let words = Code::Unsupported.shell_words();
            format!("failed to create hard link '{link}' => '{target}': {words}")
        }
    }
}
