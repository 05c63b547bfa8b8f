//! `mv`: moves and renames. From one part of the tree to another a move is a copy and a removal.

use vfs::{Code, Fault, FileKind, Follow, Stat, VPath};

use super::answers::Answers;
use super::operand_path::{last_name, path_of};
use super::options::{Opt, Options, flag, valued};
use super::walk::{beside, walk};
use super::{Command, Cx, Done, words};
use crate::builtin_io::Io;

pub(super) static COMMAND: Command = Command {
    name: "mv",
    aliases: &[],
    about: "move or rename files and directories",
    usage: "[-finTuv] [-t DIRECTORY] SOURCE... DESTINATION",
    manual: "\
  -n  never replace           -u  replace only what is older          -v  say what is moved
  -f  replace without asking  -i  ask before replacing; the answers are the lines piped in
  -t  into this directory     -T  DESTINATION is never a directory to move into",
    io: Io::PLAIN,
    run: |cx| Box::pin(run(cx)),
};

const KNOWN: &[Opt] = &[
    flag('f', "force"),
    flag('i', "interactive"),
    flag('n', "no-clobber"),
    flag('u', "update"),
    flag('v', "verbose"),
    flag('T', "no-target-directory"),
    flag('\0', "strip-trailing-slashes"),
    valued('t', "target-directory"),
];

async fn run(cx: &Cx<'_>) -> Done {
    let options = match Options::parse(cx, &COMMAND, KNOWN, 1) {
        Ok(options) => options,
        Err(done) => return done,
    };
    let mut sources = options.operands.clone();
    if sources.is_empty() {
        return cx.misused("missing file operand");
    }
    let into = match options.value("target-directory") {
        Some(directory) => directory.to_string(),
        None if sources.len() == 1 => {
            return cx.misused(format!("missing destination file operand after '{}'", sources[0]));
        }
        None => sources.pop().unwrap_or_default(),
    };
    let plain = options.has("no-target-directory");
    if plain && sources.len() > 1 {
        return cx.misused(format!("extra operand '{into}'"));
    }
    let at = look(cx, &into, Follow::Yes).await;
    let is_directory = at.as_ref().is_ok_and(|(_, stat)| stat.kind == FileKind::Directory);
    if (sources.len() > 1 || options.has("target-directory")) && !is_directory {
        let why = at.map_or_else(|fault| words(&fault).to_string(), |_| not_directory());
        return cx.misused(format!("target '{into}': {why}"));
    }
    // Of those that contradict each other the last one counts.
    let mood =
        options.given().filter(|(name, _)| matches!(*name, "force" | "interactive" | "no-clobber")).last();
    let mut mover = Mover {
        cx,
        options: &options,
        mood: mood.map_or("", |(name, _)| name),
        answers: Answers::of(cx),
        done: Done::default(),
    };
    for source in &sources {
        let to = if is_directory && !plain { beside(&into, last_name(source)) } else { into.clone() };
        if let Err(why) = mover.one(source, &to).await {
            mover.done.complain(cx.name, why, 1);
        }
    }
    mover.done
}

fn not_directory() -> String {
    Code::NotDirectory.shell_words().to_string()
}

async fn look(cx: &Cx<'_>, operand: &str, follow: Follow) -> Result<(VPath, Stat), Fault> {
    let path = path_of(cx.view, operand).await?;
    let stat = cx.view.stat(&path, follow).await?;
    Ok((path, stat))
}

struct Mover<'a> {
    cx: &'a Cx<'a>,
    options: &'a Options,
    mood: &'static str,
    answers: Answers<'a>,
    done: Done,
}

