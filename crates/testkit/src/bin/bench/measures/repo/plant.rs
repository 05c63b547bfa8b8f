//! The repository that is measured: a history of small commits, and one commit of many files, packed as `git gc` packs.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::git;

/// Objects, about: each small commit has four, its file, a directory, the root and itself.
pub(super) const OBJECTS: &str = "10,000";
const COMMITS: usize = 2_430;
const DIRECTORIES: usize = 20;
/// The tag of the commit of many files.
pub(super) const LARGE: &str = "large";
/// How many.
pub(super) const LARGE_FILES: usize = 200;

/// Fills a repository.
pub(super) fn fill(bare: &Path) -> Result<()> {
    let mut child = Command::new("git")
        .args(["-c", "safe.directory=*", "fast-import", "--quiet", "--force"])
        .current_dir(bare)
        .stdin(Stdio::piped())
        .spawn()
        .context("start git; is it installed?")?;
    let mut stdin = child.stdin.take().context("git has no input")?;
    stdin.write_all(history()?.as_bytes())?;
    drop(stdin);
    ensure!(child.wait()?.success(), "git fast-import failed");
    git(bare, &["repack", "-adq"])?;
    let counted = git(bare, &["rev-list", "--all", "--objects", "--count"])?;
    let counted: usize = String::from_utf8_lossy(&counted).trim().parse()?;
    ensure!((9_500..11_500).contains(&counted), "there are {counted} objects");
    Ok(())
}

fn history() -> Result<String> {
    let mut text = String::new();
    for number in 0..COMMITS {
        commit(&mut text, "refs/heads/main", number)?;
        let path = format!("d{}/f{}.txt", number % DIRECTORIES, number % 400);
        file(&mut text, &path, &lines(number, 30))?;
    }
    commit(&mut text, "refs/heads/main", COMMITS)?;
    for number in 0..LARGE_FILES {
        let path = format!("d{}/f{}.txt", number % DIRECTORIES, number);
        file(&mut text, &path, &format!("{}changed {number}\n", lines(number, 30)))?;
    }
    writeln!(text, "reset refs/tags/{LARGE}\nfrom refs/heads/main\n")?;
    // The large one is not the newest: whoever looks for it has to find it.
    for number in COMMITS + 1..COMMITS + 11 {
        commit(&mut text, "refs/heads/main", number)?;
        file(&mut text, "d1/f1.txt", &lines(number, 30))?;
    }
    Ok(text)
}

fn commit(text: &mut String, branch: &str, number: usize) -> Result<()> {
    let message = format!("commit {number}\n\nWhat was changed, and why.\n");
    let when = 1_700_000_000 + number;
    writeln!(text, "commit {branch}\ncommitter bench <bench@example.org> {when} +0000")?;
    writeln!(text, "data {}\n{message}", message.len())?;
    Ok(())
}

fn file(text: &mut String, path: &str, content: &str) -> Result<()> {
    writeln!(text, "M 100644 inline {path}\ndata {}\n{content}", content.len())?;
    Ok(())
}

fn lines(number: usize, count: usize) -> String {
    (0..count).map(|line| format!("line {line} of {number}, {}\n", (number * 7 + line) % 13)).collect()
}
