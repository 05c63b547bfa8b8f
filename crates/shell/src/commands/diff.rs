//! `diff`: what changed between two files, or between two directories with all that is in them.

mod print;
mod script;
mod texts;
mod tree;

use base::limits;
use jiff::tz::TimeZone;
use vfs::{FileKind, Follow};

use super::options::{Opt, Options, flag, valued};
use super::{Command, Cx, Done, flat, times, words};
use crate::builtin_io::{self, Io};
use print::Columns;
use texts::{Ignored, Text};

pub(super) static COMMAND: Command = Command {
    name: "diff",
    aliases: &[],
    about: "compare files line by line",
    usage: "[-u | -c | -y] [-U N] [-C N] [-W N] [-rNqs] [-iwbBEZa] [-L LABEL] [-x PATTERN] FILE FILE",
    manual: "\
-u  with three lines around, -U N with N     -c, -C N  the same in the older form
-y  side by side, -W N columns wide          -q  only whether they differ    -s  also whether they do not
-r  directories with all that is in them     -N  what is missing counts as empty
-x PATTERN  leave out such names             -L LABEL  instead of a name and time
-i  no matter upper or lower case            -w  no matter the blanks   -b  no matter how many blanks
-B  no matter the empty lines                -Z  no matter the blanks at the end
-a  also what is no text                     - is standard input
Exit code 0 when there is no difference, 1 when there is one, 2 when something went wrong.",
    io: Io::PLAIN,
    run: |cx| Box::pin(run(cx)),
};

const KNOWN: &[Opt] = &[
    valued('U', "unified"),
    valued('C', "context"),
    flag('y', "side-by-side"),
    valued('W', "width"),
    flag('\0', "left-column"),
    flag('\0', "suppress-common-lines"),
    flag('\0', "normal"),
    flag('r', "recursive"),
    flag('N', "new-file"),
    flag('q', "brief"),
    flag('s', "report-identical-files"),
    flag('i', "ignore-case"),
    flag('w', "ignore-all-space"),
    flag('b', "ignore-space-change"),
    flag('Z', "ignore-trailing-space"),
    flag('E', "ignore-tab-expansion"),
    flag('B', "ignore-blank-lines"),
    flag('\0', "strip-trailing-cr"),
    flag('a', "text"),
    flag('d', "minimal"),
    flag('H', "speed-large-files"),
    valued('L', "label"),
    valued('x', "exclude"),
];

/// Lines around a change unless a number says otherwise.
const AROUND: &str = "3";
/// Columns of `-y` unless `-W` says otherwise.
const WIDTH: u64 = 130;
/// How much of a file is looked at to tell text from what is none.
const PROBED: usize = 32 * 1024;

async fn run(cx: &Cx<'_>) -> Done {
    let args: Vec<String> = cx.args.iter().flat_map(|word| spell_out(word)).collect();
    flat(compare(cx, &args).await)
}

/// `-u` and `-c` have no number, `-U` and `-C` do; `-ru` is two options.
fn spell_out(word: &str) -> Vec<String> {
    match word {
        "--unified" => vec![format!("--unified={AROUND}")],
        "--context" => vec![format!("--context={AROUND}")],
        word if word.starts_with("--color") => Vec::new(),
        word if word.len() > 1 && word.starts_with('-') && !word.starts_with("--") => letters(&word[1..]),
        word => vec![word.to_string()],
    }
}

fn letters(cluster: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut plain = String::new();
    for (at, letter) in cluster.char_indices() {
        match letter {
            'u' => words.push(format!("--unified={AROUND}")),
            'c' => words.push(format!("--context={AROUND}")),
            // The rest is its value.
            'U' | 'C' | 'W' | 'L' | 'x' => {
                plain.push_str(&cluster[at..]);
                break;
            }
            letter => plain.push(letter),
        }
    }
    if !plain.is_empty() {
        words.push(format!("-{plain}"));
    }
    words
}

async fn compare(cx: &Cx<'_>, args: &[String]) -> Result<Done, Done> {
    let options = Options::parse(&Cx { args, ..*cx }, &COMMAND, KNOWN, 2)?;
    let trouble = |why: String| Done::failed(cx.name, why, 2);
    let [old, new] = match options.operands.as_slice() {
        [old, new] => [old.clone(), new.clone()],
        [] => return Err(trouble("missing operand after 'diff'".to_string())),
        [only] => return Err(trouble(format!("missing operand after '{only}'"))),
        [_, _, third, ..] => return Err(trouble(format!("extra operand '{third}'"))),
    };
    let style = Style::chosen(&options).map_err(trouble)?;
    let mut comparing = Comparing { cx, options, style, zone: times::zone(cx), done: Done::default() };
    comparing.operands(old, new).await;
    Ok(comparing.done)
}

