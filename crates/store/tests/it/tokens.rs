//! Tests of login tokens.

use protocol::identity::Role;
use protocol::ids::Uid;
use protocol::sys::token::TokenKind;
use store::accounts::EndSessions;
use store::tokens::{NewToken, Token};
use store::{Error, Store};

use crate::home::{NOW_MS, add};

crate::home::with_a_store_on_both_engines! {
    a_token_is_kept_as_given,
    a_hash_counts_only_for_its_user,
    lists_are_newest_first,
    revoking_is_repeatable_and_minds_the_user,
    ids_and_hashes_are_unique,
    the_sessions_of_a_user_end_but_one,
    a_token_is_revoked_with_its_family,
}

/// A device token whose id and hash are made of the name and the user.
pub fn token(name: &str, uid: Uid) -> NewToken {
    NewToken {
        token_id: format!("{name}-{uid}").into(),
        uid,
        kind: TokenKind::Node,
        label: Some(format!("node:{name}")),
        hash: format!("$token-sha256${name}-{uid}"),
        prefix: "gsv_node_abcdefg".to_string(),
        allowed_device_id: Some("pc".to_string()),
        created_at: NOW_MS,
        expires_at: Some(NOW_MS + 10),
        approve: false,
        parent_id: None,
    }
}

async fn keep(store: &Store, new: NewToken) -> Token {
    store.tokens().create(new).await.unwrap().unwrap()
}

async fn a_token_is_kept_as_given(store: &Store) {
    let ada = add(store, "ada").await;
    let kept = keep(store, token("t", ada.uid)).await;
    let expected = Token {
        token_id: "t-1000".into(),
        uid: ada.uid,
        kind: TokenKind::Node,
        label: Some("node:t".to_string()),
        hash: "$token-sha256$t-1000".to_string(),
        prefix: "gsv_node_abcdefg".to_string(),
        allowed_role: Role::Driver,
        allowed_device_id: Some("pc".to_string()),
        created_at: NOW_MS,
        last_used_at: None,
        expires_at: Some(NOW_MS + 10),
        revoked_at: None,
        revoked_reason: None,
        approve: false,
        parent_id: None,
    };
    assert_eq!(kept, expected);
    store.tokens().used(&kept.token_id, NOW_MS + 3).await.unwrap();
    store.tokens().used(&"unknown".into(), NOW_MS + 4).await.unwrap();
    let expected = Token { last_used_at: Some(NOW_MS + 3), ..expected };
    assert_eq!(store.tokens().by_hash(ada.uid, &expected.hash).await.unwrap(), Some(expected));
    let bare = NewToken {
        kind: TokenKind::User,
        label: None,
        allowed_device_id: None,
        expires_at: None,
        approve: true,
        ..token("u", ada.uid)
    };
    let bare = keep(store, bare).await;
    assert_eq!(
        (bare.allowed_role, bare.label, bare.allowed_device_id, bare.expires_at, bare.approve),
        (Role::User, None, None, None, true)
    );
}

async fn a_hash_counts_only_for_its_user(store: &Store) {
    let (ada, bob) = (add(store, "ada").await, add(store, "bob").await);
    let kept = keep(store, token("t", ada.uid)).await;
    assert_eq!(store.tokens().by_hash(bob.uid, &kept.hash).await.unwrap(), None);
    assert_eq!(store.tokens().by_hash(ada.uid, "$token-sha256$other").await.unwrap(), None);
    assert!(matches!(store.tokens().create(token("x", Uid(7))).await, Err(Error::Failed(_))), "no such user");
}

async fn lists_are_newest_first(store: &Store) {
    let (ada, bob) = (add(store, "ada").await, add(store, "bob").await);
    for (name, uid, created_at) in
        [("a", ada.uid, 1), ("b", bob.uid, 3), ("c", ada.uid, 2), ("d", ada.uid, 2)]
    {
        keep(store, NewToken { created_at, ..token(name, uid) }).await;
    }
    let ids = async |uid| {
        let tokens = store.tokens().of(uid).await.unwrap();
        tokens.into_iter().map(|token| token.token_id.0).collect::<Vec<String>>()
    };
    assert_eq!(ids(None).await, ["b-1001", "c-1000", "d-1000", "a-1000"]);
    assert_eq!(ids(Some(ada.uid)).await, ["c-1000", "d-1000", "a-1000"]);
    assert_eq!(ids(Some(Uid(7))).await, Vec::<String>::new());
}

async fn revoking_is_repeatable_and_minds_the_user(store: &Store) {
    let (ada, bob) = (add(store, "ada").await, add(store, "bob").await);
    let kept = keep(store, token("t", ada.uid)).await;
    assert!(store.tokens().revoke(&kept.token_id, Some(bob.uid), None, NOW_MS).await.unwrap().is_empty());
    assert!(store.tokens().revoke(&"unknown".into(), None, None, NOW_MS).await.unwrap().is_empty());
    assert_eq!(store.tokens().of(None).await.unwrap(), std::slice::from_ref(&kept));
    for (uid, reason, at) in [(Some(ada.uid), Some("lost"), 1), (None, None, 2)] {
        let revoked = store.tokens().revoke(&kept.token_id, uid, reason, NOW_MS + at).await.unwrap();
        assert_eq!(revoked, std::slice::from_ref(&kept.token_id));
        let now = store.tokens().by_hash(ada.uid, &kept.hash).await.unwrap().unwrap();
        assert_eq!((now.revoked_at, now.revoked_reason.as_deref()), (Some(NOW_MS + at), reason));
    }
}

