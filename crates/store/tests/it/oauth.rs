//! Tests of OAuth flows and accounts, and that their secrets cannot be read in the database.

use std::collections::BTreeMap;

use protocol::ids::Uid;
use protocol::sys::oauth::{ConnectionKind, Flow};
use store::oauth::{NewAccount, NewFlow, Secret, Tokens};
use store::{Error, Store};

use crate::home::{Home, NOW_MS, add, provisioned};

crate::home::with_a_store_on_both_engines! {
    a_flow_waits_until_it_is_over,
    a_user_has_only_so_many_flows,
    a_flow_leads_to_one_account,
    an_account_that_is_connected_again_stays_the_same,
    accounts_are_listed_used_and_forgotten,
    what_a_removed_user_had_is_gone,
}

mod at_rest {
    use super::{
        a_missing_or_wrong_key_is_refused, a_token_moved_to_another_account_does_not_open,
        tokens_are_not_readable_in_the_database,
    };

    crate::home::on_both_engines! {
        tokens_are_not_readable_in_the_database,
        a_missing_or_wrong_key_is_refused,
        a_token_moved_to_another_account_does_not_open,
    }
}

const ACCESS: &str = "access-token-0001";
const REFRESH: &str = "refresh-token-0001";
const VERIFIER: &str = "code-verifier-0001";

fn flow(id: &str, uid: Uid, created_at: i64) -> NewFlow {
    NewFlow {
        flow: Flow {
            flow_id: id.to_string(),
            uid,
            kind: ConnectionKind::Generic,
            provider: "example".to_string(),
            account_key: "default".to_string(),
            label: Some("Example".to_string()),
            authorization_endpoint: "https://example.com/authorize".to_string(),
            token_endpoint: "https://example.com/token".to_string(),
            client_id: "client".to_string(),
            redirect_uri: "https://gsv.example/oauth/callback".to_string(),
            scope: None,
            resource: Some("https://example.com/api".to_string()),
            created_at,
            expires_at: created_at + 600_000,
            issuer: None,
        },
        state_hash: format!("hash of {id}"),
        extra_params: BTreeMap::from([("prompt".to_string(), "consent".to_string())]),
        code_verifier: Secret(VERIFIER.to_string()),
    }
}

fn account(id: &str, uid: Uid, now_ms: i64) -> NewAccount {
    NewAccount {
        account_id: id.to_string(),
        uid,
        kind: ConnectionKind::Generic,
        provider: "example".to_string(),
        account_key: "default".to_string(),
        label: None,
        scope: Some("read".to_string()),
        resource: None,
        client_id: "client".to_string(),
        token_endpoint: "https://example.com/token".to_string(),
        tokens: Tokens {
            token_type: "Bearer".to_string(),
            access_token: Secret(ACCESS.to_string()),
            refresh_token: Some(Secret(REFRESH.to_string())),
        },
        expires_at: Some(now_ms + 3_600_000),
        metadata: serde_json::Map::from_iter([("authorizedAt".to_string(), now_ms.into())]),
        now_ms,
    }
}

/// Goes through a whole flow.
async fn connect(store: &Store, new: NewAccount) -> protocol::sys::oauth::Account {
    let flow = flow(&format!("for {}", new.account_id), new.uid, new.now_ms);
    assert!(store.oauth().add_flow(flow.clone(), 100).await.unwrap());
    store.oauth().keep_account(&flow.flow.flow_id, new).await.unwrap().unwrap()
}

