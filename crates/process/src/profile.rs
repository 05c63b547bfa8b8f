//! Table of the built-in profiles: what kinds of agents there are.

/// A built-in profile.
#[derive(Clone, Copy, Debug)]
pub struct SystemProfile {
    pub id: &'static str,
    /// Its name for people.
    pub display_name: &'static str,
    pub description: &'static str,
    /// Whether people talk to it.
    pub interactive: bool,
    /// Whether `proc.spawn` takes it.
    pub startable: bool,
    /// Whether it works without anybody watching.
    pub background: bool,
    /// Whether a user has only one.
    pub singleton: bool,
}

const fn profile(
    id: &'static str,
    display_name: &'static str,
    description: &'static str,
    kind: (bool, bool, bool, bool),
) -> SystemProfile {
    let (interactive, startable, background, singleton) = kind;
    SystemProfile { id, display_name, description, interactive, startable, background, singleton }
}

/// All of them, in the order of `proc.profile.list`.
pub static SYSTEM_PROFILES: &[SystemProfile] = &[
    profile("init", "Home", "The lasting conversation of a user.", (true, true, false, true)),
    profile("task", "Task", "A new piece of work with a clear end.", (true, true, false, false)),
    profile("review", "Review", "A sceptical look at packages and changes.", (true, true, false, false)),
    profile("mcp", "Master Control", "Looks after the system itself.", (true, true, false, false)),
    profile("app", "App Runtime", "Works for a package app.", (false, false, false, false)),
    profile("cron", "Cron", "Works in the background on a schedule.", (false, false, true, false)),
];

/// Whether a process of that profile has a person to ask. Profiles of packages do.
pub fn is_interactive(profile: &str) -> bool {
    SYSTEM_PROFILES.iter().find(|known| known.id == profile).is_none_or(|known| known.interactive)
}
