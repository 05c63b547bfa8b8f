//! Probe of the sandbox: finds by trying, in a throw-away directory, what it does on this machine. Versions and settings
//! are only looked at to explain a refusal.

#[cfg(target_os = "linux")]
mod cause;
#[cfg(target_os = "linux")]
mod inside;
#[cfg(target_os = "linux")]
mod trials;

#[cfg(target_os = "linux")]
pub(crate) use inside::{INSIDE_WORD, inside};

/// How well commands can be confined here.
#[derive(Clone, Debug, Default)]
pub struct Strength {
    /// What holds: `fs`, `secrets`, `network`, `processes`, `limits`, `rehearse`; or `fs-write` alone, which is Landlock
    /// mode; or nothing.
    pub words: Vec<&'static str>,
    /// Every single trial.
    pub trials: Vec<Trial>,
    /// Why there is no full mode, and what a person can do about it.
    pub cause: Option<String>,
}

/// One thing that was tried.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The word that it counts for.
    pub word: &'static str,
    /// What was tried, in words.
    pub what: String,
    /// Whether it was to work.
    pub should_work: bool,
    /// What happened.
    pub happened: String,
    /// Whether that is as it should be.
    pub passed: bool,
}

impl Strength {
    /// Whether commands can be confined by namespaces.
    pub fn is_full(&self) -> bool {
        ["fs", "secrets", "network", "processes"].iter().all(|word| self.words.contains(word))
    }

    /// A machine without a sandbox.
    pub(crate) fn none(cause: impl Into<String>) -> Strength {
        Strength { cause: Some(cause.into()), ..Strength::default() }
    }
}
