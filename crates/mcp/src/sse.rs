//! Reader of server-sent events over a streaming body, within limits.

use std::time::Duration;

use base::limits;
use outgoing::Body;

use crate::failure::Failure;

/// One event.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Event {
    /// Its name; `message` where it has none.
    pub(crate) name: String,
    /// The lines of data.
    pub(crate) data: String,
}

/// The events of a body.
pub(crate) struct Events {
    body: Body,
    parser: Parser,
}

impl Events {
    pub(crate) fn new(body: Body) -> Events {
        Events { body, parser: Parser::default() }
    }

    /// The next event; `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> Result<Option<Event>, Failure> {
        loop {
            if let Some(event) = self.parser.next() {
                return Ok(Some(event));
            }
            let Some(piece) = self.body.next().await? else { return Ok(None) };
            self.parser.feed(&piece)?;
        }
    }

    /// The id of the last event, to go on from.
    pub(crate) fn last_id(&self) -> Option<&str> {
        self.parser.last_id.as_deref()
    }

    /// How long the server wants a client to wait before it comes back.
    pub(crate) fn retry(&self) -> Option<Duration> {
        self.parser.retry
    }
}

/// The state between pieces.
#[derive(Default)]
struct Parser {
    buffer: Vec<u8>,
    /// How much of the buffer has been looked at.
    scanned: usize,
    event: Event,
    has_data: bool,
    last_id: Option<String>,
    retry: Option<Duration>,
    ready: std::collections::VecDeque<Event>,
}

impl Parser {
    fn feed(&mut self, piece: &[u8]) -> Result<(), Failure> {
        self.buffer.extend_from_slice(piece);
        let mut start = 0;
        while let Some(at) = self.buffer[self.scanned..].iter().position(|byte| *byte == b'\n') {
            let end = self.scanned + at;
            let line = self.buffer[start..end].to_vec();
            self.line(line.strip_suffix(b"\r").unwrap_or(&line));
            start = end + 1;
            self.scanned = start;
        }
        self.buffer.drain(..start);
        self.scanned = self.buffer.len();
        if self.buffer.len() + self.event.data.len() > limits::mcp::ANSWER_MAX_BYTES {
            return Err(Failure::Unexpected("an event of the server is too large".to_string()));
        }
        Ok(())
    }

    fn line(&mut self, line: &[u8]) {
        let line = String::from_utf8_lossy(line);
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            if std::mem::take(&mut self.has_data) {
                let name = if event.name.is_empty() { "message".to_string() } else { event.name };
                self.ready.push_back(Event { name, data: event.data });
            }
            return;
        }
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.event.name = value.to_string(),
            "data" => {
                if self.has_data {
                    self.event.data.push('\n');
                }
                self.has_data = true;
                self.event.data.push_str(value);
            }
            "id" if !value.contains('\0') && value.len() <= 1_024 => self.last_id = Some(value.to_string()),
            "retry" => self.retry = value.parse().ok().map(Duration::from_millis).or(self.retry),
            _ => {}
        }
    }

    fn next(&mut self) -> Option<Event> {
        self.ready.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_out_however_the_bytes_are_cut() {
        let text = ": hello\r\nevent: endpoint\r\ndata: /message?x=1\r\n\r\nid: 7\nretry: 250\ndata:a\ndata: b\n\ndata:\n\nid:8\n\ndata: open";
        for size in 1..text.len() {
            let mut parser = Parser::default();
            let mut events = Vec::new();
            for piece in text.as_bytes().chunks(size) {
                parser.feed(piece).unwrap();
                events.extend(std::iter::from_fn(|| parser.next()));
            }
            let event = |name: &str, data: &str| Event { name: name.into(), data: data.into() };
            assert_eq!(
                events,
                [event("endpoint", "/message?x=1"), event("message", "a\nb"), event("message", "")]
            );
            assert_eq!(
                (parser.last_id.as_deref(), parser.retry),
                (Some("8"), Some(Duration::from_millis(250)))
            );
        }
    }

    #[test]
    fn an_event_without_an_end_is_refused() {
        let mut parser = Parser::default();
        let piece = vec![b'x'; 1024 * 1024];
        let fed = (0..=limits::mcp::ANSWER_MAX_BYTES / piece.len()).map(|_| parser.feed(&piece));
        assert!(fed.last().unwrap().is_err());
    }
}
