//! Tests of the rows of workspaces.

use protocol::ids::Uid;
use protocol::proc::WorkspaceKind;
use protocol::sys::workspace::WorkspaceState;
use store::Store;
use store::change::Change;
use store::processes::{Activity, ProcessRow, ProcessState};
use store::workspaces::{DEFAULT_BRANCH, Filter, WorkspaceRow};

use crate::home::{NOW_MS, add};
use crate::processes::process;

crate::home::with_a_store_on_both_engines! {
    a_workspace_is_kept_as_given,
    a_user_has_only_so_many,
    lists_are_filtered_and_newest_first,
    it_is_archived_only_while_nothing_happens_in_it,
    what_is_used_is_touched_unless_it_is_archived,
    a_removed_user_leaves_none,
    a_checkpoint_is_kept_with_its_process,
}

fn workspace(id: &str, uid: Uid) -> WorkspaceRow {
    WorkspaceRow {
        workspace_id: id.to_string(),
        owner_uid: uid,
        owner_username: "ada".to_string(),
        label: Some("a note".to_string()),
        kind: WorkspaceKind::Thread,
        state: WorkspaceState::Active,
        created_at: NOW_MS,
        updated_at: NOW_MS,
        default_branch: DEFAULT_BRANCH.to_string(),
    }
}

async fn made(store: &Store, row: &WorkspaceRow) {
    assert!(store.workspaces().create(row, 100).await.unwrap());
}

async fn a_workspace_is_kept_as_given(store: &Store) {
    assert!(!store.workspaces().create(&workspace("ws_1", Uid(1000)), 100).await.unwrap(), "no such user");
    let ada = add(store, "ada").await;
    let row = WorkspaceRow { kind: WorkspaceKind::Shared, label: None, ..workspace("ws_1", ada.uid) };
    made(store, &row).await;
    assert!(!store.workspaces().create(&row, 100).await.unwrap());
    assert_eq!(store.workspaces().by_id("ws_1").await.unwrap(), Some(row));
    assert_eq!(store.workspaces().by_id("ws_2").await.unwrap(), None);
    store.workspaces().remove("ws_1").await.unwrap();
    assert_eq!(store.workspaces().by_id("ws_1").await.unwrap(), None);
}

async fn a_user_has_only_so_many(store: &Store) {
    let ada = add(store, "ada").await;
    assert!(store.workspaces().create(&workspace("ws_1", ada.uid), 1).await.unwrap());
    assert!(!store.workspaces().create(&workspace("ws_2", ada.uid), 1).await.unwrap());
    assert!(store.workspaces().archive("ws_1", NOW_MS).await.unwrap());
    assert!(
        store.workspaces().create(&workspace("ws_2", ada.uid), 1).await.unwrap(),
        "archived ones are free"
    );
}

async fn lists_are_filtered_and_newest_first(store: &Store) {
    let (ada, bob) = (add(store, "ada").await, add(store, "bob").await);
    made(store, &workspace("ws_1", ada.uid)).await;
    made(store, &WorkspaceRow { kind: WorkspaceKind::App, ..workspace("ws_2", ada.uid) }).await;
    made(store, &workspace("ws_3", bob.uid)).await;
    assert!(store.workspaces().touch("ws_1", NOW_MS + 5).await.unwrap());
    assert!(store.workspaces().archive("ws_2", NOW_MS + 6).await.unwrap());
    let ids = |filter: Filter| async move {
        let rows = store.workspaces().list(filter).await.unwrap();
        rows.into_iter().map(|row| row.workspace_id).collect::<Vec<_>>()
    };
    let of = Filter { uid: Some(ada.uid), ..Filter::default() };
    assert_eq!(ids(Filter::default()).await, ["ws_2", "ws_1", "ws_3"]);
    assert_eq!(ids(of).await, ["ws_2", "ws_1"]);
    assert_eq!(ids(Filter { kind: Some(WorkspaceKind::App), ..of }).await, ["ws_2"]);
    assert_eq!(ids(Filter { state: Some(WorkspaceState::Active), ..of }).await, ["ws_1"]);
    assert_eq!(ids(Filter { limit: Some(1), ..of }).await, ["ws_2"]);
    assert_eq!(ids(Filter { limit: Some(u64::MAX), ..of }).await, ["ws_2", "ws_1"]);
}

