//! Environment that keeps `git` from running what a repository names: its settings, not its data.
//!
//! A repository's own settings can name programs (`core.fsmonitor`, `diff.external`, filters, pagers, `gpg.program` …),
//! which reading commands run. Settings given by the environment go before those of the repository. Drivers set these for
//! every command that is `proved`; without them `git` is not proved.

/// Variables to set. `GIT_CONFIG_*` come from [`GIT_SETTINGS`].
pub const GIT_VARIABLES: &[(&str, &str)] = &[
    ("GIT_PAGER", "cat"),
    ("PAGER", "cat"),
    ("GIT_EDITOR", "false"),
    ("GIT_ASKPASS", "false"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    // Attributes choose filters and drivers of differences; the empty tree has none.
    ("GIT_ATTR_SOURCE", "4b825dc642cb6eb9a060e54bf8d69288fbee4904"),
    // Objects that are missing are not fetched.
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_SSH_COMMAND", "false"),
];

/// Settings that replace those of the repository.
pub const GIT_SETTINGS: &[(&str, &str)] = &[
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.attributesFile", "/dev/null"),
    ("core.pager", "cat"),
    ("core.editor", "false"),
    ("core.askPass", "false"),
    ("core.sshCommand", "false"),
    ("core.alternateRefsCommand", "false"),
    ("core.untrackedCache", "false"),
    ("diff.external", ""),
    ("diff.ignoreSubmodules", "all"),
    ("diff.submodule", "short"),
    ("status.submoduleSummary", "false"),
    ("submodule.recurse", "false"),
    ("log.showSignature", "false"),
    ("gpg.program", "false"),
    ("gpg.openpgp.program", "false"),
    ("gpg.x509.program", "false"),
    ("gpg.ssh.program", "false"),
    ("gpg.ssh.defaultKeyCommand", "false"),
    ("protocol.allow", "never"),
    ("safe.bareRepository", "explicit"),
    ("credential.helper", ""),
    ("pager.log", "false"),
    ("pager.diff", "false"),
    ("pager.show", "false"),
    ("pager.branch", "false"),
    ("pager.status", "false"),
    ("pager.blame", "false"),
    ("pager.grep", "false"),
    ("pager.shortlog", "false"),
    ("pager.reflog", "false"),
    ("pager.stash", "false"),
    ("pager.tag", "false"),
];

/// The whole environment, as names and values.
pub fn git_environment() -> Vec<(String, String)> {
    let owned = |(name, value): &(&str, &str)| (name.to_string(), value.to_string());
    let mut all: Vec<(String, String)> = GIT_VARIABLES.iter().map(owned).collect();
    all.push(("GIT_CONFIG_COUNT".to_string(), GIT_SETTINGS.len().to_string()));
    for (at, (key, value)) in GIT_SETTINGS.iter().enumerate() {
        all.push((format!("GIT_CONFIG_KEY_{at}"), key.to_string()));
        all.push((format!("GIT_CONFIG_VALUE_{at}"), value.to_string()));
    }
    all
}

#[cfg(test)]
mod tests;
