//! `ls`: names in directories, with owners and groups of this system.

use std::cmp::Reverse;

use jiff::tz::TimeZone;
use vfs::{Fault, FileKind, Follow, Stat, VPath};

use super::accounts::Accounts;
use super::options::{Opt, Options, flag, valued};
use super::walk::beside;
use super::{Command, Cx, Done, modes, times, words};
use crate::builtin_io::{Endless, Holds, Io};

pub(super) static COMMAND: Command = Command {
    name: "ls",
    aliases: &[],
    about: "list directories",
    usage: "[-aAdFhlLmnpRrsSt1] [--time-style STYLE] [--full-time] [FILE...]",
    manual: "\
One name per line.
  -a  also names that begin with a dot       -A  the same without . and ..
  -l  mode, links, owner, group, size, time  -n  the same with numbers instead of names
  -h  sizes as 1.5K, 3.0M                    -d  a directory itself, not what is in it
  -R  everything below                       -F  mark directories /, links @, programs *
  -S  largest first   -t  newest first   -r  the other way round
  -L  show what links lead to                -p  mark directories /
  -m  names in lines, with commas            -s  blocks of 1024 bytes before each name
--time-style is full-iso, long-iso, iso, locale or +FORMAT as for date; --full-time is -l with full-iso.
Exit code 2 when something named could not be listed.",
    io: Io { holds: Holds::Nothing, endless: Endless::Nothing, ..Io::PLAIN },
    run: |cx| Box::pin(run(cx)),
};

const KNOWN: &[Opt] = &[
    flag('a', "all"),
    flag('A', "almost-all"),
    flag('l', "long"),
    flag('n', "numeric-uid-gid"),
    flag('h', "human-readable"),
    flag('r', "reverse"),
    flag('R', "recursive"),
    flag('S', "size"),
    flag('t', "time"),
    flag('F', "classify"),
    flag('p', "slash"),
    flag('d', "directory"),
    flag('L', "dereference"),
    flag('1', "one"),
    flag('U', "unsorted"),
    flag('m', "commas"),
    flag('s', "blocks"),
    valued('\0', "time-style"),
    flag('\0', "full-time"),
    flag('\0', "group-directories-first"),
];

async fn run(cx: &Cx<'_>) -> Done {
    // Colour is for terminals; it is accepted so that habits do not fail.
    let args: Vec<String> = cx.args.iter().filter(|word| !word.starts_with("--color")).cloned().collect();
    let cx = &Cx { args: &args, ..*cx };
    match Options::parse(cx, &COMMAND, KNOWN, 2) {
        Ok(options) => Lister::new(cx, options).await.list().await,
        Err(done) => done,
    }
}

/// One line of a listing.
struct Entry {
    display: String,
    path: VPath,
    stat: Stat,
}

struct Lister<'a> {
    cx: &'a Cx<'a>,
    options: Options,
    accounts: Accounts,
    zone: TimeZone,
    done: Done,
}

