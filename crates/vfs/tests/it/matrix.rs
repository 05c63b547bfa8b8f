//! Permission matrix: every user tries every operation everywhere, and the answers are compared with what `rwxrwxrwx`
//! says.

use protocol::ids::{Gid, Uid};
use vfs::view::Writing;
use vfs::{Code, View};

use crate::world::{TEAM, Who, World, at, code};

const MOUNTS: [&str; 8] = ["/home", "/root", "/workspaces", "/etc", "/var", "/usr/local", "/tmp", "/src"];
const DIRECTORY_MODES: [u32; 9] = [0o755, 0o750, 0o700, 0o770, 0o777, 0o711, 0o000, 0o1777, 0o1770];
const FILE_MODES: [u32; 6] = [0o644, 0o640, 0o600, 0o066, 0o666, 0o000];

#[derive(Clone, Copy, Debug)]
enum Op {
    Read,
    Write,
    Create,
    Rename,
    Delete,
    List,
    Chmod,
}

const OPS: [Op; 7] = [Op::Read, Op::Write, Op::Create, Op::Rename, Op::Delete, Op::List, Op::Chmod];

/// One directory with one file of ann's in it; both belong to the team.
#[derive(Clone, Copy, Debug)]
struct Case {
    mount: &'static str,
    directory_owner: u32,
    directory_mode: u32,
    file_mode: u32,
}

/// What the letters say: owner, else group, else others, and root may do anything.
fn letter(who: Who, owner: u32, mode: u32, wanted: char) -> bool {
    let letters: Vec<char> =
        (0..9).map(|n| if mode & (0o400 >> n) != 0 { ['r', 'w', 'x'][n % 3] } else { '-' }).collect();
    let first = match who {
        Who::Root => return true,
        _ if who.uid() == owner => 0,
        _ if who.gids().contains(&TEAM) => 3,
        _ => 6,
    };
    letters[first..first + 3].contains(&wanted)
}

fn expected(case: Case, who: Who, op: Op) -> Option<Code> {
    let directory = |wanted| letter(who, case.directory_owner, case.directory_mode, wanted);
    let file = |wanted| letter(who, Who::Ann.uid(), case.file_mode, wanted);
    let outer = who == Who::Root || case.mount != "/root";
    if !outer || !directory('x') {
        return Some(Code::Denied);
    }
    let owners = who == Who::Root || who == Who::Ann || who.uid() == case.directory_owner;
    let allowed = match op {
        Op::Read => file('r'),
        Op::Write => file('w'),
        Op::Create => directory('w'),
        Op::List => directory('r'),
        Op::Chmod if who == Who::Root || who == Who::Ann => true,
        Op::Chmod => return Some(Code::NotPermitted),
        Op::Rename | Op::Delete if directory('w') && case.directory_mode & 0o1000 != 0 && !owners => {
            return Some(Code::NotPermitted);
        }
        Op::Rename | Op::Delete => directory('w'),
    };
    if allowed { None } else { Some(Code::Denied) }
}

async fn attempt(view: &View, case: Case, op: Op) -> Option<Code> {
    let directory = at(case.mount).join("case");
    let (file, other) = (directory.join("file"), directory.join("other"));
    match op {
        Op::Read => code(view.read(&file).await),
        // Durable writes are slow, and one mount shows as much as eight.
        Op::Write if case.mount == "/tmp" && case.directory_owner != 0 => {
            code(view.write(&file, b"new".to_vec(), Writing::default()).await)
        }
        Op::Write => code(view.append(&file, b"new".to_vec()).await),
        Op::Create => code(view.append(&other, b"new".to_vec()).await),
        Op::Rename => code(view.rename(&file, &other).await),
        Op::Delete => code(view.remove(&file, true).await),
        Op::List => code(view.list(&directory).await),
        Op::Chmod => code(view.chmod(&file, 0o600).await),
    }
}

