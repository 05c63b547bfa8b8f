//! `cut`: bytes or fields of each line.

use super::options::{Opt, Options, flag, valued};
use super::{Command, Cx, Done, flat, words};
use crate::builtin_io::Io;
use crate::stdin_demand::Stdin;

pub(super) static COMMAND: Command = Command {
    name: "cut",
    aliases: &[],
    about: "print parts of each line",
    usage: "-b LIST | -c LIST | -f LIST [-d DELIMITER] [-s] [-z] [--complement] [FILE...]",
    manual: "\
LIST is numbers and ranges with commas: 1,3-5,7- or -2. They are printed in the order of the line.
  -b, -c  bytes               -f  fields, with a tab between them or the DELIMITER of -d
  -s  no lines without the delimiter      -z  lines end with NUL      --complement  all but those
  --output-delimiter=TEXT  what is printed between them
-c counts bytes as -b does. Without FILE, or with -, it reads what is piped in.",
    io: Io::reading(Stdin::files(
        "bcdf",
        &["--bytes", "--characters", "--delimiter", "--fields", "--output-delimiter"],
    )),
    run: |cx| Box::pin(async move { flat(cut(cx).await) }),
};

const KNOWN: &[Opt] = &[
    valued('b', "bytes"),
    valued('c', "characters"),
    valued('f', "fields"),
    valued('d', "delimiter"),
    flag('n', "no-split"),
    flag('s', "only-delimited"),
    flag('z', "zero-terminated"),
    flag('\0', "complement"),
    valued('\0', "output-delimiter"),
];

/// Lines that are done before others have their turn.
const LINES_IN_A_ROW: usize = 4096;

/// What is cut out of each line.
struct Cutter {
    /// Ranges from 1 on, in order and apart.
    ranges: Vec<(usize, usize)>,
    /// What is between fields; `None` when bytes are counted.
    delimiter: Option<u8>,
    /// What is printed between the parts.
    between: Vec<u8>,
    only_delimited: bool,
    line_end: u8,
}

async fn cut(cx: &Cx<'_>) -> Result<Done, Done> {
    let mut options = Options::parse(cx, &COMMAND, KNOWN, 1)?;
    let cutter = cutter(&options).map_err(|why| cx.misused(why))?;
    if options.operands.is_empty() {
        options.operands.push("-".to_string());
    }
    let mut done = Done::default();
    for file in &options.operands {
        match cx.read(file).await {
            Ok(bytes) => cutter.all(&bytes, &mut done).await,
            Err(fault) => done.complain(cx.name, format!("{file}: {}", words(&fault)), 1),
        }
    }
    Ok(done)
}

fn cutter(options: &Options) -> Result<Cutter, String> {
    const LISTS: [&str; 3] = ["bytes", "characters", "fields"];
    let mut lists = options.given().filter(|(name, _)| LISTS.contains(name));
    let (name, list) = lists.next().ok_or("you must specify a list of bytes, characters, or fields")?;
    if lists.next().is_some() {
        return Err("only one list may be specified".to_string());
    }
    let by_fields = name == "fields";
    if !by_fields && options.value("delimiter").is_some() {
        return Err("an input delimiter may be specified only when operating on fields".to_string());
    }
    if !by_fields && options.has("only-delimited") {
        return Err(
            "suppressing non-delimited lines makes sense\n\tonly when operating on fields".to_string()
        );
    }
    let delimiter = match options.value("delimiter").map(str::as_bytes) {
        None => b'\t',
        Some([]) => 0,
        Some([one]) => *one,
        Some(_) => return Err("the delimiter must be a single character".to_string()),
    };
    let mut ranges = ranges(list, by_fields)?;
    if options.has("complement") {
        ranges = complement(&ranges);
    }
    let between = match options.value("output-delimiter") {
        Some(text) => text.as_bytes().to_vec(),
        None if by_fields => vec![delimiter],
        None => Vec::new(),
    };
    Ok(Cutter {
        ranges,
        delimiter: by_fields.then_some(delimiter),
        between,
        only_delimited: options.has("only-delimited"),
        line_end: if options.has("zero-terminated") { 0 } else { b'\n' },
    })
}

/// The ranges of a list, those that overlap as one.
fn ranges(list: &str, by_fields: bool) -> Result<Vec<(usize, usize)>, String> {
    let (what, from_one) = match by_fields {
        true => ("field value", "fields are numbered from 1"),
        false => ("byte/character position", "byte/character positions are numbered from 1"),
    };
    let number = |text: &str| match text.bytes().all(|byte| byte.is_ascii_digit()) {
        // What is larger than any number is beyond every line all the same.
        true => Ok(text.parse().unwrap_or(usize::MAX)),
        false => Err(format!("invalid {what} '{text}'")),
    };
    let mut ranges = Vec::new();
    for part in list.split([',', ' ', '\t']) {
        let (first, last) = match part.split_once('-') {
            Some(("", "")) => return Err("invalid range with no endpoint: -".to_string()),
            Some((first, last)) => (
                if first.is_empty() { 1 } else { number(first)? },
                if last.is_empty() { usize::MAX } else { number(last)? },
            ),
            None if part.is_empty() => return Err(from_one.to_string()),
            None => (number(part)?, number(part)?),
        };
        if first == 0 || last == 0 {
            return Err(from_one.to_string());
        }
        if last < first {
            return Err("invalid decreasing range".to_string());
        }
        ranges.push((first, last));
    }
    ranges.sort_unstable();
    ranges.dedup_by(|next, before| {
        let overlaps = next.0 <= before.1;
        if overlaps {
            before.1 = before.1.max(next.1);
        }
        overlaps
    });
    Ok(ranges)
}

