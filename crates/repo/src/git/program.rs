//! The git program as a command with a clean environment, so that nothing on the machine changes what it does.

use tokio::process::Command;

/// Git, with nothing of the machine's settings and no word from a person. Arguments and directory are the caller's.
pub(crate) fn command() -> Command {
    let mut command = Command::new("git");
    command.env_clear().current_dir("/");
    command.envs(std::env::vars_os().filter(|(name, _)| name == "PATH"));
    command.envs([
        ("HOME", "/dev/null"),
        ("LC_ALL", "C"),
        ("TZ", "UTC"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_CONFIG_SYSTEM", "/dev/null"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_ATTR_NOSYSTEM", "1"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_NO_LAZY_FETCH", "1"),
    ]);
    command
}
