//! `xxd`: hex dump, and back.

use base::limits;
use vfs::Code;

use super::masks::writing;
use super::{Command, Cx, Done, flat, words};
use crate::builtin_io::{Endless, Io};
use crate::stdin_demand::{self, Stdin};

pub(super) static COMMAND: Command = Command {
    name: "xxd",
    aliases: &[],
    about: "show bytes in hex, or make bytes of hex",
    usage: "[-b | -i | -p] [-r] [-u] [-d] [-c COLUMNS] [-g BYTES] [-l COUNT] [-s OFFSET] [-o ADD] [IN [OUT]]",
    manual: "\
-p  only the hex        -i  as an array of C       -b  the single bits
-r  back to bytes, with -p from plain hex           -u  in capital letters
-c  bytes in a line     -g  bytes in a group        -d  positions in decimal
-l  stop after so many bytes   -s  begin there, from the end when negative   -o  added to positions",
    io: Io {
        endless: Endless::Nothing,
        ..Io::reading(Stdin::files("cglos", &[]).asking(stdin_demand::of_xxd))
    },
    run: |cx| Box::pin(async move { flat(convert(cx).await) }),
};

#[derive(Default)]
struct Wanted {
    plain: bool,
    include: bool,
    bits: bool,
    reverse: bool,
    upper: bool,
    decimal: bool,
    columns: Option<usize>,
    group: Option<usize>,
    count: Option<usize>,
    seek: i64,
    add: usize,
    files: Vec<String>,
}

async fn convert(cx: &Cx<'_>) -> Result<Done, Done> {
    let wanted = wanted(cx)?;
    let input = wanted.files.first().map_or("-", String::as_str);
    let failed =
        |name: &str, fault: &vfs::Fault| Done::failed(cx.name, format!("{name}: {}", words(fault)), 2);
    let mut bytes = cx.read(input).await.map_err(|fault| failed(input, &fault))?;
    let out = if wanted.reverse {
        if wanted.plain { from_plain(&bytes) } else { from_dump(&bytes).ok_or_else(|| far(cx))? }
    } else {
        let start = match usize::try_from(wanted.seek) {
            Ok(start) => start.min(bytes.len()),
            Err(_) => bytes.len().saturating_sub(wanted.seek.unsigned_abs() as usize),
        };
        bytes.drain(..start);
        bytes.truncate(wanted.count.unwrap_or(usize::MAX));
        if wanted.plain {
            wanted.plain_dump(&bytes)
        } else if wanted.include {
            wanted.array(&bytes, input)
        } else {
            wanted.dump(&bytes, start)
        }
        .ok_or_else(|| Done::failed(cx.name, Code::TooLarge.shell_words(), 3))?
    };
    let Some(file) = wanted.files.get(1) else { return Ok(Done::printed(out)) };
    let path = cx.view.path(file).map_err(|fault| failed(file, &fault))?;
    cx.view.write(&path, out, writing(cx)).await.map_err(|fault| failed(file, &fault))?;
    Ok(Done::default())
}

fn far(cx: &Cx<'_>) -> Done {
    Done::failed(cx.name, "Sorry, cannot seek so far.", 5)
}

