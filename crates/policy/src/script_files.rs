//! Over-approximation of the files whose content a command runs: `sh build.sh`, `./run`, `python x.py`, `. env.sh`,
//! `make -f x`. An approval covers their content as well as the command's text, so a file too many costs nothing and
//! a file too few would be a gap.

use base::limits;

use super::catalogue::{self, Program};
use super::programs::{self, RedirectionKind, Simple, Word};
use super::wrappers;

/// The files that a command names as scripts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScriptFiles {
    /// Paths, as `fs.read` on the same target takes them.
    pub paths: Vec<String>,
    /// Those that cannot be told before the command runs, as they are written.
    pub unknown: Vec<String>,
}

impl ScriptFiles {
    /// Whether the command names none.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.unknown.is_empty()
    }
}

/// The script files that a command names when it is run in a directory (where its target starts commands, when absent).
pub fn script_files(command: &str, cwd: Option<&str>) -> ScriptFiles {
    let start = cwd.filter(|cwd| !cwd.is_empty()).map(str::to_string);
    let mut search = Search { found: ScriptFiles::default(), starts: vec![start], depth: 0 };
    search.script(command);
    search.found
}

/// The search in one command.
struct Search {
    found: ScriptFiles,
    /// Where relative paths may begin: where the command starts, and wherever it goes.
    starts: Vec<Option<String>>,
    /// Programs within programs.
    depth: usize,
}

/// Programs that take the name of a script with an option.
const BY_OPTION: &[(&str, &[&str])] = &[
    ("make", MAKEFILES),
    ("gmake", MAKEFILES),
    ("bmake", MAKEFILES),
    ("ninja", &["-f"]),
    ("rake", &["-f", "--rakefile"]),
    ("just", &["-f", "--justfile"]),
    ("cmake", &["-P"]),
    ("awk", PROGRAMS),
    ("gawk", PROGRAMS),
    ("mawk", PROGRAMS),
    ("nawk", PROGRAMS),
    ("sed", PROGRAMS),
    ("gsed", PROGRAMS),
    ("bc", &["-f", "--file"]),
    ("jq", &["-f", "--from-file"]),
];
const MAKEFILES: &[&str] = &["-f", "--file", "--makefile"];
const PROGRAMS: &[&str] = &["-f", "--file"];

/// Words of an interpreter that are looked at: its script is among the first, and the values of options before it.
const INTERPRETER_WORDS: usize = 4;

impl Search {
    fn script(&mut self, text: &str) {
        if self.depth >= limits::approval::NESTING_MAX {
            return self.lost("…");
        }
        self.depth += 1;
        let script = programs::read(text);
        let reads_stdin = script.commands.iter().any(is_fed);
        for simple in &script.commands {
            self.simple(simple, reads_stdin);
        }
        self.depth -= 1;
    }

    fn simple(&mut self, simple: &Simple, is_piped: bool) {
        let runs_input = is_fed(simple) || is_piped;
        for redirection in &simple.redirections {
            if runs_input && redirection.kind == RedirectionKind::Read {
                self.file(&redirection.target);
            }
        }
        self.program(&simple.words, simple.input.as_ref(), is_piped);
    }

    fn program(&mut self, words: &[Word], input: Option<&Word>, is_piped: bool) {
        let Some((name, args)) = words.split_first() else { return };
        let Some(text) = name.text.as_deref() else { return self.file(name) };
        let Some(program) = Program::named(text) else { return };
        if program.is_file {
            self.file(name);
        }
        let base = program.base.as_str();
        match base {
            "cd" | "pushd" | "chdir" => self.go(args),
            "." | "source" => args.iter().take(1).for_each(|word| self.file(word)),
            "eval" => self.joined(args),
            // What a shell in the same pipeline reads.
            "cat" if is_piped => args.iter().filter(|word| !is_option(word)).for_each(|word| self.file(word)),
            _ if catalogue::is_shell(base) => self.shell(args, input),
            _ if catalogue::is_interpreter(base) => self.interpreter(args),
            _ => match wrappers::find(base).and_then(|wrapper| wrapper.unwrap(args)) {
                Some(unwrapped) if self.depth < limits::approval::NESTING_MAX => {
                    self.depth += 1;
                    self.program(unwrapped.rest, input, is_piped);
                    self.depth -= 1;
                }
                Some(_) => self.lost("…"),
                None => self.by_option(base, args),
            },
        }
    }

    /// `sh -c TEXT`, `sh FILE`, `sh <<END`.
    fn shell(&mut self, args: &[Word], input: Option<&Word>) {
        let is_text = |word: &Word| {
            word.text
                .as_deref()
                .is_some_and(|text| text.starts_with('-') && !text.starts_with("--") && text.contains('c'))
        };
        let operands = args.iter().position(|word| !is_option(word)).unwrap_or(args.len());
        self.values_of(&args[..operands], &["--rcfile", "--init-file"]);
        match args.get(operands) {
            Some(word) if args[..operands].iter().any(is_text) => match word.text.as_deref() {
                Some(text) => self.script(text),
                None => self.lost(&word.start),
            },
            // The value of an option may stand before the script.
            Some(_) => {
                let words = args[operands..].iter().filter(|word| !is_option(word)).take(2);
                words.for_each(|word| self.file(word));
            }
            None => {
                if let Some(text) = input.and_then(|input| input.text.as_deref()) {
                    self.script(text);
                }
            }
        }
    }

