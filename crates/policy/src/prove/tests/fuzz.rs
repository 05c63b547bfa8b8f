//! Differential fuzzing against real shells: what is proved runs in bash, dash and zsh in a throw-away directory, and
//! nothing in it may have changed or run.
//!
//! Only what was proved is run, so a right judgement does nothing. `GSV_FUZZ_CASES=1000000 cargo test -p policy
//! nothing_proved` looks for hours; the test command looks at the same few scripts every time.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

use super::*;

/// Words that a command line is put together from: programs, options that write or run, paths, signs.
#[rustfmt::skip]
const PIECES: &[&str] = &[
    "ls", "cat", "head", "tail", "sort", "uniq", "grep", "rg", "find", "sed", "git", "echo", "printf", "test", "[", "]", "jq", "diff", "wc", "date", "cd", "file", "tree", "xxd",
    "cut", "tr", "stat", "du", "command", "type", "which", "ps", "seq", "base64", "rm", "tee", "touch", "mv", "cp", "sh", "eval", "xargs", "env", "exec", "planted",
    "-o", "-n", "-i", "-r", "-c", "-e", "-f", "-v", "-l", "-u", "-x", "-a", "-k1", "-la", "--", "-", "--output=out", "--pre=./planted", "--hostname-bin=./planted", "-exec", "-delete",
    "-fprint", "-name", "-type", "--compress-program=./planted", "-T", "--files0-from=list", "-s", "--color", "--include=*.rs", "-O./planted", "--ext-diff", "--textconv", "-C",
    "status", "log", "diff", "show", "branch", "tag", "blame", "grep", "stash", "-p", "HEAD", "HEAD~1", "--oneline", "new", "--list",
    "a", "b", "a.txt", "sub", "sub/c.rs", "./a", "../home/.ssh/id_rsa", "~/.ssh/id_rsa", "~", ".env", "link", "out", "*", "./*.txt", "sub/*", "?", "list", "/dev/null", ".", "..",
    "'%s\\n'", "'%n'", "'1p'", "'1w out'", "'e ./planted'", "s/a/b/w", "'.a'", "'env'", "PATH", "'x y'", "\"x\"", "''", "$x", "$(./planted)", "`./planted`", "\"$(./planted)\"", "{a,b}",
    "=ls", "=", "!", "#", "\\", "a=b", "A=b", "./planted", "1", "20", "+1", "+%F", "é", "\u{a0}", "-eq", "-f", "'a[$(./planted)]'", "(a)", "[a]", "^a", "~+", "%1", "<(./planted)",
];
/// What stands between them.
const JOINTS: &[&str] = &[
    " ",
    " ",
    " ",
    " ",
    " ",
    " ",
    " ",
    " ",
    " | ",
    " && ",
    " || ",
    "; ",
    "\n",
    " & ",
    "|",
    " > out ",
    " >out",
    " 2>/dev/null ",
    " 2>&1 ",
    " >> out ",
    " < a ",
    " &> out ",
    " |& ",
    "",
    " >/dev/null",
    " >& out ",
    " 2> /dev/null",
    "\t",
    "\\\n",
    " <<E\n",
];

fn scripts() -> impl Strategy<Value = String> {
    let joined = prop::collection::vec((prop::sample::select(PIECES), prop::sample::select(JOINTS)), 1..9)
        .prop_map(|pieces| pieces.into_iter().flat_map(|(piece, joint)| [piece, joint]).collect::<String>());
    // Half of them begin as something that is proved, and are disturbed.
    let seeds = prop::sample::select(SEEDS);
    let piece = prop_oneof![prop::sample::select(PIECES), prop::sample::select(JOINTS)];
    let disturbed = (seeds, prop::collection::vec((any::<prop::sample::Index>(), piece), 0..3)).prop_map(
        |(seed, changes)| {
            let mut text = seed.to_string();
            for (at, piece) in changes {
                let at = at.index(text.len() + 1);
                if text.is_char_boundary(at) {
                    text.insert_str(at, piece);
                }
            }
            text
        },
    );
    prop_oneof![1 => joined, 3 => disturbed]
}

#[rustfmt::skip]
const SEEDS: &[&str] = &[
    "ls -la sub", "cat a | sort -u", "sort -k1 a", "uniq -c a", "grep -n x a.txt", "find . -name 'a*' -type f", "find sub", "sed -n '1,3p' a", "printf '%s\\n' x", "[ -f a ]", "test -f a && cat a",
    "git status", "git log --oneline -5", "git diff HEAD", "git branch --list x", "git tag -l x", "git stash list", "git show HEAD", "jq . a", "diff a.txt b.txt", "rg x sub", "rg --files", "tree sub",
    "xxd a", "date +%F", "cd sub && ls", "cut -d : -f 1 a", "wc -l sub/*.rs", "ls ./*.txt", "file a", "tail -n 2 a", "head -n 2 a", "tr a b", "echo 'a b' c", "command -v ls", "ps aux", "base64 a",
    "cat a 2>/dev/null || echo none", "ls nothere 2>&1 | head -n 1", "du -sh sub", "stat a", "readlink link", "git blame a", "git ls-files", "git grep x", "seq 1 3",
];

