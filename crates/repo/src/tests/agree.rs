//! The file tree and the repository agree: whatever changed on either side, and wherever it was killed.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use base::clock::Clock;
use gix_hash::ObjectId;
use protocol::fs::history::UndoAction;
use protocol::identity::ProcessIdentity;
use protocol::ids::{Gid, Uid};
use store::{Options, Store};
use vfs::Tree;

use super::kit;
use crate::faults;
use crate::git::bare::Bare;
use crate::git::commit::{self, NewCommit};
use crate::git::edit::Change;
use crate::git::fault::Fault;
use crate::git::init;
use crate::versions::agree::{Agreed, Agreement, TREE, place};
use crate::versions::live::{Index, Live};
use crate::versions::roots::Root;
use crate::versions::{message, undo};

const STEP: &str = "GSV_TEST_VERSIONS_STEP";
const AT: &str = "GSV_TEST_VERSIONS_AT";
const WHAT: &str = "GSV_TEST_VERSIONS_WHAT";

/// A data directory with a home and its repository.
struct Ground {
    data: PathBuf,
    tree: Arc<Tree>,
    owner: ProcessIdentity,
    root: Root,
    _store: Store,
}

impl Ground {
    fn open(data: &Path) -> Ground {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let options = Options { data: data.to_path_buf(), url: None };
        let store = runtime.block_on(Store::open(&options)).expect("a store");
        let tree = Arc::new(Tree::open(&data.join("files"), store.clone(), Clock::system()).expect("a tree"));
        tree.add_home("sam", Uid(1_000), Gid(1_000));
        let owner = ProcessIdentity {
            uid: Uid(1_000),
            gid: Gid(1_000),
            gids: vec![Gid(1_000)],
            username: "sam".into(),
            home: "/home/sam".into(),
            cwd: "/home/sam".into(),
            workspace_id: None,
        };
        let ground =
            Ground { data: data.to_path_buf(), tree, owner, root: Root::Home("sam".into()), _store: store };
        std::fs::create_dir_all(ground.file("knowledge")).expect("a home");
        if !init::is_there(&ground.repository()) {
            init::init(&ground.repository(), "test").expect("a repository");
        }
        ground
    }

    fn repository(&self) -> PathBuf {
        self.data.join("repos/sam/home.git")
    }

    /// Where a file of the home is on the host.
    fn file(&self, path: &str) -> PathBuf {
        self.data.join("files/home/sam").join(path)
    }

    fn write(&self, path: &str, content: &str) {
        let file = self.file(path);
        std::fs::create_dir_all(file.parent().expect("a parent")).expect("a directory");
        std::fs::write(file, content).expect("written");
    }

    fn read(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.file(path)).ok()
    }

    fn bare(&self) -> Bare {
        Bare::open(&self.repository()).expect("open")
    }

    fn agree(&self) -> Result<Agreed, Fault> {
        let (bare, clock, mut index) = (self.bare(), Clock::system(), Index::default());
        let place = place(&self.tree, &self.root, &self.owner).expect("a place");
        let live = Live {
            root: &self.root,
            place: &place,
            index: &mut index,
            skipped: Vec::new(),
            now_ms: clock.now_ms(),
        };
        Agreement { bare: &bare, live, clock: &clock, owner: "sam", said: None }.reach(None, None)
    }

    /// A commit that came otherwise.
    fn push(&self, message: &str, changes: Vec<Change>) -> ObjectId {
        kit::make(&self.bare(), &kit::new(message, changes)).expect("a commit").expect("a head")
    }

    fn git(&self, args: &[&str]) -> String {
        kit::git(&self.repository(), args)
    }

    /// Both say the same, and git finds nothing wrong.
    fn is_agreed(&self) {
        let told = self.git(&["fsck", "--strict", "--full", "--no-dangling", "--no-progress"]);
        assert!(told.lines().all(|line| line.starts_with("notice: ")), "{told}");
        let agreed = self.agree().expect("agreed");
        assert_eq!((agreed.has_committed, agreed.unfinished), (false, None));
        let bare = self.bare();
        assert_eq!(bare.reference(TREE).expect("a ref"), agreed.head);
        for line in self.git(&["ls-tree", "-r", "main"]).lines() {
            let (mode, path) = line.split_once('\t').expect("a line of git's");
            if mode.starts_with("100") && self.root.has_place_for(path) {
                assert_eq!(self.read(path), Some(self.git(&["show", &format!("main:{path}")])), "{path}");
            }
        }
    }
}

