//! `tr`: translates, deletes and squeezes bytes.

mod sets;

use super::{Command, Cx, Done, flat};
use crate::builtin_io::Io;
use crate::stdin_demand::Stdin;
use sets::Set;

pub(super) static COMMAND: Command = Command {
    name: "tr",
    aliases: &[],
    about: "translate, squeeze or delete bytes",
    usage: "[-cdst] SET1 [SET2]",
    manual: "\
Each byte of SET1 becomes the one at its place in SET2; the last one of SET2 stands for all that are missing.
  -d  delete those in SET1       -s  of equal ones in the last SET in a row keep one
  -c  SET1 is all but those      -t  SET1 is cut to the length of SET2
A SET is bytes, ranges a-z, \\n \\t \\\\ and the like, \\NNN in octal, [:alnum:] [:alpha:] [:blank:] [:cntrl:]
[:digit:] [:graph:] [:lower:] [:print:] [:punct:] [:space:] [:upper:] [:xdigit:], [=x=], and in SET2 [x*5], [x*].
It reads what is piped in.",
    io: Io { streams: true, takes_pipe: true, ..Io::reading(Stdin::always("")) },
    run: |cx| Box::pin(async move { flat(translate(cx).await) }),
};

/// Bytes that are done before others have their turn.
const BYTES_IN_A_ROW: usize = 1024 * 1024;

#[derive(Default)]
struct Wanted {
    complement: bool,
    delete: bool,
    squeeze: bool,
    truncate: bool,
    sets: Vec<String>,
}

/// What becomes of each byte.
pub(crate) struct Table {
    becomes: [u8; 256],
    deleted: [bool; 256],
    squeezed: [bool; 256],
    /// What was written last.
    last: Option<u8>,
}

async fn translate(cx: &Cx<'_>) -> Result<Done, Done> {
    let mut table = table(cx.name, cx.args)?;
    let mut out = Vec::with_capacity(cx.stdin.len());
    for bytes in cx.stdin.chunks(BYTES_IN_A_ROW) {
        table.pass(bytes, &mut out);
        tokio::task::yield_now().await;
    }
    Ok(Done::printed(out))
}

impl Table {
    pub(crate) fn pass(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        for byte in bytes {
            if self.deleted[usize::from(*byte)] {
                continue;
            }
            let byte = self.becomes[usize::from(*byte)];
            if self.last == Some(byte) && self.squeezed[usize::from(byte)] {
                continue;
            }
            self.last = Some(byte);
            out.push(byte);
        }
    }
}

pub(crate) fn table(name: &str, args: &[String]) -> Result<Table, Done> {
    fill(&wanted(name, args)?).map_err(|why| Done::failed(name, why, 1))
}

/// Options end at the first set, so that a set may begin with a dash.
fn wanted(name: &str, args: &[String]) -> Result<Wanted, Done> {
    let mut wanted = Wanted::default();
    let mut words = args.iter();
    for word in words.by_ref() {
        match word.as_str() {
            "--" => break,
            "--help" => return Err(Done::printed(format!("{}{}\n", COMMAND.usage_line(), COMMAND.about))),
            "--complement" => wanted.complement = true,
            "--delete" => wanted.delete = true,
            "--squeeze-repeats" => wanted.squeeze = true,
            "--truncate-set1" => wanted.truncate = true,
            long if long.starts_with("--") => {
                return Err(misused(name, format!("unrecognized option '{long}'")));
            }
            short if short.len() > 1 && short.starts_with('-') => {
                for letter in short[1..].chars() {
                    match letter {
                        'c' | 'C' => wanted.complement = true,
                        'd' => wanted.delete = true,
                        's' => wanted.squeeze = true,
                        't' => wanted.truncate = true,
                        other => return Err(misused(name, format!("invalid option -- '{other}'"))),
                    }
                }
            }
            set => {
                wanted.sets.push(set.to_string());
                break;
            }
        }
    }
    wanted.sets.extend(words.cloned());
    check_count(&wanted).map_err(|why| misused(name, why))?;
    Ok(wanted)
}

fn misused(name: &str, why: String) -> Done {
    Done::failed(name, format!("{why}\nTry '{name} --help' for more information."), 1)
}

/// How many sets there must be.
fn check_count(wanted: &Wanted) -> Result<(), String> {
    let (least, most) = match (wanted.delete, wanted.squeeze) {
        (true, false) => (1, 1),
        (false, true) => (1, 2),
        (true, true) | (false, false) => (2, 2),
    };
    let Some(last) = wanted.sets.last() else { return Err("missing operand".to_string()) };
    if wanted.sets.len() < least {
        let why = match wanted.delete {
            true => "Two strings must be given when both deleting and squeezing repeats.",
            false => "Two strings must be given when translating.",
        };
        return Err(format!("missing operand after '{last}'\n{why}"));
    }
    match wanted.sets.get(most) {
        Some(extra) if most == 1 => Err(format!(
            "extra operand '{extra}'\nOnly one string may be given when deleting without squeezing repeats."
        )),
        Some(extra) => Err(format!("extra operand '{extra}'")),
        None => Ok(()),
    }
}

