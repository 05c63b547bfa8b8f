//! Environment of confined commands: the driver's own, without what is a credential or leads past the sandbox.

use std::ffi::{OsStr, OsString};

/// Names that are credentials wherever they end with one of these words.
const SECRET_WORDS: &[&str] = &[
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "API_KEY",
    "APIKEY",
    "ACCESS_KEY",
    "PRIVATE_KEY",
    "CREDENTIALS",
    "AUTH",
];

/// Variables that lead to programs outside: agents of keys, buses, displays, containers.
const LEADS_OUT: &[&str] = &[
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "GPG_AGENT_INFO",
    "DBUS_SESSION_BUS_ADDRESS",
    "DBUS_SYSTEM_BUS_ADDRESS",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "DOCKER_HOST",
    "KUBECONFIG",
    "NOTIFY_SOCKET",
    "LISTEN_FDS",
    "XDG_RUNTIME_DIR",
];

/// The variables of a confined command: this program's own that may pass, and those that are set for it.
pub(super) fn of(set: &[(String, String)]) -> Vec<(OsString, OsString)> {
    let passed = std::env::vars_os().filter(|(name, _)| may_pass(name));
    let passed = passed.filter(|(name, _)| !set.iter().any(|(known, _)| name == known.as_str()));
    passed.chain(set.iter().map(|(name, value)| (name.into(), value.into()))).collect()
}

/// Whether a variable of the driver may be seen by commands of agents.
fn may_pass(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    let upper = name.to_uppercase();
    let is_secret = SECRET_WORDS.iter().any(|word| upper.ends_with(word)) || upper.starts_with("GSV_");
    let leads_out = LEADS_OUT.contains(&name) || egress::UNSET_VARIABLES.contains(&name);
    // What makes programs load code of the driver's environment is no business of a command's.
    !is_secret && !leads_out && !upper.starts_with("LD_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_and_what_leads_out_stay_behind() {
        for name in [
            "GITHUB_TOKEN",
            "AWS_SECRET_ACCESS_KEY",
            "OPENAI_API_KEY",
            "DB_PASSWORD",
            "GSV_TOKEN",
            "npm_config__auth",
        ] {
            assert!(!may_pass(OsStr::new(name)), "{name}");
        }
        for name in ["SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "GIT_SSH_COMMAND", "LD_PRELOAD"] {
            assert!(!may_pass(OsStr::new(name)), "{name}");
        }
        for name in ["PATH", "HOME", "LANG", "CARGO_HOME", "EDITOR", "TERM", "JAVA_HOME"] {
            assert!(may_pass(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn what_is_set_goes_before_what_is_there() {
        let set = [("PATH".to_string(), "/only".to_string())];
        let all = of(&set);
        assert_eq!(all.iter().filter(|(name, _)| name == "PATH").count(), 1);
        assert!(all.contains(&("PATH".into(), "/only".into())));
    }
}
