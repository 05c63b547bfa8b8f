//! A repository whose settings name a program wherever git has room for one, read by a real git.

use std::path::Path;
use std::process::Command;

use super::*;

/// Settings that run a program while something is only read.
const HOSTILE: &[&str] = &[
    "core.fsmonitor",
    "core.pager",
    "core.editor",
    "core.alternateRefsCommand",
    "core.sshCommand",
    "core.askPass",
    "diff.external",
    "diff.evil.command",
    "diff.evil.textconv",
    "filter.evil.clean",
    "filter.evil.smudge",
    "filter.evil.process",
    "gpg.program",
    "gpg.ssh.program",
    "gpg.x509.program",
    "pager.log",
    "pager.diff",
    "pager.show",
    "pager.status",
    "pager.branch",
    "pager.blame",
    "pager.tag",
    "credential.helper",
    "alias.status",
];

/// Commands that the table of reading programs has.
const READING: &[&[&str]] = &[
    &["status"],
    &["status", "--short", "--branch"],
    &["diff"],
    &["diff", "--stat", "HEAD"],
    &["diff", "--cached"],
    &["log", "-p", "-3"],
    &["log", "--oneline", "--graph", "--all"],
    &["show", "HEAD"],
    &["show", "HEAD:f"],
    &["blame", "f"],
    &["branch", "-a"],
    &["tag", "--list"],
    &["ls-files"],
    &["ls-tree", "-r", "HEAD"],
    &["grep", "x"],
    &["rev-parse", "HEAD"],
    &["describe", "--always"],
    &["shortlog", "-s", "HEAD"],
    &["reflog"],
    &["stash", "list"],
    &["for-each-ref"],
    &["check-ignore", "f"],
    &["cat-file", "-p", "HEAD:f"],
];

fn git(directory: &Path, environment: &[(String, String)], args: &[&str]) -> bool {
    let mut command = Command::new("git");
    command.current_dir(directory).args(args).env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("HOME", directory).env("GIT_CONFIG_NOSYSTEM", "1");
    for (name, value) in [("AUTHOR", "a"), ("COMMITTER", "c")] {
        command.env(format!("GIT_{name}_NAME"), value).env(format!("GIT_{name}_EMAIL"), "x@example.org");
    }
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    command.output().is_ok_and(|output| output.status.success())
}

#[test]
fn a_repository_cannot_make_reading_run_a_program() {
    let root = tempfile::tempdir().unwrap();
    let (repository, canary) = (root.path().join("repository"), root.path().join("ran"));
    std::fs::create_dir(&repository).unwrap();
    let evil = format!("echo >> {}; cat", canary.display());
    assert!(git(&repository, &[], &["init", "--quiet", "."]));
    std::fs::write(repository.join("f"), "x\n").unwrap();
    assert!(git(&repository, &[], &["add", "f"]) && git(&repository, &[], &["commit", "--quiet", "-m", "x"]));
    std::fs::write(repository.join(".gitattributes"), "* diff=evil filter=evil\n").unwrap();
    std::fs::write(repository.join("f"), "x\ny\n").unwrap();
    for key in HOSTILE {
        let value = if key.starts_with("alias") { format!("!{evil}") } else { evil.clone() };
        assert!(git(&repository, &[], &["config", key, &value]), "{key}");
    }
    assert!(git(&repository, &[], &["config", "log.showSignature", "true"]));
    for hook in ["post-index-change", "reference-transaction", "post-checkout", "pre-commit"] {
        std::fs::write(repository.join(".git/hooks").join(hook), format!("#!/bin/sh\n{evil}\n")).unwrap();
    }
    // The trap works: without the environment something runs.
    git(&repository, &[], &["status"]);
    git(&repository, &[], &["diff"]);
    assert!(canary.exists(), "the settings should have run a program");
    std::fs::remove_file(&canary).unwrap();
    let quiet = git_environment();
    for args in READING {
        git(&repository, &quiet, args);
        assert!(!canary.exists(), "git {} ran a program", args.join(" "));
    }
    assert!(git(&repository, &quiet, &["log", "--oneline"]) && git(&repository, &quiet, &["diff", "--stat"]));
}

#[test]
fn neither_can_a_repository_within_it() {
    let root = tempfile::tempdir().unwrap();
    let (outer, canary) = (root.path().join("outer"), root.path().join("ran"));
    let inner = outer.join("sub");
    std::fs::create_dir_all(&inner).unwrap();
    let evil = format!("echo >> {}; cat", canary.display());
    for repository in [&inner, &outer] {
        assert!(git(repository, &[], &["init", "--quiet", "."]));
        std::fs::write(repository.join("f"), "x\n").unwrap();
        assert!(git(repository, &[], &["add", "."]));
        assert!(git(repository, &[], &["commit", "--quiet", "-m", "x"]));
    }
    let modules = "[submodule \"sub\"]\n\tpath = sub\n\turl = ./sub\n\tignore = none\n";
    std::fs::write(outer.join(".gitmodules"), modules).unwrap();
    assert!(git(&outer, &[], &["config", "submodule.sub.ignore", "none"]));
    std::fs::write(inner.join("f"), "x\ny\n").unwrap();
    std::fs::write(inner.join(".gitattributes"), "* filter=evil\n").unwrap();
    for key in ["core.fsmonitor", "filter.evil.clean", "core.pager"] {
        assert!(git(&inner, &[], &["config", key, &evil]));
    }
    git(&outer, &[], &["status"]);
    assert!(canary.exists(), "the inner settings should have run a program");
    std::fs::remove_file(&canary).unwrap();
    let quiet = git_environment();
    for args in READING {
        git(&outer, &quiet, args);
        assert!(!canary.exists(), "git {} ran a program of the inner repository", args.join(" "));
    }
}