enum Style {
    Normal,
    Unified(usize),
    Context(usize),
    Columns(Columns),
}

impl Style {
    fn chosen(options: &Options) -> Result<Style, String> {
        let chosen = options
            .given()
            .filter(|(name, _)| matches!(*name, "unified" | "context" | "side-by-side" | "normal"))
            .last();
        let number = |text: &str| text.parse().map_err(|_| format!("invalid context length '{text}'"));
        Ok(match chosen {
            Some(("unified", around)) => Style::Unified(number(around)?),
            Some(("context", around)) => Style::Context(number(around)?),
            Some(("side-by-side", _)) => {
                let width = options.number("width")?.unwrap_or(WIDTH).clamp(1, 10_000) as usize;
                let (left, common) = (options.has("left-column"), options.has("suppress-common-lines"));
                Style::Columns(Columns::new(width, left, common))
            }
            _ => Style::Normal,
        })
    }
}

impl Style {
    /// How many lines around a change are shown.
    fn around(&self) -> usize {
        match self {
            Style::Unified(around) | Style::Context(around) => *around,
            Style::Normal | Style::Columns(_) => 0,
        }
    }
}

/// What `diff -U around` writes, without the names.
#[cfg(test)]
pub(super) fn unified(old: &[u8], new: &[u8], around: usize) -> Vec<u8> {
    let (a, b) = (Text::new(old), Text::new(new));
    let changes = texts::changes(&a, &b, Ignored::default(), around);
    let mut out = Vec::new();
    print::unified(&mut out, &a, &b, &print::hunks(&a, &b, &changes, around));
    out
}

/// One side, read.
struct Side {
    display: String,
    bytes: Vec<u8>,
    changed_ms: i64,
}

struct Comparing<'a> {
    cx: &'a Cx<'a>,
    options: Options,
    style: Style,
    zone: TimeZone,
    done: Done,
}

