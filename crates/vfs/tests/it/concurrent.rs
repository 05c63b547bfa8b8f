//! Many at once: nothing is lost, nothing is half.

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
