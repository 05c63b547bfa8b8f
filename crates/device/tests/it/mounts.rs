//! Mount points, in a mount namespace of one thread. Where the system does not let tests have one there is
//! nothing to see, and the tests say so.
#![cfg(target_os = "linux")]
#![allow(unsafe_code)]

use std::ffi::{CStr, CString};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde_json::json;

use crate::bench::Bench;

/// Runs a test on a thread, and a runtime, whose mounts nobody else sees.
fn with_own_mounts<F: Future<Output = ()>>(test: impl FnOnce() -> F + Send + 'static) {
    let running = std::thread::spawn(move || {
        // SAFETY: the call takes no pointers and concerns this thread, and those it starts, only.
        if unsafe { libc::unshare(libc::CLONE_NEWNS) } != 0 || !mount(None, Path::new("/"), None, PRIVATE) {
            eprintln!("not tested: this system does not let tests mount");
            return;
        }
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test());
    });
    running.join().unwrap();
}

const PRIVATE: libc::c_ulong = libc::MS_REC | libc::MS_PRIVATE;

fn mount(source: Option<&Path>, target: &Path, kind: Option<&CStr>, flags: libc::c_ulong) -> bool {
    let text = |path: &Path| CString::new(path.to_str().unwrap()).unwrap();
    let source = source.map(text);
    let source = source.as_ref().map_or(std::ptr::null(), |source| source.as_ptr());
    let kind = kind.map_or(std::ptr::null(), CStr::as_ptr);
    // SAFETY: all pointers are null or to strings that live until the call returns.
    unsafe { libc::mount(source, text(target).as_ptr(), kind, flags, std::ptr::null()) == 0 }
}

#[test]
fn a_mount_point_is_not_deleted_nor_entered() {
    with_own_mounts(|| async {
        for bench in [Bench::whole(), Bench::confined()] {
            bench.put("dir/mnt/under", "");
            assert!(mount(None, &bench.path("dir/mnt"), Some(c"tmpfs"), 0));
            bench.put("dir/mnt/x", "kept");
            let (code, error) = bench.refused("fs.delete", json!({ "path": "dir/mnt" })).await;
            assert!(code == 403 && error.ends_with("it is a mount point"), "{error}");
            // The list of mounts that the driver looks at first is the whole process's and lacks this one.
            let error = bench.fails("fs.delete", json!({ "path": "dir" })).await;
            assert!(error.contains("'mnt' is a mount point"), "{error}");
            assert_eq!(bench.text("dir/mnt/x"), "kept");
        }
    });
}

#[test]
fn a_file_that_is_a_mount_point_is_written_in_place() {
    with_own_mounts(|| async {
        let bench = Bench::whole();
        bench.put("real", "a long old content");
        bench.put("bound", "");
        assert!(mount(Some(&bench.path("real")), &bench.path("bound"), None, libc::MS_BIND));
        let inode = std::fs::metadata(bench.path("real")).unwrap().ino();
        bench.call("fs.write", json!({ "path": "bound", "content": "new" })).await;
        bench.call("fs.edit", json!({ "path": "bound", "oldString": "new", "newString": "newer" })).await;
        assert_eq!((bench.text("real").as_str(), bench.text("bound").as_str()), ("newer", "newer"));
        assert_eq!(std::fs::metadata(bench.path("bound")).unwrap().ino(), inode);
        assert_eq!(std::fs::read_dir(bench.path("")).unwrap().count(), 2, "no temporary file is left");
    });
}
