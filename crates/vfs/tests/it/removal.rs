//! Tests of removing and moving whole trees.

use std::os::fd::OwnedFd;

use protocol::ids::Uid;
use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
use vfs::view::Writing;
use vfs::{Code, Follow};

use crate::world::{Who, World, at, code};

#[tokio::test]
async fn a_tree_of_ten_thousand_levels_goes_away() {
    let world = World::new().await;
    let ann = world.as_(Who::Ann);
    let open = |dir: &OwnedFd| {
        openat(dir, "d", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).unwrap()
    };
    let mut dir = openat(CWD, world.host("/home/ann"), OFlags::RDONLY, Mode::empty()).unwrap();
    for _ in 0..10_000 {
        mkdirat(&dir, "d", Mode::RWXU).unwrap();
        dir = open(&dir);
    }
    drop(dir);
    assert_eq!(code(ann.remove(&at("/home/ann/d"), false).await), Some(Code::NotEmpty));
    ann.remove(&at("/home/ann/d"), true).await.unwrap();
    assert!(ann.list(&at("/home/ann")).await.unwrap().is_empty());
}

#[tokio::test]
async fn what_is_removed_is_only_what_is_below() {
    let world = World::new().await;
    let ann = world.as_(Who::Ann);
    ann.mkdir(&at("/home/ann/keep"), false, 0o755).await.unwrap();
    ann.append(&at("/home/ann/keep/file"), b"x".to_vec()).await.unwrap();
    ann.mkdir(&at("/home/ann/d/e"), true, 0o755).await.unwrap();
    for number in 0..600 {
        ann.append(&at(&format!("/home/ann/d/{number}")), b"x".to_vec()).await.unwrap();
        ann.mkdir(&at(&format!("/home/ann/d/e/{number}")), false, 0o700).await.unwrap();
    }
    ann.symlink("../../keep", &at("/home/ann/d/e/link")).await.unwrap();
    ann.remove(&at("/home/ann/d"), true).await.unwrap();
    assert_eq!(code(ann.stat(&at("/home/ann/d"), Follow::No).await), Some(Code::NotFound));
    assert_eq!(ann.read(&at("/home/ann/keep/file")).await.unwrap(), b"x");
}

#[tokio::test]
async fn a_home_by_any_spelling_and_a_mount_are_refused_with_all_that_is_in_them() {
    let world = World::new().await;
    let (ann, root) = (world.as_(Who::Ann), world.as_(Who::Root));
    ann.append(&at("/home/ann/kept"), b"x".to_vec()).await.unwrap();
    ann.symlink("/home", &at("/home/ann/homes")).await.unwrap();
    for spelled in ["~", "~/", "/home/ann/", "//home/./ann", "/home/../home/ann", "/home/ann/homes/ann"] {
        for view in [&ann, &root] {
            let path = ann.path(spelled).unwrap();
            assert_eq!(code(view.remove(&path, true).await), Some(Code::NotPermitted), "{spelled}");
        }
    }
    for mount in ["/", "/home", "/tmp", "/usr", "/workspaces"] {
        assert_eq!(code(root.remove(&at(mount), true).await), Some(Code::NotPermitted), "{mount}");
    }
    assert_eq!(ann.read(&at("/home/ann/kept")).await.unwrap(), b"x");
    assert!(ann.stat(&at("/home/ann/homes"), Follow::No).await.is_ok());
    for path in ["/home", "/home/ann", "/proc", "/sys/config", "/usr/share"] {
        assert!(vfs::View::protection(&at(path)).is_some(), "{path}");
    }
    assert_eq!(vfs::View::protection(&at("/home/ann/dir")), None);
}

#[tokio::test]
async fn somebody_elses_directory_inside_stops_it() {
    let world = World::new().await;
    let (ann, bob, root) = (world.as_(Who::Ann), world.as_(Who::Bob), world.as_(Who::Root));
    ann.mkdir(&at("/tmp/open"), false, 0o777).await.unwrap();
    ann.chmod(&at("/tmp/open"), 0o777).await.unwrap();
    bob.mkdir(&at("/tmp/open/his/inner"), true, 0o755).await.unwrap();
    bob.append(&at("/tmp/open/his/file"), b"x".to_vec()).await.unwrap();
    assert_eq!(code(ann.remove(&at("/tmp/open"), true).await), Some(Code::Denied));
    assert_eq!(bob.read(&at("/tmp/open/his/file")).await.unwrap(), b"x");
    // Without anything in it, it is ann's to remove: it is a name in her directory.
    bob.remove(&at("/tmp/open/his/file"), false).await.unwrap();
    bob.remove(&at("/tmp/open/his/inner"), false).await.unwrap();
    ann.remove(&at("/tmp/open"), true).await.unwrap();
    // In a shared directory it is not.
    bob.mkdir(&at("/tmp/his"), false, 0o755).await.unwrap();
    assert_eq!(code(ann.remove(&at("/tmp/his"), true).await), Some(Code::NotPermitted));
    root.remove(&at("/tmp/his"), true).await.unwrap();
}

