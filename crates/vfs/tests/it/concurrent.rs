//! Concurrency tests: nothing is lost, nothing is half written.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use vfs::view::Writing;
use vfs::{Code, Follow};

use crate::world::{Who, World, at};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_edit_is_lost() {
    let world = World::new().await;
    let path = at("/home/ann/log");
    world.as_(Who::Ann).write(&path, Vec::new(), Writing::default()).await.unwrap();
    let threads: Vec<_> = (0..64)
        .map(|number| {
            let (view, path) = (world.as_(Who::Ann), path.clone());
            std::thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                let line = format!("line {number}\n").into_bytes();
                if number % 4 == 0 {
                    runtime.block_on(view.append(&path, line)).unwrap();
                } else {
                    let edit = view.edit(&path, move |text| Ok::<_, ()>(([text, line].concat(), ())));
                    runtime.block_on(edit).unwrap().unwrap();
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    let text = String::from_utf8(world.as_(Who::Ann).read(&path).await.unwrap()).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines.dedup();
    assert_eq!(lines.len(), 64);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_writers_beside_the_runtime_all_end() {
    let world = World::new().await;
    let tasks: Vec<_> = (0..200)
        .map(|number| {
            let view = world.aside(Who::Ann);
            tokio::spawn(async move {
                let path = at(&format!("/home/ann/{number}"));
                view.write(&path, vec![b'x'; number], Writing::default()).await.unwrap();
                view.read(&path).await.unwrap().len()
            })
        })
        .collect();
    for (number, task) in tasks.into_iter().enumerate() {
        assert_eq!(task.await.unwrap(), number);
    }
    assert_eq!(world.aside(Who::Ann).list(&at("/home/ann")).await.unwrap().len(), 200);
    // No draft is left.
    assert_eq!(std::fs::read_dir(world.host("/home/ann")).unwrap().count(), 200);
}

#[tokio::test]
async fn a_reader_sees_old_or_new() {
    let world = World::new().await;
    let path = at("/home/ann/file");
    let contents = [vec![b'a'; 300_000], vec![b'b'; 200_000]];
    world.as_(Who::Ann).write(&path, contents[0].clone(), Writing::default()).await.unwrap();
    let done = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..2)
        .map(|_| {
            let (view, path, done, contents) =
                (world.as_(Who::Ann), path.clone(), done.clone(), contents.clone());
            std::thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                let mut seen = [0usize; 2];
                while !done.load(Ordering::Relaxed) || seen.contains(&0) {
                    let bytes = runtime.block_on(view.read(&path)).unwrap();
                    let which = contents.iter().position(|content| *content == bytes);
                    seen[which.expect("a mix of both")] += 1;
                    if done.load(Ordering::Relaxed) {
                        break;
                    }
                }
            })
        })
        .collect();
    for round in 0..60 {
        world.as_(Who::Ann).write(&path, contents[round % 2].clone(), Writing::default()).await.unwrap();
    }
    done.store(true, Ordering::Relaxed);
    for reader in readers {
        reader.join().unwrap();
    }
}

/// Some make, fill and move a directory while others remove it: everybody gets a plain answer.
#[tokio::test]
async fn removal_and_writing_at_once_end() {
    let world = World::new().await;
    let threads: Vec<_> = (0..4)
        .map(|number| {
            let view = world.as_(Who::Ann);
            std::thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                runtime.block_on(async {
                    for round in 0..150 {
                        let file = at(&format!("/home/ann/d/e/{number}-{round}"));
                        let how = Writing { parents: true, ..Writing::default() };
                        let done = match number {
                            0 | 1 => view.write(&file, b"x".to_vec(), how).await.map(drop),
                            2 => view.remove(&at("/home/ann/d"), true).await,
                            _ => view.rename(&at("/home/ann/d/e"), &at("/home/ann/d/f")).await,
                        };
                        if let Err(fault) = done {
                            let expected = [Code::NotFound, Code::NotEmpty, Code::Io, Code::Loop];
                            assert!(expected.contains(&fault.code), "{number}: {fault}");
                        }
                    }
                });
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    let ann = world.as_(Who::Ann);
    if ann.stat(&at("/home/ann/d"), Follow::No).await.is_ok() {
        ann.remove(&at("/home/ann/d"), true).await.unwrap();
    }
    assert!(ann.list(&at("/home/ann")).await.unwrap().is_empty());
}

/// A directory never shows with another owner than its maker, not even for a moment.
#[tokio::test]
async fn a_directory_appears_with_its_owner() {
    let world = World::new().await;
    let done = Arc::new(AtomicBool::new(false));
    let watcher = {
        let (root, done) = (world.as_(Who::Root), done.clone());
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            while !done.load(Ordering::Relaxed) {
                if let Ok(stat) = runtime.block_on(root.stat(&at("/tmp/d"), Follow::No)) {
                    assert_eq!(stat.uid.0, Who::Ann.uid());
                }
            }
        })
    };
    let ann = world.as_(Who::Ann);
    for _ in 0..400 {
        ann.mkdir(&at("/tmp/d"), false, 0o755).await.unwrap();
        ann.remove(&at("/tmp/d"), false).await.unwrap();
    }
    done.store(true, Ordering::Relaxed);
    watcher.join().unwrap();
}

/// In a shared directory nobody removes what is not theirs, though names change hands all the time.
#[tokio::test]
async fn a_shared_directory_keeps_what_is_somebodys() {
    let world = World::new().await;
    let done = Arc::new(AtomicBool::new(false));
    let removers: Vec<_> = (0..2)
        .map(|_| {
            let (ann, done) = (world.as_(Who::Ann), done.clone());
            std::thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                while !done.load(Ordering::Relaxed) {
                    // Either may fail: the name may be somebody's, or gone.
                    runtime.block_on(ann.append(&at("/tmp/x"), b"a".to_vec())).ok();
                    runtime.block_on(ann.remove(&at("/tmp/x"), true)).ok();
                    runtime.block_on(ann.mkdir(&at("/tmp/x"), false, 0o755)).ok();
                    runtime.block_on(ann.remove(&at("/tmp/x"), false)).ok();
                }
            })
        })
        .collect();
    let bob = world.as_(Who::Bob);
    let how = Writing { exclusive: true, ..Writing::default() };
    let mut made = 0;
    while made < 60 {
        if bob.write(&at("/tmp/x"), b"b".to_vec(), how).await.is_ok() {
            for _ in 0..20 {
                assert_eq!(bob.read(&at("/tmp/x")).await.unwrap(), b"b");
            }
            bob.remove(&at("/tmp/x"), false).await.unwrap();
            made += 1;
        }
    }
    done.store(true, Ordering::Relaxed);
    for remover in removers {
        remover.join().unwrap();
    }
}

