//! Lexer that cuts a Rust file into code and string literals, with comments gone, lines kept. Just enough for tidy's
//! rules.

/// One file.
pub struct Source {
    /// From the repository's root.
    pub path: String,
    pub text: String,
    /// The text with comments and the insides of literals blanked out; lines are where they were.
    pub code: String,
    /// String literals with the line they start on.
    pub literals: Vec<(usize, String)>,
}

impl Source {
    /// Cuts a file up.
    pub fn new(path: &str, text: &str) -> Source {
        let mut cutter =
            Cutter { chars: text.chars().collect(), at: 0, line: 1, code: String::new(), literals: vec![] };
        cutter.run();
        Source { path: path.into(), text: text.into(), code: cutter.code, literals: cutter.literals }
    }

    /// The lines whose code has this word; a longer word that ends with it does not count.
    pub fn lines_with(&self, word: &str) -> impl Iterator<Item = usize> {
        let has = move |line: &str| {
            line.match_indices(word)
                .any(|(at, _)| !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_'))
        };
        self.code.lines().enumerate().filter(move |(_, line)| has(line)).map(|(index, _)| index + 1)
    }
}

struct Cutter {
    chars: Vec<char>,
    at: usize,
    line: usize,
    code: String,
    literals: Vec<(usize, String)>,
}

impl Cutter {
    fn run(&mut self) {
        while let Some(next) = self.peek(0) {
            match (next, self.peek(1)) {
                ('/', Some('/')) => self.skip_while(|c| c != '\n'),
                ('/', Some('*')) => self.block_comment(),
                ('"', _) => self.string(),
                ('\'', _) => self.quote(),
                _ if self.raw_hashes().is_some() && !self.after_word() => self.raw_string(),
                _ => self.keep(),
            }
        }
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    /// Steps over one character; only line ends stay.
    fn skip(&mut self) {
        if self.peek(0) == Some('\n') {
            self.line += 1;
            self.code.push('\n');
        }
        self.at += 1;
    }

    fn keep(&mut self) {
        let next = self.peek(0);
        if next == Some('\n') {
            return self.skip();
        }
        self.code.extend(next);
        self.at += 1;
    }

    fn skip_while(&mut self, test: impl Fn(char) -> bool) {
        while self.peek(0).is_some_and(&test) {
            self.skip();
        }
    }

    fn block_comment(&mut self) {
        let mut depth = 0;
        while self.at < self.chars.len() {
            match (self.peek(0), self.peek(1)) {
                (Some('/'), Some('*')) => depth += 1,
                (Some('*'), Some('/')) => depth -= 1,
                _ => {
                    self.skip();
                    continue;
                }
            }
            self.skip();
            self.skip();
            if depth == 0 {
                return;
            }
        }
    }

    fn string(&mut self) {
        let line = self.line;
        let mut text = String::new();
        self.keep();
        while let Some(next) = self.peek(0) {
            match next {
                '"' => break,
                '\\' => {
                    self.skip();
                    self.skip();
                }
                _ => {
                    text.push(next);
                    self.skip();
                }
            }
        }
        self.keep();
        self.literals.push((line, text));
    }

    /// A character literal, or a lifetime.
    fn quote(&mut self) {
        let escaped = self.peek(1) == Some('\\');
        if escaped || self.peek(2) == Some('\'') {
            self.skip();
            if escaped {
                self.skip();
            }
            self.skip();
            self.skip_while(|c| c != '\'');
            self.skip();
        } else {
            self.keep();
        }
    }

    fn after_word(&self) -> bool {
        self.code.ends_with(|c: char| c.is_alphanumeric() || c == '_')
    }

    /// The number of hashes when a raw string starts here.
    fn raw_hashes(&self) -> Option<usize> {
        let start = match (self.peek(0)?, self.peek(1)?) {
            ('r', '"' | '#') => 1,
            ('b' | 'c', 'r') => 2,
            _ => return None,
        };
        let hashes = (start..).take_while(|ahead| self.peek(*ahead) == Some('#')).count();
        (self.peek(start + hashes) == Some('"')).then_some(hashes)
    }

    fn raw_string(&mut self) {
        let hashes = self.raw_hashes().unwrap_or_default();
        let line = self.line;
        let mut text = String::new();
        self.skip_while(|c| c != '"');
        self.keep();
        while self.at < self.chars.len() {
            let closed = self.peek(0) == Some('"') && (1..=hashes).all(|ahead| self.peek(ahead) == Some('#'));
            if closed {
                break;
            }
            text.extend(self.peek(0));
            self.skip();
        }
        self.keep();
        self.at += hashes;
        self.literals.push((line, text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_cut_out_and_lines_stay() {
        let text = "let a = \"x{\\\"y\"; // {\n/* { /* { */ */ let b = r#\"q\"z\"#;\nlet c = '\"'; let d: &'static str = \"\";\n";
        let source = Source::new("a.rs", text);
        assert_eq!(source.code, "let a = \"\"; \n let b = \"\";\nlet c = ; let d: &'static str = \"\";\n");
        assert_eq!(source.literals, [(1, "x{y".into()), (2, "q\"z".into()), (3, String::new())]);
    }

    #[test]
    fn escaped_characters_end() {
        let source = Source::new("a.rs", "f('\\'', '\\n', '\\u{7f}', b'x', '{');\nfn g<'a>() {}\n");
        assert_eq!(source.code, "f(, , , b, );\nfn g<'a>() {}\n");
    }

    #[test]
    fn a_longer_word_does_not_count() {
        let source = Source::new("a.rs", "eprintln!();\nprintln!();\n");
        assert_eq!(source.lines_with("println!").collect::<Vec<_>>(), [2]);
    }
}