async fn ids_and_hashes_are_unique(store: &Store) {
    let ada = add(store, "ada").await;
    keep(store, token("t", ada.uid)).await;
    let other = token("other", ada.uid);
    for twin in [
        NewToken { token_id: "t-1000".into(), ..other.clone() },
        NewToken { hash: "$token-sha256$t-1000".to_string(), ..other.clone() },
    ] {
        let id = twin.token_id.0.clone();
        let refused = store.tokens().create(twin).await;
        assert!(matches!(&refused, Err(Error::Conflict(what)) if *what == id), "{refused:?}");
    }
    keep(store, other).await;
}

async fn the_sessions_of_a_user_end_but_one(store: &Store) {
    let (ada, bob) = (add(store, "ada").await, add(store, "bob").await);
    for (name, uid, kind) in [
        ("own", ada.uid, TokenKind::User),
        ("other", ada.uid, TokenKind::User),
        ("old", ada.uid, TokenKind::User),
        ("device", ada.uid, TokenKind::Node),
        ("bobs", bob.uid, TokenKind::User),
    ] {
        let device = Some("pc".to_string()).filter(|_| kind == TokenKind::Node);
        let new = NewToken { kind, allowed_device_id: device, ..token(name, uid) };
        keep(store, new).await;
    }
    store.tokens().revoke(&"old-1000".into(), None, Some("lost"), NOW_MS).await.unwrap();
    let own = "own-1000".into();
    let ending =
        EndSessions { uid: ada.uid, hash: Some("$n"), but: Some(&own), reason: "changed", now_ms: 5 };
    assert_eq!(store.accounts().end_sessions(ending).await.unwrap(), Some(1));
    let now = store.accounts().by_uid(ada.uid).await.unwrap().unwrap();
    assert_eq!((now.hash.as_str(), now.changed_at, now.sessions_ended), ("$n", 5, 1));
    let mut alive: Vec<String> =
        store.tokens().not_revoked().await.unwrap().into_iter().map(|id| id.0).collect();
    alive.sort_unstable();
    assert_eq!(alive, ["bobs-1001", "device-1000", "own-1000"]);
    let old = store.tokens().by_hash(ada.uid, "$token-sha256$old-1000").await.unwrap().unwrap();
    assert_eq!(old.revoked_reason.as_deref(), Some("lost"), "it was over before");
    let ending = EndSessions { hash: None, but: None, now_ms: 6, ..ending };
    assert_eq!(store.accounts().end_sessions(ending).await.unwrap(), Some(2));
    let now = store.accounts().by_uid(ada.uid).await.unwrap().unwrap();
    assert_eq!((now.hash.as_str(), now.changed_at), ("$n", 5), "the password is the same");
    assert!(!store.tokens().not_revoked().await.unwrap().contains(&own));
    let nobody = EndSessions { uid: Uid(7), ..ending };
    assert_eq!(store.accounts().end_sessions(nobody).await.unwrap(), None);
}

async fn a_token_is_revoked_with_its_family(store: &Store) {
    let (ada, bob) = (add(store, "ada").await, add(store, "bob").await);
    for (name, uid, parent) in [
        ("root", ada.uid, None),
        ("child", ada.uid, Some("root-1000")),
        ("grandchild", bob.uid, Some("child-1000")),
        ("gone", ada.uid, Some("child-1000")),
        ("sibling", ada.uid, None),
        ("nephew", ada.uid, Some("sibling-1000")),
    ] {
        keep(store, NewToken { parent_id: parent.map(Into::into), ..token(name, uid) }).await;
    }
    store.tokens().revoke(&"gone-1000".into(), None, Some("lost"), 1).await.unwrap();
    let none = store.tokens().revoke(&"root-1000".into(), Some(bob.uid), None, 2).await.unwrap();
    assert!(none.is_empty(), "whoever may not revoke it does not revoke what was made with it");
    let mut revoked =
        store.tokens().revoke(&"root-1000".into(), Some(ada.uid), Some("stolen"), 3).await.unwrap();
    revoked.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(revoked, ["child-1000", "grandchild-1001", "root-1000"].map(Into::into));
    let reason = async |uid, name: &str| {
        let hash = format!("$token-sha256${name}");
        store.tokens().by_hash(uid, &hash).await.unwrap().unwrap().revoked_reason.unwrap()
    };
    assert_eq!(reason(ada.uid, "root-1000").await, "stolen");
    assert_eq!(reason(bob.uid, "grandchild-1001").await, "made with a token that was revoked");
    assert_eq!(reason(ada.uid, "gone-1000").await, "lost");
    let alive = store.tokens().not_revoked().await.unwrap();
    assert_eq!(alive, ["sibling-1000", "nephew-1000"].map(Into::into).into());
    let late = NewToken { parent_id: Some("child-1000".into()), ..token("late", ada.uid) };
    assert_eq!(store.tokens().create(late).await.unwrap(), None, "its parent was revoked meanwhile");
}
