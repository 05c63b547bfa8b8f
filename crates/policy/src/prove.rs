//! Proof by construction that a command only reads: a small grammar that shells agree on, and a reviewed table of
//! programs with every option.
//!
//! What cannot be proved is not harmful by that; it is confined, or asked about. So everything here errs on the side of
//! refusing. Two things cannot be seen from the gateway: where symbolic links lead, and what start-up files made of a
//! program's name. The first is why proved commands run inside the sandbox where there is one; the second is why start-up
//! files and directories on the `PATH` are places that agents may not write to.

mod git;
mod grammar;
mod options;
mod special;
mod table;

use places::{classify, may_hold};

use self::grammar::{Join, Pipeline, Word};
use self::options::{Operands, Parsed};
use crate::paths::PathContext;

/// Shells that read the grammar as it is meant.
const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ash"];

/// Source files, which nobody keeps keys in: what a recursive search may be narrowed to.
const SOURCES: &[&str] = &[
    "rs", "c", "h", "cc", "cpp", "cxx", "hpp", "py", "pyi", "js", "jsx", "mjs", "cjs", "ts", "tsx", "go",
    "java", "kt", "scala", "rb", "php", "swift", "cs", "fs", "hs", "ml", "ex", "exs", "erl", "clj", "lua",
    "pl", "r", "jl", "zig", "nim", "dart", "vue", "svelte", "html", "htm", "css", "scss", "less", "sass",
    "md", "rst", "adoc", "toml", "proto", "graphql", "sql", "gradle", "cmake", "mk", "nix", "tex",
];

/// Types of `rg` whose files are such.
const TYPES: &[&str] = &[
    "rust", "c", "cpp", "py", "python", "js", "ts", "go", "java", "kotlin", "scala", "ruby", "php", "swift",
    "csharp", "cs", "haskell", "html", "css", "md", "markdown", "toml", "sql", "lua", "perl", "dart",
    "elixir", "zig", "vue", "svelte", "cmake",
];

/// What a proof may rest on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ground<'a> {
    /// Where paths lead.
    pub(crate) paths: &'a PathContext,
    /// The shell that reads the command; unknown ones prove nothing.
    pub(crate) shell: Option<&'a str>,
    /// Whether git runs without what repositories name ([`places::git_environment`]).
    pub(crate) has_quiet_git: bool,
}

/// Proves that a command only reads, and no secret; else says why not.
pub(crate) fn prove(script: &str, ground: Ground<'_>) -> Result<(), String> {
    let shell = ground.shell.and_then(|shell| shell.rsplit('/').next()).unwrap_or_default();
    if !SHELLS.contains(&shell) {
        return Err("runs in a shell that is not known".to_string());
    }
    if !ground.paths.is_certain() {
        return Err("starts in a directory with .. in its path".to_string());
    }
    let pipelines = grammar::parse(script)?;
    let mut prover = Prover { paths: ground.paths.clone(), has_quiet_git: ground.has_quiet_git };
    let mut has_moved = false;
    for pipeline in &pipelines {
        // What follows a failed `cd` otherwise than by `&&` runs somewhere else.
        if has_moved && pipeline.join != Join::And {
            return Err("goes on in one of two directories after cd".to_string());
        }
        match moves(pipeline) {
            Some(words) => {
                prover.go(words)?;
                has_moved = true;
            }
            None => pipeline.commands.iter().try_for_each(|words| prover.command(words))?,
        }
    }
    Ok(())
}

/// The words after `cd`, where that is all of a pipeline.
fn moves(pipeline: &Pipeline) -> Option<&[Word]> {
    match pipeline.commands.as_slice() {
        [words] if words[0].text == "cd" && !words[0].is_quoted => Some(&words[1..]),
        _ => None,
    }
}

struct Prover {
    paths: PathContext,
    has_quiet_git: bool,
}

impl Prover {
    fn go(&mut self, words: &[Word]) -> Result<(), String> {
        match words {
            [word] if !word.is_glob && !word.text.starts_with(['-', '+']) && !word.text.is_empty() => {
                self.paths = self.paths.moved(self.place(&word.text, word.has_tilde)?);
                Ok(())
            }
            _ => Err("has a cd that is not to one plain directory".to_string()),
        }
    }

    fn command(&self, words: &[Word]) -> Result<(), String> {
        let Some((name, args)) = words.split_first() else { return Ok(()) };
        if name.is_quoted || name.is_glob || name.has_tilde {
            return Err("has a command whose name is not plain".to_string());
        }
        let program = name.text.as_str();
        if program == "git" {
            return self.git(args);
        }
        if let Some(result) = special::check(program, args) {
            return result?.into_iter().try_for_each(|word| self.readable(word, program));
        }
        let row = table::find(program)
            .ok_or_else(|| format!("runs a program that is not known to only read: {program}"))?;
        let parsed = row.parse(program, args)?;
        match row.operands {
            Operands::None | Operands::Text => match args.iter().any(|word| word.is_glob) {
                true => Err(format!("has a pattern of file names for {program}")),
                false => Ok(()),
            },
            Operands::Paths(_) | Operands::PatternThenPaths => {
                args.iter().try_for_each(|word| self.readable(word, program))?;
                self.recursion(program, &parsed)
            }
        }
    }

