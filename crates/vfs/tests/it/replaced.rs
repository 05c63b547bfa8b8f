//! Tests of replaced files: the new one is there at once, the disk space of the old one is given back soon.

use vfs::view::Writing;

use crate::world::{Who, World, at};

async fn write_again_and_again() {
    let world = World::new().await;
    let (ann, path) = (world.aside(Who::Ann), at("/home/ann/file"));
    for number in 0..100 {
        let text = format!("text {number}").into_bytes();
        ann.write(&path, text.clone(), Writing::default()).await.unwrap();
        assert_eq!(std::fs::read(world.host("/home/ann/file")).unwrap(), text);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_is_there_when_it_is_answered() {
    write_again_and_again().await;
    // In a task of its own, as sockets are.
    tokio::spawn(write_again_and_again()).await.unwrap();
}

#[tokio::test]
async fn so_it_is_where_nothing_may_wait() {
    write_again_and_again().await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn their_room_is_given_back() {
    use std::time::Duration;

    use base::limits;

    let world = World::new().await;
    let files = world.files();
    // What the host says of an open file without a name.
    let replaced = || {
        let open = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
        let links = open.filter_map(|entry| std::fs::read_link(entry.path()).ok());
        links.filter(|link| link.starts_with(&files) && link.to_string_lossy().ends_with("(deleted)")).count()
    };
    let ann = world.as_(Who::Ann);
    for number in 0..3 * limits::files::REPLACED_MAX {
        ann.write(&at("/home/ann/file"), b"x".to_vec(), Writing::default()).await.unwrap();
        ann.edit(&at("/home/ann/file"), |text| Ok::<_, ()>((text, ()))).await.unwrap().unwrap();
        // Twice as many while one lot is being closed and the next one waits.
        assert!(replaced() <= 2 * limits::files::REPLACED_MAX, "after {number} writes");
    }
    let given_back = async {
        while replaced() > 0 {
            tokio::time::sleep(limits::files::DIRECTORY_SYNC_DELAY).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), given_back).await.unwrap();
}