impl Mover<'_> {
    async fn one(&mut self, source: &str, to: &str) -> Result<(), String> {
        let stat_failed = |fault: Fault| format!("cannot stat '{source}': {}", words(&fault));
        let (from, stat) = look(self.cx, source, Follow::No).await.map_err(stat_failed)?;
        let is_directory = stat.kind == FileKind::Directory;
        if source.ends_with('/') && !is_directory {
            return Err(format!("cannot stat '{source}': {}", not_directory()));
        }
        let cannot = |fault: Fault| format!("cannot move '{source}' to '{to}': {}", words(&fault));
        if matches!(last_name(source), "." | "..") {
            return Err(format!("cannot move '{source}' to '{to}': Device or resource busy"));
        }
        let goal = path_of(self.cx.view, to).await.map_err(cannot)?;
        let is = self.cx.view.stat(&goal, Follow::No).await.ok();
        if goal == from {
            return Err(format!("'{source}' and '{to}' are the same file"));
        }
        if to.ends_with('/') && !is_directory && is.is_none() {
            return Err(format!("cannot move '{source}' to '{to}': {}", not_directory()));
        }
        if is_directory && goal.is_within(&from) {
            return Err(format!("cannot move '{source}' to a subdirectory of itself, '{to}'"));
        }
        if let Some(is) = is
            && !self.replaces(source, to, &stat, &is)?
        {
            return Ok(());
        }
        match self.cx.view.rename(&from, &goal).await {
            Err(fault) if fault.code == Code::CrossDevice => self.across(&from, &goal, source, to).await?,
            moved => moved.map_err(cannot)?,
        }
        if self.options.has("verbose") {
            self.done.print(format!("renamed '{source}' -> '{to}'\n"));
        }
        Ok(())
    }

    /// Whether what is there is to be replaced.
    fn replaces(&mut self, source: &str, to: &str, stat: &Stat, is: &Stat) -> Result<bool, String> {
        let older = is.modified_ms < stat.modified_ms;
        if self.mood == "no-clobber" || (self.options.has("update") && !older) {
            return Ok(false);
        }
        let asks = self.mood == "interactive";
        if asks && !self.answers.ask(self.cx, &mut self.done, &format!("overwrite '{to}'?")) {
            return Ok(false);
        }
        match (stat.kind == FileKind::Directory, is.kind == FileKind::Directory) {
            (true, false) => Err(format!("cannot overwrite non-directory '{to}' with directory '{source}'")),
            (false, true) => Err(format!("cannot overwrite directory '{to}' with non-directory '{source}'")),
            _ => Ok(true),
        }
    }

    /// A copy with modes and times kept, and a removal once all of it is there.
    async fn across(&self, from: &VPath, goal: &VPath, source: &str, to: &str) -> Result<(), String> {
        let view = self.cx.view;
        let cannot = |fault: Fault| format!("cannot move '{source}' to '{to}': {}", words(&fault));
        let (met, unread) = walk(view, from.as_str(), true, Follow::No).await.map_err(cannot)?;
        if let Some(unread) = unread.into_iter().next() {
            return Err(format!("cannot access '{}': {}", unread.display, words(&unread.fault)));
        }
        for file in &met {
            let below = &file.path.as_str()[from.as_str().len()..];
            let target = VPath::absolute(&format!("{goal}{below}")).map_err(cannot)?;
            match file.stat.kind {
                FileKind::Directory => view.mkdir(&target, false, file.stat.mode | 0o700).await,
                FileKind::File => view.copy(&file.path, &target).await,
                FileKind::Link => match view.read_link(&file.path).await {
                    Ok(leads) => view.symlink(&leads, &target).await,
                    Err(fault) => Err(fault),
                },
            }
            .map_err(cannot)?;
        }
        for file in met.iter().rev().filter(|file| file.stat.kind != FileKind::Link) {
            let below = &file.path.as_str()[from.as_str().len()..];
            let target = VPath::absolute(&format!("{goal}{below}")).map_err(cannot)?;
            // What the kernel shows as files has modes and times of its own.
            match view.chmod(&target, file.stat.mode).await {
                Err(fault) if fault.code != Code::NotPermitted => return Err(cannot(fault)),
                _ => view.set_modified(&target, file.stat.modified_ms).await.map_err(cannot)?,
            }
        }
        let gone = view.remove(from, true).await;
        gone.map_err(|fault| format!("cannot remove '{source}': {}", words(&fault)))
    }
}