fn complement(ranges: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut out = Vec::new();
    let mut next = 1;
    for (first, last) in ranges {
        if next < *first {
            out.push((next, first - 1));
        }
        match last.checked_add(1) {
            Some(after) => next = after,
            None => return out,
        }
    }
    out.push((next, usize::MAX));
    out
}

impl Cutter {
    async fn all(&self, bytes: &[u8], done: &mut Done) {
        if bytes.is_empty() {
            return;
        }
        let whole = bytes.strip_suffix(&[self.line_end]).unwrap_or(bytes);
        // Where lines themselves are the fields, all of them are one line.
        if self.delimiter == Some(self.line_end) {
            return self.line(whole, done);
        }
        for (at, line) in whole.split(|byte| *byte == self.line_end).enumerate() {
            self.line(line, done);
            if done.is_full() {
                return;
            }
            if at % LINES_IN_A_ROW == 0 {
                tokio::task::yield_now().await;
            }
        }
    }

    fn line(&self, line: &[u8], done: &mut Done) {
        match self.delimiter {
            None => self.bytes(line, done),
            Some(delimiter) if line.contains(&delimiter) => self.fields(line, delimiter, done),
            Some(_) if self.only_delimited => return,
            Some(_) => done.print(line),
        }
        done.print([self.line_end]);
    }

    fn bytes(&self, line: &[u8], done: &mut Done) {
        for (at, (first, last)) in self.ranges.iter().enumerate() {
            let Some(part) = line.get(first - 1..line.len().min(*last)).filter(|part| !part.is_empty())
            else {
                return;
            };
            if at > 0 {
                done.print(&self.between);
            }
            done.print(part);
        }
    }

    fn fields(&self, line: &[u8], delimiter: u8, done: &mut Done) {
        let mut ranges = self.ranges.iter().peekable();
        let mut is_first = true;
        for (at, field) in line.split(|byte| *byte == delimiter).enumerate() {
            while ranges.next_if(|(_, last)| *last < at + 1).is_some() {}
            let Some((first, _)) = ranges.peek() else { return };
            if *first > at + 1 {
                continue;
            }
            if !std::mem::replace(&mut is_first, false) {
                done.print(&self.between);
            }
            done.print(field);
            if done.is_full() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::commands::stage::Stage;

    #[tokio::test]
    async fn parts_of_lines_are_printed() {
        let mut stage = Stage::new().await;
        stage.stdin = "a:b:c\nnone\nx::z\n".as_bytes().to_vec();
        for (line, display) in [
            (&["cut", "-d:", "-f2"][..], "b\nnone\n\n"),
            (&["cut", "-d", ":", "-f", "3,1"], "a:c\nnone\nx:z\n"),
            (&["cut", "-d:", "-sf2-"], "b:c\n:z\n"),
            (&["cut", "-d:", "-f1", "--complement", "-s"], "b:c\n:z\n"),
            (&["cut", "-d:", "-f1,3", "--output-delimiter= + ", "-s"], "a + c\nx + z\n"),
            (&["cut", "-b", "1-2,4"], "a::\nnoe\nx:z\n"),
            (&["cut", "-c", "-1"], "a\nn\nx\n"),
            (&["cut", "-c1-2,3-4", "--output-delimiter=|"], "a:|b:\nno|ne\nx:|:z\n"),
            (&["cut", "-d", "\n", "-f2"], "none\n"),
            (&["cut", "-c2-", "nothere"], ""),
        ] {
            let done = stage.run("alice", line).await;
            assert_eq!(String::from_utf8_lossy(&done.stdout), display, "{line:?}");
        }
        stage.stdin = "né".as_bytes().to_vec();
        assert_eq!(stage.run("alice", &["cut", "-c1-2"]).await.stdout, b"n\xc3\n");
        stage.stdin = b"ab\0cd\0".to_vec();
        assert_eq!(stage.prints(&["cut", "-zc2"]).await, "b\0d\0");
    }

    #[tokio::test]
    async fn mistakes_are_refused() {
        let stage = Stage::new().await;
        for line in [
            &["cut"][..],
            &["cut", "-f0"],
            &["cut", "-f3-1"],
            &["cut", "-f-"],
            &["cut", "-fx"],
            &["cut", "-f1", "-c1"],
            &["cut", "-c1", "-d:"],
            &["cut", "-c1", "-s"],
            &["cut", "-f1", "-dab"],
        ] {
            assert_eq!(stage.fails(line).await.0, 1, "{line:?}");
        }
    }

    #[tokio::test]
    async fn what_is_printed_between_does_not_grow_without_end() {
        let mut stage = Stage::new().await;
        stage.stdin = vec![b':'; 1024 * 1024];
        let between = format!("--output-delimiter={}", "x".repeat(100_000));
        let done = stage.run("alice", &["cut", "-d:", "-f1-", &between]).await;
        assert_eq!((done.code, done.stdout.len()), (1, base::limits::native_shell::STREAM_MAX_BYTES));
    }
}
