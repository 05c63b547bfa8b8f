//! `gzip`, `gunzip`, `zcat`: compression of files.

use std::io::{ErrorKind, Read};

use base::limits;
use flate2::Compression;
use flate2::read::{GzEncoder, MultiGzDecoder};
use vfs::{Code, Fault, FileKind, Follow, Stat, VPath};

use super::operand_path::path_of;
use super::options::{Opt, Options, flag, valued};
use super::sink::{Sink, Source, piped, source};
use super::walk::walk;
use super::{Command, Cx, Done, words};
use crate::builtin_io::Io;
use crate::stdin_demand::Stdin;

pub(super) static COMMAND: Command = Command {
    name: "gzip",
    aliases: &["gunzip", "zcat"],
    about: "compress files, or expand them again",
    usage: "[-cdfklnqrtv] [-1..-9] [-S SUFFIX] [FILE...]",
    manual: "\
Each FILE is replaced by FILE.gz with the same mode and time. gunzip is gzip -d, zcat is gzip -dc.
Without FILE, or with -, it reads what is piped in and prints.
  -c  print, and leave files as they are       -d  expand             -k  keep FILE
  -f  replace what is there already            -t  only test          -l  list sizes
  -r  everything below directories             -1 to -9  fast to small",
    io: Io::reading(Stdin::files("", &[])),
    run: |cx| Box::pin(run(cx)),
};

const KNOWN: &[Opt] = &[
    flag('c', "stdout"),
    flag('\0', "to-stdout"),
    flag('d', "decompress"),
    flag('\0', "uncompress"),
    flag('k', "keep"),
    flag('f', "force"),
    flag('t', "test"),
    flag('l', "list"),
    flag('v', "verbose"),
    flag('q', "quiet"),
    flag('n', "no-name"),
    flag('N', "name"),
    flag('r', "recursive"),
    valued('S', "suffix"),
    flag('1', "fast"),
    flag('2', "level-2"),
    flag('3', "level-3"),
    flag('4', "level-4"),
    flag('5', "level-5"),
    flag('6', "level-6"),
    flag('7', "level-7"),
    flag('8', "level-8"),
    flag('9', "best"),
];

/// A file that is left as it is was not a failure, only not done.
const LEFT: i32 = 2;

async fn run(cx: &Cx<'_>) -> Done {
    let options = match Options::parse(cx, &COMMAND, KNOWN, 1) {
        Ok(options) => options,
        Err(done) => return done,
    };
    let (lists, tests) = (options.has("list"), options.has("test"));
    let expands =
        cx.name != "gzip" || lists || tests || options.has("decompress") || options.has("uncompress");
    let prints = cx.name == "zcat" || options.has("stdout") || options.has("to-stdout");
    let work = match (lists, tests) {
        (true, _) => Work::List,
        (false, true) => Work::Test,
        (false, false) if prints => Work::Print,
        (false, false) => Work::Replace,
    };
    let suffix = options.value("suffix").unwrap_or(".gz").to_string();
    let mut zipper =
        Zipper { cx, options: &options, expands, work, suffix, done: Done::default(), listed: 0 };
    if options.operands.is_empty() {
        zipper.stdin().await;
    }
    for operand in &options.operands {
        if zipper.done.is_full() {
            break;
        }
        if operand == "-" {
            zipper.stdin().await;
        } else {
            zipper.operand(operand).await;
        }
    }
    if options.has("quiet") && zipper.done.code == LEFT {
        zipper.done.stderr.clear();
    }
    zipper.done
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Work {
    Print,
    Replace,
    Test,
    List,
}

/// How many bytes went in and came out.
struct Passed {
    before: u64,
    after: u64,
}

struct Zipper<'a> {
    cx: &'a Cx<'a>,
    options: &'a Options,
    expands: bool,
    work: Work,
    suffix: String,
    done: Done,
    listed: usize,
}