#[tokio::test]
async fn moves_are_those_of_unix() {
    let world = World::new().await;
    let ann = world.as_(Who::Ann);
    let home = at("/home/ann");
    ann.mkdir(&home.join("a").join("b"), true, 0o755).await.unwrap();
    ann.mkdir(&home.join("empty"), false, 0o755).await.unwrap();
    ann.write(&home.join("f"), b"f".to_vec(), Writing::default()).await.unwrap();
    ann.write(&home.join("g"), b"g".to_vec(), Writing::default()).await.unwrap();
    let rename = |from: &str, to: &str| {
        let (ann, from, to) = (ann.clone(), at(from), at(to));
        async move { code(ann.rename(&from, &to).await) }
    };
    assert_eq!(rename("/home/ann/a", "/home/ann/a/b/c").await, Some(Code::Invalid));
    assert_eq!(rename("/home/ann/a", "/home/ann/f").await, Some(Code::NotDirectory));
    assert_eq!(rename("/home/ann/f", "/home/ann/a").await, Some(Code::IsDirectory));
    assert_eq!(rename("/home/ann/empty", "/home/ann/a").await, Some(Code::NotEmpty));
    assert_eq!(rename("/home/ann/none", "/home/ann/x").await, Some(Code::NotFound));
    assert_eq!(rename("/home/ann/f", "/home/ann/no/x").await, Some(Code::NotFound));
    assert_eq!(rename("/home/ann/f", "/home/bob/x").await, Some(Code::Denied));
    assert_eq!(rename("/home/ann/f", "/home/ann/f").await, None);
    assert_eq!(rename("/home/ann/f", "/home/ann/g").await, None);
    assert_eq!(ann.read(&home.join("g")).await.unwrap(), b"f");
    assert_eq!(rename("/home/ann/a", "/home/ann/empty").await, None);
    assert_eq!(ann.list(&home.join("empty")).await.unwrap().len(), 1);
}

#[tokio::test]
async fn what_a_walk_has_met_is_not_reached_by_a_link_put_in_the_way() {
    let world = World::new().await;
    let (ann, root) = (world.as_(Who::Ann), world.as_(Who::Root));
    for directory in ["/home/ann/keep", "/home/ann/keep/e", "/home/ann/d"] {
        ann.mkdir(&at(directory), false, 0o755).await.unwrap();
    }
    ann.append(&at("/home/ann/keep/file"), b"x".to_vec()).await.unwrap();
    ann.symlink("../keep", &at("/home/ann/d/way")).await.unwrap();
    ann.symlink("../keep/file", &at("/home/ann/d/last")).await.unwrap();
    let (before, through) = (Follow::No, at("/home/ann/d/way/file"));
    let old = root.stat(&at("/home/ann/keep/file"), before).await.unwrap();
    for path in [&through, &at("/home/ann/d/last")] {
        assert_eq!(code(root.chmod_met(path, 0o777).await), Some(Code::Loop));
        assert_eq!(code(root.chown_met(path, Some(Uid(0)), None).await), Some(Code::Loop));
    }
    assert_eq!(root.stat(&at("/home/ann/keep/file"), before).await.unwrap(), old);
    for path in [&through, &at("/home/ann/d/way/e")] {
        assert_eq!(code(root.remove_met(path).await), Some(Code::Loop));
    }
    // What is itself met is changed, and a link itself is removed.
    root.chmod_met(&at("/home/ann/keep/file"), 0o4600).await.unwrap();
    assert_eq!(root.stat(&through, before).await.unwrap().mode, 0o4600);
    root.remove_met(&at("/home/ann/d/last")).await.unwrap();
    root.remove_met(&at("/home/ann/keep/e")).await.unwrap();
    let names = ann.list(&at("/home/ann/keep")).await.unwrap();
    assert_eq!(names.len(), 1);
}
