//! Incremental framing of response bodies: server-sent events, or one JSON text per line.
//! Bytes may come in pieces of any size, broken anywhere.

use base::limits::model::EVENT_MAX_BYTES;

use crate::failure::{Cause, Failure};

/// How a body is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Server-sent events.
    Events,
    /// One JSON text per line.
    Lines,
}

/// What has come and is not yet a whole event.
#[derive(Debug)]
pub(crate) struct Splitter {
    framing: Framing,
    line: Vec<u8>,
    /// True after a CR, whose LF belongs to the same line end.
    after_cr: bool,
    first_line: bool,
    data: String,
    has_data: bool,
}

impl Splitter {
    pub fn new(framing: Framing) -> Splitter {
        Splitter {
            framing,
            line: Vec::new(),
            after_cr: false,
            first_line: true,
            data: String::new(),
            has_data: false,
        }
    }

    /// Takes bytes in and puts the data of each event they complete into `out`.
    pub fn feed(&mut self, mut bytes: &[u8], out: &mut Vec<String>) -> Result<(), Failure> {
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_cr) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            self.line.extend_from_slice(&bytes[..end.unwrap_or(bytes.len())]);
            if self.line.len() + self.data.len() > EVENT_MAX_BYTES {
                let text = format!("One event of the model's answer exceeds {EVENT_MAX_BYTES} bytes");
                return Err(Failure::new(Cause::Provider, text));
            }
            let Some(end) = end else { return Ok(()) };
            self.after_cr = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            self.end_line(out);
        }
        Ok(())
    }

    /// The body has ended: a last line without its line end counts for lines, not for events.
    pub fn finish(&mut self, out: &mut Vec<String>) {
        if !self.line.is_empty() {
            self.end_line(out);
        }
        if self.has_data {
            // Many servers forget the blank line after their last event; what is half will not parse.
            self.end_event(out);
        }
    }

    fn end_line(&mut self, out: &mut Vec<String>) {
        let line = std::mem::take(&mut self.line);
        let mut text = String::from_utf8_lossy(&line);
        if std::mem::take(&mut self.first_line)
            && let Some(rest) = text.strip_prefix('\u{feff}')
        {
            text = rest.to_owned().into();
        }
        match self.framing {
            Framing::Lines => {
                if !text.trim().is_empty() {
                    out.push(text.into_owned());
                }
            }
            Framing::Events if text.is_empty() => self.end_event(out),
            Framing::Events => self.field(&text),
        }
    }

    /// Only `data` matters: every provider repeats the event's name inside its JSON.
    fn field(&mut self, line: &str) {
        let Some(rest) = line.strip_prefix("data") else { return };
        let value = match rest.strip_prefix(':') {
            Some(value) => value.strip_prefix(' ').unwrap_or(value),
            None if rest.is_empty() => "",
            None => return,
        };
        if self.has_data {
            self.data.push('\n');
        }
        self.has_data = true;
        self.data.push_str(value);
    }

    fn end_event(&mut self, out: &mut Vec<String>) {
        if std::mem::take(&mut self.has_data) {
            out.push(std::mem::take(&mut self.data));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn split(framing: Framing, pieces: &[&[u8]]) -> Vec<String> {
        let mut splitter = Splitter::new(framing);
        let mut out = Vec::new();
        for piece in pieces {
            splitter.feed(piece, &mut out).expect("small enough");
        }
        splitter.finish(&mut out);
        out
    }

    #[test]
    fn events_of_all_kinds_are_found() {
        let body =
            "\u{feff}: hello\r\n\r\nevent: x\r\ndata: {\"a\":\r\ndata:1}\r\n\r\nid: 7\ndata\n\n\rdata: last";
        assert_eq!(split(Framing::Events, &[body.as_bytes()]), ["{\"a\":\n1}", "", "last"]);
    }

    #[test]
    fn lines_are_found() {
        assert_eq!(split(Framing::Lines, &[b"{\"a\":1}\n\n", b"{\"b\"", b":2}"]), ["{\"a\":1}", "{\"b\":2}"]);
    }

    #[test]
    fn an_endless_line_is_refused() {
        let mut splitter = Splitter::new(Framing::Events);
        let piece = vec![b'x'; EVENT_MAX_BYTES];
        splitter.feed(&piece, &mut Vec::new()).expect("just small enough");
        assert!(splitter.feed(b"x", &mut Vec::new()).is_err());
    }

    proptest! {
        #[test]
        fn where_the_pieces_break_does_not_matter(cuts in prop::collection::vec(0usize..70, 0..12)) {
            let body = "data: ä€😀\r\n\r\n:c\r\ndata: {\r\ndata: }\n\nevent: y\rdata: z\r\r".as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(body.len())).collect();
            cuts.extend([0, body.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &body[pair[0]..pair[1]]).collect();
            prop_assert_eq!(split(Framing::Events, &pieces), vec!["ä€😀", "{\n}", "z"]);
        }
    }
}
