//! `rm`: removes files and, with `-r`, directories and all in them.

use vfs::{Code, Fault, FileKind, Follow, VPath, View};

use super::answers::Answers;
use super::operand_path::{last_name, resolve};
use super::options::{Opt, Options, flag};
use super::walk::{Visited, beside};
use super::{Command, Cx, Done, words};
use crate::builtin_io::Io;

pub(super) static COMMAND: Command = Command {
    name: "rm",
    aliases: &[],
    about: "remove files and directories",
    usage: "[-dfirRv] FILE...",
    manual: "\
  -r  also directories and all in them      -d  also empty directories      -v  say what is removed
  -f  a missing file is no mistake; what may not be removed still is
  -i  ask before each; the answers are the lines piped in, and without any nothing is removed
  -I  ask once before a recursive removal or more than three files
Links are removed, not followed. /, . and .., homes, workspaces and mount points are never removed, nor emptied.",
    io: Io::PLAIN,
    run: |cx| Box::pin(run(cx)),
};

const KNOWN: &[Opt] = &[
    flag('r', "recursive"),
    flag('R', "Recursive"),
    flag('f', "force"),
    flag('i', "interactive"),
    flag('I', "once"),
    flag('d', "dir"),
    flag('v', "verbose"),
    flag('\0', "preserve-root"),
    flag('\0', "one-file-system"),
];

async fn run(cx: &Cx<'_>) -> Done {
    let options = match Options::parse(cx, &COMMAND, KNOWN, 1) {
        Ok(options) => options,
        Err(done) => return done,
    };
    // Of those that contradict each other the last one counts.
    let mood = options.given().filter(|(name, _)| matches!(*name, "force" | "interactive" | "once")).last();
    let mood = mood.map_or("", |(name, _)| name);
    if options.operands.is_empty() {
        return if options.has("force") { Done::default() } else { cx.misused("missing operand") };
    }
    let mut remover = Remover {
        cx,
        recursive: options.has("recursive") || options.has("Recursive"),
        empty: options.has("dir"),
        verbose: options.has("verbose"),
        force: mood == "force",
        asks: mood == "interactive",
        answers: Answers::of(cx),
        done: Done::default(),
    };
    if mood == "once" && (remover.recursive || options.operands.len() > 3) {
        let many = options.operands.len();
        let (noun, how) = (
            if many == 1 { "argument" } else { "arguments" },
            if remover.recursive { " recursively" } else { "" },
        );
        if !remover.ask(&format!("remove {many} {noun}{how}?")) {
            return remover.done;
        }
    }
    for operand in &options.operands {
        remover.operand(operand).await;
    }
    remover.done
}

struct Remover<'a> {
    cx: &'a Cx<'a>,
    recursive: bool,
    empty: bool,
    verbose: bool,
    force: bool,
    asks: bool,
    answers: Answers<'a>,
    done: Done,
}

impl Remover<'_> {
    fn ask(&mut self, question: &str) -> bool {
        self.answers.ask(self.cx, &mut self.done, question)
    }

    fn complain(&mut self, why: String) {
        self.done.complain(self.cx.name, why, 1);
    }

    fn cannot(&mut self, display: &str, fault: &Fault) {
        self.complain(format!("cannot remove '{display}': {}", words(fault)));
    }

    async fn operand(&mut self, operand: &str) {
        if matches!(last_name(operand), "." | "..") {
            return self.complain(format!("refusing to remove '.' or '..' directory: skipping '{operand}'"));
        }
        let (path, stat) = match self.look(operand).await {
            Ok(both) => both,
            Err(fault) if self.force && matches!(fault.code, Code::NotFound | Code::NotDirectory) => return,
            Err(fault) => return self.cannot(operand, &fault),
        };
        if path == VPath::root() {
            return self.complain("it is dangerous to operate recursively on '/'".to_string());
        }
        // Asked before anything below it is removed: what cannot go itself must not lose what is in it.
        if stat.kind == FileKind::Directory
            && (self.recursive || self.empty)
            && let Some(why) = View::protection(&path)
        {
            return self.complain(format!("refusing to remove '{operand}': '{path}' {why}"));
        }
        let first = Visited { path, display: operand.to_string(), stat };
        match first.stat.kind {
            FileKind::Directory if self.recursive && !self.asks && !self.verbose => self.whole(first).await,
            FileKind::Directory if self.recursive => self.each(first).await,
            FileKind::Directory if !self.empty => {
                let fault = Fault::new(Code::IsDirectory, "unlink", operand);
                self.cannot(operand, &fault);
            }
            _ => self.one(&first).await,
        }
    }

    async fn look(&self, operand: &str) -> Result<(VPath, vfs::Stat), Fault> {
        let path = resolve(self.cx.view, operand, Follow::No).await?;
        let stat = self.cx.view.stat(&path, Follow::No).await?;
        if operand.ends_with('/') && stat.kind != FileKind::Directory {
            return Err(Fault::new(Code::NotDirectory, "unlink", operand));
        }
        Ok((path, stat))
    }

    /// All of it at once; when something in it cannot be removed, one by one, so that it is named and the rest
    /// goes. Nothing is removed by way of a link that was put in the way meanwhile.
    async fn whole(&mut self, first: Visited) {
        if self.cx.view.remove(&first.path, true).await.is_err() {
            self.each(first).await;
        }
    }

    /// A directory and all below it, what is below first.
    async fn each(&mut self, first: Visited) {
        // A directory comes twice: to be entered, and with what it holds gone, to be removed.
        let mut todo = vec![(first, false)];
        while let Some((met, was_entered)) = todo.pop() {
            if met.stat.kind != FileKind::Directory || was_entered {
                self.one(&met).await;
                continue;
            }
            let names = match self.cx.view.list(&met.path).await {
                Ok(names) => names,
                Err(fault) if fault.code == Code::NotFound => continue,
                Err(fault) => {
                    self.cannot(&met.display, &fault);
                    continue;
                }
            };
            if self.asks && !names.is_empty() {
                let question = format!("descend into directory '{}'?", met.display);
                if !self.ask(&question) {
                    continue;
                }
            }
            let below: Vec<_> = names
                .into_iter()
                .rev()
                .map(|named| {
                    let (path, display) = (met.path.join(&named.name), beside(&met.display, &named.name));
                    (Visited { path, display, stat: named.stat }, false)
                })
                .collect();
            todo.push((met, true));
            todo.extend(below);
        }
    }

    /// A file, a link or an empty directory.
    async fn one(&mut self, met: &Visited) {
        let (display, is_directory) = (&met.display, met.stat.kind == FileKind::Directory);
        let kind = match met.stat.kind {
            FileKind::Directory => "directory",
            FileKind::Link => "symbolic link",
            FileKind::File if met.stat.size == 0 => "regular empty file",
            FileKind::File => "regular file",
        };
        if self.asks && !self.ask(&format!("remove {kind} '{display}'?")) {
            return;
        }
        match self.cx.view.remove_met(&met.path).await {
            Ok(()) if self.verbose && is_directory => {
                self.done.print(format!("removed directory '{display}'\n"))
            }
            Ok(()) if self.verbose => self.done.print(format!("removed '{display}'\n")),
            Ok(()) => {}
            // What could not be removed in it has been said.
            Err(fault) if fault.code == Code::NotEmpty && is_directory && self.recursive => {
                if self.done.code == 0 {
                    self.cannot(display, &fault);
                }
            }
            Err(fault) if fault.code == Code::NotFound && self.force => {}
            Err(fault) => self.cannot(display, &fault),
        }
    }
}
