//! Command-line words of `git`: options before and after operands, `-5` for `-n 5`, and paths behind `--`.

use super::super::Done;
use super::super::options::{Opt, Options, flag, valued};
use super::misread;

/// Options that choose how differences are shown.
pub(super) const DIFFERENCES: &[Opt] = &[
    flag('p', "patch"),
    flag('u', "unified-patch"),
    flag('s', "no-patch"),
    flag('\0', "stat"),
    flag('\0', "shortstat"),
    flag('\0', "numstat"),
    flag('\0', "name-only"),
    flag('\0', "name-status"),
    valued('U', "unified"),
    flag('\0', "no-renames"),
    flag('\0', "no-color"),
    flag('\0', "no-ext-diff"),
    flag('\0', "no-decorate"),
    flag('\0', "first-parent"),
    flag('\0', "minimal"),
];

/// What was given to one command.
pub(super) struct Given {
    pub(super) options: Options,
    /// Words behind `--`; nothing when there was none.
    pub(super) paths: Option<Vec<String>>,
}

/// Reads the words of a command that knows `own` options and those of `more`.
pub(super) fn read(words: &[String], own: Vec<Opt>, more: &'static [Opt]) -> Result<Given, Done> {
    let (before, paths) = match words.iter().position(|word| word == "--") {
        Some(at) => (&words[..at], Some(words[at + 1..].to_vec())),
        None => (words, None),
    };
    let known: Vec<Opt> = own.into_iter().chain(more.iter().map(|opt| Opt { ..*opt })).collect();
    let spelled: Vec<String> = before.iter().map(|word| spelled(word)).collect();
    let options = Options::parse_words(&spelled, &known).map_err(misread)?;
    Ok(Given { options, paths })
}

/// `-5` is `-n5`.
fn spelled(word: &str) -> String {
    match word.strip_prefix('-') {
        Some(digits) if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("-n{digits}")
        }
        _ => word.to_string(),
    }
}

/// How differences are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    Nothing,
    Patch,
    Stat,
    ShortStat,
    NumStat,
    NameOnly,
    NameStatus,
}

impl Given {
    /// How differences are shown; the last option that says so counts.
    pub(super) fn shown(&self, otherwise: Shown) -> Shown {
        let chosen = self.options.given().filter_map(|(name, _)| match name {
            "patch" | "unified-patch" | "unified" => Some(Shown::Patch),
            "no-patch" => Some(Shown::Nothing),
            "stat" => Some(Shown::Stat),
            "shortstat" => Some(Shown::ShortStat),
            "numstat" => Some(Shown::NumStat),
            "name-only" => Some(Shown::NameOnly),
            "name-status" => Some(Shown::NameStatus),
            _ => None,
        });
        chosen.last().unwrap_or(otherwise)
    }

    /// Lines around a change.
    pub(super) fn around(&self) -> Result<usize, Done> {
        let around = self.options.number("unified").map_err(super::usage)?;
        Ok(around.unwrap_or(3).min(1_000_000) as usize)
    }
}
