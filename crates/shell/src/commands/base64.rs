//! `base64`: encoding and decoding.

use ::base64::Engine;
use ::base64::engine::general_purpose::STANDARD;

use super::options::{Opt, Options, flag, valued};
use super::{Command, Cx, Done, flat, words};
use crate::builtin_io::Io;
use crate::stdin_demand::Stdin;

pub(super) static COMMAND: Command = Command {
    name: "base64",
    aliases: &[],
    about: "encode or decode base64",
    usage: "[-d] [-i] [-w COLUMNS] [FILE]",
    manual: "\
-d  decode, -i leaving out what is no letter of base64
-w  break lines after so many letters, 76 unless given; 0 does not break them
What cannot be decoded ends it with code 1, after what went before.",
    io: Io::reading(Stdin::files("w", &["--wrap"])),
    run: |cx| Box::pin(async move { flat(convert(cx).await) }),
};

const KNOWN: &[Opt] =
    &[flag('d', "decode"), flag('D', "Decode"), flag('i', "ignore-garbage"), valued('w', "wrap")];

const COLUMNS: usize = 76;

async fn convert(cx: &Cx<'_>) -> Result<Done, Done> {
    let options = Options::parse(cx, &COMMAND, KNOWN, 1)?;
    let columns = match options.value("wrap") {
        Some(text) => text.parse().map_err(|_| cx.misused(format!("invalid wrap size: '{text}'")))?,
        None => COLUMNS,
    };
    let file = match options.operands.as_slice() {
        [] => "-",
        [file] => file,
        [_, second, ..] => return Err(cx.misused(format!("extra operand '{second}'"))),
    };
    let bytes = cx.read(file).await.map_err(|fault| cx.misused(format!("{file}: {}", words(&fault))))?;
    if options.has("decode") || options.has("Decode") {
        let (decoded, whole) = decode(&bytes, options.has("ignore-garbage"));
        let mut done = Done::printed(decoded);
        if !whole {
            done.complain(cx.name, "invalid input", 1);
        }
        return Ok(done);
    }
    let mut out = STANDARD.encode(bytes).into_bytes();
    if columns > 0 {
        out = out.chunks(columns).flat_map(|line| [line, b"\n"].concat()).collect();
    }
    Ok(Done::printed(out))
}

/// The bytes, as far as they can be told, and whether that is all of them.
fn decode(text: &[u8], ignore_garbage: bool) -> (Vec<u8>, bool) {
    let counts = |byte: &u8| match ignore_garbage {
        true => value(*byte).is_some() || *byte == b'=',
        false => *byte != b'\n',
    };
    let letters: Vec<u8> = text.iter().copied().filter(counts).collect();
    let mut out = Vec::with_capacity(letters.len() / 4 * 3);
    let whole = letters.chunks(4).all(|four| decode_four(four, &mut out).is_some());
    (out, whole)
}

/// Up to three bytes from four letters; `None` when a letter is missing or none.
fn decode_four(four: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let (a, b) = (value(*four.first()?)?, value(*four.get(1)?)?);
    out.push(a << 2 | b >> 4);
    let third = *four.get(2)?;
    if third == b'=' {
        return (four.get(3) == Some(&b'=')).then_some(());
    }
    let c = value(third)?;
    out.push(b << 4 | c >> 2);
    let fourth = *four.get(3)?;
    if fourth != b'=' {
        out.push(c << 6 | value(fourth)?);
    }
    Some(())
}

fn value(letter: u8) -> Option<u8> {
    Some(match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::stage::Stage;

    #[tokio::test]
    async fn bytes_become_letters_and_back() {
        let mut stage = Stage::new().await;
        stage.stdin = vec![b'a'; 60];
        let encoded = stage.prints(&["base64"]).await;
        assert_eq!(encoded, format!("{}YWFh\n{}\n", "YWFh".repeat(18), "YWFh"));
        assert_eq!(stage.prints(&["base64", "-w", "0"]).await, "YWFh".repeat(20));
        stage.stdin = encoded.into_bytes();
        assert_eq!(stage.prints(&["base64", "-d"]).await, "a".repeat(60));
        assert_eq!(
            stage.fails(&["base64", "-w", "x"]).await,
            (1, "base64: invalid wrap size: 'x'\n".to_string())
        );
    }

    #[test]
    fn what_went_before_a_mistake_is_kept() {
        for (text, bytes, whole) in [
            (&b"aGVsbG8="[..], &b"hello"[..], true),
            (b"aGVs\nbG8=", b"hello", true),
            (b"aGk=aGk=", b"hihi", true),
            (b"aGVsbG8", b"hello", false),
            (b"aGVsb*8=", b"hel", false),
            (b"not*base64", &[0x9e, 0x8b], false),
            (b"a", b"", false),
            (b"", b"", true),
        ] {
            assert_eq!(decode(text, false), (bytes.to_vec(), whole), "{text:?}");
        }
        assert_eq!(decode(b"aG*Vs bG8=", true), (b"hello".to_vec(), true));
    }
}