async fn a_flow_waits_until_it_is_over(store: &Store) {
    let (ada, bob) = (add(store, "ada").await.uid, add(store, "bob").await.uid);
    for (id, uid, at) in [("1", ada, NOW_MS), ("2", bob, NOW_MS + 1), ("3", ada, NOW_MS + 2)] {
        assert!(store.oauth().add_flow(flow(id, uid, at), 100).await.unwrap());
    }
    let ids = async |uid, now_ms| {
        let flows = store.oauth().flows(uid, now_ms).await.unwrap();
        flows.into_iter().map(|flow| flow.flow_id).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(ids(None, NOW_MS).await, "3 2 1");
    assert_eq!(ids(Some(ada), NOW_MS).await, "3 1");
    assert_eq!(ids(Some(ada), NOW_MS + 600_000).await, "3");
    let found = store.oauth().flow("hash of 1", NOW_MS).await.unwrap().unwrap();
    assert_eq!((found.flow, found.code_verifier.0.as_str()), (flow("1", ada, NOW_MS).flow, VERIFIER));
    assert_eq!(store.oauth().flow("hash of 1", NOW_MS + 600_000).await.unwrap(), None);
    assert_eq!(store.oauth().flow("hash of 9", NOW_MS).await.unwrap(), None);
    let twice =
        store.oauth().add_flow(NewFlow { state_hash: "hash of 3".into(), ..flow("4", ada, NOW_MS) }, 100);
    assert!(matches!(twice.await, Err(Error::Conflict(_))));
    assert!(store.oauth().remove_flow("3").await.unwrap());
    assert!(!store.oauth().remove_flow("3").await.unwrap());
}

async fn a_user_has_only_so_many_flows(store: &Store) {
    let ada = add(store, "ada").await.uid;
    assert!(store.oauth().add_flow(flow("1", ada, NOW_MS), 2).await.unwrap());
    assert!(store.oauth().add_flow(flow("2", ada, NOW_MS), 2).await.unwrap());
    assert!(!store.oauth().add_flow(flow("3", ada, NOW_MS + 1), 2).await.unwrap());
    assert!(store.oauth().add_flow(flow("4", ada, NOW_MS + 600_000), 2).await.unwrap(), "the first are over");
}

async fn a_flow_leads_to_one_account(store: &Store) {
    let ada = add(store, "ada").await.uid;
    assert!(store.oauth().add_flow(flow("f", ada, NOW_MS), 100).await.unwrap());
    let first = store.oauth().keep_account("f", account("a", ada, NOW_MS)).await.unwrap().unwrap();
    assert_eq!(first.account_id, "a");
    assert_eq!(store.oauth().keep_account("f", account("b", ada, NOW_MS)).await.unwrap(), None);
    assert_eq!(store.oauth().accounts(None).await.unwrap(), [first]);
    assert!(store.oauth().flows(None, NOW_MS).await.unwrap().is_empty());
}

async fn an_account_that_is_connected_again_stays_the_same(store: &Store) {
    let ada = add(store, "ada").await.uid;
    let first = connect(store, account("a", ada, NOW_MS)).await;
    store.oauth().use_account("a", NOW_MS + 5).await.unwrap().unwrap();
    let mut again = account("b", ada, NOW_MS + 10);
    again.tokens.access_token = Secret("second".to_string());
    again.tokens.refresh_token = None;
    again.label = Some("mine".to_string());
    let second = connect(store, again).await;
    assert_eq!((second.account_id.as_str(), second.created_at), ("a", first.created_at));
    assert_eq!((second.updated_at, second.last_used_at), (NOW_MS + 10, Some(NOW_MS + 5)));
    assert_eq!(second.label.as_deref(), Some("mine"));
    let tokens = store.oauth().use_account("a", NOW_MS + 20).await.unwrap().unwrap();
    assert_eq!((tokens.access_token.0.as_str(), tokens.refresh_token), ("second", None));
    let other = NewAccount { account_key: "work".to_string(), ..account("c", ada, NOW_MS) };
    assert_eq!(connect(store, other).await.account_id, "c");
}

async fn accounts_are_listed_used_and_forgotten(store: &Store) {
    let (ada, bob) = (add(store, "ada").await.uid, add(store, "bob").await.uid);
    connect(store, account("a", ada, NOW_MS)).await;
    connect(store, account("b", bob, NOW_MS + 1)).await;
    let ids = async |uid| {
        let accounts = store.oauth().accounts(uid).await.unwrap();
        accounts.into_iter().map(|account| account.account_id).collect::<Vec<_>>().join(" ")
    };
    assert_eq!((ids(None).await.as_str(), ids(Some(ada)).await.as_str()), ("b a", "a"));
    let tokens = store.oauth().use_account("b", NOW_MS + 7).await.unwrap().unwrap();
    assert_eq!(tokens, account("b", bob, NOW_MS).tokens);
    assert_eq!(store.oauth().accounts(Some(bob)).await.unwrap()[0].last_used_at, Some(NOW_MS + 7));
    assert_eq!(store.oauth().use_account("nobody", NOW_MS).await.unwrap(), None);
    assert!(!store.oauth().remove_account("b", Some(ada)).await.unwrap());
    assert!(store.oauth().remove_account("b", Some(bob)).await.unwrap());
    assert!(store.oauth().remove_account("a", None).await.unwrap());
    assert_eq!(ids(None).await, "");
}

async fn what_a_removed_user_had_is_gone(store: &Store) {
    let (ada, bob) = (add(store, "ada").await, add(store, "bob").await);
    connect(store, account("a", ada.uid, NOW_MS)).await;
    assert!(store.oauth().add_flow(flow("f", ada.uid, NOW_MS), 100).await.unwrap());
    connect(store, account("b", bob.uid, NOW_MS)).await;
    assert!(store.accounts().remove(ada.uid).await.unwrap().is_some());
    assert_eq!(store.oauth().accounts(None).await.unwrap().len(), 1);
    assert!(store.oauth().flows(None, NOW_MS).await.unwrap().is_empty());
}

/// A store with one account and one flow, closed again.
async fn filled(home: &Home) -> Uid {
    let store = provisioned(home).await;
    let ada = add(&store, "ada").await.uid;
    connect(&store, account("a", ada, NOW_MS)).await;
    assert!(store.oauth().add_flow(flow("f", ada, NOW_MS), 100).await.unwrap());
    ada
}

/// Every byte the two tables keep.
async fn raw(home: &Home) -> String {
    let Some(url) = &home.url else {
        let files = ["gsv.db", "gsv.db-wal"].map(|file| home.data.path().join(file));
        let bytes: Vec<u8> = files.iter().filter_map(|file| std::fs::read(file).ok()).flatten().collect();
        return String::from_utf8_lossy(&bytes).into_owned();
    };
    let connection = crate::postgres::connect(url).await;
    let mut out = String::new();
    for sql in ["SELECT f::text FROM oauth_flows f", "SELECT a::text FROM oauth_accounts a"] {
        let rows = connection.query(sql, &[]).await.unwrap();
        out.extend(rows.iter().map(|row| row.get::<_, String>(0)));
    }
    out
}

async fn tokens_are_not_readable_in_the_database(home: &Home) {
    filled(home).await;
    let raw = raw(home).await;
    assert!(raw.contains("https://example.com/token") && raw.contains("Bearer"));
    for secret in [ACCESS, REFRESH, VERIFIER] {
        assert!(!raw.contains(secret), "{secret}");
    }
    let tokens = home.open().await.oauth().use_account("a", NOW_MS).await.unwrap().unwrap();
    assert_eq!(tokens.access_token.0, ACCESS);
    assert!(!format!("{tokens:?}").contains(ACCESS));
}

async fn a_missing_or_wrong_key_is_refused(home: &Home) {
    filled(home).await;
    let key = home.data.path().join("keys/secrets.key");
    std::fs::remove_file(&key).unwrap();
    let refusal = home.refusal().await;
    assert!(refusal.contains("keys/secrets.key is missing"), "{refusal}");
    let other = Home::sqlite();
    drop(other.open().await);
    std::fs::copy(other.data.path().join("keys/secrets.key"), &key).unwrap();
    let refusal = home.refusal().await;
    assert!(refusal.contains("secrets.key is not the key"), "{refusal}");
}

async fn a_token_moved_to_another_account_does_not_open(home: &Home) {
    filled(home).await;
    home.tamper("UPDATE oauth_accounts SET account_key = 'another'").await;
    home.tamper("UPDATE oauth_flows SET flow_id = 'another'").await;
    let store = home.open().await;
    let moved = store.oauth().use_account("a", NOW_MS).await;
    assert!(matches!(&moved, Err(Error::Failed(why)) if why.contains("cannot be decrypted")), "{moved:?}");
    let moved = store.oauth().flow("hash of f", NOW_MS).await;
    assert!(matches!(&moved, Err(Error::Failed(why)) if why.contains("cannot be decrypted")), "{moved:?}");
}