fn in_workspace(pid: &str, uid: Uid, created_at: i64) -> ProcessRow {
    ProcessRow { workspace_id: Some("ws_1".to_string()), ..process(pid, uid.0, created_at) }
}

async fn it_is_archived_only_while_nothing_happens_in_it(store: &Store) {
    let ada = add(store, "ada").await;
    made(store, &workspace("ws_1", ada.uid)).await;
    for (pid, created_at) in [("p", NOW_MS), ("q", NOW_MS + 1), ("gone", NOW_MS + 2)] {
        assert!(store.processes().create(&in_workspace(pid, ada.uid, created_at)).await.unwrap());
    }
    store.keep(Change::new(&"gone".into()).exit(NOW_MS + 3)).await.unwrap();
    let occupants = store.workspaces().occupants(Some(ada.uid)).await.unwrap();
    assert_eq!(occupants.iter().map(|one| one.pid.as_str()).collect::<Vec<_>>(), ["q", "p"]);
    assert_eq!(store.workspaces().occupants_of("ws_1").await.unwrap(), occupants);
    assert_eq!(store.workspaces().occupants(Some(Uid(0))).await.unwrap(), []);
    let queued = Activity { state: ProcessState::Queued, run: None, next_message_id: 1, now_ms: NOW_MS };
    store.keep(Change::new(&"p".into()).activity(queued)).await.unwrap();
    assert!(!store.workspaces().archive("ws_1", NOW_MS + 1).await.unwrap());
    assert_eq!(store.workspaces().busy("ws_1").await.unwrap(), Some("p".into()));
    let idle = Activity { state: ProcessState::Idle, ..queued };
    store.keep(Change::new(&"p".into()).activity(idle)).await.unwrap();
    assert_eq!(store.workspaces().busy("ws_1").await.unwrap(), None);
    assert!(store.workspaces().archive("ws_1", NOW_MS + 1).await.unwrap());
    assert!(!store.workspaces().archive("ws_1", NOW_MS + 1).await.unwrap(), "it is already");
    assert!(store.workspaces().restore("ws_1", NOW_MS + 2).await.unwrap());
    assert!(!store.workspaces().restore("ws_1", NOW_MS + 2).await.unwrap(), "it is already");
}

async fn what_is_used_is_touched_unless_it_is_archived(store: &Store) {
    let ada = add(store, "ada").await;
    made(store, &workspace("ws_1", ada.uid)).await;
    let updated_at = || async { store.workspaces().by_id("ws_1").await.unwrap().unwrap().updated_at };
    assert!(store.workspaces().touch("ws_1", NOW_MS + 5).await.unwrap());
    assert!(store.workspaces().touch("ws_1", NOW_MS + 3).await.unwrap(), "a clock that went back");
    assert_eq!(updated_at().await, NOW_MS + 5);
    assert!(store.workspaces().archive("ws_1", NOW_MS + 6).await.unwrap());
    assert!(!store.workspaces().touch("ws_1", NOW_MS + 7).await.unwrap());
    assert_eq!(updated_at().await, NOW_MS + 6);
    assert!(!store.workspaces().touch("ws_2", NOW_MS).await.unwrap());
}

async fn a_removed_user_leaves_none(store: &Store) {
    let (ada, bob) = (add(store, "ada").await, add(store, "bob").await);
    made(store, &workspace("ws_1", ada.uid)).await;
    made(store, &workspace("ws_2", bob.uid)).await;
    store.accounts().remove(ada.uid).await.unwrap();
    let left = store.workspaces().list(Filter::default()).await.unwrap();
    assert_eq!(left.iter().map(|row| row.workspace_id.as_str()).collect::<Vec<_>>(), ["ws_2"]);
}

async fn a_checkpoint_is_kept_with_its_process(store: &Store) {
    let ada = add(store, "ada").await;
    assert!(store.processes().create(&in_workspace("p", ada.uid, NOW_MS)).await.unwrap());
    store.keep(Change::new(&"p".into()).checkpointed(7)).await.unwrap();
    let row = store.processes().by_id(&"p".into()).await.unwrap().unwrap();
    assert_eq!((row.checkpointed_id, row.workspace_id.as_deref()), (7, Some("ws_1")));
}