fn fill(wanted: &Wanted) -> Result<Table, String> {
    let mut table = Table {
        becomes: std::array::from_fn(|at| at as u8),
        deleted: [false; 256],
        squeezed: [false; 256],
        last: None,
    };
    let first = Set::parse(&wanted.sets[0])?.first(wanted.complement)?;
    let second = match wanted.sets.get(1) {
        Some(set) => Some(Set::parse(set)?),
        None => None,
    };
    let translates = !wanted.delete && second.is_some();
    let last = match second {
        None => first.bytes.clone(),
        Some(second) if !translates => second.first(false)?.bytes,
        Some(second) => {
            let second = second.second(&first, wanted.truncate)?;
            let pairs = first.bytes.iter().zip(second.iter().chain(std::iter::repeat(
                // There is one, or the first set is empty too.
                second.last().unwrap_or(&0),
            )));
            let most = if wanted.truncate { second.len() } else { first.bytes.len() };
            for (from, to) in pairs.take(most) {
                table.becomes[usize::from(*from)] = *to;
            }
            second
        }
    };
    if wanted.delete {
        first.bytes.iter().for_each(|byte| table.deleted[usize::from(*byte)] = true);
    }
    if wanted.squeeze {
        last.iter().for_each(|byte| table.squeezed[usize::from(*byte)] = true);
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use crate::commands::stage::Stage;

    #[tokio::test]
    async fn bytes_are_translated() {
        let mut stage = Stage::new().await;
        for (stdin, line, display) in [
            ("hello", &["tr", "a-z", "A-Z"][..], "HELLO"),
            ("Hello", &["tr", "[:lower:]", "[:upper:]"], "HELLO"),
            ("hello", &["tr", "el", "ip"], "hippo"),
            ("abc", &["tr", "abc", "x"], "xxx"),
            ("abc", &["tr", "-t", "abc", "x"], "xbc"),
            ("abc", &["tr", "aa", "xy"], "ybc"),
            ("a b\n", &["tr", " ", "\\n"], "a\nb\n"),
            ("a1b2", &["tr", "-d", "0-9"], "ab"),
            ("a1b2\n", &["tr", "-cd", "[:digit:]"], "12"),
            ("a  b   c", &["tr", "-s", " "], "a b c"),
            ("a  b", &["tr", "-s", "[:space:]", "\\n"], "a\nb"),
            ("aabb11", &["tr", "-ds", "a", "1"], "bb1"),
            ("one two", &["tr", "-cs", "[:alnum:]", "[\\n*]"], "one\ntwo"),
            ("a-b", &["tr", "-", "_"], "a_b"),
            ("a-b", &["tr", "-d", "-"], "ab"),
            ("a-b", &["tr", "--", "-b", "_c"], "a_c"),
            ("abcd", &["tr", "a-d", "[x*2]yz"], "xxyz"),
            ("abcd", &["tr", "a-d", "[x*]z"], "xxxz"),
            ("a\\b", &["tr", "\\\\", "/"], "a/b"),
            ("a[b", &["tr", "[", "("], "a(b"),
            ("aAb", &["tr", "\\101", "z"], "azb"),
            ("a=b", &["tr", "[=a=]", "x"], "x=b"),
            ("xyz", &["tr", "x", "-"], "-yz"),
            ("café", &["tr", "é", "e"], "cafee"),
        ] {
            stage.stdin = stdin.as_bytes().to_vec();
            assert_eq!(stage.prints(line).await, display, "{line:?}");
        }
        stage.stdin = b"\x00\xff\x01".to_vec();
        assert_eq!(stage.run("alice", &["tr", "\\000\\377", "ab"]).await.stdout, b"ab\x01");
    }

    #[tokio::test]
    async fn mistakes_are_refused() {
        let stage = Stage::new().await;
        for line in [
            &["tr"][..],
            &["tr", "a"],
            &["tr", "-d", "a", "b"],
            &["tr", "-ds", "a"],
            &["tr", "a", "b", "c"],
            &["tr", "-x", "a", "b"],
            &["tr", "z-a", "b"],
            &["tr", "[:nosuch:]", "b"],
            &["tr", "[a*]", "b"],
            &["tr", "a", "[:digit:]"],
            &["tr", "a-z", "[:upper:]"],
            &["tr", "a", ""],
            &["tr", "a", "[x*99999999999]"],
        ] {
            assert_eq!(stage.fails(line).await.0, 1, "{line:?}");
        }
    }
}
