//! Runner of a script in the native shell over a real tree. The home is reset after each by undoing changes, not made
//! anew: what a script leaves alone need not be written again.

use std::collections::BTreeMap;

use protocol::shell::Exec;
use vfs::view::Writing;
use vfs::{FileKind, VPath, View};

use super::fixture::{Fixture, FixtureKind, MODIFIED_MS};
use super::outcome::{Entry, Outcome};
use super::{HOME, LIMIT_SECONDS};
use crate::test_shell::{ANN, ROOT, TestShell};

/// A shell and the home its scripts run in.
pub struct Ours {
    test_shell: TestShell,
    fixtures: BTreeMap<String, FixtureKind>,
}

impl Ours {
    /// One whose home has the fixtures.
    pub async fn new(fixtures: &[Fixture]) -> Ours {
        let test_shell = TestShell::new().await;
        let fixtures = fixtures.iter().map(|one| (one.path.clone(), one.kind.clone())).collect();
        let ours = Ours { test_shell, fixtures };
        ours.normalize().await;
        ours
    }

    /// Runs a script, and puts the home back as it was.
    pub async fn run(&self, script: &str) -> Outcome {
        let args = Exec {
            input: script.into(),
            close_stdin: Some(true),
            timeout: Some(LIMIT_SECONDS * 1000),
            ..Exec::default()
        };
        let result =
            self.test_shell.shells.start(self.test_shell.order(ANN), &args).await.expect("it starts");
        let files = self.collect().await;
        self.normalize().await;
        Outcome {
            stdout: result.stdout.unwrap_or_default(),
            stderr: result.stderr.unwrap_or_default(),
            code: result.exit_code.unwrap_or(-1),
            files: files.into_iter().map(|(path, (entry, _))| (path, entry)).collect(),
        }
    }

    /// Everything in the home with the time of its last change, as root sees it.
    async fn collect(&self) -> BTreeMap<String, (Entry, i64)> {
        let view = self.test_shell.view(ROOT);
        let mut out = BTreeMap::new();
        let mut folders = vec![String::new()];
        while let Some(below) = folders.pop() {
            for named in view.list(&at(&below)).await.expect("the home is listed") {
                let path = format!("{below}{}", named.name);
                let entry = match named.stat.kind {
                    FileKind::Directory => {
                        folders.push(format!("{path}/"));
                        Entry::Directory(named.stat.mode)
                    }
                    FileKind::Link => Entry::Link(view.read_link(&at(&path)).await.expect("a link is read")),
                    FileKind::File => {
                        Entry::File(named.stat.mode, view.read(&at(&path)).await.expect("a file is read"))
                    }
                };
                out.insert(path, (entry, named.stat.modified_ms));
            }
        }
        out
    }

    async fn normalize(&self) {
        let (view, root) = (self.test_shell.view(ANN), self.test_shell.view(ROOT));
        let there = self.collect().await;
        for (path, (entry, modified_ms)) in there.iter().rev() {
            if !self.fixtures.get(path).is_some_and(|wanted| is(wanted, entry, *modified_ms)) {
                // A directory that is a fixture keeps what is in it.
                if matches!(
                    (self.fixtures.get(path), entry),
                    (Some(FixtureKind::Directory), Entry::Directory(_))
                ) {
                    continue;
                }
                root.remove(&at(path), true).await.expect("what a script left is removed");
            }
        }
        let there = self.collect().await;
        for (path, wanted) in &self.fixtures {
            match wanted {
                FixtureKind::Directory if there.contains_key(path) => {
                    root.chmod(&at(path), 0o755).await.expect("its mode is set");
                }
                _ if there.contains_key(path) => {}
                wanted => make(&view, path, wanted).await,
            }
        }
        for (path, wanted) in self.fixtures.iter().rev() {
            let when = there.get(path).map(|(_, when)| *when);
            if !matches!(wanted, FixtureKind::Link(_)) && when != Some(MODIFIED_MS) {
                root.set_modified(&at(path), MODIFIED_MS).await.expect("its time is set");
            }
        }
        root.set_modified(&at(""), MODIFIED_MS).await.expect("the home's time is set");
    }
}

fn at(path: &str) -> VPath {
    VPath::absolute(&format!("{HOME}/{path}")).expect("a path")
}

/// Whether a fixture is as it was.
fn is(wanted: &FixtureKind, entry: &Entry, modified_ms: i64) -> bool {
    match (wanted, entry) {
        (FixtureKind::File(mode, bytes), Entry::File(its_mode, its_bytes)) => {
            mode == its_mode && bytes == its_bytes && modified_ms == MODIFIED_MS
        }
        (FixtureKind::Link(target), Entry::Link(its_target)) => target == its_target,
        (FixtureKind::Directory, Entry::Directory(_)) => true,
        _ => false,
    }
}

async fn make(view: &View, path: &str, wanted: &FixtureKind) {
    let path = at(path);
    match wanted {
        FixtureKind::Directory => view.mkdir(&path, false, 0o755).await.expect("a directory is made"),
        FixtureKind::Link(target) => view.symlink(target, &path).await.expect("a link is made"),
        FixtureKind::File(mode, bytes) => {
            let how = Writing { mode: *mode, ..Writing::default() };
            view.write(&path, bytes.clone(), how).await.map(drop).expect("a file is written");
            view.chmod(&path, *mode).await.expect("its mode is set");
        }
    }
}
