//! Registry of builtins: one row each says what it reads, holds, writes and streams. A command of this system has its
//! row in its own file (`Command::io`), one of the interpreter has it here. What bounds or feeds builtins from outside
//! asks the registry and knows none of them by name; a builtin without a row is taken to read everything it is given.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::builtin_io::{Endless, Holds, Io, Redirected};
use crate::stdin_demand::{self, Demand, Stdin};
use crate::{argument_bounds, commands};

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
    ("dd", Io { endless: Endless::Bytes(argument_bounds::bytes_of_dd), redirected: Redirected::Argument(argument_bounds::input_of_dd), ..Io::PLAIN }),
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
    ("head", Io { endless: Endless::Bytes(argument_bounds::bytes_of_head), redirected: Redirected::Argument(argument_bounds::input_of_head),
        ..Io::reading(Stdin::files("nc", &["--lines", "--bytes"]).asking(stdin_demand::of_head)).and_writing() }),
    ("hexdump", Io::reading(Stdin::files("nse", &[]))),
    ("join", Io::holding(Holds::Lines).and_writing()),
    ("jq", Io::reading(Stdin::after(1, "f", "L",
        &["--arg", "--argjson", "--slurpfile", "--rawfile", "--indent", "--from-file"]).asking(stdin_demand::of_jq))),
    ("mapfile", MAPFILE),
    ("md5sum", DIGESTS_STDIN),
    ("nl", Io::reading(Stdin::files("bdfhilnsvw", &[])).and_holding(Holds::Lines).and_writing()),
    ("od", Io { endless: Endless::Bytes(argument_bounds::bytes_of_od), ..Io::reading(Stdin::files("AjNtw", &[])) }),
    ("paste", Io::reading(Stdin::files("d", &["--delimiters"])).and_holding(Holds::Lines).and_writing()),
    ("printf", Io { endless: Endless::Nothing, ..PRINTS }),
    ("pwd", PRINTS),
    ("read", Io { is_for_unseen: true,
        ..Io::reading(Stdin::always("adinNptu").asking(stdin_demand::of_read).waiting_for('t')).and_asked_first() }),
    ("readarray", MAPFILE),
    ("rev", Io::reading(Stdin::files("", &[])).and_holding(Holds::Lines).and_writing()),
    ("rg", Io::holding(Holds::OneFile)),
    ("sed", Io { growth: argument_bounds::growth_of_sed, ..Io::reading(Stdin::after(1, "ef", "l", &["--expression", "--file"]))
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

/// The name of a command that may read stdin, as the registry has it.
pub(crate) fn stdin_reader(name: &str) -> Option<&'static str> {
    row(name).filter(|row| row.io.stdin.is_some()).map(|row| row.name)
}

/// How much of stdin a command reads when nothing is piped into it; `None` when it reads none.
pub(crate) fn demand(name: &str, args: &[String]) -> Option<Demand> {
    io(name).stdin.as_ref()?.demand(args)
}

/// The seconds that a command waits at most, such as `read -t`.
pub(crate) fn seconds(name: &str, args: &[String]) -> Option<f64> {
    io(name).stdin.as_ref()?.seconds(args)
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