/// Who is shut out of a directory by a move or a mode reads nothing that is put into it afterwards.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_quick_way_does_not_cross_a_change() {
    let world = World::new().await;
    let done = Arc::new(AtomicBool::new(false));
    let thief = {
        let (bob, done) = (world.as_(Who::Bob), done.clone());
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let path = at("/tmp/a/d/file");
            while !done.load(Ordering::Relaxed) {
                runtime.block_on(bob.open(&path)).ok();
                for _ in 0..50 {
                    if let Some(Ok(vfs::view::Opened::File(file, stat))) = bob.open_now(&path) {
                        let bytes = vfs::disk::fast::read_now(&file, stat.size);
                        assert!(bytes.is_none_or(|bytes| bytes == b"open"), "bob has read a secret");
                    }
                }
            }
        })
    };
    let ann = world.as_(Who::Ann);
    let write = |path: &str, text: &str| {
        let (ann, path, text) = (ann.clone(), at(path), text.as_bytes().to_vec());
        let how = Writing { parents: true, ..Writing::default() };
        async move { ann.write(&path, text, how).await.unwrap() }
    };
    write("/tmp/a/d/file", "open").await;
    write("/tmp/b/d/file", "secret").await;
    ann.chmod(&at("/tmp/b"), 0o700).await.unwrap();
    for _ in 0..1_000 {
        ann.rename(&at("/tmp/a"), &at("/tmp/c")).await.unwrap();
        ann.rename(&at("/tmp/b"), &at("/tmp/a")).await.unwrap();
        ann.rename(&at("/tmp/a"), &at("/tmp/b")).await.unwrap();
        ann.rename(&at("/tmp/c"), &at("/tmp/a")).await.unwrap();
    }
    done.store(true, Ordering::Relaxed);
    thief.join().unwrap();
}
