//! `cp`: copies within this tree. Files of any size are copied without being held in memory.

use vfs::{Code, Fault, FileKind, Follow, Stat, VPath};

use super::masks::umask;
use super::options::{Opt, Options, flag, valued};
use super::walk::{Visited, beside, walk};
use super::{Command, Cx, Done, words};
use crate::builtin_io::{Endless, Io};

pub(super) static COMMAND: Command = Command {
    name: "cp",
    aliases: &[],
    about: "copy files and directories",
    usage: "[-afLnpPrTuv] [-t DIRECTORY] SOURCE... DESTINATION",
    manual: "\
  -r  also directories        -a  -r with times, modes and links kept   -p  keep times, modes and owners
  -n  never replace           -u  replace only what is older            -f  remove what cannot be replaced
  -L  follow links            -P  copy links as links                   -v  say what is done
Copies between machines are made from outside, with the gsv program: gsv cp macbook:/path gsv:/path",
    io: Io { endless: Endless::Nothing, ..Io::PLAIN },
    run: |cx| Box::pin(run(cx)),
};

const KNOWN: &[Opt] = &[
    flag('r', "recursive"),
    flag('R', "Recursive"),
    flag('a', "archive"),
    flag('p', "preserve"),
    flag('f', "force"),
    flag('i', "interactive"),
    flag('n', "no-clobber"),
    flag('u', "update"),
    flag('v', "verbose"),
    flag('L', "dereference"),
    flag('P', "no-dereference"),
    flag('d', "links"),
    flag('T', "no-target-directory"),
    valued('t', "target-directory"),
];

async fn run(cx: &Cx<'_>) -> Done {
    let options = match Options::parse(cx, &COMMAND, KNOWN, 1) {
        Ok(options) => options,
        Err(done) => return done,
    };
    let mut sources = options.operands.clone();
    for operand in &sources {
        if names_target(operand) && stat(cx, operand, Follow::No).await.is_err() {
            return across_targets(cx);
        }
    }
    if sources.is_empty() {
        return cx.misused("missing file operand");
    }
    let mut copier = Copier { cx, options: &options, done: Done::default() };
    let into = match options.value("target-directory") {
        Some(directory) => directory.to_string(),
        None if sources.len() == 1 => {
            return cx.misused(format!("missing destination file operand after '{}'", sources[0]));
        }
        None => sources.pop().unwrap_or_default(),
    };
    let at = stat(cx, &into, Follow::Yes).await;
    let is_directory = at.as_ref().is_ok_and(|stat| stat.kind == FileKind::Directory);
    let must_be = sources.len() > 1 || options.has("target-directory") || into.ends_with('/');
    let plain = options.has("no-target-directory");
    if must_be && !is_directory && !(sources.len() == 1 && into.ends_with('/') && copier.recursive()) {
        let why =
            at.map_or_else(|fault| words(&fault).to_string(), |_| Code::NotDirectory.shell_words().into());
        return cx.misused(format!("target '{into}': {why}"));
    }
    for source in &sources {
        let name = source.trim_end_matches('/').rsplit('/').next().unwrap_or(source);
        let to = if is_directory && !plain { beside(&into, name) } else { into.clone() };
        copier.copy(source, &to).await;
    }
    copier.done
}

/// Whether an operand looks like `device:/path`.
fn names_target(operand: &str) -> bool {
    let target = operand.split_once(":/").map(|(target, _)| target);
    target.is_some_and(|target| !target.is_empty() && !target.contains('/'))
}

/// Copies between machines are not made here.
pub(super) fn across_targets(cx: &Cx<'_>) -> Done {
    cx.misused("copies between machines are made from outside this shell: gsv cp DEVICE:/path gsv:/path")
}

async fn stat(cx: &Cx<'_>, operand: &str, follow: Follow) -> Result<Stat, Fault> {
    cx.view.stat(&cx.view.path(operand)?, follow).await
}

struct Copier<'a> {
    cx: &'a Cx<'a>,
    options: &'a Options,
    done: Done,
}

