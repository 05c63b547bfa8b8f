//! Programs that run text: shells, whose text is looked into, and others, whose text is not.

use crate::programs::Word;

use super::Surveyor;
use crate::tags::Tags;
use crate::wrappers::{Unwrapped, WATCH};
use crate::{awk, catalogue, sed};

impl Surveyor<'_> {
    /// Whether it is such a program; then it has been seen to.
    pub(super) fn interpreter(&mut self, base: &str, args: &[Word], input: Option<&Word>) -> bool {
        match base {
            _ if catalogue::is_shell(base) => self.shell(base, args, input),
            _ if catalogue::is_interpreter(base) => self.foreign(base, args),
            "eval" | "." | "source" | "trap" | "alias" => self.again(base, args),
            "awk" | "gawk" | "mawk" | "nawk" | "original-awk" => self.awk(base, args),
            "sed" | "gsed" | "ssed" => self.sed(base, args),
            "ssh" | "slogin" | "mosh" | "autossh" => self.ssh(base, args),
            "su" | "runuser" => self.other_user(base, args),
            "script" => self.recorded(args),
            "watch" => self.watch(base, args),
            "parallel" => self.parallel(base, args),
            _ => return false,
        }
        true
    }

    /// `sh`: a script among its words or on its stdin. Everything else is in files.
    fn shell(&mut self, base: &str, args: &[Word], input: Option<&Word>) {
        let (mut at, mut is_text, mut is_stdin) = (0, false, true);
        while let Some(word) = args.get(at) {
            let Some(text) = word.text.as_deref() else { return self.opaque() };
            at += 1;
            match text {
                "--version" | "--help" => return self.verbatim(base, args),
                "--login" | "--norc" | "--noprofile" | "--posix" | "--restricted" | "--verbose" => {}
                "--" | "-" => break,
                _ if text.starts_with("--") => return self.opaque(),
                _ if text.len() > 1 && text.starts_with(['-', '+']) => {
                    is_text |= text.starts_with('-') && text.contains('c');
                    at += text.matches(['o', 'O']).count();
                }
                _ => {
                    at -= 1;
                    break;
                }
            }
            is_stdin = !is_text;
        }
        if is_text {
            is_stdin = false;
        }
        let operand = args.get(at);
        let script = match operand {
            Some(word) if is_text => word.text.as_deref(),
            // A file, or parameters of a script on stdin; either way nobody has seen it.
            Some(_) => None,
            None if is_stdin => input.and_then(|input| input.text.as_deref()),
            None => None,
        };
        let Some(script) = script else { return self.opaque() };
        self.verbatim(base, args.get(..at).unwrap_or(args));
        if let Some(rest) = args.get(at + 1..) {
            self.verbatim("with", rest);
        }
        self.script(script);
    }

    /// Another language. Asking for its version is harmless.
    fn foreign(&mut self, base: &str, args: &[Word]) {
        let is_harmless = |word: &Word| {
            matches!(
                word.text.as_deref(),
                Some("--version" | "-V" | "-version" | "--help" | "-h" | "version")
            )
        };
        match args {
            [word] if is_harmless(word) => self.verbatim(base, args),
            _ => {
                self.opaque();
                self.unknown(base, args);
            }
        }
    }

    /// Text that this very shell runs.
    fn again(&mut self, base: &str, args: &[Word]) {
        let texts: Option<Vec<&str>> = args.iter().map(|word| word.text.as_deref()).collect();
        match (base, texts.as_deref()) {
            ("eval", Some(texts)) => self.script(&texts.join(" ")),
            ("trap", Some([] | ["-l" | "-p", ..] | ["-" | "", ..])) => self.verbatim(base, args),
            ("trap", Some(texts)) => {
                let texts = texts.strip_prefix(&["--"]).unwrap_or(texts);
                self.verbatim("trap", args.get(1..).unwrap_or_default());
                self.script(texts.first().copied().unwrap_or_default());
            }
            ("alias", Some(texts)) if texts.iter().all(|text| !text.contains('=')) => {
                self.verbatim(base, args)
            }
            _ => self.opaque(),
        }
    }

    fn awk(&mut self, base: &str, args: &[Word]) {
        match awk::effect(args) {
            Some(tags) => self.tags |= tags,
            None => self.opaque(),
        }
        self.verbatim(base, args);
    }

    fn sed(&mut self, base: &str, args: &[Word]) {
        match sed::effect(args) {
            Some(tags) => self.tags |= tags,
            None => self.opaque(),
        }
        if self.tags.intersects(Tags::MUTATING) {
            self.written_by(args);
        }
        self.verbatim(base, args);
    }

    /// What runs over there is looked into as well, but nobody knows what it means there.
    fn ssh(&mut self, base: &str, args: &[Word]) {
        self.tags |= Tags::NETWORK;
        self.need(format!("reaches other machines: {base}"));
        self.opaque();
        let mut at = 0;
        while let Some(text) = args.get(at).and_then(|word| word.text.as_deref()) {
            at += 1;
            if !text.starts_with('-') {
                break;
            }
            let takes_next =
                text.len() == 2 && text.ends_with(|character| "bcDEeFIiJLlmOopQRSWw".contains(character));
            at += usize::from(takes_next);
        }
        let words = args.get(at..).unwrap_or_default();
        let texts: Vec<&str> = words.iter().map(|word| word.text.as_deref().unwrap_or(&word.start)).collect();
        if !texts.is_empty() {
            self.script(&texts.join(" "));
        }
    }

    /// `su -c SCRIPT`; without one it is a shell for whoever types.
    fn other_user(&mut self, base: &str, args: &[Word]) {
        self.tags |= Tags::PRIVILEGED;
        self.need(format!("uses the rights of another user: {base}"));
        let mut script = None;
        for (at, word) in args.iter().enumerate() {
            match word.text.as_deref() {
                Some("-c" | "--command" | "--session-command") => {
                    script = args.get(at + 1).and_then(|word| word.text.as_deref());
                }
                Some(text) => script = text.strip_prefix("--command=").or(script),
                None => {}
            }
        }
        match script {
            Some(script) => {
                self.verbatim(base, args);
                self.script(script);
            }
            None => {
                self.opaque();
                self.unknown(base, args);
            }
        }
    }

    /// `script -c COMMAND FILE`
    fn recorded(&mut self, args: &[Word]) {
        self.tags |= Tags::MUTATING;
        self.opaque();
        let at = args.iter().position(|word| word.text.as_deref().is_some_and(|text| text.ends_with('c')));
        if let Some(script) = at.and_then(|at| args.get(at + 1)).and_then(|word| word.text.as_deref()) {
            self.script(script);
        }
    }

    /// `watch` hands its words to a shell as one text.
    fn watch(&mut self, base: &str, args: &[Word]) {
        let Some(Unwrapped { own, rest, .. }) = WATCH.unwrap(args) else {
            self.opaque();
            return self.unknown(base, args);
        };
        self.verbatim(base, own);
        let texts: Option<Vec<&str>> = rest.iter().map(|word| word.text.as_deref()).collect();
        match texts {
            Some(texts) => self.script(&texts.join(" ")),
            None => self.opaque(),
        }
    }

    /// `parallel` puts what it reads into its words and hands them to a shell.
    fn parallel(&mut self, base: &str, args: &[Word]) {
        self.opaque();
        let is_end = |word: &&Word| !word.start.starts_with(":::");
        let words: Vec<Word> = args.iter().take_while(is_end).cloned().collect();
        let at = words.iter().position(|word| !word.start.starts_with('-')).unwrap_or(words.len());
        let texts: Vec<&str> =
            words[at..].iter().map(|word| word.text.as_deref().unwrap_or(&word.start)).collect();
        self.script(&texts.join(" "));
        // An option may have a value, and then the program is further on.
        self.unknown(base, &words[at..]);
    }
}