/// Its options are words of their own kind: `-ps`, `-c16`, `-len 4`.
fn wanted(cx: &Cx<'_>) -> Result<Wanted, Done> {
    let mut wanted = Wanted::default();
    let mut words = cx.args.iter();
    while let Some(word) = words.next() {
        if word == "--help" || word == "-h" {
            return Err(Done::printed(format!("{}{}\n", COMMAND.usage_line(), COMMAND.about)));
        }
        let Some(option) = word.strip_prefix('-').filter(|option| !option.is_empty()) else {
            wanted.files.push(word.clone());
            continue;
        };
        let option = option.trim_start_matches('-');
        match option {
            "p" | "ps" | "plain" | "postscript" => wanted.plain = true,
            "i" | "include" => wanted.include = true,
            "b" | "bits" => wanted.bits = true,
            "r" | "revert" => wanted.reverse = true,
            "rp" | "pr" => (wanted.reverse, wanted.plain) = (true, true),
            "u" | "uppercase" => wanted.upper = true,
            "up" | "pu" => (wanted.upper, wanted.plain) = (true, true),
            "d" => wanted.decimal = true,
            "a" | "autoskip" => {}
            _ => {
                let letter = option.chars().next().unwrap_or_default();
                let rest = option[letter.len_utf8()..]
                    .trim_start_matches(|c: char| c.is_ascii_alphabetic() && c != 'x');
                let text = if rest.is_empty() { words.next().map_or("", String::as_str) } else { rest };
                let value = number(text).filter(|_| "cglso".contains(letter)).ok_or_else(|| {
                    let mut done = Done::failed(cx.name, format!("invalid option '{word}'"), 1);
                    done.stderr.extend_from_slice(COMMAND.usage_line().as_bytes());
                    done
                })?;
                let size = usize::try_from(value).unwrap_or(0);
                match letter {
                    'c' => wanted.columns = Some(size),
                    'g' => wanted.group = Some(size),
                    'l' => wanted.count = Some(size),
                    's' => wanted.seek = value,
                    _ => wanted.add = size,
                }
            }
        }
    }
    if wanted.columns.is_some_and(|columns| columns > 256) && !wanted.plain {
        return Err(Done::failed(cx.name, "invalid number of columns (max. 256).", 1));
    }
    Ok(wanted)
}

/// `16`, `0x10`, `-4`, `+4`.
fn number(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let value = match digits.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16).ok()?,
        None => digits.parse().ok()?,
    };
    if negative { value.checked_neg() } else { Some(value) }
}

impl Wanted {
    fn hex(&self, byte: u8) -> String {
        match (self.bits, self.upper) {
            (true, _) => format!("{byte:08b}"),
            (false, true) => format!("{byte:02X}"),
            (false, false) => format!("{byte:02x}"),
        }
    }

    fn plain_dump(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let columns = self.columns.filter(|columns| *columns > 0).unwrap_or(30);
        let line = |line: &[u8]| line.iter().map(|byte| self.hex(*byte)).collect::<String>() + "\n";
        gathered(bytes.chunks(columns).map(line))
    }

    fn dump(&self, bytes: &[u8], start: usize) -> Option<Vec<u8>> {
        let columns = self.columns.filter(|columns| *columns > 0).unwrap_or(if self.bits { 6 } else { 16 });
        let group = self.group.unwrap_or(if self.bits { 1 } else { 2 });
        // One that is wider than a line is as wide as it matters not.
        let group = if group == 0 { columns } else { group.min(columns + 1) };
        let wide = group * if self.bits { 8 } else { 2 } + 1;
        let display = |(at, line): (usize, &[u8])| {
            let position = (start + at * columns).wrapping_add(self.add);
            let mut text = if self.decimal { format!("{position:08}:") } else { format!("{position:08x}:") };
            let begin = text.len();
            for (place, byte) in line.iter().enumerate() {
                let column = begin + 1 + wide * place / group;
                text.push_str(&" ".repeat(column.saturating_sub(text.len())));
                text.push_str(&self.hex(*byte));
            }
            let column = begin + 3 + (wide * columns - 1) / group;
            text.push_str(&" ".repeat(column.saturating_sub(text.len())));
            text.extend(line.iter().map(|byte| if matches!(byte, 32..=126) { *byte as char } else { '.' }));
            text.push('\n');
            text
        };
        gathered(bytes.chunks(columns).enumerate().map(display))
    }