    /// The script of another language, and what its options name. Text among the words is no file, and is only
    /// looked for in vain.
    fn interpreter(&mut self, args: &[Word]) {
        const TEXTS: &[&str] = &["-c", "-e", "-E", "-m", "--eval", "--execute", "-p", "--print", "--command"];
        let mut left = INTERPRETER_WORDS;
        for word in args {
            match word.text.as_deref() {
                // The rest are parameters of that text.
                Some(text) if TEXTS.contains(&text) => return,
                Some(text) if text.starts_with("--") => {
                    if let Some((_, value)) = text.split_once('=') {
                        self.file(&Word::known(value));
                    }
                }
                Some(text) if text.starts_with('-') => {}
                _ if left == 0 => return,
                _ => {
                    left -= 1;
                    self.file(word);
                }
            }
        }
    }

    fn by_option(&mut self, base: &str, args: &[Word]) {
        if let Some((_, options)) = BY_OPTION.iter().find(|(name, _)| *name == base) {
            self.values_of(args, options);
        }
        // `xargs sh x.sh`, `find -exec ./x`: whatever follows may be a program.
        if matches!(base, "xargs" | "find" | "parallel" | "watch" | "flock" | "su" | "script" | "entr") {
            for (at, word) in args.iter().enumerate() {
                let text = word.text.as_deref().unwrap_or_default();
                let is_file = text.contains('/') && Program::named(text).is_some_and(|found| found.is_file);
                let runs = Program::named(text).is_some_and(|found| {
                    catalogue::is_shell(&found.base) || catalogue::is_interpreter(&found.base)
                });
                if is_file && base != "find" {
                    self.file(word);
                } else if runs || (is_file && is_exec(args, at)) {
                    self.program(&args[at..], None, false);
                    return;
                } else if text.contains(' ') && base != "find" {
                    self.script(text);
                }
            }
        }
    }

    /// The values of options that name a file: `-f FILE`, `-fFILE`, `--file=FILE`.
    fn values_of(&mut self, args: &[Word], options: &[&str]) {
        for (at, word) in args.iter().enumerate() {
            let start = word.text.as_deref().unwrap_or(&word.start);
            for option in options {
                let rest = start.strip_prefix(option);
                match rest {
                    Some("") => args.get(at + 1).into_iter().for_each(|value| self.file(value)),
                    Some(value) if option.starts_with("--") => {
                        if let Some(value) = value.strip_prefix('=') {
                            self.file(&Word {
                                text: word.text.as_ref().map(|_| value.to_string()),
                                ..word.clone()
                            });
                        }
                    }
                    Some(value) => {
                        self.file(&Word {
                            text: word.text.as_ref().map(|_| value.to_string()),
                            ..word.clone()
                        });
                    }
                    None => {}
                }
            }
        }
    }

    fn joined(&mut self, args: &[Word]) {
        let texts: Option<Vec<&str>> = args.iter().map(|word| word.text.as_deref()).collect();
        if let Some(texts) = texts {
            self.script(&texts.join(" "));
        }
    }

    /// Relative paths may begin there from now on, or still where they began before.
    fn go(&mut self, args: &[Word]) {
        let Some(word) = args.iter().find(|word| !is_option(word)) else { return };
        let Some(text) = word.text.as_deref() else { return self.lost(&word.start) };
        let further: Vec<_> = self.starts.iter().map(|start| Some(join(start.as_deref(), text))).collect();
        for start in further {
            if !self.starts.contains(&start) && self.starts.len() < limits::approval::SCRIPT_FILES_MAX {
                self.starts.push(start);
            }
        }
    }

    fn file(&mut self, word: &Word) {
        let Some(text) = word.text.as_deref().filter(|_| word.pattern.is_none()) else {
            return self.lost(word.pattern.as_deref().unwrap_or(&word.start));
        };
        if text.is_empty() || text == "-" {
            return;
        }
        let paths: Vec<String> = self.starts.iter().map(|start| join(start.as_deref(), text)).collect();
        for path in paths {
            if self.found.paths.contains(&path) {
                continue;
            }
            if self.found.paths.len() >= limits::approval::SCRIPT_FILES_MAX {
                return self.lost("…");
            }
            self.found.paths.push(path);
        }
    }

    fn lost(&mut self, written: &str) {
        let written = written.to_string();
        if !self.found.unknown.contains(&written)
            && self.found.unknown.len() < limits::approval::SCRIPT_FILES_MAX
        {
            self.found.unknown.push(written);
        }
    }
}

/// Whether a program runs what it reads from its standard input.
fn is_fed(simple: &Simple) -> bool {
    simple.words.iter().any(|word| {
        let program = word.text.as_deref().and_then(Program::named);
        program.is_some_and(|program| {
            catalogue::is_shell(&program.base) || catalogue::is_interpreter(&program.base)
        })
    })
}

/// Whether a word is an option for sure.
fn is_option(word: &Word) -> bool {
    word.start.starts_with('-')
}

/// Whether the word before is one after which `find` is given a program.
fn is_exec(args: &[Word], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| args[before].text.as_deref());
    matches!(before, Some("-exec" | "-execdir" | "-ok" | "-okdir"))
}

/// A path that begins somewhere, unless it is absolute.
fn join(start: Option<&str>, path: &str) -> String {
    match start {
        Some(start) if !path.starts_with(['/', '~']) => {
            format!("{}/{}", start.trim_end_matches('/'), path.trim_start_matches("./"))
        }
        _ => path.to_string(),
    }
}

#[cfg(test)]
mod tests;
