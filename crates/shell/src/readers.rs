//! Which commands read stdin, and how much of it. Where it is not certain the answer is no: a command that waits
//! for what nobody will write is worse than one that sees an end.

/// A command that reads stdin when no file is named.
struct Row {
    name: &'static str,
    /// Operands before the files: a program, a pattern.
    program: usize,
    /// Options that stand for the program.
    program_options: &'static str,
    /// Options that take a value.
    valued: &'static str,
    /// Long options whose value is the next word.
    long_valued: &'static [&'static str],
}

const fn row(
    name: &'static str,
    program: usize,
    program_options: &'static str,
    valued: &'static str,
    long_valued: &'static [&'static str],
) -> Row {
    Row { name, program, program_options, valued, long_valued }
}

#[rustfmt::skip]
static ROWS: &[Row] = &[
    row("awk", 1, "f", "Fv", &["--field-separator", "--assign", "--file"]),
    row("base64", 0, "", "w", &["--wrap"]),
    row("cat", 0, "", "", &[]),
    row("column", 0, "", "tsoc", &["--separator", "--output-separator"]),
    row("cut", 0, "", "bcdf", &["--bytes", "--characters", "--delimiter", "--fields", "--output-delimiter"]),
    row("expand", 0, "", "t", &["--tabs"]),
    row("fmt", 0, "", "w", &["--width"]),
    row("fold", 0, "", "w", &["--width"]),
    row("grep", 1, "ef", "ABCm", &["--regexp", "--file", "--max-count", "--include", "--exclude"]),
    row("gunzip", 0, "", "", &[]),
    row("gzip", 0, "", "", &[]),
    row("head", 0, "", "nc", &["--lines", "--bytes"]),
    row("hexdump", 0, "", "nse", &[]),
    row("jq", 1, "f", "L", &["--arg", "--argjson", "--slurpfile", "--rawfile", "--indent", "--from-file"]),
    row("mapfile", 1, "", "dnOstuCc", &[]),
    row("md5sum", 0, "", "", &[]),
    row("nl", 0, "", "bdfhilnsvw", &[]),
    row("od", 0, "", "AjNtw", &[]),
    row("paste", 0, "", "d", &["--delimiters"]),
    row("read", usize::MAX, "", "adinNptu", &[]),
    row("readarray", 1, "", "dnOstuCc", &[]),
    row("rev", 0, "", "", &[]),
    row("sed", 1, "ef", "l", &["--expression", "--file"]),
    row("sha1sum", 0, "", "", &[]),
    row("sha256sum", 0, "", "", &[]),
    row("sha512sum", 0, "", "", &[]),
    row("shuf", 0, "", "nie", &["--head-count", "--input-range", "--echo"]),
    row("sort", 0, "", "kotST", &["--key", "--output", "--field-separator"]),
    row("strings", 0, "", "nte", &[]),
    row("tac", 0, "", "s", &["--separator"]),
    row("tail", 0, "", "nc", &["--lines", "--bytes"]),
    row("tee", usize::MAX, "", "", &[]),
    row("tr", usize::MAX, "", "", &[]),
    row("unexpand", 0, "", "t", &["--tabs"]),
    row("uniq", 0, "", "fsw", &["--skip-fields", "--skip-chars", "--check-chars"]),
    row("wc", 0, "", "", &["--files0-from"]),
    row("xargs", usize::MAX, "", "", &[]),
    row("xxd", 0, "", "cglos", &[]),
];

/// How much of stdin a command wants.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Demand {
    /// All of it.
    All,
    /// So many lines.
    Lines(usize),
    /// Up to this byte; a backslash before it makes it part of the text, unless the text is raw.
    Until(u8, bool),
    /// So many bytes, or less up to this byte.
    Bytes(usize, Option<u8>),
}

/// The name of a command that may read stdin, as this table has it.
pub(crate) fn known(name: &str) -> Option<&'static str> {
    ROWS.iter().find(|row| row.name == name).map(|row| row.name)
}

/// How much of stdin a command reads when nothing is piped into it; `None` when it reads none.
pub(crate) fn demand(name: &str, args: &[String]) -> Option<Demand> {
    let row = ROWS.iter().find(|row| row.name == name)?;
    let words = Words::of(row, args)?;
    match name {
        "read" | "mapfile" | "readarray" if words.value_of('u').is_some_and(|fd| fd != "0") => None,
        "read" => Some(read_demand(&words)),
        "head" if words.reads_stdin(row) => Some(head_demand(&words)),
        "grep" if words.has('r') || words.has('R') => None,
        "jq" if words.has('n') => None,
        "xxd" if words.has('l') && words.reads_stdin(row) => {
            let count = words.value_of('l').and_then(|count| count.parse().ok());
            Some(count.map_or(Demand::All, |count| Demand::Bytes(count, None)))
        }
        "shuf" if words.has('i') || words.has('e') => None,
        "awk" if words.operands.first().is_some_and(|program| only_begins(program)) => None,
        _ => words.reads_stdin(row).then_some(Demand::All),
    }
}