impl Copier<'_> {
    fn recursive(&self) -> bool {
        ["recursive", "Recursive", "archive"].iter().any(|name| self.options.has(name))
    }

    fn keeps(&self) -> bool {
        self.options.has("preserve") || self.options.has("archive")
    }

    /// Links named and met are followed unless it says otherwise; `-r` copies links as links.
    fn follow(&self) -> Follow {
        let kept = ["no-dereference", "links", "archive"].iter().any(|name| self.options.has(name));
        let kept = (kept || self.recursive()) && !self.options.has("dereference");
        if kept { Follow::No } else { Follow::Yes }
    }

    fn complain(&mut self, why: String) {
        self.done.complain(self.cx.name, why, 1);
    }

    async fn copy(&mut self, source: &str, to: &str) {
        let (met, unread) = match walk(self.cx.view, source, self.recursive(), self.follow()).await {
            Ok(both) => both,
            Err(fault) => return self.complain(format!("cannot stat '{source}': {}", words(&fault))),
        };
        let Some(first) = met.first() else { return };
        let root = match self.cx.view.path(to) {
            Ok(root) => root,
            Err(fault) => return self.complain(format!("cannot create '{to}': {}", words(&fault))),
        };
        if first.stat.kind == FileKind::Directory && !self.recursive() {
            return self.complain(format!("-r not specified; omitting directory '{source}'"));
        }
        if root == first.path {
            return self.complain(format!("'{source}' and '{to}' are the same file"));
        }
        if first.stat.kind == FileKind::Directory && root.is_within(&first.path) {
            return self.complain(format!("cannot copy a directory, '{source}', into itself, '{to}'"));
        }
        let (above, shown_above) = (first.path.as_str().len(), source.trim_end_matches('/').len());
        let mut directories = Vec::new();
        for file in met {
            let below = file.path.as_str()[above..].trim_start_matches('/');
            let target = below
                .split('/')
                .filter(|part| !part.is_empty())
                .fold(root.clone(), |path, part| path.join(part));
            let rest = file.display.get(shown_above..).unwrap_or_default().trim_start_matches('/');
            let display = if rest.is_empty() { to.to_string() } else { beside(to, rest) };
            match self.one(&file, &target, &display).await {
                Ok(true) if file.stat.kind == FileKind::Directory => directories.push((file, target)),
                Ok(_) => {}
                Err(why) => self.complain(why),
            }
        }
        for directory in unread {
            self.complain(format!("cannot access '{}': {}", directory.display, words(&directory.fault)));
        }
        // A directory's own time comes last: filling it changes it.
        for (file, target) in directories.iter().rev() {
            self.keep(file, target).await;
        }
    }

    /// Copies one; true when something was made or replaced.
    async fn one(&mut self, file: &Visited, to: &VPath, display: &str) -> Result<bool, String> {
        let view = self.cx.view;
        let is = view.stat(to, Follow::No).await.ok();
        let (from, kind) = (&file.display, file.stat.kind);
        match (kind, is.map(|stat| stat.kind)) {
            (FileKind::Directory, Some(FileKind::Directory)) => return Ok(true),
            (FileKind::Directory, Some(_)) => {
                return Err(format!("cannot overwrite non-directory '{display}' with directory '{from}'"));
            }
            (_, Some(FileKind::Directory)) => {
                return Err(format!("cannot overwrite directory '{display}' with non-directory"));
            }
            (_, Some(_)) if self.options.has("no-clobber") => return Ok(false),
            _ => {}
        }
        if self.options.has("update") && is.is_some_and(|is| is.modified_ms >= file.stat.modified_ms) {
            return Ok(false);
        }
        let cannot = |what: &str, fault: &Fault| format!("{what}: {}", words(fault));
        match kind {
            FileKind::Directory => {
                let made = view.mkdir(to, false, (file.stat.mode | 0o700) & !umask(self.cx)).await;
                made.map_err(|fault| cannot(&format!("cannot create directory '{display}'"), &fault))?;
            }
            FileKind::Link => {
                let target = view.read_link(&file.path).await;
                let target =
                    target.map_err(|fault| cannot(&format!("cannot read symbolic link '{from}'"), &fault))?;
                if is.is_some() {
                    let gone = view.remove(to, false).await;
                    gone.map_err(|fault| cannot(&format!("cannot remove '{display}'"), &fault))?;
                }
                let made = view.symlink(&target, to).await;
                made.map_err(|fault| cannot(&format!("cannot create symbolic link '{display}'"), &fault))?;
            }
            FileKind::File => self.file(file, to, display, is.is_some()).await?,
        }
        if self.options.has("verbose") {
            self.done.print(format!("'{from}' -> '{display}'\n"));
        }
        Ok(true)
    }

    async fn file(
        &mut self,
        file: &Visited,
        to: &VPath,
        display: &str,
        is_there: bool,
    ) -> Result<(), String> {
        let view = self.cx.view;
        let mut copied = view.copy(&file.path, to).await;
        let denied = copied.as_ref().is_err_and(|fault| fault.code == Code::Denied);
        if denied && is_there && self.options.has("force") && view.remove(to, false).await.is_ok() {
            copied = view.copy(&file.path, to).await;
        }
        if let Err(fault) = copied {
            let readable = view.may(&file.path, 4).await.unwrap_or(true);
            return Err(match (readable, is_there) {
                (false, _) => format!("cannot open '{}' for reading: {}", file.display, words(&fault)),
                (true, false) => format!("cannot create regular file '{display}': {}", words(&fault)),
                (true, true) => format!("cannot write '{display}': {}", words(&fault)),
            });
        }
        if !is_there && !self.keeps() {
            let mode = file.stat.mode & 0o777 & !umask(self.cx);
            let set = view.chmod(to, mode).await;
            set.map_err(|fault| format!("setting permissions for '{display}': {}", words(&fault)))?;
        }
        self.keep(file, to).await;
        Ok(())
    }

    /// Keeps owner, mode and time with `-p`; an owner that cannot be kept is not a failure.
    async fn keep(&mut self, file: &Visited, to: &VPath) {
        if !self.keeps() {
            return;
        }
        let (view, stat) = (self.cx.view, &file.stat);
        if view.who().uid.is_root()
            && let Err(fault) = view.chown(to, Some(stat.uid), Some(stat.gid)).await
        {
            self.complain(format!("failed to preserve ownership for '{to}': {}", words(&fault)));
        }
        for set in [view.chmod(to, stat.mode).await, view.set_modified(to, stat.modified_ms).await] {
            if let Err(fault) = set {
                self.complain(format!("preserving times for '{to}': {}", words(&fault)));
            }
        }
    }
}
