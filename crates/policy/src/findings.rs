//! Findings of a survey: which sensitive things a command is known to do, beyond the tags that policies speak of.

/// What a sandbox does not give, as it is told to a person and as it could be widened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// Writing to a path outside the workspace, or to a protected one in it.
    Write { path: String, what: &'static str },
    /// Reaching a host, as a list of hosts would name it where it can.
    Host(String),
    /// Anything else, as a sentence.
    Other(String),
}

impl Need {
    /// The sentence for a person.
    pub(super) fn sentence(&self) -> String {
        match self {
            Need::Write { path, what } => format!("writes to {what}: {path}"),
            Need::Host(host) => format!("reaches another machine: {host}"),
            Need::Other(sentence) => sentence.clone(),
        }
    }
}

/// A secret that a command names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Secret {
    /// Where it is.
    pub(super) path: String,
    /// What it is.
    pub(super) words: &'static str,
    /// Whether confined commands may read it: `.env` and the like in the workspace.
    pub(super) is_readable_confined: bool,
}

/// What was found, each in the order of the command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Findings {
    /// Programs that are not in the catalogue.
    pub(super) unknown: Vec<String>,
    /// Known destroyers, as sentences: what they take is lost.
    pub(super) destroys: Vec<String>,
    /// What a sandbox does not give.
    pub(super) needs: Vec<Need>,
    /// Secrets that are named.
    pub(super) secrets: Vec<Secret>,
    /// Files in the workspace that are replaced by `>` or `tee`.
    pub(super) overwrites: Vec<String>,
}

impl Findings {
    /// Notes something once.
    pub(super) fn note<T: PartialEq>(list: &mut Vec<T>, item: T) {
        if !list.contains(&item) {
            list.push(item);
        }
    }
}
