//! libgit2, through the Python package `pygit2`, opens what is made here and says the same about it; what it commits is
//! read here.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::kit::{Repository, make, new, path, put};
use crate::git::edit::Change;

/// Prints every file of `main` with its mode and content, the messages from the newest on, and makes a commit.
const SCRIPT: &str = r#"
import pygit2, sys
repository = pygit2.Repository(sys.argv[1])
assert repository.is_bare and not repository.is_empty
def walk(tree, prefix):
    for entry in tree:
        if entry.type_str == "tree":
            walk(repository[entry.id], prefix + entry.name + "/")
        else:
            print("%06o %s%s %s" % (entry.filemode, prefix, entry.name, repository[entry.id].data.hex()))
head = repository.references["refs/heads/main"].peel(pygit2.Commit)
walk(head.tree, "")
for commit in repository.walk(head.id, pygit2.enums.SortMode.TOPOLOGICAL):
    print("commit %s %s" % (commit.id, commit.message.rstrip("\n")))
blob = repository.create_blob(b"from libgit2\n")
builder = repository.TreeBuilder(head.tree)
builder.insert("theirs", blob, pygit2.enums.FileMode.BLOB)
who = pygit2.Signature("l", "l@x", 1800000000, 0)
repository.create_commit("refs/heads/main", who, who, "theirs\n", builder.write(), [head.id])
"#;

/// The Python that the test command has put beside what cargo builds.
fn python() -> PathBuf {
    let program = std::env::current_exe().expect("a path");
    let target = program.ancestors().nth(3).expect("the target directory");
    let python = target.join("xtask/pygit2/bin/python");
    assert!(python.exists(), "pygit2 is missing: `cargo xtask test` installs it");
    python
}

fn by_libgit2(repository: &Repository) -> Vec<String> {
    let mut command = Command::new(python());
    let output = command.args(["-c", SCRIPT]).arg(repository.path()).env("HOME", "/dev/null").output();
    let output = output.expect("python");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_string).collect()
}

#[test]
fn libgit2_reads_what_is_made_here_and_the_other_way_round() {
    let repository = Repository::new();
    let bare = repository.open();
    let run = Change::Put { path: path("bin/run"), content: b"#!/bin/sh\n".to_vec(), executable: Some(true) };
    let link = Change::Link { path: path("now"), target: "bin/run".to_string() };
    let first = make(&bare, &new("first", vec![put("ä b", "one\n"), put("n", [0, 1]), run, link]));
    let moved = Change::Move { from: path("bin"), to: path("d/e/sbin") };
    let second = make(&bare, &new("second", vec![moved, put("a.b", ""), put("a/b", "x")]));
    let (first, second) =
        (first.expect("a commit").expect("a head"), second.expect("a commit").expect("a head"));
    let hex = |text: &str| text.bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
    let mut expected = vec![
        "100644 a.b ".to_string(),
        format!("100644 a/b {}", hex("x")),
        format!("100755 d/e/sbin/run {}", hex("#!/bin/sh\n")),
        "100644 n 0001".to_string(),
        format!("120000 now {}", hex("bin/run")),
        format!("100644 ä b {}", hex("one\n")),
        format!("commit {second} second"),
        format!("commit {first} first"),
    ];
    assert_eq!(by_libgit2(&repository), expected);
    let theirs = repository.open().resolve("main").expect("a head");
    let commit = repository.open().commit(&theirs).expect("a commit");
    assert_eq!((commit.message.as_str(), commit.parents), ("theirs", vec![second]));
    // Both go on, loose and packed.
    make(&repository.open(), &new("third", vec![put("ours", "x")])).expect("a commit");
    repository.git(&["gc", "-q"]);
    assert!(fs::read_dir(repository.path().join("objects/pack")).expect("packs").count() >= 2);
    let third = repository.open().resolve("main").expect("a head");
    expected.splice(
        5..5,
        [format!("100644 ours {}", hex("x")), format!("100644 theirs {}", hex("from libgit2\n"))],
    );
    expected.splice(8..8, [format!("commit {third} third"), format!("commit {theirs} theirs")]);
    assert_eq!(by_libgit2(&repository), expected);
    repository.is_sound();
}