impl Comparing<'_> {
    async fn operands(&mut self, old: String, new: String) {
        match (self.kind(&old).await, self.kind(&new).await) {
            (Some(FileKind::Directory), Some(FileKind::Directory)) => self.directories(old, new).await,
            // A file is compared with the one of its name in the directory.
            (Some(FileKind::Directory), Some(_)) => self.files(tree::within(&old, &new), new, false).await,
            (Some(_), Some(FileKind::Directory)) => {
                let within = tree::within(&new, &old);
                self.files(old, within, false).await;
            }
            _ => self.files(old, new, false).await,
        }
    }

    async fn kind(&self, operand: &str) -> Option<FileKind> {
        if operand == "-" || self.cx.pipes.contains_key(operand) {
            return Some(FileKind::File);
        }
        let path = self.cx.view.path(operand).ok()?;
        self.cx.view.stat(&path, Follow::Yes).await.ok().map(|stat| stat.kind)
    }

    /// Compares two files; `below` says that they were met in directories.
    async fn files(&mut self, old: String, new: String, below: bool) {
        let (old, new) = (self.side(old).await, self.side(new).await);
        let (Some(old), Some(new)) = (old, new) else { return };
        if old.bytes == new.bytes {
            return self.identical(&old, &new);
        }
        let is_binary = |side: &Side| side.bytes[..side.bytes.len().min(PROBED)].contains(&0);
        if !self.options.has("text") && (is_binary(&old) || is_binary(&new)) {
            return self.differ(&old, &new, true);
        }
        if builtin_io::cost(&old.bytes).saturating_add(builtin_io::cost(&new.bytes))
            > limits::native_shell::SORT_MAX_BYTES
        {
            let most = limits::native_shell::SORT_MAX_BYTES / 1024 / 1024;
            let why =
                format!("{} and {}: they take more than {most} MiB of memory", old.display, new.display);
            return self.done.complain(self.cx.name, why, 2);
        }
        let (a, b) = (Text::new(&old.bytes), Text::new(&new.bytes));
        let ignored = self.ignored();
        let mut changes = texts::changes(&a, &b, ignored, self.style.around());
        let is_nothing = |change: &script::Change| texts::is_nothing(change, &a, &b, ignored);
        if changes.iter().all(is_nothing) {
            if matches!(self.style, Style::Columns(_)) && !self.options.has("brief") {
                self.show(&old, &new, &a, &b, &changes);
            }
            return self.identical(&old, &new);
        }
        if self.options.has("brief") {
            return self.differ(&old, &new, false);
        }
        if matches!(self.style, Style::Normal) {
            changes.retain(|change| !is_nothing(change));
        }
        self.done.code = self.done.code.max(1);
        if below {
            let line = format!("diff{} {} {}\n", self.switches(), old.display, new.display);
            self.done.print(line);
        }
        self.show(&old, &new, &a, &b, &changes);
    }

    async fn side(&mut self, display: String) -> Option<Side> {
        let now = self.cx.clock.now_ms();
        let read = match self.cx.read(&display).await {
            Ok(bytes) => {
                let stat = match self.cx.view.path(&display) {
                    Ok(path) => self.cx.view.stat(&path, Follow::Yes).await.ok(),
                    Err(_) => None,
                };
                let changed_ms = stat.filter(|_| display != "-").map_or(now, |stat| stat.modified_ms);
                return Some(Side { display, bytes, changed_ms });
            }
            Err(fault) => fault,
        };
        if read.code == vfs::Code::NotFound && self.options.has("new-file") {
            return Some(Side { display, bytes: Vec::new(), changed_ms: 0 });
        }
        self.done.complain(self.cx.name, format!("{display}: {}", words(&read)), 2);
        None
    }

    fn ignored(&self) -> Ignored {
        let has = |name| self.options.has(name);
        Ignored {
            case: has("ignore-case"),
            all_blanks: has("ignore-all-space"),
            amount_of_blanks: has("ignore-space-change") || has("ignore-tab-expansion"),
            trailing_blanks: has("ignore-trailing-space"),
            carriage_return: has("strip-trailing-cr"),
            empty_lines: has("ignore-blank-lines"),
        }
    }

    fn identical(&mut self, old: &Side, new: &Side) {
        if self.options.has("report-identical-files") {
            self.done.print(format!("Files {} and {} are identical\n", old.display, new.display));
        } else if let (Style::Columns(columns), false) = (&self.style, self.options.has("brief"))
            && old.bytes == new.bytes
        {
            let text = Text::new(&old.bytes);
            columns.print(&mut self.done.stdout, &text, &text, &[]);
        }
    }

    fn differ(&mut self, old: &Side, new: &Side, binary: bool) {
        let brief = self.options.has("brief");
        let what = if binary && !brief { "Binary files" } else { "Files" };
        self.done.print(format!("{what} {} and {} differ\n", old.display, new.display));
        self.done.code = self.done.code.max(if binary && !brief { 2 } else { 1 });
    }

    fn show(&mut self, old: &Side, new: &Side, a: &Text<'_>, b: &Text<'_>, changes: &[script::Change]) {
        let ignored = self.ignored();
        let hunks = |around: usize| {
            let mut hunks = print::hunks(a, b, changes, around);
            hunks.retain(|hunk| !hunk.changes.iter().all(|change| texts::is_nothing(change, a, b, ignored)));
            hunks
        };
        let heads = [self.head(old, 0), self.head(new, 1)];
        let out = &mut self.done.stdout;
        match &self.style {
            Style::Normal => print::normal(out, a, b, changes),
            Style::Columns(columns) => columns.print(out, a, b, changes),
            Style::Unified(around) => {
                out.extend_from_slice(format!("--- {}\n+++ {}\n", heads[0], heads[1]).as_bytes());
                print::unified(out, a, b, &hunks(*around));
            }
            Style::Context(around) => {
                out.extend_from_slice(format!("*** {}\n--- {}\n", heads[0], heads[1]).as_bytes());
                print::context(out, a, b, &hunks(*around));
            }
        }
    }

    /// A side's label, else its name and when it was changed.
    fn head(&self, side: &Side, at: usize) -> String {
        if let Some(label) = self.options.values("label").nth(at) {
            return label.to_string();
        }
        let time = times::print("%Y-%m-%d %H:%M:%S.%3f000000 %z", side.changed_ms, &self.zone);
        format!("{}\t{time}", side.display)
    }

    /// The options as they were given, for the line above a file met in a directory.
    fn switches(&self) -> String {
        let mut operands = self.options.operands.clone();
        let mut switches: Vec<&String> = Vec::new();
        for word in self.cx.args.iter().rev() {
            if operands.last() == Some(word) {
                operands.pop();
            } else {
                switches.push(word);
            }
        }
        switches.iter().rev().map(|word| format!(" {word}")).collect()
    }
}

#[cfg(test)]
mod tests;