impl Zipper<'_> {
    fn failed(&mut self, display: &str, why: &str) {
        self.done.complain(self.cx.name, format!("{display}: {why}"), 1);
    }

    /// A warning; a real failure elsewhere outweighs it.
    fn left(&mut self, why: &str) {
        let before = self.done.code;
        self.done.complain(self.cx.name, why, LEFT);
        if before == 1 {
            self.done.code = 1;
        }
    }

    fn coded(&self, from: Source) -> Source {
        if self.expands {
            return Box::new(MultiGzDecoder::new(from));
        }
        let level = self.options.given().filter_map(|(name, _)| match name {
            "fast" => Some(1),
            "best" => Some(9),
            name => name.strip_prefix("level-")?.parse().ok(),
        });
        Box::new(GzEncoder::new(from, Compression::new(level.last().unwrap_or(6))))
    }

    async fn stdin(&mut self) {
        let stdin = self.cx.stdin;
        if self.expands && stdin.is_empty() {
            return self.failed("stdin", "unexpected end of file");
        }
        let sink = Sink::stdout(self.cx.view);
        self.pass(piped(stdin), stdin.len() as u64, "stdin", sink).await;
    }

    async fn operand(&mut self, operand: &str) {
        let (path, stat) = match self.look(operand).await {
            Ok(found) => found,
            // `gunzip x` means `x.gz` when there is no `x`.
            Err(fault)
                if self.expands && fault.code == Code::NotFound && !operand.ends_with(&self.suffix) =>
            {
                let longer = format!("{operand}{}", self.suffix);
                return match self.look(&longer).await {
                    Ok((path, stat)) => self.file(&longer, &path, &stat).await,
                    Err(_) => self.failed(operand, words(&fault)),
                };
            }
            Err(fault) => return self.failed(operand, words(&fault)),
        };
        if stat.kind != FileKind::Directory {
            return self.file(operand, &path, &stat).await;
        }
        if !self.options.has("recursive") {
            return self.left(&format!("{operand} is a directory -- ignored"));
        }
        match walk(self.cx.view, path.as_str(), true, Follow::No).await {
            Ok((met, _)) => {
                for file in met.into_iter().filter(|file| file.stat.kind == FileKind::File) {
                    if self.done.is_full() {
                        break;
                    }
                    let below = &file.path.as_str()[path.as_str().len()..];
                    let display = format!("{}{below}", operand.trim_end_matches('/'));
                    self.file(&display, &file.path, &file.stat).await;
                }
            }
            Err(fault) => self.failed(operand, words(&fault)),
        }
    }

    async fn look(&self, operand: &str) -> Result<(VPath, Stat), Fault> {
        let path = path_of(self.cx.view, operand).await?;
        let follow =
            if self.work == Work::Replace && !self.options.has("force") { Follow::No } else { Follow::Yes };
        let stat = self.cx.view.stat(&path, follow).await?;
        Ok((path, stat))
    }

    async fn file(&mut self, display: &str, path: &VPath, stat: &Stat) {
        if stat.kind == FileKind::Link {
            return self.failed(display, "Too many levels of symbolic links");
        }
        let goal = match self.goal(display) {
            Ok(goal) => goal,
            Err(why) => return self.left(&why),
        };
        let (from, stat) = match source(self.cx.view, path).await {
            Ok(opened) => opened,
            Err(fault) => return self.failed(display, words(&fault)),
        };
        if self.work != Work::Replace {
            let sink = Sink::stdout(self.cx.view);
            self.pass(from, stat.size, display, sink).await;
            return;
        }
        let to = match path_of(self.cx.view, &goal).await {
            Ok(to) => to,
            Err(fault) => return self.failed(&goal, words(&fault)),
        };
        if self.cx.view.stat(&to, Follow::No).await.is_ok() {
            if !self.options.has("force") {
                return self.left(&format!("{goal} already exists;\tnot overwritten"));
            }
            if let Err(fault) = self.cx.view.remove(&to, false).await {
                return self.failed(&goal, words(&fault));
            }
        }
        let sink = Sink::file(self.cx.view, to.clone(), 0o600);
        let Some(passed) = self.pass(from, stat.size, display, sink).await else { return };
        self.replace_original(display, &goal, path, &to, &stat, &passed).await;
    }

    /// What the file is called afterwards.
    fn goal(&self, display: &str) -> Result<String, String> {
        if self.work != Work::Replace {
            return Ok(display.to_string());
        }
        if !self.expands {
            return match display.ends_with(&self.suffix) && !self.options.has("force") {
                true => Err(format!("{display} already has {} suffix -- unchanged", self.suffix)),
                false => Ok(format!("{display}{}", self.suffix)),
            };
        }
        let short = |suffix: &str| {
            display.strip_suffix(suffix).filter(|name| !name.is_empty() && !name.ends_with('/'))
        };
        if let Some(name) = short(&self.suffix).or_else(|| short(".gz")).or_else(|| short(".z")) {
            return Ok(name.to_string());
        }
        match short(".tgz").or_else(|| short(".taz")) {
            Some(name) => Ok(format!("{name}.tar")),
            None => Err(format!("{display}: unknown suffix -- ignored")),
        }
    }

    /// The new file gets what the old one had, and the old one goes.
    async fn replace_original(
        &mut self,
        display: &str,
        goal: &str,
        path: &VPath,
        to: &VPath,
        stat: &Stat,
        passed: &Passed,
    ) {
        let view = self.cx.view;
        let mut result = view.chmod(to, stat.mode).await;
        if result.is_ok() {
            result = view.set_modified(to, stat.modified_ms).await;
        }
        let keeps = self.options.has("keep");
        if result.is_ok() && !keeps {
            result = view.remove(path, false).await;
        }
        if let Err(fault) = result {
            return self.failed(display, words(&fault));
        }
        if self.options.has("verbose") {
            let what = if keeps { "created" } else { "replaced with" };
            let line = format!("{display}:\t{} -- {what} {goal}\n", self.ratio(passed));
            self.done.stderr.extend_from_slice(line.as_bytes());
        }
    }

    fn ratio(&self, passed: &Passed) -> String {
        let (small, large) =
            if self.expands { (passed.before, passed.after) } else { (passed.after, passed.before) };
        // The header and the name in it are not counted.
        let small = small.saturating_sub(18) as f64;
        let saved = if large == 0 { 0.0 } else { (1.0 - small / large as f64) * 100.0 };
        format!("{saved:5.1}%")
    }

    /// Sends a file through; none when it failed, which has been said.
    async fn pass(&mut self, from: Source, before: u64, display: &str, mut sink: Sink<'_>) -> Option<Passed> {
        let mut coded = self.coded(from);
        let mut buffer = vec![0; limits::files::COPY_BYTES];
        let mut after = 0;
        let why = loop {
            match coded.read(&mut buffer) {
                Ok(0) => break None,
                Ok(length) => {
                    after += length as u64;
                    if matches!(self.work, Work::Test | Work::List) {
                        tokio::task::yield_now().await;
                    } else if let Err(fault) = sink.put(&buffer[..length]).await {
                        break Some(words(&fault).to_string());
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_garbage_after(&error, after) => {
                    self.left(&format!("{display}: decompression OK, trailing garbage ignored"));
                    break None;
                }
                Err(error) => break Some(self.said(&error)),
            }
        };
        let ended = if why.is_none() { sink.finish().await } else { sink.give_up().await };
        match ended {
            Ok(bytes) => self.done.print(bytes),
            Err(fault) => {
                self.failed(display, words(&fault));
                return None;
            }
        }
        if let Some(why) = why {
            self.failed(display, &why);
            return None;
        }
        let passed = Passed { before, after };
        match self.work {
            Work::List => self.list(display, &passed),
            Work::Test if self.options.has("verbose") => {
                self.done.stderr.extend_from_slice(format!("{display}:\t OK\n").as_bytes());
            }
            _ => {}
        }
        Some(passed)
    }

    fn list(&mut self, display: &str, passed: &Passed) {
        if self.listed == 0 && !self.options.has("quiet") {
            self.done.print("         compressed        uncompressed  ratio uncompressed_name\n");
        }
        self.listed += 1;
        let name = display.strip_suffix(&self.suffix).unwrap_or(display);
        let ratio = self.ratio(passed);
        self.done.print(format!("{:>19} {:>19} {ratio} {name}\n", passed.before, passed.after));
    }

    fn said(&self, error: &std::io::Error) -> String {
        match error.kind() {
            _ if !self.expands => error.to_string(),
            ErrorKind::UnexpectedEof => "unexpected end of file".to_string(),
            ErrorKind::InvalidInput if error.to_string().contains("header") => {
                "not in gzip format".to_string()
            }
            ErrorKind::InvalidInput if error.to_string().contains("corrupt gzip") => {
                "invalid compressed data--crc error".to_string()
            }
            _ => format!("invalid compressed data--format violated ({error})"),
        }
    }
}

/// Whether the file was whole before what cannot be read.
fn is_garbage_after(error: &std::io::Error, after: u64) -> bool {
    after > 0 && error.kind() == ErrorKind::InvalidInput && error.to_string().contains("header")
}
