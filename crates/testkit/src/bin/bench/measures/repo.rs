//! Benchmark of repositories against the git program on the same repository: commit, log, diff and clone; and of
//! `fs.write` where files are versioned against one elsewhere.

mod plant;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use base::clock::Clock;
use serde_json::{Value, json};

use crate::child::Server;
use crate::contest;
use crate::gateway::Gateway;
use crate::report::{Bar, Row, Spread};
use crate::stage::Stage;
use crate::wire::{self, Socket};

const REPO: &str = "bench";
/// Runs of each side in a round, whatever they take.
const RUNS_MIN: usize = 3;

/// What everything here is done with.
struct Field {
    socket: Socket,
    url: String,
    repo: String,
    bare: PathBuf,
    /// A work tree of the same repository.
    work: PathBuf,
    folder: tempfile::TempDir,
    _server: Server,
}

/// Milliseconds of one of each.
pub(crate) async fn run(stage: &Stage) -> Result<Vec<Row>> {
    let gateway = stage.gateway().await?;
    let mut field = Field::new(gateway).await?;
    let effort = stage.effort;
    let mut rows = Vec::new();

    let mut number = 0;
    let mut pairs = (Vec::new(), Vec::new());
    for _ in 0..effort.rounds {
        let ours = field.apply(effort.timed, &mut number).await?;
        let durable = commit(&field.work, effort.timed, &["-c", "core.fsync=all"], &mut number)?;
        let default = commit(&field.work, effort.timed, &[], &mut number)?;
        pairs.0.push((ours, durable));
        pairs.1.push((ours, default));
    }
    let what = "repo.apply of 1 file vs git add and git commit, as durable";
    rows.push(contest::row_of(what, "ms", pairs.0, Some(Bar::AimAtMost(1.0))).with_note(
        "git with core.fsync=all, two programs in a clone with a work tree; the gateway's commit is durable when it answers",
    ));
    let what = "… vs the same with git's own settings, which do not sync loose objects";
    rows.push(contest::row_of(what, "ms", pairs.1, None));

    let args = json!({ "repo": field.repo, "limit": 100 });
    let pairs = field.compare(stage, "repo.log", args, &["log", "-100", "--first-parent", "main"]).await?;
    rows.push(contest::row_of("repo.log of 100 commits vs git log", "ms", pairs, Some(Bar::AimAtMost(1.0))));

    let args = json!({ "repo": field.repo, "commit": plant::LARGE });
    let pairs = field.compare(stage, "repo.diff", args, &["show", "--format=raw", plant::LARGE]).await?;
    let what = format!("repo.diff of a commit of {} files vs git show", plant::LARGE_FILES);
    rows.push(contest::row_of(&what, "ms", pairs, Some(Bar::AimAtMost(1.0))));

    let mut pairs = Vec::new();
    for _ in 0..effort.rounds {
        let ours = clone(&field.url, field.folder.path(), effort.timed)?;
        let theirs = clone(&format!("file://{}", field.bare.display()), field.folder.path(), effort.timed)?;
        pairs.push((ours, theirs));
    }
    let what = format!("clone of {} objects over HTTP vs git clone file://", plant::OBJECTS);
    rows.push(contest::row_of(&what, "ms", pairs, Some(Bar::AimAtMost(1.3))).with_note(
        "both are git clone with its checkout; the baseline has no HTTP, no login, and git's own number of threads",
    ));

    let mut pairs = Vec::new();
    for round in 0..effort.rounds {
        let (versioned, elsewhere) = ("~/context.d", "~/elsewhere");
        pairs.push(if round % 2 == 0 {
            let theirs = field.write(elsewhere, effort.timed, &mut number).await?;
            (field.write(versioned, effort.timed, &mut number).await?, theirs)
        } else {
            let ours = field.write(versioned, effort.timed, &mut number).await?;
            (ours, field.write(elsewhere, effort.timed, &mut number).await?)
        });
    }
    let what = "fs.write of 1 KiB where files are versioned vs elsewhere in the home";
    rows.push(contest::row_of(what, "/s", pairs, Some(Bar::AtLeast(0.95))));
    Ok(rows)
}

impl Field {
    async fn new(gateway: &Gateway) -> Result<Field> {
        let server = gateway.start()?;
        let mut socket = gateway.log_in(server.address, "bench-repo", wire::busy()).await?;
        let repo = format!("{}/{REPO}", gateway.username());
        wire::call(&mut socket, "repo.create", &json!({ "repo": repo })).await?;
        for folder in ["~/context.d", "~/elsewhere"] {
            let args = json!({ "path": format!("{folder}/first.txt"), "content": "x\n" });
            wire::call(&mut socket, "fs.write", &args).await?;
        }
        let bare = gateway.data().join("repos").join(format!("{repo}.git"));
        plant::fill(&bare)?;
        let folder = tempfile::tempdir().context("make a directory for clones")?;
        let work = folder.path().join("work");
        git(folder.path(), &["clone", "-q", &bare.display().to_string(), &work.display().to_string()])?;
        let url = gateway.git_url(server.address, &repo);
        Ok(Field { socket, url, repo, bare, work, folder, _server: server })
    }