impl<'a> Lister<'a> {
    async fn new(cx: &'a Cx<'a>, options: Options) -> Lister<'a> {
        let accounts = match options.has("long") || options.has("full-time") {
            true => Accounts::read(cx.view).await,
            false => Accounts::default(),
        };
        Lister { cx, options, accounts, zone: times::zone(cx), done: Done::default() }
    }

    fn long(&self) -> bool {
        ["long", "numeric-uid-gid", "full-time"].iter().any(|name| self.options.has(name))
    }

    async fn list(mut self) -> Done {
        let mut operands = std::mem::take(&mut self.options.operands);
        if operands.is_empty() {
            operands.push(".".to_string());
        }
        let several = operands.len() > 1 || self.options.has("recursive");
        let (mut files, mut directories) = (Vec::new(), Vec::new());
        for operand in operands {
            match self.look(&operand).await {
                Ok(entry) if entry.stat.kind == FileKind::Directory && !self.options.has("directory") => {
                    directories.push(entry);
                }
                Ok(entry) => files.push(entry),
                Err(fault) => self.cannot("access", &operand, &fault),
            }
        }
        self.sort(&mut files);
        self.sort(&mut directories);
        let mut first = files.is_empty();
        self.print(&files).await;
        directories.reverse();
        while let Some(directory) = directories.pop() {
            if several {
                let gap = if std::mem::take(&mut first) { "" } else { "\n" };
                self.done.print(format!("{gap}{}:\n", directory.display));
            }
            let below = self.directory(&directory).await;
            directories.extend(below.into_iter().rev());
        }
        self.done
    }

    async fn look(&self, operand: &str) -> Result<Entry, Fault> {
        let itself = self.long() || self.options.has("directory") || self.options.has("classify");
        let path = self.cx.view.path(operand)?;
        let follow = if itself && !self.options.has("dereference") { Follow::No } else { Follow::Yes };
        let stat = match self.cx.view.stat(&path, follow).await {
            // A link that leads nowhere is still there.
            Err(_) if follow == Follow::Yes => self.cx.view.stat(&path, Follow::No).await?,
            other => other?,
        };
        if operand.ends_with('/') && stat.kind == FileKind::File {
            return Err(Fault::new(vfs::Code::NotDirectory, "stat", operand));
        }
        Ok(Entry { display: operand.to_string(), path, stat })
    }

    /// Lists one directory; with `-R` answers the directories in it.
    async fn directory(&mut self, directory: &Entry) -> Vec<Entry> {
        let mut entries = match self.names_in(directory).await {
            Ok(entries) => entries,
            Err(fault) => {
                self.cannot("open directory", &directory.display, &fault);
                return Vec::new();
            }
        };
        self.sort(&mut entries);
        if self.long() {
            self.done.print(format!("total {}\n", entries.len()));
        } else if self.options.has("blocks") {
            let total: u64 = entries.iter().map(blocks).sum();
            self.done.print(format!("total {total}\n"));
        }
        self.print(&entries).await;
        if !self.options.has("recursive") {
            return Vec::new();
        }
        let inside = |entry: &Entry| {
            entry.stat.kind == FileKind::Directory && !matches!(entry.display.as_str(), "." | "..")
        };
        entries
            .into_iter()
            .filter(inside)
            .map(|entry| Entry { display: beside(&directory.display, &entry.display), ..entry })
            .collect()
    }

    async fn names_in(&self, directory: &Entry) -> Result<Vec<Entry>, Fault> {
        let view = self.cx.view;
        let hidden = self.options.has("all") || self.options.has("almost-all");
        let mut entries = Vec::new();
        if self.options.has("all") {
            let parent = directory.path.parent().unwrap_or_else(VPath::root);
            for (name, path) in [(".", directory.path.clone()), ("..", parent)] {
                let stat = view.stat(&path, Follow::Yes).await.unwrap_or(directory.stat);
                entries.push(Entry { display: name.to_string(), path, stat });
            }
        }
        for named in view.list(&directory.path).await? {
            if named.name.starts_with('.') && !hidden {
                continue;
            }
            let path = directory.path.join(&named.name);
            let mut stat = named.stat;
            if self.options.has("dereference") && stat.kind == FileKind::Link {
                stat = view.stat(&path, Follow::Yes).await.unwrap_or(stat);
            }
            entries.push(Entry { display: named.name, path, stat });
        }
        Ok(entries)
    }

    fn sort(&self, entries: &mut [Entry]) {
        if self.options.has("unsorted") {
            return;
        }
        // The last one given wins, as `-S -t` means by time.
        let by = self.options.given().filter(|(name, _)| matches!(*name, "size" | "time")).last();
        match by {
            Some(("size", _)) => entries
                .sort_by(|a, b| (Reverse(a.stat.size), &a.display).cmp(&(Reverse(b.stat.size), &b.display))),
            Some(_) => entries.sort_by(|a, b| {
                (Reverse(a.stat.modified_ms), &a.display).cmp(&(Reverse(b.stat.modified_ms), &b.display))
            }),
            None => entries.sort_by(|a, b| a.display.cmp(&b.display)),
        }
        if self.options.has("reverse") {
            entries.reverse();
        }
        if self.options.has("group-directories-first") {
            entries.sort_by_key(|entry| entry.stat.kind != FileKind::Directory);
        }
    }

    async fn print(&mut self, entries: &[Entry]) {
        let mut lines = Vec::with_capacity(entries.len());
        let wide = entries.iter().map(|entry| blocks(entry).to_string().len()).max().unwrap_or(0);
        for entry in entries {
            let blocks = match self.options.has("blocks") {
                true => format!("{:>wide$} ", blocks(entry)),
                false => String::new(),
            };
            lines.push((blocks, self.columns(entry), self.name(entry).await));
        }
        if self.options.has("commas") && !self.long() {
            self.done.print(commas(lines.into_iter().map(|(blocks, _, name)| blocks + &name)));
            return;
        }
        let mut widths = [0; 4];
        for (_, columns, _) in &lines {
            for (width, column) in widths.iter_mut().zip(&columns[1..]) {
                *width = (*width).max(column.chars().count());
            }
        }
        let [links, owner, group, size] = widths;
        for (blocks, [mode, l, o, g, s, time], name) in lines {
            let line = match self.long() {
                true => {
                    format!("{blocks}{mode} {l:>links$} {o:<owner$} {g:<group$} {s:>size$} {time} {name}\n")
                }
                false => format!("{blocks}{name}\n"),
            };
            self.done.print(line);
        }
    }

    /// Mode, links, owner, group, size and time; empty without `-l`.
    fn columns(&self, entry: &Entry) -> [String; 6] {
        if !self.long() {
            return Default::default();
        }
        let stat = &entry.stat;
        let (owner, group) = match self.options.has("numeric-uid-gid") {
            true => (stat.uid.to_string(), stat.gid.to_string()),
            false => (self.accounts.user(stat.uid), self.accounts.group(stat.gid)),
        };
        let size = if self.options.has("human-readable") { human(stat.size) } else { stat.size.to_string() };
        let time = self.time(stat.modified_ms);
        [modes::text(stat), "1".to_string(), owner, group, size, time]
    }

    /// When it was changed, in the style that was asked for.
    fn time(&self, ms: i64) -> String {
        let style =
            match self.options.given().filter(|(name, _)| matches!(*name, "time-style" | "full-time")).last()
            {
                Some(("full-time", _)) => "full-iso",
                Some((_, style)) => style,
                None => "locale",
            };
        let now_ms = self.cx.clock.now_ms();
        match style {
            "full-iso" => times::print("%Y-%m-%d %H:%M:%S.%3f000000 %z", ms, &self.zone),
            "long-iso" => times::print("%Y-%m-%d %H:%M", ms, &self.zone),
            "iso" if times::is_recent(ms, now_ms) => times::print("%m-%d %H:%M", ms, &self.zone),
            "iso" => times::print("%Y-%m-%d ", ms, &self.zone),
            _ => match style.strip_prefix('+') {
                Some(pattern) => times::print(pattern, ms, &self.zone),
                None => times::listed(ms, now_ms, &self.zone),
            },
        }
    }

    async fn name(&self, entry: &Entry) -> String {
        let mut name = entry.display.clone();
        if entry.stat.kind == FileKind::Link && self.long() {
            if let Ok(target) = self.cx.view.read_link(&entry.path).await {
                name = format!("{name} -> {target}");
            }
            return name;
        }
        let (classify, slash) = (self.options.has("classify"), self.options.has("slash"));
        match entry.stat.kind {
            FileKind::Directory if classify || slash => name.push('/'),
            FileKind::Link if classify => name.push('@'),
            FileKind::File if classify && entry.stat.mode & 0o111 != 0 => name.push('*'),
            _ => {}
        }
        name
    }

    fn cannot(&mut self, what: &str, display: &str, fault: &Fault) {
        self.done.complain(self.cx.name, format!("cannot {what} '{display}': {}", words(fault)), 2);
    }
}

