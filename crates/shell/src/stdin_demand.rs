//! Demand of stdin: how much of it a builtin reads, by its arguments. Where it is not certain the answer is none: a
//! command that waits for what nobody will write is worse than one that sees an end.

/// How a builtin reads standard input: by its arguments.
#[derive(Clone, Copy)]
pub(crate) struct Stdin {
    /// Operands before the files, such as a pattern; `ALWAYS` where no operand is a file that is read.
    before_files: usize,
    /// Options that stand for these operands.
    instead_of_operand: &'static str,
    /// Options that take a value.
    valued: &'static str,
    /// Long options whose value is the next word.
    long_valued: &'static [&'static str],
    demand: fn(&Words<'_>) -> Option<Demand>,
    /// The option that says how many seconds it waits.
    seconds: Option<char>,
}

const ALWAYS: usize = usize::MAX;

impl Stdin {
    /// Read where no file is named.
    pub(crate) const fn files(valued: &'static str, long_valued: &'static [&'static str]) -> Stdin {
        Stdin::after(0, "", valued, long_valued)
    }

    /// The same for a builtin with operands before its files.
    pub(crate) const fn after(
        before_files: usize,
        instead_of_operand: &'static str,
        valued: &'static str,
        long_valued: &'static [&'static str],
    ) -> Stdin {
        Stdin { before_files, instead_of_operand, valued, long_valued, demand: all, seconds: None }
    }

    /// Read whatever the operands are.
    pub(crate) const fn always(valued: &'static str) -> Stdin {
        Stdin::after(ALWAYS, "", valued, &[])
    }

    /// As much as this says.
    pub(crate) const fn asking(self, demand: fn(&Words<'_>) -> Option<Demand>) -> Stdin {
        Stdin { demand, ..self }
    }

    /// Not longer than the option with this letter says.
    pub(crate) const fn waiting_for(self, letter: char) -> Stdin {
        Stdin { seconds: Some(letter), ..self }
    }

    /// How much is read with these arguments; `None` when nothing is.
    pub(crate) fn demand(&'static self, args: &[String]) -> Option<Demand> {
        (self.demand)(&Words::of(self, args)?)
    }

    /// The seconds that are waited at most, such as by `read -t`.
    pub(crate) fn seconds(&'static self, args: &[String]) -> Option<f64> {
        let seconds: f64 = Words::of(self, args)?.value_of(self.seconds?)?.parse().ok()?;
        (seconds.is_finite() && seconds >= 0.0).then(|| seconds.min(86_400.0))
    }
}

/// How much of stdin a command wants.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Demand {
    All,
    /// So many lines.
    Lines(usize),
    /// Up to this byte; a backslash before it makes it part of the text, unless the text is raw.
    Until(u8, bool),
    /// So many bytes, or less up to this byte.
    Bytes(usize, Option<u8>),
}

fn all(words: &Words<'_>) -> Option<Demand> {
    words.reads_stdin().then_some(Demand::All)
}

pub(crate) fn of_mapfile(words: &Words<'_>) -> Option<Demand> {
    if words.reads_another_descriptor() { None } else { all(words) }
}

pub(crate) fn of_read(words: &Words<'_>) -> Option<Demand> {
    if words.reads_another_descriptor() {
        return None;
    }
    let delimiter = words.value_of('d').map_or(b'\n', |text| text.bytes().next().unwrap_or(0));
    let count = |letter| words.value_of(letter).and_then(|text| text.parse().ok());
    Some(match (count('N'), count('n')) {
        (Some(bytes), _) => Demand::Bytes(bytes, None),
        (None, Some(bytes)) => Demand::Bytes(bytes, Some(delimiter)),
        (None, None) => Demand::Until(delimiter, words.has('r')),
    })
}

pub(crate) fn of_head(words: &Words<'_>) -> Option<Demand> {
    if !words.reads_stdin() {
        return None;
    }
    let bytes = words.value_of('c').or_else(|| words.long("--bytes"));
    let lines = words.value_of('n').or_else(|| words.long("--lines"));
    Some(match (bytes, lines, words.number()) {
        (Some(bytes), ..) => bytes.parse().map_or(Demand::All, |bytes| Demand::Bytes(bytes, None)),
        (None, Some(lines), _) => lines.parse().map_or(Demand::All, Demand::Lines),
        (None, None, number) => Demand::Lines(number.unwrap_or(10)),
    })
}

pub(crate) fn of_grep(words: &Words<'_>) -> Option<Demand> {
    if words.has('r') || words.has('R') { None } else { all(words) }
}

pub(crate) fn of_jq(words: &Words<'_>) -> Option<Demand> {
    if words.has('n') { None } else { all(words) }
}

pub(crate) fn of_shuf(words: &Words<'_>) -> Option<Demand> {
    if words.has('i') || words.has('e') { None } else { all(words) }
}

pub(crate) fn of_awk(words: &Words<'_>) -> Option<Demand> {
    if words.operands.first().is_some_and(|program| only_begins(program)) { None } else { all(words) }
}

/// `-l` counts the bytes.
pub(crate) fn of_xxd(words: &Words<'_>) -> Option<Demand> {
    let count = words.value_of('l').and_then(|count| count.parse().ok());
    let demand = count.map_or(Demand::All, |count| Demand::Bytes(count, None));
    words.reads_stdin().then_some(demand)
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
pub(crate) struct Words<'a> {
    stdin: &'static Stdin,
    flags: Vec<char>,
    values: Vec<(char, &'a str)>,
    longs: Vec<(&'a str, &'a str)>,
    operands: Vec<&'a str>,
}

impl<'a> Words<'a> {
    /// `None` for a command that only says something about itself.
    fn of(stdin: &'static Stdin, args: &'a [String]) -> Option<Words<'a>> {
        let mut words = Words { stdin, flags: vec![], values: vec![], longs: vec![], operands: vec![] };
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
                    None if stdin.long_valued.contains(&word) => {
                        words.longs.push((word, rest.next().unwrap_or_default()));
                        if matches!(word, "--arg" | "--argjson" | "--slurpfile" | "--rawfile") {
                            rest.next();
                        }
                    }
                    None => words.longs.push((word, "")),
                },
                _ if word.starts_with('-') => words.cluster(&word[1..], &mut rest),
                _ => words.operands.push(word),
            }
        }
        Some(words)
    }

    fn cluster(&mut self, cluster: &'a str, rest: &mut impl Iterator<Item = &'a str>) {
        for (at, letter) in cluster.char_indices() {
            self.flags.push(letter);
            if self.stdin.valued.contains(letter) || self.stdin.instead_of_operand.contains(letter) {
                let attached = &cluster[at + letter.len_utf8()..];
                let value = if attached.is_empty() { rest.next().unwrap_or_default() } else { attached };
                self.values.push((letter, value));
                return;
            }
        }
    }

    fn reads_stdin(&self) -> bool {
        if self.stdin.before_files == ALWAYS || self.operands.contains(&"-") {
            return true;
        }
        let by_option = self.values.iter().any(|(letter, _)| self.stdin.instead_of_operand.contains(*letter))
            || self
                .longs
                .iter()
                .any(|(name, _)| matches!(*name, "--expression" | "--regexp" | "--file" | "--from-file"));
        let before_files = if by_option { 0 } else { self.stdin.before_files };
        self.operands.len() <= before_files
    }

    /// `-u 3`: not standard input.
    fn reads_another_descriptor(&self) -> bool {
        self.value_of('u').is_some_and(|fd| fd != "0")
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
    use crate::builtins::demand;

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
