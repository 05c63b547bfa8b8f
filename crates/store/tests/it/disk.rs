//! Tests of a full disk: writes fail with a clear text, and the store goes on once there is room again.
//!
//! It needs a small file system of its own, which only root may mount; the writer's own tests cover the same
//! with a page limit for everybody.

use std::path::Path;
use std::process::Command;

use store::{Error, Options, Store};

struct Mount<'a>(&'a Path);

impl Mount<'_> {
    fn new(path: &Path) -> Option<Mount<'_>> {
        let options = ["-t", "tmpfs", "-o", "size=4m", "tmpfs"];
        let mounted = Command::new("mount").args(options).arg(path).output().ok()?;
        mounted.status.success().then_some(Mount(path))
    }
}

impl Drop for Mount<'_> {
    fn drop(&mut self) {
        // Lazily, because a failed test may still have files open.
        let unmounted = Command::new("umount").arg("-l").arg(self.0).status();
        assert!(unmounted.is_ok_and(|status| status.success()), "{} stays mounted", self.0.display());
    }
}

#[tokio::test]
async fn a_full_disk_is_an_error_and_the_store_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let Some(_mount) = Mount::new(dir.path()) else {
        eprintln!("a small file system cannot be mounted here; the page limit stands in for it");
        return;
    };
    let ballast = dir.path().join("ballast");
    std::fs::write(&ballast, vec![1u8; 1024 * 1024]).unwrap();
    let store = Store::open(&Options { data: dir.path().join("data"), url: None }).await.unwrap();
    let value = "v".repeat(64 * 1024);
    let mut written = 0;
    let error = loop {
        match store.config().set(&format!("k/{written:04}"), &value).await {
            Ok(()) => written += 1,
            Err(error) => break error,
        }
        assert!(written < 1000, "the disk does not fill up");
    };
    assert!(matches!(&error, Error::Failed(why) if why.contains("disk")), "{error:?}");
    assert!(store.config().set("one/more", &value).await.is_err());
    assert_eq!(
        store.config().below("k").await.unwrap().len(),
        written,
        "what was written before is still there"
    );
    assert_eq!(store.config().value("one/more").await.unwrap(), None);

    std::fs::remove_file(&ballast).unwrap();
    store.config().set("one/more", &value).await.unwrap();
    assert_eq!(store.config().value("one/more").await.unwrap(), Some(value.clone()));
    drop(store);
    let store = Store::open(&Options { data: dir.path().join("data"), url: None }).await.unwrap();
    assert_eq!(store.config().below("k").await.unwrap().len(), written);
    assert_eq!(store.config().value("one/more").await.unwrap(), Some(value));
}