    fn git(&self, args: &[Word]) -> Result<(), String> {
        if !self.has_quiet_git {
            return Err("runs git, which runs what a repository's settings name".to_string());
        }
        let git::Git { directories, words } = git::check(args)?;
        let mut there = Prover { paths: self.paths.clone(), has_quiet_git: true };
        for word in directories {
            there.paths = there.paths.moved(there.place(&word.text, word.has_tilde)?);
        }
        for word in words {
            there.readable(word, "git")?;
            // `HEAD:.env`
            if let Some((_, path)) = word.text.rsplit_once(':') {
                there.known(path, false)?;
            }
        }
        Ok(())
    }

    /// Whether a word, or a path in it, may be read. Which words are paths depends on the program's version, so all are
    /// looked at, with what follows `=` and the letter of an option.
    fn readable(&self, word: &Word, program: &str) -> Result<(), String> {
        let text = word.text.as_str();
        if word.is_glob {
            return self.pattern(word, program);
        }
        self.known(text, word.has_tilde)?;
        if let Some((_, value)) = text.split_once('=') {
            self.known(value, false)?;
        }
        match text.strip_prefix('-').and_then(|rest| rest.char_indices().nth(1).map(|(at, _)| &rest[at..])) {
            Some(value) => self.known(value, false),
            None => Ok(()),
        }
    }

    fn known(&self, text: &str, has_tilde: bool) -> Result<(), String> {
        let path = self.place(text, has_tilde)?;
        match classify(&path, &self.paths.roots()) {
            Some(place) if place.kind.is_secret() => Err(format!("reads {}: {path}", place.words)),
            _ => Ok(()),
        }
    }

    /// Where a word leads. `..` behind a name is not followed: the name may be a link.
    fn place(&self, text: &str, has_tilde: bool) -> Result<String, String> {
        let mut names = text.split('/').skip_while(|name| matches!(*name, "" | "." | ".." | "~"));
        if names.any(|name| name == "..") {
            return Err(format!("has a path with .. in the middle: {text}"));
        }
        Ok(if has_tilde { self.paths.resolve(text) } else { self.paths.resolve_plain(text) })
    }

    /// A pattern of file names: below a plain directory that holds no secret, and not of hidden names.
    fn pattern(&self, word: &Word, program: &str) -> Result<(), String> {
        let text = word.text.as_str();
        let start = text.find(['*', '?']).unwrap_or(text.len());
        let refused = || Err(format!("has a pattern of file names that may become anything: {text}"));
        let Some((directory, _)) = text[..start].rsplit_once('/') else { return refused() };
        let names = || text[directory.len()..].split('/');
        let is_odd =
            names().any(|name| name.starts_with('.') && name.len() > 1 || name == ".") || text.contains("**");
        let is_source = names()
            .next_back()
            .and_then(|name| name.rsplit_once('.'))
            .is_some_and(|(_, end)| SOURCES.contains(&end) || TEXTS.contains(&end));
        if is_odd || !(is_source || table::only_names(program)) {
            return refused();
        }
        let directory = self.place(if directory.is_empty() { "/" } else { directory }, word.has_tilde)?;
        self.known(text, word.has_tilde)?;
        match may_hold(&directory, &self.paths.roots()) {
            Some(place) => Err(format!("may read {} in {directory}", place.words)),
            None => Ok(()),
        }
    }

    /// Programs that read the files below a directory: hidden ones are among them, unless told otherwise.
    fn recursion(&self, program: &str, parsed: &Parsed<'_>) -> Result<(), String> {
        let is_source = |pattern: &str| pattern.strip_prefix("*.").is_some_and(|end| SOURCES.contains(&end));
        let is_narrow = match program {
            "grep" | "egrep" | "fgrep" if parsed.has(&["r", "R", "recursive", "d", "directories"]) => {
                let mut includes = parsed.values(&["include"]).peekable();
                includes.peek().is_some() && includes.all(is_source)
            }
            // Hidden files are left out, but a pattern or a type brings them in again.
            "rg" => {
                let globs =
                    parsed.values(&["g", "glob"]).all(|glob| glob.starts_with('!') || is_source(glob));
                globs && parsed.values(&["t", "type"]).all(|name| TYPES.contains(&name))
            }
            "diff" => {
                let is_file = |word: &&Word| {
                    word.text == "-"
                        || word
                            .text
                            .rsplit('/')
                            .next()
                            .is_some_and(|name| name.trim_start_matches('.').contains('.'))
                };
                parsed.operands.iter().all(is_file) && !parsed.has(&["r", "recursive"])
            }
            _ => return Ok(()),
        };
        if !is_narrow {
            return Err(format!("may read hidden files below a directory: {program}"));
        }
        // Without a pattern the first operand is a directory too; then looking at one too many does no harm.
        let starts = parsed.operands.iter().map(|word| self.place(&word.text, word.has_tilde));
        for start in starts.chain([Ok(self.paths.cwd().to_string())]) {
            let start = start?;
            if let Some(place) = may_hold(&start, &self.paths.roots()) {
                return Err(format!("may read {} below {start}", place.words));
            }
        }
        Ok(())
    }
}

/// More endings of files that a pattern may name.
const TEXTS: &[&str] = &[
    "txt", "log", "json", "yaml", "yml", "xml", "csv", "lock", "sh", "cfg", "ini", "d", "map", "svg", "out",
    "err",
];

#[cfg(test)]
mod tests;