/// A directory with canaries: files, a repository with hostile settings, a home with secrets, a program that tells on itself.
struct Stage {
    root: tempfile::TempDir,
    shells: Vec<std::path::PathBuf>,
}

impl Stage {
    fn new() -> Stage {
        let root = tempfile::tempdir().unwrap();
        let (home, work) = (root.path().join("home"), root.path().join("work"));
        std::fs::create_dir_all(home.join(".ssh")).unwrap();
        std::fs::create_dir_all(work.join("sub")).unwrap();
        std::fs::write(home.join(".ssh/id_rsa"), SECRET).unwrap();
        std::fs::write(work.join(".env"), SECRET).unwrap();
        for name in ["a", "b", "a.txt", "b.txt", "list", "sub/c.rs", "-n", "-o"] {
            std::fs::write(work.join(name), format!("{name}\nx\ny\n")).unwrap();
        }
        std::os::unix::fs::symlink("a", work.join("link")).unwrap();
        let planted = format!("#!/bin/sh\necho ran > '{}'\n", root.path().join("ran").display());
        std::fs::write(work.join("planted"), &planted).unwrap();
        let mut permissions = std::fs::metadata(work.join("planted")).unwrap().permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o755);
        std::fs::set_permissions(work.join("planted"), permissions).unwrap();
        let stage = Stage { root, shells: shells() };
        for script in [
            "git init -q . && git add a b a.txt sub && git -c user.name=x -c user.email=x@example.org commit -q -m x",
            "for key in core.fsmonitor diff.external core.pager pager.log gpg.program diff.x.textconv filter.x.clean; do git config $key ./planted; done",
            "echo '* diff=x filter=x' > .gitattributes; echo y >> a",
        ] {
            assert!(stage.shell(Path::new("/bin/sh"), script).is_some(), "{script}");
        }
        std::fs::remove_file(stage.root.path().join("ran")).ok();
        stage
    }

    /// Runs a script as a driver would run what is proved, and gives back what it said.
    fn shell(&self, shell: &Path, script: &str) -> Option<String> {
        let work = self.root.path().join("work");
        let mut command = Command::new("timeout");
        command.args(["--kill-after=1", "3"]).arg(shell).arg("-c").arg(script).current_dir(&work).env_clear();
        command
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.root.path().join("home"));
        command.env("GIT_CONFIG_NOSYSTEM", "1").envs(places::git_environment());
        let output = command.stdin(Stdio::null()).output().ok()?;
        Some(String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr))
    }

    /// Every file below the root with its kind, mode and content.
    fn digest(&self) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        let mut open = vec![self.root.path().to_path_buf()];
        while let Some(directory) = open.pop() {
            for entry in std::fs::read_dir(&directory).unwrap().flatten() {
                let (path, kind) = (entry.path(), entry.metadata().unwrap());
                let content = if kind.is_file() { std::fs::read(&path).unwrap() } else { Vec::new() };
                let mode = std::os::unix::fs::PermissionsExt::mode(&kind.permissions());
                found
                    .insert(path.display().to_string(), format!("{:?} {mode} {content:?}", kind.file_type()));
                if kind.is_dir() {
                    open.push(path);
                }
            }
        }
        found
    }

    fn check(&self, script: &str, before: &BTreeMap<String, String>) -> Result<bool, String> {
        let path = |name: &str| Some(self.root.path().join(name).display().to_string());
        let target = Target { home: path("home"), workspace: path("work"), ..Target::default() };
        let is_proved =
            prove(script, Ground { paths: &context(&target), shell: Some("sh"), has_quiet_git: true })
                .is_ok();
        // A follower never ends, and waiting proves nothing.
        if !is_proved || script.contains("tail -f") || script.contains("sleep") {
            return Ok(false);
        }
        for shell in &self.shells {
            let said = self.shell(shell, script).ok_or("the shell did not start")?;
            if said.contains(SECRET) {
                return Err(format!("{script:?} in {} read a secret", shell.display()));
            }
            if self.digest() != *before {
                return Err(format!("{script:?} in {} changed something", shell.display()));
            }
        }
        Ok(true)
    }
}

const SECRET: &str = "canary-of-a-secret";

fn shells() -> Vec<std::path::PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let find =
        |name: &str| std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file());
    ["bash", "dash", "zsh"].into_iter().filter_map(find).collect()
}

#[test]
fn nothing_proved_touches_a_canary() {
    let stage = Stage::new();
    assert!(!stage.shells.is_empty(), "no shell to compare with");
    let before = stage.digest();
    for seed in SEEDS {
        assert_eq!(stage.check(seed, &before), Ok(true), "{seed}");
    }
    let wanted = std::env::var("GSV_FUZZ_CASES").ok().and_then(|text| text.parse().ok());
    let config = Config { cases: wanted.unwrap_or(500), failure_persistence: None, ..Config::default() };
    let mut runner = match wanted {
        Some(_) => TestRunner::new(config),
        None => TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha)),
    };
    let proved = std::cell::Cell::new(0usize);
    let outcome = runner.run(&scripts(), |script| {
        let is_proved = stage.check(&script, &before).map_err(TestCaseError::fail)?;
        proved.set(proved.get() + usize::from(is_proved));
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
    assert!(proved.get() > 25, "only {} scripts were proved", proved.get());
}