fn delete(path: &str) -> Change {
    Change::Delete { path: kit::path(path), recursive: true }
}

#[test]
fn files_become_commits_and_commits_become_files() {
    let data = tempfile::tempdir().expect("a directory");
    let ground = Ground::open(data.path());
    assert_eq!(ground.agree().expect("agreed"), Agreed::default(), "nothing is there");
    ground.write("knowledge/a", "one\n");
    ground.write("context.d/b", "two\n");
    ground.write("elsewhere", "not versioned\n");
    assert!(ground.agree().expect("agreed").has_committed);
    assert_eq!(ground.git(&["ls-tree", "-r", "--name-only", "main"]), "context.d/b\nknowledge/a\n");
    ground.is_agreed();
    // A push: changed, new, deleted, and what has no place.
    let link = Change::Link { path: kit::path("knowledge/l"), target: "a".into() };
    let out = Change::Link { path: kit::path("knowledge/out"), target: "../../../etc/passwd".into() };
    let run =
        Change::Put { path: kit::path("skills.d/x/run"), content: b"#!".to_vec(), executable: Some(true) };
    let changes = vec![
        kit::put("knowledge/a", "pushed\n"),
        delete("context.d/b"),
        kit::put("README.md", "in the repository alone\n"),
        kit::put("knowledge/.gsv-tmp-1", "no"),
        kit::put("knowledge/new/deep", "deep\n"),
        link,
        out,
        run,
    ];
    let head = ground.push("pushed", changes);
    let agreed = ground.agree().expect("agreed");
    assert_eq!((agreed.head, agreed.has_committed), (Some(head), false));
    assert_eq!(ground.read("knowledge/a").as_deref(), Some("pushed\n"));
    assert_eq!(ground.read("knowledge/new/deep").as_deref(), Some("deep\n"));
    assert_eq!(ground.read("context.d/b"), None);
    assert!(!ground.file("README.md").exists() && !ground.file("knowledge/.gsv-tmp-1").exists());
    assert_eq!(std::fs::read_link(ground.file("knowledge/l")).expect("a link"), Path::new("a"));
    assert!(std::fs::symlink_metadata(ground.file("knowledge/out")).is_err());
    assert_eq!(ground.git(&["ls-tree", "main", "skills.d/x/run"]).get(..6), Some("100755"));
    ground.is_agreed();
    // What has no place in the tree is not deleted from the repository by what is not there.
    assert_eq!(ground.git(&["show", "main:README.md"]), "in the repository alone\n");
    // A directory where a file was, and the other way round.
    std::fs::remove_file(ground.file("knowledge/a")).expect("removed");
    ground.write("knowledge/a/inner", "x\n");
    assert!(ground.agree().expect("agreed").has_committed);
    ground.is_agreed();
    ground.push("back", vec![delete("knowledge/a"), kit::put("knowledge/a", "file again\n")]);
    ground.agree().expect("agreed");
    assert_eq!(ground.read("knowledge/a").as_deref(), Some("file again\n"));
    ground.is_agreed();
}

#[test]
fn what_was_changed_on_both_sides_stays_and_nothing_is_lost() {
    let data = tempfile::tempdir().expect("a directory");
    let ground = Ground::open(data.path());
    ground.write("knowledge/a", "one\n");
    ground.agree().expect("agreed");
    let theirs =
        ground.push("theirs", vec![kit::put("knowledge/a", "theirs\n"), kit::put("knowledge/b", "b\n")]);
    ground.write("knowledge/a", "mine\n");
    assert!(ground.agree().expect("agreed").has_committed);
    assert_eq!(ground.read("knowledge/a").as_deref(), Some("mine\n"));
    assert_eq!(ground.read("knowledge/b").as_deref(), Some("b\n"));
    assert_eq!(ground.git(&["rev-parse", "main~1"]).trim(), theirs.to_string());
    ground.is_agreed();
}

