//! Packs that the git program makes, and that somebody spoils: whole ones come out of quarantine, others leave nothing.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;

use base::clock::Clock;
use gix_hash::ObjectId;

use super::kit::{Repository, git, make, new, put};
use crate::faults;
use crate::git::bare::Bare;
use crate::git::commit::fast_forward;
use crate::git::fault::Fault;
use crate::git::refs::Branch;
use crate::import::quarantine::{Quarantine, check};

const STEP: &str = "GSV_TEST_IMPORT_CRASH_STEP";
const AT: &str = "GSV_TEST_IMPORT_CRASH_AT";
const PACK: &str = "GSV_TEST_IMPORT_CRASH_PACK";
const HEAD: &str = "GSV_TEST_IMPORT_CRASH_HEAD";

/// Another repository with a history.
fn origin() -> (Repository, ObjectId) {
    let origin = Repository::new();
    let bare = origin.open();
    let mut head = None;
    for number in 0..10 {
        let text = format!("line {number}\n").repeat(100 + number);
        let changes = vec![put("file", &text), put(&format!("d/{number}"), &text)];
        head = make(&bare, &new(&format!("commit {number}"), changes)).expect("a commit");
    }
    origin.git(&["repack", "-adq"]);
    (origin, head.expect("a head"))
}

/// A pack of what these lines select.
fn pack(dir: &Path, args: &[&str], lines: &str) -> Vec<u8> {
    let mut child = Command::new("git")
        .args(["pack-objects", "-q", "--stdout"])
        .args(args)
        .current_dir(dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("git");
    child.stdin.take().expect("a pipe").write_all(lines.as_bytes()).expect("written");
    let output = child.wait_with_output().expect("git");
    assert!(output.status.success());
    output.stdout
}

/// What an import does with a pack.
fn receive(path: &Path, pack: &[u8], head: ObjectId) -> Result<(), Fault> {
    let interrupted = AtomicBool::new(false);
    let quarantine = Quarantine::new(path, "test")?;
    quarantine.incoming()?.write_all(pack)?;
    quarantine.index(&interrupted)?;
    check(&quarantine.open()?, &Bare::open(path)?, head, &interrupted)?;
    quarantine.release()?;
    fast_forward(&Bare::open(path)?, &Branch::main(), head, &Clock::system()).map(|_| ())
}

/// The names of what is in the repository, but for its hooks and the like.
fn packs(repository: &Repository) -> usize {
    let left = fs::read_dir(repository.path()).expect("a directory");
    let is_left = |name: &str| name.starts_with("gsv-");
    assert!(
        !left.flatten().any(|entry| entry.file_name().to_str().is_some_and(is_left)),
        "something is left"
    );
    fs::read_dir(repository.path().join("objects/pack")).expect("a directory").count()
}

#[test]
fn whole_packs_and_thin_ones_are_taken() {
    let (origin, head) = origin();
    let half = origin.open().resolve(origin.git(&["rev-parse", "main~5"]).trim()).expect("a commit");
    let here = Repository::new();
    let first = pack(&origin.path(), &["--revs"], &format!("{half}\n"));
    receive(&here.path(), &first, half).expect("received");
    here.is_sound();
    let thin =
        pack(&origin.path(), &["--revs", "--thin", "--delta-base-offset"], &format!("{head}\n^{half}\n"));
    receive(&here.path(), &thin, head).expect("received");
    here.is_sound();
    assert_eq!(here.git(&["rev-list", "--count", "main"]).trim(), "10");
    assert_eq!(packs(&here), 4);
}

#[test]
fn what_was_spoilt_or_is_incomplete_leaves_nothing() {
    let (origin, head) = origin();
    let whole = pack(&origin.path(), &["--revs"], &format!("{head}\n"));
    let here = Repository::new();
    for at in (0..whole.len()).step_by(whole.len() / 40 + 1) {
        let mut spoilt = whole.clone();
        spoilt[at] ^= 0x10;
        assert!(receive(&here.path(), &spoilt, head).is_err(), "byte {at}");
        assert!(receive(&here.path(), &whole[..at], head).is_err(), "the first {at} bytes");
    }
    // All but one object.
    let objects = origin.git(&["rev-list", "--objects", "main"]);
    let lines: Vec<&str> = objects.lines().map(|line| line.split(' ').next().expect("a hash")).collect();
    for missing in [0, lines.len() / 2, lines.len() - 1] {
        let kept: String = lines
            .iter()
            .enumerate()
            .filter(|(at, _)| *at != missing)
            .map(|(_, id)| format!("{id}\n"))
            .collect();
        assert!(receive(&here.path(), &pack(&origin.path(), &[], &kept), head).is_err(), "without {missing}");
    }
    assert_eq!(packs(&here), 0);
    here.is_sound();
    receive(&here.path(), &whole, head).expect("received");
}

#[test]
fn a_small_pack_that_grows_without_end_is_refused() {
    let origin = Repository::new();
    let work = origin.beside();
    fs::create_dir(&work).expect("a directory");
    git(&work, &["init", "-q"]);
    fs::write(work.join("zeros"), vec![0; base::limits::repo::OBJECT_MAX_BYTES as usize + 1])
        .expect("a file");
    git(&work, &["add", "."]);
    git(&work, &["commit", "-qm", "zeros"]);
    let head = git(&work, &["rev-parse", "HEAD"]);
    let bomb = pack(&work, &["--revs"], &head);
    assert!(bomb.len() < 1024 * 1024);
    let here = Repository::new();
    let id = ObjectId::from_hex(head.trim().as_bytes()).expect("a hash");
    assert!(receive(&here.path(), &bomb, id).is_err());
    assert_eq!(packs(&here), 0);
}

/// The child: receives a pack, and dies at a step. Without being told so it does nothing.
#[test]
fn child() {
    let (Ok(step), Ok(at), Ok(pack), Ok(head)) =
        (std::env::var(STEP), std::env::var(AT), std::env::var(PACK), std::env::var(HEAD))
    else {
        return;
    };
    let mut left: usize = step.parse().expect("a number");
    faults::set(Some(Box::new(move |_| {
        if left == 0 {
            std::process::abort();
        }
        left -= 1;
        Ok(())
    })));
    let head = ObjectId::from_hex(head.as_bytes()).expect("a hash");
    receive(Path::new(&at), &fs::read(pack).expect("a pack"), head).expect("received");
}

#[test]
fn killed_at_every_step_of_an_import() {
    let (origin, head) = origin();
    let whole = pack(&origin.path(), &["--revs"], &format!("{head}\n"));
    let file = origin.beside();
    fs::write(&file, &whole).expect("a file");
    let mut step = 0;
    loop {
        let here = Repository::new();
        let status = Command::new(std::env::current_exe().expect("a path"))
            .args(["--exact", "tests::packs::child", "--nocapture"])
            .envs([(STEP, step.to_string()), (HEAD, head.to_string())])
            .envs([(AT, here.path()), (PACK, file.clone())])
            .output()
            .expect("a child")
            .status;
        here.is_sound();
        let now = here.open().reference("refs/heads/main").expect("a ref");
        assert!(now.is_none() || now == Some(head));
        // What is left is removed at the next start, and then it is imported.
        crate::git::lock::tidy(&here.path()).expect("tidied");
        receive(&here.path(), &whole, head).expect("received");
        // With what is there already git's deltas are made whole differently: that is another pack.
        assert!(matches!(packs(&here), 2 | 4), "each pack has its index");
        here.is_sound();
        if status.success() {
            break;
        }
        step += 1;
        assert!(step < 1_000, "it never comes to its end");
    }
    assert!(step >= 7, "{step}");
}
