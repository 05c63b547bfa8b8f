//! Scaling test: the cost of one more account does not depend on how many there are.

use protocol::sys::account::{UserCreate, UserUpdate};
use store::accounts::NewAccount;

use super::{Caller, Gid, Kernel, Origin, Role, kernel};

const USERS: usize = 1_000;

/// The rows that the store has read so far.
fn rows_read(kernel: &Kernel) -> u64 {
    let text = kernel.store.metrics();
    let line = text.lines().find_map(|line| line.strip_prefix("gsv_store_rows_total "));
    line.unwrap().parse().unwrap()
}

#[tokio::test]
async fn one_more_user_costs_the_same_however_many_there_are() {
    let data = tempfile::tempdir().unwrap();
    let kernel = kernel(&data).await;
    for number in 0..USERS {
        let (username, hash) = (format!("user{number}"), "!".to_string());
        let new = NewAccount { username, hash, groups: vec![Gid::USERS], now_ms: 1 };
        kernel.store.accounts().create(new).await.unwrap();
    }
    let root = kernel.store.accounts().by_name("root").await.unwrap().unwrap();
    let caller = Caller {
        identity: std::sync::Arc::new(root.identity()),
        role: Role::User,
        capabilities: kernel.grants.of(&root.gids),
        as_of: kernel.gateway.standing_generation(),
        may_approve: true,
        origin: Origin::Inside,
        permit: None,
        door: None,
    };
    let root = kernel.gateway.calls(&caller);
    let before = rows_read(&kernel);
    let groups = Some(vec!["services".to_string(), "user7".to_string()]);
    let (username, password) = ("ann".to_string(), "ann-password".to_string());
    let made = root
        .call(&UserCreate { username: username.clone(), password, groups, adopt_files: None })
        .await
        .unwrap();
    assert_eq!(made.user.groups, ["users", "services", "user7", "ann"]);
    let groups = Some(vec!["drivers".to_string()]);
    let update = UserUpdate { username, password: None, locked: None, groups, keep_sessions: None };
    assert_eq!(root.call(&update).await.unwrap().user.groups, ["users", "drivers", "ann"]);
    let read = rows_read(&kernel) - before;
    assert!(read < 100, "{read} rows were read for one user of {USERS}");
}
