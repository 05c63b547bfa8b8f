//! Programs whose options decide what they do, and those that run others in ways of their own.

mod gateway;
mod options;

use crate::programs::Word;

use super::Surveyor;
use crate::catalogue::{self, Style};
use crate::git;
use crate::tags::Tags;
use crate::wrappers::{FLOCK, Unwrapped, XARGS};
use options::{has, operands};

const DESTROY: Tags = Tags::DESTRUCTIVE.and(Tags::MUTATING);

impl Surveyor<'_> {
    /// Whether it is such a program; then it has been seen to.
    pub(super) fn special(&mut self, base: &str, args: &[Word]) -> bool {
        match base {
            "find" | "gfind" => self.find(base, args),
            "fd" | "fdfind" => self.fd(base, args),
            "xargs" | "gxargs" => self.xargs(base, args),
            "flock" => self.flock(base, args),
            "git" => self.git(base, args),
            "docker" | "podman" | "nerdctl" | "kubectl" | "oc" | "docker-compose" => {
                self.containers(base, args)
            }
            "gsv" | "config" | "mcp" | "proc" | "pkg" => self.gateway(base, args),
            "cd" | "pushd" | "popd" | "chdir" => self.go(base, args),
            "export" | "declare" | "typeset" | "local" | "readonly" => self.declare(base, args),
            "unset" => self.verbatim(base, args),
            // These set variables, too.
            "read" | "printf" | "getopts" | "let" if args.iter().any(names_order) => self.opaque(),
            "hash" | "enable" | "bind" | "complete" | "fc" | "history" | "unalias" | "mapfile"
            | "readarray" | "jobs" => self.builtin(base, args),
            "command" if is_asking(args) => self.describe(base, args, Style::Free),
            _ => return self.by_options(base, args),
        }
        true
    }

    /// Programs that are harmless, or harmful, but for an option.
    fn by_options(&mut self, base: &str, args: &[Word]) -> bool {
        let known = catalogue::find(base);
        let is_unsure = args.iter().any(|word| word.text.is_none() && word.may_be_option());
        let (runs, writes) = match base {
            "sort" | "gsort" => (has(args, '\0', "compress-program"), has(args, 'o', "output")),
            "uniq" | "xxd" => (false, is_unsure || operands(args).count() > 1),
            "tar" | "gtar" | "bsdtar" => return self.tar(base, args),
            "rsync" => return self.rsync(base, args),
            "curl" => (has(args, 'K', "config"), has(args, 'o', "output") || has(args, 'O', "remote-name")),
            "wget" => (has(args, 'e', "execute") || has(args, '\0', "use-askpass"), true),
            "scp" | "sftp" => (has(args, 'S', "") || has(args, 'o', "") || has(args, 'F', ""), true),
            "split" | "gsplit" => (has(args, '\0', "filter"), true),
            "zip" => (has(args, 'T', "test"), true),
            "rg" => (has(args, '\0', "pre") || has(args, '\0', "hostname-bin"), false),
            "man" => (has(args, 'P', "pager") || has(args, 'H', "html"), false),
            "less" | "more" | "jless" => {
                (args.iter().any(|word| word.start.starts_with('+')), has(args, 'o', ""))
            }
            "tree" | "yq" => (false, has(args, 'o', "") || has(args, 'i', "inplace")),
            "date" => return self.clock(base, args, has(args, 's', "set")),
            "hostname" => {
                return self.clock(base, args, operands(args).next().is_some() || has(args, 'F', "file"));
            }
            "dmesg" => return self.clock(base, args, has(args, 'c', "clear") || has(args, 'C', "")),
            "journalctl" => {
                return self.clock(base, args, has(args, '\0', "vacuum-size") || has(args, '\0', "rotate"));
            }
            _ => return false,
        };
        self.tags |= known.tags;
        if runs {
            self.opaque();
        }
        if writes {
            self.tags |= Tags::MUTATING;
            self.written_by(args);
        }
        self.describe(base, args, known.style);
        true
    }

    /// Programs that tell something, and change the machine with one option.
    fn clock(&mut self, base: &str, args: &[Word], changes: bool) -> bool {
        if changes {
            self.tags |= Tags::PRIVILEGED | Tags::MUTATING;
        }
        self.verbatim(base, args);
        true
    }

    fn find(&mut self, base: &str, args: &[Word]) {
        self.verbatim(base, args);
        let mut at = 0;
        while let Some(word) = args.get(at) {
            at += 1;
            match word.text.as_deref() {
                None if word.may_be_option() => self.opaque(),
                Some("-delete") => {
                    self.tags |= DESTROY;
                    self.note_destroyer(base, args);
                }
                Some("-fprint" | "-fprint0" | "-fprintf" | "-fls") => {
                    self.tags |= Tags::MUTATING;
                    self.written_by(args.get(at..=at).unwrap_or_default());
                }
                Some("-exec" | "-execdir" | "-ok" | "-okdir") => {
                    let is_end = |word: &Word| matches!(word.text.as_deref(), Some(";" | "+"));
                    let rest = &args[at..];
                    let end = rest.iter().position(is_end).unwrap_or(rest.len());
                    let words: Vec<Word> = rest[..end].iter().map(|word| filled(word, "{}")).collect();
                    self.run(&words, None);
                    at += end;
                }
                _ => {}
            }
        }
    }

    /// `fd PATTERN -x PROGRAM`
    fn fd(&mut self, base: &str, args: &[Word]) {
        self.verbatim(base, args);
        let is_exec = |word: &Word| {
            matches!(word.text.as_deref(), Some("-x" | "-X" | "--exec" | "--exec-batch"))
                || (word.text.is_none() && word.may_be_option())
        };
        match args.iter().position(is_exec) {
            Some(at) if args[at].text.is_some() => {
                let words: Vec<Word> = args[at + 1..].iter().map(|word| filled(word, "{")).collect();
                self.run(&words, None);
            }
            Some(_) => self.opaque(),
            None if args
                .iter()
                .any(|word| word.start.starts_with("-x") || word.start.starts_with("--exec")) =>
            {
                self.opaque();
            }
            None => {}
        }
    }

    fn xargs(&mut self, base: &str, args: &[Word]) {
        // `-i` and `-I` with the placeholder attached, and `-l`, `-e`, which take a value only so.
        let is_old = |word: &Word| ["-i", "-l", "-e"].iter().any(|start| word.start.starts_with(start));
        let Some(Unwrapped { own, rest, .. }) =
            XARGS.unwrap(args).filter(|_| !args.first().is_some_and(is_old))
        else {
            self.opaque();
            return self.unknown(base, args);
        };
        let mut placeholder = "{}";
        for (at, word) in own.iter().enumerate() {
            match word.text.as_deref() {
                Some("-I" | "--replace") => {
                    placeholder = own.get(at + 1).map_or(placeholder, |word| &word.start)
                }
                Some(text) if text.starts_with("-I") => placeholder = &text[2..],
                Some(text) => placeholder = text.strip_prefix("--replace=").unwrap_or(placeholder),
                None => {}
            }
        }
        self.verbatim(base, own);
        let mut words: Vec<Word> = rest.iter().map(|word| filled(word, placeholder)).collect();
        if !words.is_empty() {
            words.push(Word::unknown());
            self.run(&words, None);
        }
    }

    /// `flock FILE -c SCRIPT` or `flock FILE PROGRAM`
    fn flock(&mut self, base: &str, args: &[Word]) {
        let Some(Unwrapped { own, rest, .. }) = FLOCK.unwrap(args) else {
            self.opaque();
            return self.unknown(base, args);
        };
        self.verbatim(base, own);
        match rest {
            [option, script, ..] if matches!(option.text.as_deref(), Some("-c" | "--command")) => {
                match script.text.as_deref() {
                    Some(script) => self.script(script),
                    None => self.opaque(),
                }
            }
            rest if !rest.is_empty() => self.run(rest, None),
            _ => {}
        }
    }

    fn git(&mut self, base: &str, args: &[Word]) {
        self.verbatim(base, args);
        if self.paths.is_native() && self.native_git(args) {
            return;
        }
        match git::effect(args) {
            Some(effect) => {
                self.tags |= effect.tags;
                if !effect.runs.is_empty() {
                    self.run(effect.runs, None);
                }
                if let Some(script) = effect.script {
                    self.script(script);
                }
            }
            None => {
                self.opaque();
                self.unknown(base, args);
            }
        }
    }

    /// What runs in a container is not known here; what is done to containers is.
    fn containers(&mut self, base: &str, args: &[Word]) {
        self.verbatim(base, args);
        let reading = [
            "ps",
            "images",
            "logs",
            "inspect",
            "version",
            "info",
            "top",
            "stats",
            "get",
            "describe",
            "diff",
            "history",
            "search",
            "port",
            "events",
            "explain",
            "api-resources",
            "cluster-info",
            "config",
        ];
        let destroying =
            ["rm", "rmi", "kill", "stop", "prune", "delete", "down", "drain", "remove", "restart"];
        let words: Vec<&str> =
            operands(args).map(|word| word.text.as_deref().unwrap_or("?")).take(3).collect();
        let has = |list: &[&str]| words.iter().any(|word| list.contains(word));
        if has(&destroying) {
            self.tags |= DESTROY;
        }
        if has(&["run", "exec", "cp", "build", "apply", "create", "edit", "replace", "patch", "?", "debug"]) {
            self.opaque();
        }
        if !words.first().is_some_and(|word| reading.contains(word)) {
            self.tags |= Tags::MUTATING;
        }
        self.unknown(base, args);
    }

    /// Where a script goes is part of what it is.
    fn go(&mut self, base: &str, args: &[Word]) {
        let texts: Option<Vec<String>> =
            args.iter().map(|word| word.text.as_deref().map(|text| self.paths.resolve(text))).collect();
        match texts {
            Some(texts) => {
                // What is written afterwards may be written there.
                if texts.iter().any(|path| self.paths.is_of_the_system(path) && path != "/") {
                    self.tags |= Tags::PRIVILEGED;
                }
                self.shape.add(std::iter::once(base).chain(texts.iter().map(String::as_str)));
            }
            None => self.shape.lose(),
        }
    }

    fn declare(&mut self, base: &str, args: &[Word]) {
        for word in args {
            if let Some((name, value)) = word.start.split_once('=') {
                let value = if word.text.is_some() { Word::known(value) } else { Word::unknown() };
                self.assign(name.trim_end_matches('+'), &value);
            } else if word.text.is_none() {
                self.opaque();
            }
        }
        self.verbatim(base, args);
    }

    /// Builtins that change what names mean, or run what they are given.
    fn builtin(&mut self, base: &str, args: &[Word]) {
        let runs = match base {
            "mapfile" | "readarray" => has(args, 'C', "") || args.iter().any(names_order),
            "jobs" => has(args, 'x', ""),
            "history" => !args.is_empty(),
            "hash" => has(args, 'p', ""),
            _ => !args.is_empty(),
        };
        if runs {
            self.opaque();
        }
        self.verbatim(base, args);
    }

    fn tar(&mut self, base: &str, args: &[Word]) -> bool {
        let runs = [
            "checkpoint-action",
            "to-command",
            "use-compress-program",
            "rsh-command",
            "info-script",
            "new-volume-script",
            "rmt-command",
        ];
        let letters = args.first().map_or("", |word| word.start.trim_start_matches('-'));
        if runs.iter().any(|long| has(args, '\0', long)) || has(args, 'I', "") || has(args, 'F', "") {
            self.opaque();
        }
        if has(args, '\0', "remove-files") || has(args, '\0', "delete") || has(args, '\0', "recursive-unlink")
        {
            self.tags |= DESTROY;
        }
        let only_lists = letters.contains('t') && !letters.contains(['x', 'c', 'r', 'u', 'A']);
        if !only_lists {
            self.tags |= Tags::MUTATING;
            self.written_by(args);
        }
        self.verbatim(base, args);
        true
    }

    fn rsync(&mut self, base: &str, args: &[Word]) -> bool {
        self.tags |= Tags::MUTATING;
        if operands(args).any(|word| word.text.as_deref().is_none_or(|text| text.contains(':'))) {
            self.tags |= Tags::NETWORK;
        }
        if has(args, 'e', "rsh") || has(args, '\0', "rsync-path") {
            self.opaque();
        }
        if ["delete", "delete-after", "delete-before", "delete-excluded", "remove-source-files", "force"]
            .iter()
            .any(|long| has(args, '\0', long))
        {
            self.tags |= DESTROY;
        }
        self.written_by(args);
        self.verbatim(base, args);
        true
    }
}

/// Whether a word names a variable that programs obey.
fn names_order(word: &Word) -> bool {
    let text = word.start.trim_start_matches("-v");
    catalogue::is_obeyed(text.split(['=', '+', '[']).next().unwrap_or(text))
}

/// `command -v NAME` only tells what a name means.
fn is_asking(args: &[Word]) -> bool {
    matches!(args.first().and_then(|word| word.text.as_deref()), Some("-v" | "-V" | "-pv" | "-pV"))
}

/// A word with a place in it that is filled in later.
fn filled(word: &Word, placeholder: &str) -> Word {
    match word.text.as_deref().and_then(|text| text.split_once(placeholder)) {
        Some((start, _)) if !placeholder.is_empty() => {
            Word { text: None, pattern: None, start: start.to_string(), splits: false }
        }
        _ => word.clone(),
    }
}
