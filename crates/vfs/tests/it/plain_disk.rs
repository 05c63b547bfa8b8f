//! Tests on a file system without extended attributes: everything belongs to the owner of its place.

use std::sync::Arc;

use base::clock::Clock;
use protocol::ids::{Gid, Uid};
use store::{Options, Store};
use vfs::view::{Work, Writing};
use vfs::{Code, Follow, Tree};

use crate::world::{Who, at, code, view};

#[tokio::test]
async fn places_decide_and_refusals_are_loud() {
    let data = tempfile::tempdir().unwrap();
    let store = Store::open(&Options { data: data.path().to_path_buf(), url: None }).await.unwrap();
    let tree = Tree::open_plain(&data.path().join("files"), store, Clock::system()).unwrap();
    tree.homes([("ann".to_string(), (Uid(1_000), Gid(1_000)))].into());
    let tree = Arc::new(tree);
    let [root, ann, bob] = [Who::Root, Who::Ann, Who::Bob].map(|who| view(tree.clone(), who, Work::Here));
    root.mkdir(&at("/home/ann"), false, 0o755).await.unwrap();
    ann.write(&at("/home/ann/file"), b"x".to_vec(), Writing::default()).await.unwrap();
    let stat = ann.stat(&at("/home/ann/file"), Follow::Yes).await.unwrap();
    assert_eq!((stat.uid, stat.mode), (Uid(1_000), 0o640));
    assert_eq!(code(bob.read(&at("/home/ann/file")).await), Some(Code::Denied));
    let refused = ann.chmod(&at("/home/ann/file"), 0o644).await.unwrap_err();
    assert_eq!(refused.code, Code::Unsupported);
    assert!(refused.to_string().contains("keeps no owners and modes"), "{refused}");
    assert_eq!(code(root.chown(&at("/home/ann/file"), Some(Uid(1)), None).await), Some(Code::Unsupported));
    ann.chmod(&at("/home/ann/file"), 0o640).await.unwrap();
    for view in [&ann, &bob] {
        let refused = view.write(&at("/tmp/file"), b"x".to_vec(), Writing::default()).await.unwrap_err();
        assert_eq!(refused.code, Code::NotPermitted);
        assert!(refused.to_string().contains("would belong to somebody else"), "{refused}");
    }
    assert_eq!(code(ann.rename(&at("/home/ann/file"), &at("/tmp/file")).await), Some(Code::NotPermitted));
    assert_eq!(root.stat(&at("/tmp"), Follow::Yes).await.unwrap().mode, 0o1777);
    root.write(&at("/tmp/file"), b"x".to_vec(), Writing::default()).await.unwrap();
}