/// The seconds that `read -t` waits.
pub(crate) fn read_timeout(args: &[String]) -> Option<f64> {
    let row = ROWS.iter().find(|row| row.name == "read")?;
    let seconds: f64 = Words::of(row, args)?.value_of('t')?.parse().ok()?;
    (seconds.is_finite() && seconds >= 0.0).then(|| seconds.min(86_400.0))
}

fn read_demand(words: &Words) -> Demand {
    let delimiter = words.value_of('d').map_or(b'\n', |text| text.bytes().next().unwrap_or(0));
    let count = |letter| words.value_of(letter).and_then(|text| text.parse().ok());
    match (count('N'), count('n')) {
        (Some(bytes), _) => Demand::Bytes(bytes, None),
        (None, Some(bytes)) => Demand::Bytes(bytes, Some(delimiter)),
        (None, None) => Demand::Until(delimiter, words.has('r')),
    }
}

fn head_demand(words: &Words) -> Demand {
    let bytes = words.value_of('c').or_else(|| words.long("--bytes"));
    let lines = words.value_of('n').or_else(|| words.long("--lines"));
    match (bytes, lines, words.number()) {
        (Some(bytes), ..) => bytes.parse().map_or(Demand::All, |bytes| Demand::Bytes(bytes, None)),
        (None, Some(lines), _) => lines.parse().map_or(Demand::All, Demand::Lines),
        (None, None, number) => Demand::Lines(number.unwrap_or(10)),
    }
}

/// Whether an awk program is one `BEGIN` block, which reads nothing.
fn only_begins(program: &str) -> bool {
    let Some(block) = program.trim().strip_prefix("BEGIN") else { return false };
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    let block = block.trim();
    for (at, c) in block.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => quoted = !quoted,
            '{' if !quoted => depth += 1,
            '}' if !quoted => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1 == block.len() && !block.contains("getline");
                }
            }
            _ => {}
        }
    }
    false
}

impl Demand {
    /// How many bytes of the text satisfy it, if they are there. `seen` bytes were looked at before.
    pub(crate) fn found_in(&self, text: &[u8], seen: usize) -> Option<usize> {
        match self {
            Demand::All => None,
            Demand::Lines(0) => Some(0),
            Demand::Lines(count) => {
                let mut ends = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
                ends.nth(count - 1).map(|(at, _)| at + 1)
            }
            Demand::Until(stop, raw) => {
                let mut from = if *raw { seen } else { 0 };
                while let Some(at) = text[from..].iter().position(|byte| byte == stop).map(|at| from + at) {
                    let slashes = text[..at].iter().rev().take_while(|byte| **byte == b'\\').count();
                    if *raw || slashes % 2 == 0 {
                        return Some(at + 1);
                    }
                    from = at + 1;
                }
                None
            }
            Demand::Bytes(count, stop) => {
                let within = &text[..text.len().min(*count)];
                let stopped = stop.and_then(|stop| within.iter().position(|byte| *byte == stop));
                stopped.map(|at| at + 1).or((text.len() >= *count).then_some(*count))
            }
        }
    }
}

/// The arguments of a command, told apart.
struct Words<'a> {
    flags: Vec<char>,
    values: Vec<(char, &'a str)>,
    longs: Vec<(&'a str, &'a str)>,
    operands: Vec<&'a str>,
}

