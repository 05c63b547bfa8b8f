//! Deduplication of polled output: each answer brings what is new. Around a lost connection an answer may get lost, or its
//! output may come twice, because the device cannot know what arrived; both are noticed by what else the answers tell.

use base::limits;
use protocol::shell::{ExecResult, Status};

/// What has been shown so far.
#[derive(Default)]
pub struct Stream {
    /// All that was shown, until it is more than a target keeps.
    printed: String,
    overflowed: bool,
    /// The end of what was shown, long enough to compare with an answer's `tail`.
    recent: String,
    /// The output of the last answer.
    last: String,
    /// An answer may have been lost, and is looked for when all output is there.
    lost: bool,
    /// The next output may begin with that of the last answer.
    repeats: bool,
    warning: Option<String>,
    text: String,
    /// Bytes of output in all answers.
    received: usize,
    dropped: bool,
}

impl Stream {
    /// The text to show for an answer.
    pub fn take(&mut self, result: &ExecResult) -> &str {
        self.notice_dropped(result);
        let mut text = result.output.as_str();
        if self.repeats && !text.is_empty() {
            self.repeats = false;
            text = self.without_repetition(text, result.tail.as_deref());
        }
        let complete = result.stdout.is_some() || result.stderr.is_some();
        self.text = if self.lost && complete { self.recovered(text, result) } else { text.to_string() };
        if !self.repeats {
            self.last.clone_from(&result.output);
        }
        self.remember();
        &self.text
    }

    /// Notes that the connection was lost, and an answer perhaps with it.
    pub fn answer_lost(&mut self) {
        self.lost = true;
        self.repeats = true;
    }

    /// What to tell about output that could not be found again.
    pub fn warning(&mut self) -> Option<String> {
        self.warning.take()
    }

    /// Whether the target dropped output before it could be read.
    pub fn dropped(&self) -> bool {
        self.dropped
    }

    /// At the end `truncated` also speaks of `stdout` and `stderr`, which keep less than was shown.
    fn notice_dropped(&mut self, result: &ExecResult) {
        self.received += result.output.len();
        if self.dropped || result.truncated != Some(true) {
            return;
        }
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let told = result.output.starts_with("[… ") && result.output.contains(" bytes dropped …]");
        let short = self.received <= length(&result.stdout) + length(&result.stderr);
        if result.status == Status::Running || told || short {
            self.dropped = true;
            let warning = "warning: output was dropped: the command wrote faster than it could be read; \
                use `gsv cp` for files";
            self.warning = Some(warning.to_string());
        }
    }

    fn remember(&mut self) {
        self.overflowed |= self.printed.len() + self.text.len() > limits::shell::OUTPUT_MAX_BYTES;
        if self.overflowed {
            self.printed.clear();
        } else {
            self.printed.push_str(&self.text);
        }
        self.recent.push_str(&self.text);
        let surplus = self.recent.len().saturating_sub(limits::shell::TAIL_BYTES * 2);
        self.recent.drain(..self.recent.ceil_char_boundary(surplus));
    }