async fn prepare(root: &View, case: Case) {
    let directory = at(case.mount).join("case");
    let file = directory.join("file");
    root.mkdir(&directory, true, 0o755).await.unwrap();
    for name in ["other", "file"] {
        match root.remove(&directory.join(name), false).await {
            Err(fault) if fault.code != Code::NotFound => panic!("{fault}"),
            _ => {}
        }
    }
    root.append(&file, b"old".to_vec()).await.unwrap();
    root.chown(&file, Some(Uid(Who::Ann.uid())), Some(Gid(TEAM))).await.unwrap();
    root.chmod(&file, case.file_mode).await.unwrap();
    root.chown(&directory, Some(Uid(case.directory_owner)), Some(Gid(TEAM))).await.unwrap();
    root.chmod(&directory, case.directory_mode).await.unwrap();
}

#[tokio::test]
async fn permissions_are_those_of_unix_everywhere() {
    let world = World::new().await;
    let root = world.as_(Who::Root);
    // Ann owns the file, cat shares its group, bob is anybody else.
    let people = [Who::Ann, Who::Cat, Who::Bob, Who::Root];
    let mut tried = 0;
    for mount in MOUNTS {
        for directory_owner in [Who::Ann.uid(), Who::Root.uid()] {
            for directory_mode in DIRECTORY_MODES {
                for file_mode in FILE_MODES {
                    let case = Case { mount, directory_owner, directory_mode, file_mode };
                    for (who, op) in people.into_iter().flat_map(|who| OPS.map(|op| (who, op))) {
                        prepare(&root, case).await;
                        let told = attempt(&world.as_(who), case, op).await;
                        assert_eq!(told, expected(case, who, op), "{who:?} {op:?} {case:?}");
                        tried += 1;
                    }
                }
            }
        }
    }
    assert_eq!(tried, MOUNTS.len() * 2 * DIRECTORY_MODES.len() * FILE_MODES.len() * 4 * OPS.len());
}

#[tokio::test]
async fn only_root_gives_away_and_owners_choose_among_their_groups() {
    let world = World::new().await;
    let (root, ann, cat) = (world.as_(Who::Root), world.as_(Who::Ann), world.as_(Who::Cat));
    let path = at("/tmp/file");
    ann.append(&path, b"x".to_vec()).await.unwrap();
    for (view, uid, gid, answer) in [
        (&ann, Some(1_001), None, Some(Code::NotPermitted)),
        (&ann, None, Some(1_001), Some(Code::NotPermitted)),
        (&ann, None, Some(TEAM), None),
        (&ann, Some(1_000), Some(100), None),
        (&cat, None, Some(TEAM), Some(Code::NotPermitted)),
        (&root, Some(1_002), Some(1_001), None),
        (&ann, None, Some(TEAM), Some(Code::NotPermitted)),
    ] {
        assert_eq!(code(view.chown(&path, uid.map(Uid), gid.map(Gid)).await), answer, "{uid:?} {gid:?}");
    }
}

#[tokio::test]
async fn may_says_what_would_happen() {
    let world = World::new().await;
    let (root, ann, bob) = (world.as_(Who::Root), world.as_(Who::Ann), world.as_(Who::Bob));
    let path = at("/tmp/file");
    ann.append(&path, b"x".to_vec()).await.unwrap();
    ann.chmod(&path, 0o640).await.unwrap();
    for bits in 0..8u32 {
        assert_eq!(ann.may(&path, bits).await.unwrap(), bits & 1 == 0, "ann {bits}");
        assert_eq!(bob.may(&path, bits).await.unwrap(), bits == 0, "bob {bits}");
        assert_eq!(root.may(&path, bits).await.unwrap(), bits & 1 == 0, "root {bits}");
    }
    ann.chmod(&path, 0o100).await.unwrap();
    assert!(root.may(&path, 7).await.unwrap());
    assert!(!bob.may(&at("/home/ann/x"), 4).await.unwrap());
    assert_eq!(code(ann.may(&at("/home/ann/x"), 4).await), Some(Code::NotFound));
}
