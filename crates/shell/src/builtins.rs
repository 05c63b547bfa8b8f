//! Registry of builtins: one row each says what it reads, holds, writes and streams. A command of this system has its
//! row in its own file (`Command::io`), one of the interpreter has it here. What bounds or feeds builtins from outside
//! asks the registry and knows none of them by name; a builtin without a row is taken to read everything it is given.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::commands;
use crate::line_budget;
use crate::meter::endless;
use crate::stdin_demand::{self, Stdin};

/// What a builtin does with its input and output.
#[derive(Clone, Copy)]
pub(crate) struct Io {
    /// How it reads standard input when no file is named; nothing where it never does.
    pub stdin: Option<Stdin>,
    /// What it holds in memory of the files that it reads.
    pub holds: Holds,
    /// How many times as long as its input its output may be, by its arguments.
    pub growth: fn(&[String]) -> usize,
    /// What it wants of a device without an end that is among its arguments.
    pub endless: Endless,
    /// What becomes of such a device that is redirected into it.
    pub redirected: Redirected,
    /// Whether it often stands before a redirection: those are looked after once a script has set a umask.
    pub writes: bool,
    /// Whether it writes while others read; in a `<(…)` it takes what is piped to the command before it.
    pub streams: bool,
    /// Whether the interpreter hands it the reading end of a pipe, past any wrapping.
    pub takes_pipe: bool,
    /// Whether it runs text that can not be seen beforehand.
    pub runs_text: bool,
    /// Whether text that was not seen is taken to read with it.
    pub is_for_unseen: bool,
}

/// What a builtin holds in memory of the files that it reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Holds {
    /// It looks at one file after the other and keeps none of them.
    Nothing,
    /// It looks at one file after the other, and holds the lines of one at a time.
    OneFile,
    /// All of them, as they are.
    #[default]
    Bytes,
    /// Each line of all of them on its own.
    Lines,
}

/// What a builtin wants of a device without an end that is among its arguments.
#[derive(Clone, Copy)]
pub(crate) enum Endless {
    /// All of it, which there is not: it is refused.
    All,
    /// The usual amount, and to be told that there would be more.
    Usual,
    /// As many bytes as its arguments say; all of it if they do not.
    Bytes(fn(&[String]) -> Option<usize>),
    /// Nothing: it asks what kind of file it is, or others read it.
    Nothing,
}

/// What becomes of a device without an end that is redirected into a builtin.
#[derive(Clone, Copy)]
pub(crate) enum Redirected {
    /// It is put among the files it reads, so that it gets as much as it asks for, or is told.
    File,
    /// The same, as the argument that this makes of it; nothing where it reads another file.
    Argument(fn(&[String], &str) -> Option<String>),
    /// It takes no files or does not say why one could not be read: it is asked how much it wants before it runs.
    AskedFirst,
}

impl Io {
    /// Reads no standard input, holds what it reads, and takes a device without an end for a file.
    pub(crate) const PLAIN: Io = Io {
        stdin: None,
        holds: Holds::Bytes,
        growth: |_| 1,
        endless: Endless::All,
        redirected: Redirected::File,
        writes: false,
        streams: false,
        takes_pipe: false,
        runs_text: false,
        is_for_unseen: false,
    };

    /// Reads standard input so.
    pub(crate) const fn reading(stdin: Stdin) -> Io {
        Io { stdin: Some(stdin), ..Io::PLAIN }
    }

    const fn holding(holds: Holds) -> Io {
        Io { holds, ..Io::PLAIN }
    }

    const fn and_holding(self, holds: Holds) -> Io {
        Io { holds, ..self }
    }

    const fn and_writing(self) -> Io {
        Io { writes: true, ..self }
    }

    const fn and_asked_first(self) -> Io {
        Io { redirected: Redirected::AskedFirst, ..self }
    }
}