    /// New output without that of the last answer, if it begins with it and the tail does not speak for both.
    fn without_repetition<'a>(&self, text: &'a str, tail: Option<&str>) -> &'a str {
        let rest = match text.strip_prefix(self.last.as_str()) {
            Some(rest) if !self.last.is_empty() => rest,
            _ => return text,
        };
        match tail {
            Some(tail) if tail.len() > text.len() && self.ends_with(text, tail) => text,
            _ => rest,
        }
    }

    fn ends_with(&self, text: &str, tail: &str) -> bool {
        format!("{}{text}", self.recent).ends_with(tail)
    }

    /// New output with what was lost before it, where that can be found; else with a warning.
    fn recovered(&mut self, text: &str, result: &ExecResult) -> String {
        self.lost = false;
        let stdout = result.stdout.as_deref().unwrap_or_default();
        let stderr = result.stderr.as_deref().unwrap_or_default();
        let cut = result.truncated == Some(true);
        if !self.overflowed && !cut {
            if stdout.len() + stderr.len() <= self.printed.len() + text.len() {
                return text.to_string();
            }
            // With one stream only, the order is certain.
            for (stream, other) in [(stdout, stderr), (stderr, stdout)] {
                if other.is_empty()
                    && let Some(rest) = stream.strip_prefix(self.printed.as_str())
                {
                    return rest.to_string();
                }
            }
        }
        self.warning.get_or_insert_with(|| "warning: some output may be missing".to_string());
        text.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(output: &str, stdout: &str, stderr: &str) -> ExecResult {
        let json = serde_json::json!({
            "ok": true, "status": "completed", "output": output, "stdout": stdout, "stderr": stderr,
        });
        serde_json::from_value(json).unwrap()
    }

    fn running(output: &str, tail: &str) -> ExecResult {
        let status = Status::Running;
        ExecResult { status, stdout: None, stderr: None, tail: Some(tail.into()), ..answer(output, "", "") }
    }

    #[test]
    fn dropped_output_is_told_once() {
        let cut = |result: ExecResult| ExecResult { truncated: Some(true), ..result };
        let mut stream = Stream::default();
        stream.take(&cut(running("[… 7 bytes dropped …]\nend\n", "end\n")));
        assert!(stream.dropped() && stream.warning().unwrap().contains("gsv cp"));
        stream.take(&cut(answer("more\n", "end\nmore\n", "")));
        assert_eq!(stream.warning(), None);
        for end in [answer("[… 7 bytes dropped …]\nend", "end", ""), answer("end", "end", "")] {
            let mut stream = Stream::default();
            stream.take(&cut(end));
            assert!(stream.dropped());
        }
    }

    #[test]
    fn a_long_output_that_was_read_in_time_is_whole() {
        let mut stream = Stream::default();
        stream.take(&running("12345", "12345"));
        stream.take(&ExecResult { truncated: Some(true), ..answer("6789", "56789", "") });
        assert!(!stream.dropped() && stream.warning().is_none());
    }

    #[test]
    fn a_lost_part_is_found_again_at_the_end() {
        let mut stream = Stream::default();
        assert_eq!(stream.take(&running("1\n", "1\n")), "1\n");
        stream.answer_lost();
        assert_eq!(stream.take(&running("", "1\n2\n")), "");
        assert_eq!(stream.take(&answer("3\n", "1\n2\n3\n", "")), "2\n3\n");
        assert_eq!(stream.warning(), None);
    }

    #[test]
    fn what_comes_twice_is_shown_once() {
        let mut stream = Stream::default();
        stream.take(&running("1\n", "1\n"));
        stream.take(&running("2\n", "1\n2\n"));
        stream.answer_lost();
        assert_eq!(stream.take(&running("", "1\n2\n")), "");
        assert_eq!(stream.take(&running("3\n", "1\n2\n3\n")), "3\n");
        stream.answer_lost();
        assert_eq!(stream.take(&running("", "1\n2\n3\n4\n")), "");
        assert_eq!(stream.take(&running("3\n4\n", "1\n2\n3\n4\n")), "4\n");
        assert_eq!(stream.take(&answer("5\n", "1\n2\n3\n4\n5\n", "")), "5\n");
        assert_eq!(stream.warning(), None);
    }

    #[test]
    fn what_is_said_twice_is_shown_twice() {
        let mut stream = Stream::default();
        stream.take(&running("start\n", "start\n"));
        stream.take(&running("tick\n", "start\ntick\n"));
        stream.answer_lost();
        assert_eq!(stream.take(&running("tick\n", "start\ntick\ntick\n")), "tick\n");
    }

    #[test]
    fn a_long_repetition_is_known_without_its_tail() {
        let (mut stream, long) = (Stream::default(), "0123456789".repeat(10_000));
        stream.take(&running(&long, &long[96_000..]));
        stream.answer_lost();
        let again = format!("{long}more");
        assert_eq!(stream.take(&running(&again, &again[again.len() - 4_000..])), "more");
    }

    #[test]
    fn when_nothing_was_lost_nothing_is_repeated() {
        let mut stream = Stream::default();
        stream.take(&running("out err", "out err"));
        stream.answer_lost();
        assert_eq!(stream.take(&answer("more", "out more", "err")), "more");
        assert_eq!(stream.warning(), None);
    }

    #[test]
    fn what_cannot_be_found_is_told_once() {
        let mut stream = Stream::default();
        stream.take(&running("out err", "out err"));
        stream.answer_lost();
        assert_eq!(stream.take(&answer("z", "out y", "errz")), "z");
        assert!(stream.warning().is_some());
        assert!(stream.warning().is_none());
    }
}
