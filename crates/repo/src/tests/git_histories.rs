//! Property test: on random histories that git itself has made, with merges, modules and names that are no text, git says
//! the same as this crate.

use std::io::Write as _;

use gix_hash::ObjectId;
use proptest::prelude::*;
use proptest::sample::select;

use super::kit::Repository;
use super::oracle::{a_content, compare, log, search};

/// A mode and a content.
type File = (&'static str, Vec<u8>);

/// A commit as `git fast-import` reads it: what a path becomes, and whether it is made on a branch and merged.
#[derive(Clone, Debug)]
struct GitCommit {
    changes: Vec<(&'static [u8], Option<File>)>,
    is_merged: bool,
}

/// Names that only git can give: not all of them are text.
const RAW_NAMES: &[&[u8]] = &[
    b"a",
    b"a/b",
    b"a/b/c",
    b"d/\xff\xfe",
    b"d/x",
    b"\xc3\xa4 \xc3\xb6",
    b"z\tz",
    b"B/b",
    b"b/B",
    b"e e/-f",
];

fn a_git_commit() -> impl Strategy<Value = GitCommit> {
    let kind = select(&["100644", "100644", "100755", "120000", "160000"][..]);
    let change = (select(RAW_NAMES), prop::option::weighted(0.8, (kind, a_content())));
    (prop::collection::vec(change, 1..5), any::<bool>())
        .prop_map(|(changes, is_merged)| GitCommit { changes, is_merged })
}

fn stream(commits: &[GitCommit]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut mark = 0;
    let mut commit = |out: &mut Vec<u8>, branch: &str, parents: &[usize], of: &GitCommit| {
        mark += 1;
        let message = format!("commit {mark}");
        let (length, when) = (message.len(), 1_700_000_000 + mark);
        out.extend(
            format!(
                "commit {branch}\nmark :{mark}\ncommitter g <g@x> {when} +0000\ndata {length}\n{message}\n"
            )
            .bytes(),
        );
        for (number, parent) in parents.iter().enumerate() {
            out.extend(format!("{} :{parent}\n", if number == 0 { "from" } else { "merge" }).bytes());
        }
        for (name, to) in &of.changes {
            // Quoted: a name may have what ends it.
            let name: String = name.iter().map(|byte| format!("\\{byte:03o}")).collect();
            out.extend(match to {
                None => format!("D \"{name}\"\n").into_bytes(),
                Some(("160000", _)) => format!("M 160000 {} \"{name}\"\n", "1".repeat(40)).into_bytes(),
                Some((mode, content)) => {
                    let head = format!("M {mode} inline \"{name}\"\ndata {}\n", content.len() + 1);
                    // A link needs somewhere to lead.
                    [head.as_bytes(), b"x", content, b"\n"].concat()
                }
            });
        }
        mark
    };
    let mut head: Option<usize> = None;
    for one in commits {
        let parents: Vec<usize> = head.into_iter().collect();
        let next = commit(&mut out, "refs/heads/main", &parents, one);
        head = Some(match (head, one.is_merged) {
            (Some(before), true) => {
                let side = commit(&mut out, "refs/heads/side", &[before], one);
                let nothing = GitCommit { changes: one.changes[..1].to_vec(), is_merged: false };
                commit(&mut out, "refs/heads/main", &[next, side], &nothing)
            }
            _ => next,
        });
    }
    out
}

fn import(repository: &Repository, stream: &[u8]) {
    let mut child = std::process::Command::new("git")
        .args(["fast-import", "--quiet", "--force"])
        .current_dir(repository.path())
        .stdin(std::process::Stdio::piped())
        .spawn()
        .expect("git");
    child.stdin.take().expect("a pipe").write_all(stream).expect("written");
    assert!(child.wait().expect("git").success(), "{}", String::from_utf8_lossy(stream));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn git_says_the_same_about_any_history_of_its_own(commits in prop::collection::vec(a_git_commit(), 1..8)) {
        let repository = Repository::new();
        import(&repository, &stream(&commits));
        let bare = repository.open();
        let heads = repository.git(&["rev-list", "--first-parent", "--reverse", "main"]);
        let heads: Vec<ObjectId> =
            heads.lines().map(|line| ObjectId::from_hex(line.as_bytes()).expect("a hash")).collect();
        let head = heads.last().expect("a head");
        for pair in heads.windows(2) {
            compare(&repository, &bare, &pair[0], &pair[1]);
        }
        compare(&repository, &bare, &heads[0], head);
        compare(&repository, &bare, head, &heads[0]);
        for below in ["", "a", "d"] {
            search(&repository, &bare, head, "two", true, below);
            search(&repository, &bare, head, "}", false, below);
        }
        log(&repository, &bare, head, None);
        for name in ["a", "a/b", "d", "B"] {
            log(&repository, &bare, head, Some(name));
        }
    }
}