/// Writes a line or so and is done.
const PRINTS: Io = Io::PLAIN.and_writing();
/// Digests of files, one after the other.
const DIGESTS: Io = Io::holding(Holds::Nothing);
/// Digests that are also made of standard input.
const DIGESTS_STDIN: Io = Io::reading(Stdin::files("", &[])).and_holding(Holds::Nothing);
/// Runs a script that is a file, or text of its own.
const RUNS: Io = Io { runs_text: true, ..Io::holding(Holds::Nothing) };
const MAPFILE: Io = Io {
    is_for_unseen: true,
    ..Io::reading(Stdin::after(1, "", "dnOstuCc", &[]).asking(stdin_demand::of_mapfile))
        .and_holding(Holds::Lines)
        .and_asked_first()
};

/// The interpreter's own builtins that have something to say.
#[rustfmt::skip]
static INTERPRETER: &[(&str, Io)] = &[
    (".", RUNS),
    ("awk", Io::reading(Stdin::after(1, "f", "Fv", &["--field-separator", "--assign", "--file"]).asking(stdin_demand::of_awk))
        .and_holding(Holds::Lines).and_writing().and_asked_first()),
    ("b2sum", DIGESTS),
    ("basename", PRINTS),
    ("bash", RUNS),
    ("cat", Io { endless: Endless::Usual, takes_pipe: true, ..Io::reading(Stdin::files("", &[])).and_writing() }),
    ("cksum", DIGESTS),
    ("column", Io::reading(Stdin::files("tsoc", &["--separator", "--output-separator"]))
        .and_holding(Holds::Lines).and_writing()),
    ("comm", Io::holding(Holds::Lines).and_writing()),
    ("dd", Io { endless: Endless::Bytes(endless::bytes_of_dd), redirected: Redirected::Argument(endless::input_of_dd), ..Io::PLAIN }),
    ("dirname", PRINTS),
    ("du", Io::holding(Holds::Nothing)),
    ("echo", Io { endless: Endless::Nothing, ..PRINTS }),
    ("egrep", Io::holding(Holds::OneFile)),
    ("env", PRINTS),
    ("eval", Io { runs_text: true, ..Io::PLAIN }),
    ("expand", Io::reading(Stdin::files("t", &["--tabs"])).and_writing()),
    ("false", PRINTS),
    ("fgrep", Io::holding(Holds::OneFile)),
    ("file", Io { endless: Endless::Nothing, ..Io::holding(Holds::Nothing) }),
    ("find", Io::holding(Holds::Nothing)),
    ("fmt", Io::reading(Stdin::files("w", &["--width"]))),
    ("fold", Io::reading(Stdin::files("w", &["--width"])).and_holding(Holds::Lines).and_writing().and_asked_first()),
    ("grep", Io { takes_pipe: true, ..Io::reading(Stdin::after(1, "ef", "ABCm",
        &["--regexp", "--file", "--max-count", "--include", "--exclude"]).asking(stdin_demand::of_grep))
        .and_holding(Holds::OneFile) }),
    ("head", Io { endless: Endless::Bytes(endless::bytes_of_head), redirected: Redirected::Argument(endless::input_of_head),
        ..Io::reading(Stdin::files("nc", &["--lines", "--bytes"]).asking(stdin_demand::of_head)).and_writing() }),
    ("hexdump", Io::reading(Stdin::files("nse", &[]))),
    ("join", Io::holding(Holds::Lines).and_writing()),
    ("jq", Io::reading(Stdin::after(1, "f", "L",
        &["--arg", "--argjson", "--slurpfile", "--rawfile", "--indent", "--from-file"]).asking(stdin_demand::of_jq))),
    ("mapfile", MAPFILE),
    ("md5sum", DIGESTS_STDIN),
    ("nl", Io::reading(Stdin::files("bdfhilnsvw", &[])).and_holding(Holds::Lines).and_writing()),
    ("od", Io { endless: Endless::Bytes(endless::bytes_of_od), ..Io::reading(Stdin::files("AjNtw", &[])) }),
    ("paste", Io::reading(Stdin::files("d", &["--delimiters"])).and_holding(Holds::Lines).and_writing()),
    ("printf", Io { endless: Endless::Nothing, ..PRINTS }),
    ("pwd", PRINTS),
    ("read", Io { is_for_unseen: true,
        ..Io::reading(Stdin::always("adinNptu").asking(stdin_demand::of_read).waiting_for('t')).and_asked_first() }),
    ("readarray", MAPFILE),
    ("rev", Io::reading(Stdin::files("", &[])).and_holding(Holds::Lines).and_writing()),
    ("rg", Io::holding(Holds::OneFile)),
    ("sed", Io { growth: line_budget::growth, ..Io::reading(Stdin::after(1, "ef", "l", &["--expression", "--file"]))
        .and_holding(Holds::Lines).and_writing() }),
    ("seq", Io { streams: true, ..Io::PLAIN }),
    ("sh", RUNS),
    ("sha1sum", DIGESTS_STDIN),
    ("sha224sum", DIGESTS),
    ("sha256sum", DIGESTS_STDIN),
    ("sha384sum", DIGESTS),
    ("sha512sum", DIGESTS_STDIN),
    ("shuf", Io::reading(Stdin::files("nie", &["--head-count", "--input-range", "--echo"]).asking(stdin_demand::of_shuf))
        .and_holding(Holds::Lines).and_writing()),
    ("sort", Io::reading(Stdin::files("kotST", &["--key", "--output", "--field-separator"]))),
    ("source", RUNS),
    ("split", PRINTS),
    ("strings", Io::reading(Stdin::files("nte", &[]))),
    ("sum", DIGESTS),
    ("tac", Io::reading(Stdin::files("s", &["--separator"])).and_holding(Holds::Lines).and_writing()),
    ("tail", Io::reading(Stdin::files("nc", &["--lines", "--bytes"])).and_writing()),
    ("tee", Io::reading(Stdin::always("")).and_writing().and_asked_first()),
    ("true", PRINTS),
    ("unexpand", Io::reading(Stdin::files("t", &["--tabs"]))),
    ("uniq", Io::reading(Stdin::files("fsw", &["--skip-fields", "--skip-chars", "--check-chars"]))
        .and_holding(Holds::Lines).and_writing()),
    ("wc", Io::reading(Stdin::files("", &["--files0-from"])).and_holding(Holds::Nothing).and_writing()),
    ("xargs", Io::reading(Stdin::always("")).and_holding(Holds::Nothing).and_asked_first()),
    ("yes", Io { streams: true, ..Io::PLAIN }),
];

