//! Programs that run the program their arguments name, and how their own options are told from it. An option that is
//! not listed here could hide where that program is, so it makes the command opaque.

use crate::programs::Word;

use super::tags::Tags;

/// Such a program.
pub(super) struct Wrapper {
    names: &'static [&'static str],
    /// Letters of options without a value.
    flags: &'static str,
    /// Letters of options with one.
    valued: &'static str,
    long: &'static [&'static str],
    long_valued: &'static [&'static str],
    /// Words of its own before the program.
    operands: usize,
    /// Whether `NAME=value` may stand before the program.
    assigns: bool,
    /// What is to be said of the wrapper itself.
    pub(super) tags: Tags,
    /// Whether it is a shell when it is given no program.
    pub(super) is_shell_alone: bool,
}

/// A call of such a program, taken apart.
pub(super) struct Unwrapped<'a> {
    /// Its own words.
    pub(super) own: &'a [Word],
    /// Variables it sets.
    pub(super) assigned: Vec<(&'a str, Word)>,
    /// The program it runs, with its arguments.
    pub(super) rest: &'a [Word],
}

const PLAIN: Wrapper = Wrapper {
    names: &[],
    flags: "",
    valued: "",
    long: &[],
    long_valued: &[],
    operands: 0,
    assigns: false,
    tags: Tags::NONE,
    is_shell_alone: false,
};

static ALL: &[Wrapper] = &[
    Wrapper {
        names: &["nohup", "builtin", "noglob", "nocorrect", "busybox", "toybox", "fakeroot", "chronic"],
        ..PLAIN
    },
    Wrapper { names: &["exec"], flags: "cl", valued: "a", ..PLAIN },
    Wrapper { names: &["command"], flags: "p", ..PLAIN },
    Wrapper { names: &["setsid"], flags: "cfw", long: &["ctty", "fork", "wait"], ..PLAIN },
    Wrapper { names: &["nice"], valued: "n", long_valued: &["adjustment"], ..PLAIN },
    Wrapper { names: &["ionice"], flags: "t", valued: "cn", ..PLAIN },
    Wrapper {
        names: &["time", "gtime"],
        flags: "apvlhq",
        valued: "f",
        long: &["portability", "verbose"],
        ..PLAIN
    },
    Wrapper {
        names: &["timeout", "gtimeout"],
        flags: "vfp",
        valued: "ks",
        long: &["foreground", "preserve-status", "verbose"],
        long_valued: &["kill-after", "signal"],
        operands: 1,
        ..PLAIN
    },
    Wrapper { names: &["stdbuf"], valued: "ioe", long_valued: &["input", "output", "error"], ..PLAIN },
    Wrapper { names: &["unbuffer"], flags: "p", ..PLAIN },
    Wrapper { names: &["caffeinate"], flags: "dimsu", valued: "tw", ..PLAIN },
    Wrapper { names: &["taskset"], flags: "ac", operands: 1, ..PLAIN },
    Wrapper { names: &["chrt"], flags: "abdfioRrvm", valued: "TPD", operands: 1, ..PLAIN },
    Wrapper { names: &["strace", "ltrace"], flags: "cCdfFiknqrtTvwxyzS", valued: "abeIopPsuEUX", ..PLAIN },
    Wrapper { names: &["entr"], flags: "acdnprz", ..PLAIN },
    Wrapper {
        names: &["env", "genv"],
        flags: "i0v",
        valued: "uC",
        long: &["ignore-environment", "null", "debug"],
        long_valued: &["unset", "chdir"],
        assigns: true,
        ..PLAIN
    },
    Wrapper {
        names: &["sudo"],
        flags: "AbEHnPSkKBNlveVs",
        valued: "CDghpRrTtUu",
        long: &[
            "askpass",
            "background",
            "preserve-env",
            "set-home",
            "non-interactive",
            "stdin",
            "reset-timestamp",
            "login",
            "shell",
            "list",
            "validate",
            "preserve-groups",
        ],
        long_valued: &[
            "user",
            "group",
            "host",
            "prompt",
            "chdir",
            "chroot",
            "role",
            "type",
            "other-user",
            "close-from",
            "command-timeout",
        ],
        assigns: true,
        tags: Tags::PRIVILEGED,
        is_shell_alone: true,
        ..PLAIN
    },
    Wrapper {
        names: &["doas", "pkexec"],
        flags: "nLs",
        valued: "aCu",
        long_valued: &["user"],
        tags: Tags::PRIVILEGED,
        is_shell_alone: true,
        ..PLAIN
    },
    Wrapper {
        names: &["chroot", "gosu", "su-exec"],
        long_valued: &["userspec", "groups"],
        operands: 1,
        tags: Tags::PRIVILEGED,
        is_shell_alone: true,
        ..PLAIN
    },
];

/// `xargs`; what it reads is added to the program's words.
pub(super) static XARGS: Wrapper = Wrapper {
    flags: "0rtpxo",
    valued: "adEILnPs",
    long: &["null", "no-run-if-empty", "verbose", "interactive", "exit", "open-tty"],
    long_valued: &[
        "arg-file",
        "delimiter",
        "max-args",
        "max-chars",
        "max-lines",
        "max-procs",
        "replace",
        "process-slot-var",
    ],
    ..PLAIN
};

