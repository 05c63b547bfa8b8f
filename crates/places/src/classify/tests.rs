//! The table, asked with paths as they come.

use super::*;
use crate::table::Sensitivity;

fn alice() -> Roots<'static> {
    Roots { home: Some("/home/alice"), workspace: Some("/home/alice/work/app"), fold_case: false }
}

fn kind(path: &str) -> Option<Sensitivity> {
    classify(path, &alice()).map(|place| place.kind)
}

#[test]
fn credentials_are_found() {
    for path in [
        "/home/alice/.ssh",
        "/home/alice/.ssh/id_ed25519",
        "/home/alice/.gnupg/private-keys-v1.d/x",
        "/home/alice/.aws/credentials",
        "/home/alice/.config/gsv/config.toml",
        "/home/alice/.config/google-chrome-beta/Default/Cookies",
        "/home/alice/.local/share/keyrings/login.keyring",
        "/home/alice/.cargo/credentials.toml",
        "/home/alice/.docker/config.json",
        "/home/alice/.netrc",
        "/home/alice/.bash_history",
        "/home/alice/Library/Application Support/Google/Chrome/Default/Cookies",
        "/home/alice/other/.env",
        "/home/alice/work/app/.env",
        "/home/alice/work/app/.env.local",
        "/home/alice/work/app/sub/.npmrc",
        "/home/bob/notes.txt",
        "/root/x",
        "/etc/shadow",
        "/etc/ssh/ssh_host_ed25519_key",
        "/proc/self/environ",
        "/proc/12/root/home",
        "/dev/sda1",
        "/dev/nvme0n1",
        "/run/user/1000/keyring/ssh",
    ] {
        assert!(kind(path).is_some_and(Sensitivity::is_secret), "{path}: {:?}", kind(path));
    }
}

#[test]
fn code_that_runs_later_is_found() {
    for path in [
        "/home/alice/.bashrc",
        "/home/alice/.config/fish/config.fish",
        "/home/alice/.config/autostart/x.desktop",
        "/home/alice/.config/systemd/user/x.service",
        "/home/alice/Library/LaunchAgents/x.plist",
        "/home/alice/.local/bin/ls",
        "/home/alice/.cargo/bin/cargo",
        "/home/alice/.gitconfig",
        "/home/alice/work/app/.git",
        "/home/alice/work/app/.git/hooks/pre-commit",
        "/home/alice/work/app/.git/config",
        "/home/alice/work/app/vendor/lib/.git/config",
        "/home/alice/work/app/.git/modules/a/b/hooks/post-checkout",
        "/home/alice/work/app/mirror.git/hooks/post-receive",
        "/home/alice/work/app/.vscode/tasks.json",
        "/home/alice/work/app/.mcp.json",
        "/home/alice/work/app/.gitmodules",
        "/home/alice/work/app/.zshrc",
        "/etc/cron.d/x",
        "/etc/ssh/ssh_host_ed25519_key.pub",
        "/usr/local/bin/x",
        "/var/spool/cron/crontabs/alice",
    ] {
        assert_eq!(kind(path), Some(Sensitivity::RunsLater), "{path}");
    }
    assert_eq!(kind("/home/alice/work/app/.envrc"), Some(Sensitivity::Both));
}

#[test]
fn ordinary_paths_are_no_places() {
    for path in [
        "/",
        "/home",
        "/home/alice",
        "/home/alice/work",
        "/home/alice/work/app",
        "/home/alice/work/app/src/main.rs",
        "/home/alice/work/app/.git/index",
        "/home/alice/work/app/.git/objects/ab/cd",
        "/home/alice/work/app/.gitignore",
        "/home/alice/work/app/.github/workflows/ci.yml",
        "/home/alice/work/app/.env.example",
        "/home/alice/work/app/environment",
        "/home/alice/notes.txt",
        "/home/alice/.config",
        "/home/alice/.local/share/x",
        "/tmp/x",
        "/var/log/syslog",
        "/var/tmp/x",
        "/mnt/data/x",
    ] {
        assert_eq!(kind(path), None, "{path}");
    }
}

#[test]
fn capital_letters_count_only_where_they_do() {
    let folding = Roots { fold_case: true, ..alice() };
    for path in ["/home/alice/.SSH/id", "/HOME/Alice/.ssh/id", "/home/alice/work/app/.Git/Hooks/x"] {
        assert!(classify(path, &folding).is_some(), "{path}");
    }
    assert_eq!(kind("/home/alice/work/app/.Git/Hooks/x"), None);
}

#[test]
fn an_unknown_home_is_guessed() {
    for home in [None, Some("~")] {
        let nowhere = Roots { home, workspace: None, fold_case: true };
        for path in ["/home/x/.ssh/id", "/Users/x/.aws/credentials", "/root/.ssh/id", "/etc/shadow"] {
            assert!(classify(path, &nowhere).is_some_and(|place| place.kind.is_secret()), "{path}");
        }
        assert_eq!(classify("/home/x/notes", &nowhere), None);
    }
    let tilde = Roots { home: Some("~"), workspace: None, fold_case: true };
    assert!(classify("~/.ssh/id", &tilde).is_some());
}

#[test]
fn the_workspace_of_root_may_be_in_a_home() {
    let root = Roots { home: Some("/root"), workspace: Some("/home/alice/app"), fold_case: false };
    assert_eq!(classify("/home/alice/app/x", &root), None);
    assert_eq!(classify("/home/alice", &root), None);
    assert!(classify("/home/alice/other", &root).is_some());
    assert!(classify("/home/alice/app/.git/hooks/x", &root).is_some());
    let odd = Roots { home: Some("/root"), workspace: Some("/opt/app"), fold_case: false };
    assert_eq!(classify("/opt/app/x", &odd), None);
    assert!(classify("/opt/x", &odd).is_some());
}

#[test]
fn a_directory_above_a_secret_may_hold_it() {
    for path in [
        "/",
        "/home",
        "/home/alice",
        "/home/alice/.config",
        "/etc",
        "/etc/ssh",
        "/proc",
        "/proc/12",
        "/var",
        "/dev",
    ] {
        assert!(may_hold(path, &alice()).is_some(), "{path}");
    }
    for path in [
        "/home/alice/work",
        "/home/alice/work/app",
        "/tmp/x",
        "/usr/share",
        "/home/alice/.ssh/a",
        "/var/log/apt",
    ] {
        assert_eq!(may_hold(path, &alice()), None, "{path}");
    }
    assert_eq!(secret_below("/home/alice", &alice()).map(|place| place.words), Some("SSH keys"));
    assert_eq!(secret_below("/home/alice/work", &alice()).map(|place| place.words), Some("an .env file"));
}

#[test]
fn no_pattern_stands_twice_and_each_is_well_formed() {
    for (at, place) in PLACES.iter().enumerate() {
        let is_again = |other: &&SensitivePlace| {
            other.at == place.at && other.pattern == place.pattern && other.kind == place.kind
        };
        assert_eq!(PLACES.iter().position(|other| is_again(&other)), Some(at), "{place:?}");
        assert!(!place.pattern.starts_with('/') && !place.pattern.ends_with('/'), "{place:?}");
        assert!(!place.pattern.contains("//") && !place.words.is_empty(), "{place:?}");
    }
}