/// A builtin in the registry.
pub(crate) struct Row {
    pub name: &'static str,
    pub io: &'static Io,
    /// Whether it is a command of this system: the adapter that runs it tells it what it is fed.
    pub is_ours: bool,
}

static REGISTRY: LazyLock<HashMap<&'static str, Row>> = LazyLock::new(|| {
    let theirs = INTERPRETER.iter().map(|(name, io)| Row { name, io, is_ours: false });
    let ours = commands::ALL.iter().flat_map(|command| {
        let names = std::iter::once(&command.name).chain(command.aliases);
        names.map(|name| Row { name, io: &command.io, is_ours: true })
    });
    theirs.chain(ours).map(|row| (row.name, row)).collect()
});

/// The row of a builtin, if it has one.
pub(crate) fn row(name: &str) -> Option<&'static Row> {
    REGISTRY.get(name)
}

/// What a builtin says of itself; of one without a row the most careful is assumed.
pub(crate) fn io(name: &str) -> &'static Io {
    const UNKNOWN: &Io = &Io::PLAIN;
    row(name).map_or(UNKNOWN, |row| row.io)
}

/// The names of all that a question is answered with yes for.
pub(crate) fn names(is_one: impl Fn(&Io) -> bool) -> impl Iterator<Item = &'static str> {
    REGISTRY.values().filter(move |row| is_one(row.io)).map(|row| row.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_builtin_has_one_row() {
        let names: Vec<&str> = INTERPRETER.iter().map(|(name, _)| *name).collect();
        assert!(names.is_sorted_by(|a, b| a < b), "each once, by name");
        let ours: usize = commands::ALL.iter().map(|command| 1 + command.aliases.len()).sum();
        assert_eq!(REGISTRY.len(), names.len() + ours, "no row for a command that has its own");
    }

    #[test]
    fn what_has_no_row_is_taken_to_read_everything() {
        let io = io("no-such-command");
        assert!(matches!(io.endless, Endless::All));
        assert_eq!(io.holds, Holds::Bytes);
    }
}