#[test]
fn a_link_in_the_way_is_never_followed() {
    let data = tempfile::tempdir().expect("a directory");
    let ground = Ground::open(data.path());
    let outside = data.path().join("outside");
    std::fs::create_dir(&outside).expect("a directory");
    std::fs::write(outside.join("x"), "theirs").expect("written");
    ground.write("knowledge/a", "one\n");
    std::os::unix::fs::symlink(&outside, ground.file("knowledge/dir")).expect("a link");
    std::os::unix::fs::symlink(outside.join("x"), ground.file("knowledge/file")).expect("a link");
    ground.agree().expect("agreed");
    assert_eq!(ground.git(&["ls-tree", "-r", "--name-only", "main"]), "knowledge/a\n");
    ground.push("pushed", vec![kit::put("knowledge/dir/x", "pwned"), kit::put("knowledge/file", "plain\n")]);
    ground.agree().expect("agreed");
    assert_eq!(std::fs::read_to_string(outside.join("x")).expect("read"), "theirs");
    assert_eq!(ground.read("knowledge/file").as_deref(), Some("plain\n"), "the link itself gave way");
    let again = ground.agree().expect("agreed");
    assert_eq!((again.has_committed, again.unfinished), (false, None), "what is behind a link is not known");
}

/// The changes of a run, then of somebody else, and what an undo makes of them.
#[test]
fn a_run_is_taken_back_three_way_and_twice_is_harmless() {
    let data = tempfile::tempdir().expect("a directory");
    let ground = Ground::open(data.path());
    let text = |a: &str, b: &str| format!("{a}\n1\n2\n3\n4\n{b}\n");
    let of_run = |title: &str| format!("{title}\n\nGsv-Pid: p1\nGsv-Run: r1");
    ground.push(
        "first",
        vec![
            kit::put("knowledge/merged", text("top", "end")),
            kit::put("knowledge/restored", "before\n"),
            kit::put("knowledge/conflict", "before\n"),
            kit::put("knowledge/gone", "before\n"),
            kit::put("knowledge/binary", "\0before"),
        ],
    );
    ground.push(
        &of_run("run"),
        vec![
            kit::put("knowledge/merged", text("run", "end")),
            kit::put("knowledge/restored", "run 1\n"),
            kit::put("knowledge/conflict", "run\n"),
            kit::put("knowledge/binary", "\0run"),
            delete("knowledge/gone"),
            kit::put("knowledge/made", "made\n"),
        ],
    );
    ground.push(&of_run("more"), vec![kit::put("knowledge/restored", "run 2\n")]);
    ground.push(
        "person",
        vec![
            kit::put("knowledge/merged", text("run", "person")),
            kit::put("knowledge/conflict", "person\n"),
            kit::put("knowledge/binary", "\0person"),
        ],
    );
    ground.agree().expect("agreed");
    let plan = undo::plan(&ground.bare(), "r1", None).expect("a plan").expect("there is one");
    let steps: Vec<(&str, UndoAction)> =
        plan.steps.iter().map(|step| (step.path.as_str(), step.action)).collect();
    let expected = [
        ("knowledge/binary", UndoAction::Conflict),
        ("knowledge/conflict", UndoAction::Conflict),
        ("knowledge/gone", UndoAction::Restored),
        ("knowledge/made", UndoAction::Removed),
        ("knowledge/merged", UndoAction::Merged),
        ("knowledge/restored", UndoAction::Restored),
    ];
    assert_eq!(steps, expected);
    assert!(undo::plan(&ground.bare(), "r2", None).expect("a plan").is_none());
    ground.push(&format!("undo\n\n{}: r1", message::UNDO), plan.changes);
    ground.agree().expect("agreed");
    assert_eq!(ground.read("knowledge/merged"), Some(text("top", "person")));
    assert_eq!(ground.read("knowledge/restored").as_deref(), Some("before\n"));
    assert_eq!(ground.read("knowledge/gone").as_deref(), Some("before\n"));
    assert_eq!(ground.read("knowledge/made"), None);
    assert_eq!(ground.read("knowledge/conflict").as_deref(), Some("person\n"));
    let again = undo::plan(&ground.bare(), "r1", None).expect("a plan").expect("there is one");
    assert!(again.changes.is_empty(), "{again:?}");
    let left = again.steps.iter().filter(|step| step.action == UndoAction::Conflict).count();
    assert_eq!(left, 2, "{again:?}");
    ground.is_agreed();
}

/// What happens in the child, after the same beginning in the parent.
fn act(ground: &Ground, what: &str) -> Result<(), Fault> {
    if what == "undo" {
        let bare = ground.bare();
        let plan = undo::plan(&bare, "r1", None)?.unwrap_or_default();
        let new: NewCommit = kit::new(&format!("undo\n\n{}: r1", message::UNDO), plan.changes);
        commit::advance(&bare, &new, &Clock::system())?;
    }
    ground.agree().map(drop)
}

