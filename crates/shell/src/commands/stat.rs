//! `stat`: metadata of files, by a format string.

use jiff::tz::TimeZone;
use vfs::{Fault, FileKind, Follow, Stat};

use super::accounts::Accounts;
use super::options::{Opt, Options, flag, valued};
use super::{Command, Cx, Done, modes, times, words};
use crate::builtin_io::{Endless, Holds, Io};

pub(super) static COMMAND: Command = Command {
    name: "stat",
    aliases: &[],
    about: "show owner, mode, size and time of files",
    usage: "[-L] [-t] [-c FORMAT | --printf FORMAT] FILE...",
    manual: "\
-L follows links. With -c each file is one line; --printf adds no line break and knows \\n and \\t.
  %n name   %N quoted name and link target   %s bytes   %F kind
  %a mode in octal   %A mode as text   %f kind and mode in hex   %h links
  %u %U owner as number and name       %g %G group as number and name
  %y time of the last change           %Y the same in seconds since 1970",
    io: Io { holds: Holds::Nothing, endless: Endless::Nothing, ..Io::PLAIN },
    run: |cx| Box::pin(run(cx)),
};

const KNOWN: &[Opt] =
    &[flag('L', "dereference"), valued('c', "format"), valued('\0', "printf"), flag('t', "terse")];

const TERSE: &str = "%n %s %b %f %u %g %D %i %h %t %T %X %Y %Z %W %o";

async fn run(cx: &Cx<'_>) -> Done {
    let options = match Options::parse(cx, &COMMAND, KNOWN, 1) {
        Ok(options) => options,
        Err(done) => return done,
    };
    if options.operands.is_empty() {
        return cx.misused("missing operand");
    }
    let follow = if options.has("dereference") { Follow::Yes } else { Follow::No };
    let (accounts, zone) = (Accounts::read(cx.view).await, times::zone(cx));
    let mut done = Done::default();
    for operand in &options.operands {
        match look(cx, operand, follow).await {
            Ok((stat, target)) => {
                let file = File { display: operand, stat, target, accounts: &accounts, zone: &zone };
                done.print(file.print(&options));
            }
            Err(fault) => done.complain(cx.name, format!("cannot statx '{operand}': {}", words(&fault)), 1),
        }
    }
    done
}

async fn look(cx: &Cx<'_>, operand: &str, follow: Follow) -> Result<(Stat, Option<String>), Fault> {
    let path = cx.view.path(operand)?;
    let stat = cx.view.stat(&path, follow).await?;
    let target = match stat.kind {
        FileKind::Link => cx.view.read_link(&path).await.ok(),
        _ => None,
    };
    Ok((stat, target))
}

struct File<'a> {
    display: &'a str,
    stat: Stat,
    target: Option<String>,
    accounts: &'a Accounts,
    zone: &'a TimeZone,
}

impl File<'_> {
    fn print(&self, options: &Options) -> String {
        if let Some(pattern) = options.value("printf") {
            return self.format(pattern, true);
        }
        match options.value("format") {
            Some(pattern) => self.format(pattern, false) + "\n",
            None if options.has("terse") => self.format(TERSE, false) + "\n",
            None => self.whole(),
        }
    }

    fn whole(&self) -> String {
        let name = match &self.target {
            Some(target) => format!("{} -> {target}", self.display),
            None => self.display.to_string(),
        };
        let rest = "  Size: %s\t%F\nAccess: (%04a/%A)  Uid: (%u/%U)   Gid: (%g/%G)\nModify: %y\n";
        format!("  File: {name}\n{}", self.format(rest, false))
    }

    fn format(&self, pattern: &str, escapes: bool) -> String {
        let mut out = String::new();
        let mut rest = pattern.chars();
        while let Some(letter) = rest.next() {
            match letter {
                '%' => {
                    let flags = rest.as_str().find(|c: char| !"0123456789-.#+ ".contains(c)).unwrap_or(0);
                    let (flags, after) = rest.as_str().split_at(flags);
                    rest = after.chars();
                    match rest.next() {
                        Some(letter) => out.push_str(&pad(flags, self.value(letter))),
                        None => out.push('%'),
                    }
                }
                '\\' if escapes => match rest.next() {
                    Some('n') => out.push('\n'),
                    Some('t') => out.push('\t'),
                    Some('0') => out.push('\0'),
                    Some(other) => out.push(other),
                    None => out.push('\\'),
                },
                other => out.push(other),
            }
        }
        out
    }

    fn value(&self, letter: char) -> String {
        let stat = &self.stat;
        match letter {
            'n' => self.display.to_string(),
            'N' => match &self.target {
                Some(target) => format!("{} -> {}", quoted(self.display), quoted(target)),
                None => quoted(self.display),
            },
            's' => stat.size.to_string(),
            'b' => stat.size.div_ceil(512).to_string(),
            'B' => "512".to_string(),
            'o' => "4096".to_string(),
            'h' => "1".to_string(),
            'F' => match stat.kind {
                FileKind::File if stat.size == 0 => "regular empty file",
                FileKind::File => "regular file",
                FileKind::Directory => "directory",
                FileKind::Link => "symbolic link",
            }
            .to_string(),
            'a' => format!("{:o}", stat.mode),
            'A' => modes::text(stat),
            'f' => {
                let kind = match stat.kind {
                    FileKind::File => 0o100_000,
                    FileKind::Directory => 0o040_000,
                    FileKind::Link => 0o120_000,
                };
                format!("{:x}", kind | stat.mode)
            }
            'u' => stat.uid.to_string(),
            'U' => self.accounts.user(stat.uid),
            'g' => stat.gid.to_string(),
            'G' => self.accounts.group(stat.gid),
            // Only the time of the last change is kept.
            'y' | 'x' | 'z' => times::print("%Y-%m-%d %H:%M:%S.%3f000000 %z", stat.modified_ms, self.zone),
            'Y' | 'X' | 'Z' => stat.modified_ms.div_euclid(1_000).to_string(),
            'w' => "-".to_string(),
            'W' | 'd' | 'D' | 'i' | 't' | 'T' => "0".to_string(),
            '%' => "%".to_string(),
            other => format!("%{other}"),
        }
    }
}

/// A value at its width: `%10s`, `%-10s`, `%04a`.
fn pad(flags: &str, value: String) -> String {
    let width = flags.trim_start_matches(['0', '-', '+', ' ', '#']).split('.').next().unwrap_or_default();
    let width: usize = width.parse().unwrap_or(0).min(1_024);
    let digits = value.bytes().all(|byte| byte.is_ascii_digit());
    match flags.chars().next() {
        Some('-') => format!("{value:<width$}"),
        Some('0') if digits => format!("{value:0>width$}"),
        _ => format!("{value:>width$}"),
    }
}

fn quoted(name: &str) -> String {
    format!("'{}'", name.replace('\'', r"'\''"))
}