/// How wide a line of `-m` may be.
const LINE: usize = 80;

/// Names with commas, as many to a line as fit.
fn commas(names: impl Iterator<Item = String>) -> String {
    let (mut out, mut column) = (String::new(), 0);
    for name in names {
        let width = name.chars().count() + 2;
        if column > 0 {
            let fits = column + width < LINE;
            out.push_str(if fits { ", " } else { ",\n" });
            column = if fits { column } else { 0 };
        }
        out.push_str(&name);
        column += width;
    }
    if out.is_empty() { out } else { out + "\n" }
}

/// What an entry takes up, in units of 1024 bytes, if blocks have 4096 of them.
fn blocks(entry: &Entry) -> u64 {
    match entry.stat.kind {
        FileKind::Link => 0,
        FileKind::Directory => 4,
        FileKind::File => entry.stat.size.div_ceil(4_096) * 4,
    }
}

/// `999`, `1.5K`, `12M`: rounded up, as people know it.
fn human(bytes: u64) -> String {
    if bytes < 1_024 {
        return bytes.to_string();
    }
    let mut unit = 1_024_u64;
    let mut letters = "KMGTPE".chars();
    let mut letter = letters.next().unwrap_or('K');
    while bytes.div_ceil(unit) >= 1_024 {
        let Some(next) = letters.next() else { break };
        (unit, letter) = (unit.saturating_mul(1_024), next);
    }
    let tenths = (u128::from(bytes) * 10).div_ceil(u128::from(unit));
    if tenths < 100 {
        format!("{}.{}{letter}", tenths / 10, tenths % 10)
    } else {
        format!("{}{letter}", bytes.div_ceil(unit))
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn sizes_are_rounded_up() {
        let cases =
            [(0, "0"), (1023, "1023"), (1024, "1.0K"), (1025, "1.1K"), (1536, "1.5K"), (10_240, "10K")];
        let more = [(10_241, "11K"), (1_048_575, "1.0M"), (1_048_576, "1.0M"), (u64::MAX, "16E")];
        for (bytes, text) in cases.into_iter().chain(more) {
            assert_eq!(super::human(bytes), text, "{bytes}");
        }
    }
}
