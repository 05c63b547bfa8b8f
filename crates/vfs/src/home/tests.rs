//! Tests of homes on a real disk.

use std::fs;

use base::clock::Clock;
use store::Store;

use super::*;

struct Bench {
    data: tempfile::TempDir,
    tree: Tree,
}

impl Bench {
    async fn new() -> Bench {
        let data = tempfile::tempdir().unwrap();
        let options = store::Options { data: data.path().to_path_buf(), url: None };
        let store = Store::open(&options).await.unwrap();
        let tree = Tree::open(&data.path().join("files"), store, Clock::system()).unwrap();
        Bench { data, tree }
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.data.path().join("files").join(name)).unwrap()
    }

    fn owner(&self, path: &str) -> (Uid, Gid, u32) {
        let path = VPath::absolute(path).unwrap();
        let stat = self.tree.disk.find(&superuser(), &path, Follow::No).unwrap().stat().unwrap();
        (stat.uid, stat.gid, stat.mode)
    }
}

fn account(uid: u32, username: &str) -> Account {
    Account {
        uid: Uid(uid),
        gid: Gid(uid),
        gids: vec![Gid(uid)],
        username: username.to_string(),
        gecos: username.to_string(),
        home: if uid == 0 { "/root".to_string() } else { format!("/home/{username}") },
        shell: "/bin/init".to_string(),
        hash: "!".to_string(),
        locked: false,
        changed_at: 0,
        sessions_ended: 0,
    }
}

#[tokio::test]
async fn a_home_is_laid_out_once_and_belongs_to_its_user() {
    let bench = Bench::new().await;
    let ann = account(1000, "ann");
    assert_eq!(bench.tree.lay_out_home(&ann), Ok(Home::LaidOut));
    assert_eq!(bench.tree.lay_out_home(&ann), Ok(Home::Kept));
    assert_eq!(bench.owner("/home/ann"), (Uid(1000), Gid(1000), 0o750));
    for name in DIRECTORIES {
        assert_eq!(bench.owner(&format!("/home/ann/{name}")), (Uid(1000), Gid(1000), 0o750), "{name}");
    }
    assert_eq!(bench.owner("/home/ann/context.d/10-user.md"), (Uid(1000), Gid(1000), 0o640));
    assert!(bench.text("home/ann/context.d/10-user.md").contains("- Username: ann\n"));
    assert!(bench.text("home/ann/context.d/00-constitution.md").contains("Ask before harm"));
    assert_eq!(bench.tree.lay_out_home(&account(0, "root")), Ok(Home::LaidOut));
    assert_eq!(bench.owner("/root"), (Uid(0), Gid(0), 0o700));
    assert!(bench.text("root/context.d/10-user.md").contains("- Username: root\n"));
}

#[tokio::test]
async fn what_the_user_changed_stays() {
    let bench = Bench::new().await;
    let ann = account(1000, "ann");
    bench.tree.lay_out_home(&ann).unwrap();
    let files = bench.data.path().join("files/home/ann");
    fs::write(files.join("context.d/10-user.md"), "mine").unwrap();
    fs::remove_file(files.join("context.d/00-constitution.md")).unwrap();
    bench.tree.lay_out_home(&ann).unwrap();
    assert_eq!(bench.text("home/ann/context.d/10-user.md"), "mine");
    assert!(!files.join("context.d/00-constitution.md").exists());
    // What broke off half way is completed, without touching what is there.
    fs::remove_dir(files.join("knowledge/inbox")).unwrap();
    assert_eq!(bench.tree.lay_out_home(&ann), Ok(Home::LaidOut));
    assert!(files.join("context.d/00-constitution.md").exists() && files.join("knowledge/inbox").exists());
    assert_eq!(bench.text("home/ann/context.d/10-user.md"), "mine");
}

