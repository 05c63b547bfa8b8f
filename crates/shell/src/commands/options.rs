//! Option parser: `-lh`, `--long`, `--name=value`, `-o value`, and `--` before operands, as `getopt_long` has them.

use super::{Command, Cx, Done};

/// One option a command knows. Its long name is how the command asks for it.
pub(super) struct Opt {
    /// The letter; `'\0'` when there is none.
    pub short: char,
    /// The long name.
    pub long: &'static str,
    /// Whether a value follows.
    pub value: bool,
}

/// An option without a value.
pub(super) const fn flag(short: char, long: &'static str) -> Opt {
    Opt { short, long, value: false }
}

/// An option with a value.
pub(super) const fn valued(short: char, long: &'static str) -> Opt {
    Opt { short, long, value: true }
}

/// What was given.
#[derive(Debug, Default)]
pub(super) struct Options {
    given: Vec<(&'static str, String)>,
    /// What is not an option.
    pub operands: Vec<String>,
    /// How many options went before each operand.
    seen: Vec<usize>,
}

impl Options {
    /// Reads a command's arguments; `--help` ends it with its usage, a mistake with exit code `code`.
    pub fn parse(cx: &Cx<'_>, command: &Command, known: &[Opt], code: i32) -> Result<Options, Done> {
        Options::parse_words(cx.args, known).map_err(|wrong| match wrong {
            OptionError::Help => Done::printed(format!("{}{}\n", command.usage_line(), command.about)),
            OptionError::Because(why) => {
                let mut done = Done::failed(cx.name, why, code);
                done.stderr.extend_from_slice(command.usage_line().as_bytes());
                done
            }
        })
    }

    /// Reads words.
    pub fn parse_words(words: &[String], known: &[Opt]) -> Result<Options, OptionError> {
        let mut options = Options::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if word == "--" {
                options.operands.extend(words.cloned());
                break;
            } else if let Some(long) = word.strip_prefix("--") {
                options.long(long, known, &mut words)?;
            } else if word.len() > 1 && word.starts_with('-') {
                options.short(&word[1..], known, &mut words)?;
            } else {
                options.operands.push(word.clone());
            }
            options.seen.resize(options.operands.len(), options.given.len());
        }
        options.seen.resize(options.operands.len(), options.given.len());
        Ok(options)
    }

    fn long<'a>(
        &mut self,
        text: &str,
        known: &[Opt],
        words: &mut impl Iterator<Item = &'a String>,
    ) -> Result<(), OptionError> {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value.to_string())),
            None => (text, None),
        };
        let Some(opt) = known.iter().find(|opt| opt.long == name) else {
            return Err(match name {
                "help" => OptionError::Help,
                _ => OptionError::Because(format!("unrecognized option '--{name}'")),
            });
        };
        let value = match (opt.value, value) {
            (true, Some(value)) => value,
            (true, None) => words
                .next()
                .cloned()
                .ok_or_else(|| OptionError::Because(format!("option '--{name}' requires an argument")))?,
            (false, None) => String::new(),
            (false, Some(_)) => {
                return Err(OptionError::Because(format!("option '--{name}' doesn't allow an argument")));
            }
        };
        self.given.push((opt.long, value));
        Ok(())
    }

    fn short<'a>(
        &mut self,
        cluster: &str,
        known: &[Opt],
        words: &mut impl Iterator<Item = &'a String>,
    ) -> Result<(), OptionError> {
        for (at, letter) in cluster.char_indices() {
            let Some(opt) = known.iter().find(|opt| opt.short == letter && letter != '\0') else {
                return Err(OptionError::Because(format!("invalid option -- '{letter}'")));
            };
            if !opt.value {
                self.given.push((opt.long, String::new()));
                continue;
            }
            let rest = &cluster[at + letter.len_utf8()..];
            let value = match rest.is_empty() {
                false => rest.to_string(),
                true => words.next().cloned().ok_or_else(|| {
                    OptionError::Because(format!("option requires an argument -- '{letter}'"))
                })?,
            };
            self.given.push((opt.long, value));
            return Ok(());
        }
        Ok(())
    }

    /// Whether it was given.
    pub fn has(&self, long: &str) -> bool {
        self.given.iter().any(|(name, _)| *name == long)
    }

    /// Its value; the last one counts.
    pub fn value(&self, long: &str) -> Option<&str> {
        self.given.iter().rev().find(|(name, _)| *name == long).map(|(_, value)| value.as_str())
    }

    /// All its values, in order.
    pub fn values<'a>(&'a self, long: &'a str) -> impl Iterator<Item = &'a str> {
        self.given.iter().filter(move |(name, _)| *name == long).map(|(_, value)| value.as_str())
    }

    /// Everything that was given, in order.
    pub fn given(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.given.iter().map(|(name, value)| (*name, value.as_str()))
    }

    /// What is not an option, each with the options that went before it.
    pub fn operands_in_order(&self) -> impl Iterator<Item = (&[(&'static str, String)], &str)> {
        self.seen.iter().zip(&self.operands).map(|(seen, operand)| (&self.given[..*seen], operand.as_str()))
    }

    /// Its value as a whole number.
    pub fn number(&self, long: &str) -> Result<Option<u64>, String> {
        self.value(long)
            .map(|text| text.parse().map_err(|_| format!("--{long} must be a whole number, not '{text}'")))
            .transpose()
    }
}

/// Why words are not options.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum OptionError {
    /// `--help` was asked for.
    Help,
    /// They are not; this says why.
    Because(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &[Opt] = &[flag('l', "long"), flag('h', "human"), valued('o', "output")];

    fn parse(words: &[&str]) -> Result<Options, OptionError> {
        Options::parse_words(&words.iter().map(ToString::to_string).collect::<Vec<_>>(), KNOWN)
    }

    #[test]
    fn letters_may_stand_together_and_a_value_may_stick_to_its_letter() {
        let options = parse(&["-lhofile", "x", "-", "--output=y", "--output", "z", "--", "-l"]).unwrap();
        assert!(options.has("long") && options.has("human"));
        assert_eq!(options.values("output").collect::<Vec<_>>(), ["file", "y", "z"]);
        assert_eq!(options.value("output"), Some("z"));
        assert_eq!(options.operands, ["x", "-", "-l"]);
    }

    #[test]
    fn mistakes_are_named() {
        let because = |words: &[&str]| match parse(words).unwrap_err() {
            OptionError::Because(why) => why,
            OptionError::Help => "help".to_string(),
        };
        assert_eq!(because(&["-x"]), "invalid option -- 'x'");
        assert_eq!(because(&["--x"]), "unrecognized option '--x'");
        assert_eq!(because(&["-o"]), "option requires an argument -- 'o'");
        assert_eq!(because(&["--output"]), "option '--output' requires an argument");
        assert_eq!(because(&["--long=1"]), "option '--long' doesn't allow an argument");
        assert_eq!(because(&["--help"]), "help");
    }
}
