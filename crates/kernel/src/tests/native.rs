//! Tests of the native target as callers see it: virtual files and calls from within.

use std::sync::atomic::{AtomicUsize, Ordering};

use base::clock::Clock;
use protocol::identity::Role;
use protocol::ids::Uid;
use store::accounts::{Account, NewAccount};
use store::devices::Registration;
use vfs::VPath;

use super::*;
use protocol::calls::Calls;
use vfs::View;
use vfs::view::Work;

async fn kernel_with_many_things(data: &tempfile::TempDir) -> Arc<Kernel> {
    let options = store::Options { data: data.path().to_path_buf(), url: None };
    let store = store::Store::open(&options).await.unwrap();
    store.provision(1).await.unwrap();
    for number in 0..100 {
        let registration = Registration {
            device_id: format!("d{number:03}").into(),
            owner_uid: Uid::ROOT,
            owner_gid: Gid::ROOT,
            implements: vec!["fs.*".to_string()],
            platform: "linux".to_string(),
            version: "1".to_string(),
            now_ms: 1,
        };
        store.devices().register(registration).await.unwrap();
        store.config().set(&format!("config/many/key{number:03}"), "v").await.unwrap();
    }
    Kernel::start(store, &data.path().join("files"), Clock::system(), "test").await.unwrap()
}

async fn fresh_kernel(data: &tempfile::TempDir) -> Arc<Kernel> {
    let options = store::Options { data: data.path().to_path_buf(), url: None };
    let store = store::Store::open(&options).await.unwrap();
    Kernel::start(store, &data.path().join("files"), Clock::system(), "test").await.unwrap()
}

fn new(username: &str) -> NewAccount {
    NewAccount { username: username.to_string(), hash: "!".to_string(), groups: vec![Gid::USERS], now_ms: 1 }
}

fn caller(kernel: &Kernel, account: &Account) -> Caller {
    Caller {
        identity: Arc::new(account.identity()),
        role: Role::User,
        capabilities: kernel.grants.of(&account.gids),
        as_of: kernel.gateway.standing_generation(),
        may_approve: true,
        origin: Origin::Inside,
        permit: None,
        door: None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_of_the_accounts_keeps_whoever_was_added_meanwhile() {
    let data = tempfile::tempdir().unwrap();
    let kernel = fresh_kernel(&data).await;
    let root = kernel.store.accounts().by_name("root").await.unwrap().unwrap();
    let view = kernel.gateway.view(&caller(&kernel, &root));
    let add_bob = {
        let (store, runtime) = (kernel.store.clone(), tokio::runtime::Handle::current());
        move |text: Vec<u8>| {
            let added = runtime.block_on(store.accounts().create(new("bob")));
            added.map(|_| ([&text, &b"eve:x:::::\n"[..]].concat(), ()))
        }
    };
    let edit = move |text| tokio::task::block_in_place(|| add_bob(text));
    view.edit(&VPath::absolute("/etc/passwd").unwrap(), edit).await.unwrap().unwrap();
    let accounts = kernel.store.accounts().all().await.unwrap();
    let names: Vec<&str> = accounts.iter().map(|account| account.username.as_str()).collect();
    assert_eq!(names, ["root", "bob", "eve"]);
}

#[tokio::test]
async fn calls_from_within_are_made_with_the_rights_of_now() {
    let data = tempfile::tempdir().unwrap();
    let kernel = fresh_kernel(&data).await;
    let ann = kernel.store.accounts().create(new("ann")).await.unwrap();
    let calls = kernel.gateway.calls(&caller(&kernel, &ann));
    let list = async || calls.raw("sys.device.list", "{}").await.map_err(|error| error.code).map(drop);
    assert_eq!(list().await, Ok(()));
    kernel.store.accounts().set_groups(ann.uid, &[]).await.unwrap();
    assert_eq!(list().await, Err(403), "ann left the group that may");
    kernel.store.accounts().set_groups(ann.uid, &[Gid::USERS]).await.unwrap();
    assert_eq!(list().await, Ok(()));
    kernel.grants.remove(Gid::USERS, "sys.device.list");
    assert_eq!(list().await, Err(403), "the group may no more");
    kernel.grants.add(Gid::USERS, "sys.device.list");
    assert_eq!(list().await, Ok(()));
    kernel.store.accounts().set_locked(ann.uid, true).await.unwrap();
    assert_eq!(list().await, Err(403), "ann was locked");
    kernel.store.accounts().remove(ann.uid).await.unwrap();
    assert_eq!(list().await, Err(403), "ann was removed");
}

#[tokio::test]
async fn a_listing_of_live_things_makes_one_call_however_many_there_are() {
    let data = tempfile::tempdir().unwrap();
    let kernel = kernel_with_many_things(&data).await;
    let root = kernel.store.accounts().by_name("root").await.unwrap().unwrap();
    let caller = caller(&kernel, &root);
    let made = Arc::new(AtomicUsize::new(0));
    let (inner, count) = (kernel.gateway.calls(&caller), made.clone());
    let counted = Calls::new(move |name, args| {
        count.fetch_add(1, Ordering::Relaxed);
        let (inner, name, args) = (inner.clone(), name.to_string(), args.to_string());
        Box::pin(async move { inner.raw(&name, &args).await })
    });
    let view = View::new(kernel.tree.clone(), caller.identity.clone(), counted, Work::Aside);
    for path in ["/sys/devices", "/sys/config/many"] {
        made.store(0, Ordering::Relaxed);
        let names = view.list(&VPath::absolute(path).unwrap()).await.unwrap();
        assert_eq!((names.len(), made.load(Ordering::Relaxed)), (100, 1), "{path}");
    }
}