#[tokio::test]
async fn a_home_of_somebody_else_is_left_alone() {
    let bench = Bench::new().await;
    bench.tree.lay_out_home(&account(1000, "ann")).unwrap();
    fs::write(bench.data.path().join("files/home/ann/diary"), "private").unwrap();
    assert_eq!(bench.tree.lay_out_home(&account(1007, "ann")), Ok(Home::Foreign));
    assert_eq!(bench.owner("/home/ann"), (Uid(1000), Gid(1000), 0o750));
    assert_eq!(bench.owner("/home/ann/diary").0, Uid(1000));
    fs::write(bench.data.path().join("files/home/bob"), "a file").unwrap();
    assert_eq!(bench.tree.lay_out_home(&account(1001, "bob")), Ok(Home::Foreign));
    assert_eq!(bench.text("home/bob"), "a file");
}

#[tokio::test]
async fn an_empty_directory_of_roots_becomes_the_home_and_a_full_one_does_not() {
    let bench = Bench::new().await;
    let root = superuser();
    for name in ["ann", "bob"] {
        let path = VPath::absolute(&format!("/home/{name}")).unwrap();
        let home = entry(bench.tree.disk.find(&root, &path, Follow::No).unwrap()).unwrap();
        bench.tree.disk.make_directory(&root, &home, 0o750).unwrap();
    }
    fs::write(bench.data.path().join("files/home/bob/plans"), "root's").unwrap();
    assert_eq!(bench.tree.lay_out_home(&account(1000, "ann")), Ok(Home::LaidOut));
    assert_eq!(bench.owner("/home/ann"), (Uid(1000), Gid(1000), 0o750));
    assert_eq!(bench.tree.lay_out_home(&account(1001, "bob")), Ok(Home::Foreign));
    assert_eq!(bench.owner("/home/bob").0, Uid::ROOT);
}

#[tokio::test]
async fn a_home_from_outside_belongs_to_the_user_of_that_name() {
    let bench = Bench::new().await;
    let ann = account(1000, "ann");
    fs::create_dir(bench.data.path().join("files/home/ann")).unwrap();
    fs::write(bench.data.path().join("files/home/ann/notes"), "restored").unwrap();
    bench.tree.homes([("ann".to_string(), (ann.uid, ann.gid))].into());
    assert_eq!(bench.tree.lay_out_home(&ann), Ok(Home::LaidOut));
    assert_eq!(bench.owner("/home/ann/notes"), (Uid(1000), Gid(1000), 0o640));
}

/// Homes that keep no owner are given theirs, so that nobody inherits one by its name.
#[tokio::test]
async fn a_removed_users_home_is_not_inherited() {
    let bench = Bench::new().await;
    let (ann, bob) = (account(1000, "ann"), account(1001, "bob"));
    let files = bench.data.path().join("files/home");
    for name in ["ann", "bob", "cat"] {
        fs::create_dir(files.join(name)).unwrap();
        fs::write(files.join(name).join("diary"), "private").unwrap();
    }
    let both = [("ann".to_string(), (ann.uid, ann.gid)), ("bob".to_string(), (bob.uid, bob.gid))];
    bench.tree.homes(both.into());
    // One was seen at start, the other has never been.
    assert_eq!(bench.tree.lay_out_home(&ann), Ok(Home::LaidOut));
    bench.tree.homes([].into());
    for (uid, name) in [(1000, "ann"), (1001, "bob")] {
        assert_eq!(bench.owner(&format!("/home/{name}")), (Uid(uid), Gid(uid), 0o750), "{name}");
        let next = account(1007, name);
        bench.tree.homes([(name.to_string(), (next.uid, next.gid))].into());
        assert_eq!(bench.tree.lay_out_home(&next), Ok(Home::Foreign), "{name}");
        assert_eq!(bench.owner(&format!("/home/{name}/diary")).0, Uid(uid), "{name}");
    }
    // Nobody's home is for root alone.
    assert_eq!(bench.owner("/home/cat"), (Uid(0), Gid(0), 0o700));
}
