//! Out-of-band marker in a command's output: a shell tells its directory when it ends, and that is taken out before
//! anybody sees it.

/// A marker that no output contains by chance.
pub struct Marker {
    nonce: String,
}

impl Marker {
    /// A fresh one.
    pub fn new() -> Marker {
        Marker { nonce: base::random::tagged("") }
    }

    /// The line, in a shell that tells its directory when it exits. The exit code stays the line's own, and a
    /// line that exits early or does not end well still tells.
    pub fn wrap(&self, line: &str) -> String {
        // On a line of its own: what a shell complains about, it shows with the whole line.
        format!("trap '{}' EXIT\n{line}", self.tell())
    }

    /// The command that tells.
    pub fn tell(&self) -> String {
        let nonce = &self.nonce;
        format!(r#"printf "\036{nonce}<%s>{nonce}\036" "$PWD""#)
    }

    fn head(&self) -> String {
        format!("\u{1e}{}<", self.nonce)
    }

    fn tail(&self) -> String {
        format!(">{}\u{1e}", self.nonce)
    }
}

/// Whether a line does nothing but change the directory; gives what follows `cd`.
pub fn plain_cd(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("cd")?;
    let simple = !rest.contains([';', '|', '&', '<', '>', '\n']);
    ((rest.is_empty() || rest.starts_with(char::is_whitespace)) && simple).then(|| rest.trim())
}

/// Takes the marker out of output that comes in pieces.
pub struct Filter {
    head: String,
    tail: String,
    held: String,
    directory: Option<String>,
}

impl Filter {
    /// A filter for one command.
    pub fn new(marker: &Marker) -> Filter {
        Filter { head: marker.head(), tail: marker.tail(), held: String::new(), directory: None }
    }

    /// What of this piece, and of what was held back before, can be shown.
    pub fn pass(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        let mut output = String::new();
        while let Some(at) = self.held.find(&self.head) {
            let after = at + self.head.len();
            let Some(length) = self.held[after..].find(&self.tail) else {
                output.extend(self.held.drain(..at));
                return output;
            };
            self.directory = Some(self.held[after..after + length].to_string());
            output.push_str(&self.held[..at]);
            self.held.drain(..after + length + self.tail.len());
        }
        let safe = self.held.len() - self.unsafe_end();
        output.extend(self.held.drain(..safe));
        output
    }

    /// What is still held back, and the directory, at the end of the output.
    pub fn finish(self) -> (String, Option<String>) {
        (self.held, self.directory.filter(|directory| !directory.is_empty()))
    }

    /// How many bytes at the end may be the beginning of the marker.
    fn unsafe_end(&self) -> usize {
        let longest = self.head.len().min(self.held.len());
        (1..=longest)
            .rev()
            .find(|length| {
                let at = self.held.len() - length;
                self.held.is_char_boundary(at) && self.head.starts_with(&self.held[at..])
            })
            .unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(shell: &str, marker: &Marker, line: &str) -> (String, Option<String>, i32) {
        let child = std::process::Command::new(shell).args(["-c", &marker.wrap(line)]).output().unwrap();
        let mut filter = Filter::new(marker);
        let shown = filter.pass(std::str::from_utf8(&child.stdout).unwrap());
        let (rest, directory) = filter.finish();
        (shown + &rest, directory, child.status.code().unwrap())
    }

    #[test]
    fn real_shells_tell_where_they_end_and_keep_their_exit_code() {
        for shell in ["/bin/sh", "/bin/bash"].into_iter().filter(|shell| std::path::Path::new(shell).exists())
        {
            let marker = Marker::new();
            assert_eq!(run(shell, &marker, "cd /; echo hi"), ("hi\n".into(), Some("/".into()), 0), "{shell}");
            assert_eq!(
                run(shell, &marker, "cd /usr; exit 7"),
                (String::new(), Some("/usr".into()), 7),
                "{shell}"
            );
            assert_eq!(run(shell, &marker, "cd /usr; false").2, 1, "{shell}");
            assert_eq!(run(shell, &marker, "(cd /; printf x); true").0, "x", "{shell}");
            assert_eq!(run(shell, &marker, "printf 'no newline' # comment").0, "no newline", "{shell}");
        }
    }

    #[test]
    fn complaints_do_not_show_what_stands_around_the_line() {
        for shell in ["/bin/sh", "/bin/bash"].into_iter().filter(|shell| std::path::Path::new(shell).exists())
        {
            let marker = Marker::new();
            for line in ["echo )", "echo \"open", "if true; then", "nonsense-command", "echo ${x!}"] {
                let child =
                    std::process::Command::new(shell).args(["-c", &marker.wrap(line)]).output().unwrap();
                let complaint = String::from_utf8(child.stderr).unwrap();
                assert!(!complaint.is_empty() && !child.status.success(), "{shell}: {line}");
                assert!(
                    !complaint.contains("trap") && !complaint.contains(&marker.nonce),
                    "{shell}: {complaint}"
                );
            }
        }
    }

    #[test]
    fn the_marker_is_found_however_the_output_is_cut() {
        let marker = Marker { nonce: "abc".into() };
        let whole = format!("one\u{1e}two{}/home/ü{}three", marker.head(), marker.tail());
        for cut in (0..whole.len()).filter(|at| whole.is_char_boundary(*at)) {
            let mut filter = Filter::new(&marker);
            let shown = filter.pass(&whole[..cut]) + &filter.pass(&whole[cut..]);
            let (rest, directory) = filter.finish();
            assert_eq!(
                (shown + &rest, directory.as_deref()),
                ("one\u{1e}twothree".into(), Some("/home/ü")),
                "{cut}"
            );
        }
    }

    #[test]
    fn output_without_a_marker_passes_whole() {
        let marker = Marker::new();
        let mut filter = Filter::new(&marker);
        assert_eq!(filter.pass("plain\n"), "plain\n");
        assert_eq!(filter.pass("\u{1e}"), "");
        assert_eq!(filter.finish(), ("\u{1e}".to_string(), None));
    }

    #[test]
    fn only_a_plain_cd_counts_as_one() {
        assert_eq!(plain_cd("cd"), Some(""));
        assert_eq!(plain_cd("cd  /tmp"), Some("/tmp"));
        for other in ["cdx", "cd /tmp; ls", "echo cd", "cd a && b"] {
            assert_eq!(plain_cd(other), None, "{other}");
        }
    }
}