impl<'a> Words<'a> {
    /// `None` for a command that only says something about itself.
    fn of(row: &Row, args: &'a [String]) -> Option<Words<'a>> {
        let mut words = Words { flags: vec![], values: vec![], longs: vec![], operands: vec![] };
        let mut rest = args.iter().map(String::as_str);
        while let Some(word) = rest.next() {
            match word {
                "--help" | "--version" => return None,
                "--" => {
                    words.operands.extend(rest);
                    break;
                }
                "-" => words.operands.push(word),
                _ if word.starts_with("--") => match word.split_once('=') {
                    Some((name, value)) => words.longs.push((name, value)),
                    None if row.long_valued.contains(&word) => {
                        words.longs.push((word, rest.next().unwrap_or_default()));
                        if matches!(word, "--arg" | "--argjson" | "--slurpfile" | "--rawfile") {
                            rest.next();
                        }
                    }
                    None => words.longs.push((word, "")),
                },
                _ if word.starts_with('-') => words.cluster(row, &word[1..], &mut rest),
                _ => words.operands.push(word),
            }
        }
        Some(words)
    }

    fn cluster(&mut self, row: &Row, cluster: &'a str, rest: &mut impl Iterator<Item = &'a str>) {
        for (at, letter) in cluster.char_indices() {
            self.flags.push(letter);
            if row.valued.contains(letter) || row.program_options.contains(letter) {
                let attached = &cluster[at + letter.len_utf8()..];
                let value = if attached.is_empty() { rest.next().unwrap_or_default() } else { attached };
                self.values.push((letter, value));
                return;
            }
        }
    }

    fn reads_stdin(&self, row: &Row) -> bool {
        if row.program == usize::MAX || self.operands.contains(&"-") {
            return true;
        }
        let by_option = self.values.iter().any(|(letter, _)| row.program_options.contains(*letter))
            || self
                .longs
                .iter()
                .any(|(name, _)| matches!(*name, "--expression" | "--regexp" | "--file" | "--from-file"));
        let program = if by_option { 0 } else { row.program };
        self.operands.len() <= program
    }

    fn has(&self, letter: char) -> bool {
        self.flags.contains(&letter)
    }

    fn value_of(&self, letter: char) -> Option<&'a str> {
        self.values.iter().rev().find(|(option, _)| *option == letter).map(|(_, value)| *value)
    }

    fn long(&self, name: &str) -> Option<&'a str> {
        self.longs.iter().find(|(option, _)| *option == name).map(|(_, value)| *value)
    }

    /// `-5` of `head -5`.
    fn number(&self) -> Option<usize> {
        let digits: String = self.flags.iter().take_while(|flag| flag.is_ascii_digit()).collect();
        digits.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Option<Demand> {
        let mut words = line.split_whitespace().map(str::to_string);
        let name = words.next().unwrap();
        demand(&name, &words.collect::<Vec<_>>())
    }

    #[test]
    fn a_command_with_a_file_does_not_wait() {
        for line in [
            "cat x",
            "sort -k 2 x",
            "grep pat x",
            "grep -e pat x",
            "grep -r pat",
            "sed s/a/b/ x",
            "sed -n -e p x",
            "awk {print} x",
            "awk -F : {print} x",
            "jq . x",
            "jq -n 1",
            "head -n 3 x",
            "cut -d , -f 1 x",
            "wc -l x",
            "cat --help",
            "read -u 3 x",
            "shuf -i 1-9",
            "awk BEGIN{print}",
            "ls",
            "date",
        ] {
            assert_eq!(of(line), None, "{line}");
        }
    }

    #[test]
    fn one_without_waits_for_what_it_needs() {
        for line in [
            "cat",
            "cat -",
            "cat -n",
            "sort -k 2",
            "grep pat",
            "sed s/a/b/",
            "awk {print}",
            "jq .",
            "wc -l",
            "tr a b",
            "tee x",
            "xargs echo",
            "jq --arg a b .",
        ] {
            assert_eq!(of(line), Some(Demand::All), "{line}");
        }
        assert_eq!(of("read x"), Some(Demand::Until(b'\n', false)));
        assert_eq!(of("read -r -d , x"), Some(Demand::Until(b',', true)));
        assert_eq!(of("read -n 3 x"), Some(Demand::Bytes(3, Some(b'\n'))));
        assert_eq!(of("head"), Some(Demand::Lines(10)));
        assert_eq!(of("head -1"), Some(Demand::Lines(1)));
        assert_eq!(of("head -n 7"), Some(Demand::Lines(7)));
        assert_eq!(of("head -c 7"), Some(Demand::Bytes(7, None)));
    }

    #[test]
    fn a_demand_is_met_by_exactly_what_it_wants() {
        assert_eq!(Demand::Until(b'\n', false).found_in(b"a\\\nb\nc", 0), Some(5));
        assert_eq!(Demand::Until(b'\n', true).found_in(b"a\\\nb\nc", 0), Some(3));
        assert_eq!(Demand::Until(b'\n', true).found_in(b"abc", 0), None);
        assert_eq!(Demand::Lines(2).found_in(b"a\nb\nc\n", 0), Some(4));
        assert_eq!(Demand::Bytes(2, Some(b'\n')).found_in(b"\nab", 0), Some(1));
        assert_eq!(Demand::Bytes(2, None).found_in(b"\nab", 0), Some(2));
        assert_eq!(Demand::All.found_in(b"abc", 0), None);
    }

    #[test]
    fn a_begin_block_alone_reads_nothing() {
        assert!(only_begins("BEGIN { printf \"}\"; if (1) { x } }"));
        assert!(!only_begins("BEGIN { x } { print }"));
        assert!(!only_begins("BEGIN { getline x }"));
        assert!(!only_begins("{ print }"));
    }
}
