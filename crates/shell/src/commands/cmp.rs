//! `cmp`: where two files differ, byte by byte.

use super::options::{Opt, Options, flag, valued};
use super::{Command, Cx, Done, flat, words};
use crate::builtin_io::Io;

pub(super) static COMMAND: Command = Command {
    name: "cmp",
    aliases: &[],
    about: "compare two files byte by byte",
    usage: "[-b] [-l | -s] [-i SKIP[:SKIP]] [-n COUNT] FILE [FILE [SKIP [SKIP]]]",
    manual: "\
-s  print nothing     -l  every byte that differs, in octal     -b  also as letters
-i  leave out so many bytes at the beginning, of each file if there are two numbers
-n  compare so many bytes at most
Exit code 0 when the files are the same, 1 when they differ, 2 when something went wrong.",
    io: Io::PLAIN,
    run: |cx| Box::pin(async move { flat(compare(cx).await) }),
};

const KNOWN: &[Opt] = &[
    flag('b', "print-bytes"),
    flag('l', "verbose"),
    flag('s', "quiet"),
    flag('\0', "silent"),
    valued('i', "ignore-initial"),
    valued('n', "bytes"),
];

async fn compare(cx: &Cx<'_>) -> Result<Done, Done> {
    let trouble = |why: String| Done::failed(cx.name, why, 2);
    let options = Options::parse(cx, &COMMAND, KNOWN, 2)?;
    let number = |text: &str| {
        text.parse::<usize>().map_err(|_| trouble(format!("invalid --ignore-initial value '{text}'")))
    };
    let mut skips = [0, 0];
    if let Some(text) = options.value("ignore-initial") {
        let (first, second) = text.split_once(':').unwrap_or((text, text));
        skips = [number(first)?, number(second)?];
    }
    let (first, second) = match options.operands.as_slice() {
        [] => return Err(trouble("missing operand after 'cmp'".to_string())),
        [first] => (first.as_str(), "-"),
        [first, second, more @ ..] => {
            for (skip, text) in skips.iter_mut().zip(more) {
                *skip = number(text)?;
            }
            (first.as_str(), second.as_str())
        }
    };
    let most = options.number("bytes").map_err(trouble)?.map_or(usize::MAX, |most| most as usize);
    let mut sides = Vec::new();
    for (name, skip) in [first, second].into_iter().zip(skips) {
        let bytes = cx.read(name).await.map_err(|fault| trouble(format!("{name}: {}", words(&fault))))?;
        sides.push(bytes.into_iter().skip(skip).take(most).collect::<Vec<u8>>());
    }
    Ok(report(cx, &options, [first, second], [&sides[0], &sides[1]]))
}

fn report(cx: &Cx<'_>, options: &Options, names: [&str; 2], [a, b]: [&[u8]; 2]) -> Done {
    let (verbose, bytes) = (options.has("verbose"), options.has("print-bytes"));
    let quiet = options.has("quiet") || options.has("silent");
    if a == b {
        return Done::default();
    }
    let mut done = Done { code: 1, ..Done::default() };
    if quiet {
        return done;
    }
    let both = a.len().min(b.len());
    let width = both.to_string().len();
    let mut differing = (0..both).filter(|at| a[*at] != b[*at]).peekable();
    if verbose {
        for at in differing {
            let (x, y) = (a[at], b[at]);
            done.print(match bytes {
                true => format!("{:>width$} {x:3o} {:4} {y:3o} {}\n", at + 1, letter(x), letter(y)),
                false => format!("{:>width$} {x:3o} {y:3o}\n", at + 1),
            });
        }
    } else if let Some(at) = differing.next() {
        let (x, y) = (a[at], b[at]);
        let line = 1 + newlines(&a[..at]);
        let display = match bytes {
            true => format!(" is {x:3o} {} {y:3o} {}", letter(x), letter(y)),
            false => String::new(),
        };
        done.print(format!("{} {} differ: byte {}, line {line}{display}\n", names[0], names[1], at + 1));
        return done;
    }
    if a.len() != b.len() {
        let (shorter, name) = if a.len() < b.len() { (a, names[0]) } else { (b, names[1]) };
        let line = newlines(shorter);
        let place = match shorter {
            [] => "which is empty".to_string(),
            _ if verbose => format!("after byte {}", shorter.len()),
            [.., b'\n'] => format!("after byte {}, line {line}", shorter.len()),
            _ => format!("after byte {}, in line {}", shorter.len(), line + 1),
        };
        done.complain(cx.name, format!("EOF on {name} {place}"), 1);
    }
    done
}

fn newlines(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte == b'\n').count()
}

/// A byte as a letter: `a`, `^J`, `M-a`.
fn letter(byte: u8) -> String {
    let low = byte & 0x7f;
    let mark = if byte > 0x7f { "M-" } else { "" };
    match low {
        0..=31 => format!("{mark}^{}", (low + 64) as char),
        127 => format!("{mark}^?"),
        _ => format!("{mark}{}", low as char),
    }
}

#[cfg(test)]
mod tests {
    use crate::commands::stage::{Stage, text};

    #[tokio::test]
    async fn the_first_difference_is_named() {
        let mut stage = Stage::new().await;
        stage.write("alice", "~/a", "one\ntwo\n", 0o644).await;
        stage.write("alice", "~/b", "one\nTWo\n", 0o644).await;
        stage.write("alice", "~/c", "one\n", 0o644).await;
        stage.write("alice", "~/e", "", 0o644).await;
        stage.stdin = b"one\ntwo\n".to_vec();
        assert_eq!(stage.prints(&["cmp", "a"]).await, "");
        assert_eq!(stage.prints(&["cmp", "-n", "4", "a", "b"]).await, "");
        assert_eq!(stage.prints(&["cmp", "-i", "6", "a", "b"]).await, "");
        for (line, display, complaint) in [
            (&["cmp", "a", "b"][..], "a b differ: byte 5, line 2\n", ""),
            (&["cmp", "-b", "a", "b"], "a b differ: byte 5, line 2 is 164 t 124 T\n", ""),
            (&["cmp", "-l", "a", "b"], "5 164 124\n6 167 127\n", ""),
            (&["cmp", "-s", "a", "b"], "", ""),
            (&["cmp", "a", "c"], "", "cmp: EOF on c after byte 4, line 1\n"),
            (&["cmp", "a", "e"], "", "cmp: EOF on e which is empty\n"),
        ] {
            let done = stage.run("alice", line).await;
            let seen = (done.code, text(&done.stdout), text(&done.stderr));
            assert_eq!(seen, (1, display.to_string(), complaint.to_string()), "{line:?}");
        }
        assert_eq!(stage.fails(&["cmp", "a", "x"]).await.0, 2);
    }
}
