//! Tests of login tokens.

use protocol::identity::Role;
use protocol::ids::Uid;
use protocol::sys::token::TokenKind;
use store::tokens::{NewToken, Token};
use store::{Error, Store};

use crate::home::{NOW_MS, add};

crate::home::with_a_store_on_both_engines! {
    a_token_is_kept_as_given,
    a_hash_counts_only_for_its_user,
    lists_are_newest_first,
    revoking_is_repeatable_and_minds_the_user,
    ids_and_hashes_are_unique,
    all_of_a_kind_are_revoked_but_one,
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
    }
}

async fn a_token_is_kept_as_given(store: &Store) {
    let ada = add(store, "ada").await;
    let kept = store.tokens().create(token("t", ada.uid)).await.unwrap();
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
    let bare = store.tokens().create(bare).await.unwrap();
    assert_eq!(
        (bare.allowed_role, bare.label, bare.allowed_device_id, bare.expires_at, bare.approve),
        (Role::User, None, None, None, true)
    );
}

async fn a_hash_counts_only_for_its_user(store: &Store) {
    let (ada, bob) = (add(store, "ada").await, add(store, "bob").await);
    let kept = store.tokens().create(token("t", ada.uid)).await.unwrap();
    assert_eq!(store.tokens().by_hash(bob.uid, &kept.hash).await.unwrap(), None);
    assert_eq!(store.tokens().by_hash(ada.uid, "$token-sha256$other").await.unwrap(), None);
    assert!(matches!(store.tokens().create(token("x", Uid(7))).await, Err(Error::Failed(_))), "no such user");
}

async fn lists_are_newest_first(store: &Store) {
    let (ada, bob) = (add(store, "ada").await, add(store, "bob").await);
    for (name, uid, created_at) in
        [("a", ada.uid, 1), ("b", bob.uid, 3), ("c", ada.uid, 2), ("d", ada.uid, 2)]
    {
        store.tokens().create(NewToken { created_at, ..token(name, uid) }).await.unwrap();
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
    let kept = store.tokens().create(token("t", ada.uid)).await.unwrap();
    assert!(!store.tokens().revoke(&kept.token_id, Some(bob.uid), None, NOW_MS).await.unwrap());
    assert!(!store.tokens().revoke(&"unknown".into(), None, None, NOW_MS).await.unwrap());
    assert_eq!(store.tokens().of(None).await.unwrap(), std::slice::from_ref(&kept));
    for (uid, reason, at) in [(Some(ada.uid), Some("lost"), 1), (None, None, 2)] {
        assert!(store.tokens().revoke(&kept.token_id, uid, reason, NOW_MS + at).await.unwrap());
        let now = store.tokens().by_hash(ada.uid, &kept.hash).await.unwrap().unwrap();
        assert_eq!((now.revoked_at, now.revoked_reason.as_deref()), (Some(NOW_MS + at), reason));
    }
}

async fn ids_and_hashes_are_unique(store: &Store) {
    let ada = add(store, "ada").await;
    store.tokens().create(token("t", ada.uid)).await.unwrap();
    let other = token("other", ada.uid);
    for twin in [
        NewToken { token_id: "t-1000".into(), ..other.clone() },
        NewToken { hash: "$token-sha256$t-1000".to_string(), ..other.clone() },
    ] {
        let id = twin.token_id.0.clone();
        let refused = store.tokens().create(twin).await;
        assert!(matches!(&refused, Err(Error::Conflict(what)) if *what == id), "{refused:?}");
    }
    store.tokens().create(other).await.unwrap();
}

async fn all_of_a_kind_are_revoked_but_one(store: &Store) {
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
        store.tokens().create(new).await.unwrap();
    }
    store.tokens().revoke(&"old-1000".into(), None, Some("lost"), NOW_MS).await.unwrap();
    let own = "own-1000".into();
    let ended =
        store.tokens().revoke_all(ada.uid, TokenKind::User, Some(&own), "changed", NOW_MS + 5).await.unwrap();
    assert_eq!(ended, ["other-1000".into()], "neither the old one nor those of others");
    let rows = store.tokens().of(None).await.unwrap();
    let alive = rows.iter().filter(|row| row.revoked_at.is_none()).map(|row| row.token_id.0.as_str());
    let mut alive: Vec<&str> = alive.collect();
    alive.sort_unstable();
    assert_eq!(alive, ["bobs-1001", "device-1000", "own-1000"]);
    let ended =
        store.tokens().revoke_all(ada.uid, TokenKind::User, None, "changed", NOW_MS + 6).await.unwrap();
    assert_eq!(ended, ["own-1000".into()]);
}