/// `watch`; its words are handed to a shell.
pub(super) static WATCH: Wrapper = Wrapper {
    flags: "bcdegptwrCfx",
    valued: "nqs",
    long: &[
        "beep",
        "color",
        "differences",
        "errexit",
        "chgexit",
        "precise",
        "no-title",
        "no-wrap",
        "exec",
        "no-rerun",
    ],
    long_valued: &["interval", "equexit", "shotsdir"],
    ..PLAIN
};

/// `flock FILE PROGRAM`.
pub(super) static FLOCK: Wrapper = Wrapper {
    flags: "sxeunFov",
    valued: "wE",
    long: &["shared", "exclusive", "nonblock", "close", "no-fork", "verbose"],
    long_valued: &["timeout", "wait", "conflict-exit-code"],
    operands: 1,
    ..PLAIN
};

/// The wrapper of that name.
pub(super) fn find(base: &str) -> Option<&'static Wrapper> {
    ALL.iter().find(|wrapper| wrapper.names.contains(&base))
}

impl Wrapper {
    /// Tells its own words from the program it runs; `None` when that is not sure.
    pub(super) fn unwrap<'a>(&self, args: &'a [Word]) -> Option<Unwrapped<'a>> {
        let mut at = 0;
        while let Some(word) = args.get(at) {
            let text = word.text.as_deref();
            match text {
                Some("--") => {
                    at += 1;
                    break;
                }
                Some("-") if self.assigns => at += 1,
                Some(option) if option.len() > 1 && option.starts_with('-') => at += self.option(option)?,
                None if word.may_be_option() => return None,
                _ => break,
            }
        }
        for _ in 0..self.operands {
            if args.get(at)?.splits {
                return None;
            }
            at += 1;
        }
        let mut assigned = Vec::new();
        while let Some(word) = args.get(at).filter(|_| self.assigns) {
            let Some((name, value)) = word.start.split_once('=').filter(|(name, _)| is_name(name)) else {
                break;
            };
            if word.splits || word.pattern.is_some() {
                return None;
            }
            let value = if word.text.is_some() { Word::known(value) } else { Word::unknown() };
            assigned.push((name, value));
            at += 1;
        }
        // A value that was to follow the last option is not there.
        let rest = args.get(at..)?;
        Some(Unwrapped { own: &args[..at], assigned, rest })
    }

    /// How many words an option takes up.
    fn option(&self, option: &str) -> Option<usize> {
        if let Some(long) = option.strip_prefix("--") {
            let (name, value) =
                long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
            return match value {
                _ if self.long.contains(&name) => Some(1),
                Some(_) if self.long_valued.contains(&name) => Some(1),
                None if self.long_valued.contains(&name) => Some(2),
                _ => None,
            };
        }
        // `nice -10`
        if option[1..].bytes().all(|byte| byte.is_ascii_digit()) && !self.flags.contains('0') {
            return Some(1);
        }
        for (at, letter) in option.char_indices().skip(1) {
            if self.valued.contains(letter) {
                return Some(if at + 1 == option.len() { 2 } else { 1 });
            }
            if !self.flags.contains(letter) {
                return None;
            }
        }
        Some(1)
    }
}

/// Whether a word before `=` is the name of a variable.
fn is_name(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next().is_some_and(|character| character.is_ascii_alphabetic() || character == '_')
        && characters.all(|character| character.is_ascii_alphanumeric() || character == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_told_from_the_program() {
        let rest = |line: &str| {
            let words: Vec<Word> = line.split(' ').map(Word::known).collect();
            let (name, args) = words.split_first()?;
            let wrapper = find(name.text.as_deref()?)?;
            wrapper
                .unwrap(args)
                .map(|it| it.rest.iter().map(|word| word.start.clone()).collect::<Vec<_>>().join(" "))
        };
        for (line, inner) in [
            ("nohup rm x", Some("rm x")),
            ("timeout 5 rm x", Some("rm x")),
            ("timeout -k 5 --signal KILL 10 rm x", Some("rm x")),
            ("timeout -k5 10 rm", Some("rm")),
            ("timeout --what 5 rm", None),
            ("timeout 5", Some("")),
            ("timeout", None),
            ("nice -10 rm", Some("rm")),
            ("nice -n 10 rm", Some("rm")),
            ("nice -n", None),
            ("env -i A=b C=d rm x", Some("rm x")),
            ("env - A=b rm", Some("rm")),
            ("env -u X rm", Some("rm")),
            ("env -S rm", None),
            ("sudo -u root -H A=b rm x", Some("rm x")),
            ("sudo -- rm x", Some("rm x")),
            ("sudo --user root rm", Some("rm")),
            ("sudo --user=root rm", Some("rm")),
            ("exec -a ls rm", Some("rm")),
            ("setsid -w rm", Some("rm")),
        ] {
            assert_eq!(rest(line).as_deref(), inner, "{line}");
        }
    }
}