/// The child: reaches agreement, and dies at a step. Without being told so it does nothing.
#[test]
fn child() {
    let told = (std::env::var(STEP), std::env::var(AT), std::env::var(WHAT));
    let (Ok(step), Ok(at), Ok(what)) = told else { return };
    let ground = Ground::open(Path::new(&at));
    let mut left: usize = step.parse().expect("a number");
    faults::set(Some(Box::new(move |_| {
        if left == 0 {
            std::process::abort();
        }
        left -= 1;
        Ok(())
    })));
    act(&ground, &what).expect("agreed");
}

/// Kills the child at every step; `check` looks at what the next start makes of it.
fn killed_at_every_step(what: &str, begin: impl Fn(&Ground), check: impl Fn(&Ground)) -> usize {
    let mut step = 0;
    loop {
        let data = tempfile::tempdir().expect("a directory");
        let ground = Ground::open(data.path());
        begin(&ground);
        drop(ground);
        let output = Command::new(std::env::current_exe().expect("a path"))
            .args(["--exact", "tests::agree::child", "--nocapture"])
            .env(STEP, step.to_string())
            .env(AT, data.path())
            .env(WHAT, what)
            .output()
            .expect("a child");
        // The next start.
        let ground = Ground::open(data.path());
        crate::git::lock::tidy(&ground.repository()).expect("tidied");
        ground.agree().expect("agreed");
        check(&ground);
        ground.is_agreed();
        if output.status.success() {
            return step;
        }
        step += 1;
        assert!(step < 500, "it never comes to its end: {output:?}");
    }
}

#[test]
fn killed_at_every_step_of_a_commit_of_changed_files() {
    let begin = |ground: &Ground| {
        ground.write("knowledge/a", "one\n");
        ground.write("knowledge/b", "old\n");
        ground.agree().expect("agreed");
        ground.write("knowledge/a", "changed\n");
        ground.write("knowledge/c/d", "new\n");
        std::fs::remove_file(ground.file("knowledge/b")).expect("removed");
    };
    let steps = killed_at_every_step("agree", begin, |ground| {
        assert_eq!(ground.read("knowledge/a").as_deref(), Some("changed\n"));
        assert_eq!(ground.git(&["show", "main:knowledge/a"]), "changed\n");
        assert_eq!(ground.git(&["ls-tree", "-r", "--name-only", "main"]), "knowledge/a\nknowledge/c/d\n");
        assert_eq!(ground.git(&["rev-list", "--count", "main"]).trim(), "2", "once, and not again");
    });
    assert!(steps >= 15, "{steps}");
}

#[test]
fn killed_at_every_step_of_putting_a_push_into_the_tree() {
    let begin = |ground: &Ground| {
        ground.write("knowledge/a", "one\n");
        ground.write("knowledge/b", "old\n");
        ground.agree().expect("agreed");
        ground.push(
            "pushed",
            vec![
                kit::put("knowledge/a", "pushed\n"),
                delete("knowledge/b"),
                kit::put("knowledge/c/d", "new\n"),
            ],
        );
    };
    let steps = killed_at_every_step("agree", begin, |ground| {
        assert_eq!(ground.git(&["log", "-1", "--format=%s", "main"]).trim(), "pushed", "never taken back");
        assert_eq!(ground.read("knowledge/a").as_deref(), Some("pushed\n"));
        assert_eq!(ground.read("knowledge/b"), None);
        assert_eq!(ground.read("knowledge/c/d").as_deref(), Some("new\n"));
    });
    assert!(steps >= 6, "{steps}");
}

#[test]
fn killed_at_every_step_of_an_undo() {
    let begin = |ground: &Ground| {
        ground.push("first", vec![kit::put("knowledge/a", "before\n")]);
        let changes = vec![kit::put("knowledge/a", "run\n"), kit::put("knowledge/made", "x\n")];
        ground.push("run\n\nGsv-Run: r1", changes);
        ground.agree().expect("agreed");
    };
    let steps = killed_at_every_step("undo", begin, |ground| {
        let is_undone = ground.git(&["log", "-1", "--format=%s", "main"]).trim() == "undo";
        let (a, made) = (ground.read("knowledge/a"), ground.read("knowledge/made"));
        match is_undone {
            true => assert_eq!((a.as_deref(), made), (Some("before\n"), None)),
            false => assert_eq!((a.as_deref(), made.as_deref()), (Some("run\n"), Some("x\n"))),
        }
    });
    assert!(steps >= 15, "{steps}");
}