    /// `unsigned char name[] = { … };` for a file, only what is between the braces for standard input.
    fn array(&self, bytes: &[u8], name: &str) -> Option<Vec<u8>> {
        let columns = self.columns.filter(|columns| *columns > 0).unwrap_or(12);
        let prefix = if self.upper { "0X" } else { "0x" };
        let line = |line: &[u8]| {
            let values: Vec<String> =
                line.iter().map(|byte| format!("{prefix}{}", self.hex(*byte))).collect();
            format!("  {},\n", values.join(", "))
        };
        let mut body = String::from_utf8(gathered(bytes.chunks(columns).map(line))?).ok()?;
        // There is no comma after the last one.
        body.truncate(body.len().saturating_sub(2));
        body.push('\n');
        if name == "-" {
            return Some(body.into_bytes());
        }
        let mut word: String =
            name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        if word.starts_with(|first: char| first.is_ascii_digit()) {
            word.insert_str(0, "__");
        }
        let length = bytes.len();
        let text = format!("unsigned char {word}[] = {{\n{body}}};\nunsigned int {word}_len = {length};\n");
        Some(text.into_bytes())
    }
}

/// The lines as one text; `None` when that is more than a shell passes on.
fn gathered(lines: impl Iterator<Item = String>) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    for line in lines {
        out.extend_from_slice(line.as_bytes());
        if out.len() > limits::native_shell::STREAM_MAX_BYTES {
            return None;
        }
    }
    Some(out)
}

/// The bytes of plain hex; what is no hex is left out.
fn from_plain(text: &[u8]) -> Vec<u8> {
    let digits: Vec<u8> = text.iter().filter_map(|byte| digit(*byte)).collect();
    digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// The bytes of a dump, each line where it says; `None` when that is too far.
fn from_dump(text: &[u8]) -> Option<Vec<u8>> {
    let mut out: Vec<u8> = Vec::new();
    for line in String::from_utf8_lossy(text).lines() {
        let Some((position, rest)) = line.split_once(':') else { continue };
        let Ok(position) = usize::from_str_radix(position.trim(), 16) else { continue };
        // Two blanks are where the letters begin.
        let hex = rest.trim_start().split("  ").next().unwrap_or_default();
        let bytes = from_plain(hex.as_bytes());
        let end = position.checked_add(bytes.len())?;
        if end > limits::native_shell::STREAM_MAX_BYTES {
            return None;
        }
        if out.len() < end {
            out.resize(end, 0);
        }
        out[position..end].copy_from_slice(&bytes);
    }
    Some(out)
}

fn digit(byte: u8) -> Option<u8> {
    (byte as char).to_digit(16).map(|digit| digit as u8)
}

#[cfg(test)]
mod tests {
    use crate::commands::stage::Stage;

    #[tokio::test]
    async fn bytes_are_shown_and_read_back() {
        let mut stage = Stage::new().await;
        stage.stdin = b"Hello, world!\n".to_vec();
        let dump = "00000000: 4865 6c6c 6f2c 2077 6f72 6c64 210a       Hello, world!.\n";
        for (line, display) in [
            (&["xxd"][..], dump),
            (&["xxd", "-p"], "48656c6c6f2c20776f726c64210a\n"),
            (
                &["xxd", "-u", "-c", "4", "-s", "5", "-l", "5"],
                "00000005: 2C20 776F  , wo\n00000009: 72         r\n",
            ),
            (&["xxd", "-g1", "-l2"], "00000000: 48 65                                            He\n"),
            (
                &["xxd", "-b", "-l", "2"],
                "00000000: 01001000 01100101                                      He\n",
            ),
            (&["xxd", "-i", "-l", "2"], "  0x48, 0x65\n"),
            (&["xxd", "-s", "-2", "-p"], "210a\n"),
        ] {
            assert_eq!(stage.prints(line).await, display, "{line:?}");
        }
        stage.stdin = dump.as_bytes().to_vec();
        assert_eq!(stage.prints(&["xxd", "-r"]).await, "Hello, world!\n");
        stage.stdin = b"4865 6c6c\n6f".to_vec();
        assert_eq!(stage.prints(&["xxd", "-r", "-p"]).await, "Hello");
        assert_eq!(stage.prints(&["xxd", "-r", "-p", "-", "out"]).await, "");
        assert_eq!(stage.text("/home/alice/out").await, "Hello");
        stage.stdin = b"ffffffffff: 00".to_vec();
        assert_eq!(stage.fails(&["xxd", "-r"]).await.0, 5);
        assert_eq!(stage.fails(&["xxd", "-Q"]).await.0, 1);
    }
}