    /// Milliseconds of one commit.
    async fn apply(&mut self, timed: Duration, number: &mut u64) -> Result<f64> {
        let mut figures = Vec::new();
        let begin = Clock::system().instant();
        while begin.elapsed() < timed || figures.len() < RUNS_MIN {
            *number += 1;
            let put =
                json!({ "type": "put", "path": "d1/apply.txt", "content": format!("number {number}\n") });
            let args = json!({ "repo": self.repo, "message": format!("commit {number}"), "ops": [put] });
            figures.push(self.timed("repo.apply", &args).await?.0);
        }
        Ok(Spread::of(figures).median())
    }

    /// A call and git's answer to the same question, in turns.
    async fn compare(
        &mut self,
        stage: &Stage,
        call: &str,
        args: Value,
        git: &[&str],
    ) -> Result<Vec<(f64, f64)>> {
        let mut pairs = Vec::new();
        for round in 0..stage.effort.rounds {
            let theirs_first =
                (round % 2 == 0).then(|| ask_git(&self.bare, git, stage.effort.timed)).transpose()?;
            let mut figures = Vec::new();
            let begin = Clock::system().instant();
            while begin.elapsed() < stage.effort.timed || figures.len() < RUNS_MIN {
                figures.push(self.timed(call, &args).await?.0);
            }
            let theirs = match theirs_first {
                Some(theirs) => theirs,
                None => ask_git(&self.bare, git, stage.effort.timed)?,
            };
            pairs.push((Spread::of(figures).median(), theirs));
        }
        Ok(pairs)
    }

    /// Writes per second, one at a time, each with another content.
    async fn write(&mut self, folder: &str, timed: Duration, number: &mut u64) -> Result<f64> {
        let begin = Clock::system().instant();
        let mut written = 0.0;
        while begin.elapsed() < timed {
            *number += 1;
            let content = format!("{number:010} {}\n", "x".repeat(1_012));
            let args = json!({ "path": format!("{folder}/bench.txt"), "content": content });
            let (_, answer) = self.timed("fs.write", &args).await?;
            ensure!(answer["ok"] == true, "fs.write was refused: {answer}");
            written += 1.0;
        }
        Ok(written / begin.elapsed().as_secs_f64())
    }

    async fn timed(&mut self, call: &str, args: &Value) -> Result<(f64, Value)> {
        let begin = Clock::system().instant();
        let answer = wire::call(&mut self.socket, call, args).await?;
        Ok((begin.elapsed().as_secs_f64() * 1_000.0, answer))
    }
}

/// Milliseconds of one commit by git.
fn commit(work: &Path, timed: Duration, settings: &[&str], number: &mut u64) -> Result<f64> {
    let mut figures = Vec::new();
    let begin = Clock::system().instant();
    while begin.elapsed() < timed || figures.len() < RUNS_MIN {
        *number += 1;
        std::fs::write(work.join("d1/commit.txt"), format!("number {number}\n"))?;
        let start = Clock::system().instant();
        git(work, &[settings, &["add", "d1/commit.txt"]].concat())?;
        git(work, &[settings, &["commit", "-q", "-m", "a commit"]].concat())?;
        figures.push(start.elapsed().as_secs_f64() * 1_000.0);
    }
    Ok(Spread::of(figures).median())
}

fn ask_git(bare: &Path, args: &[&str], timed: Duration) -> Result<f64> {
    let mut figures = Vec::new();
    let begin = Clock::system().instant();
    while begin.elapsed() < timed || figures.len() < RUNS_MIN {
        let start = Clock::system().instant();
        let told = git(bare, args)?;
        figures.push(start.elapsed().as_secs_f64() * 1_000.0);
        ensure!(told.len() > 1_000, "git {args:?} says too little");
    }
    Ok(Spread::of(figures).median())
}

/// Milliseconds of one clone; what was cloned is removed again, untimed.
fn clone(url: &str, folder: &Path, timed: Duration) -> Result<f64> {
    let to = folder.join("clone");
    let mut figures = Vec::new();
    let begin = Clock::system().instant();
    while begin.elapsed() < timed || figures.len() < RUNS_MIN {
        let start = Clock::system().instant();
        git(folder, &["clone", "-q", url, &to.display().to_string()])?;
        figures.push(start.elapsed().as_secs_f64() * 1_000.0);
        ensure!(to.join("d1").is_dir(), "the clone is empty");
        std::fs::remove_dir_all(&to)?;
    }
    Ok(Spread::of(figures).median())
}

/// What git prints; it reads nothing of the machine's settings.
fn git(dir: &Path, args: &[&str]) -> Result<Vec<u8>> {
    let mut command = Command::new("git");
    command.args(["-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "safe.directory=*"]).args(args);
    command.current_dir(dir).env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "bench").env(format!("GIT_{who}_EMAIL"), "bench@example.org");
    }
    let output = command.output().context("start git; is it installed?")?;
    ensure!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(output.stdout)
}
