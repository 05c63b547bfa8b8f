//! Tests of PostgreSQL alone: another gateway elsewhere, and connections that break.

use std::time::Duration;

use protocol::ids::Uid;
use store::{OpenError, Options, Store};

use crate::home::{Home, add, provisioned};

#[tokio::test]
async fn a_second_gateway_with_its_own_directory_is_refused() {
    let home = Home::postgres().await;
    let store = provisioned(&home).await;
    let elsewhere = Home { data: tempfile::tempdir().unwrap(), url: home.url.clone() };
    match elsewhere.try_open().await.err() {
        Some(OpenError::Held(place)) => {
            assert!(place.starts_with("the PostgreSQL database store_"), "{place}")
        }
        other => panic!("{other:?}"),
    }
    drop(store);
    elsewhere.open().await;
}

#[tokio::test]
async fn broken_connections_are_replaced() {
    let home = Home::postgres().await;
    let store = provisioned(&home).await;
    let url = home.url.clone().unwrap();
    let other = crate::postgres::connect(&url).await;
    for name in ["ada", "bob"] {
        let others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
        other.batch_execute(&format!("SELECT pg_terminate_backend(pid) {others}")).await.unwrap();
        loop {
            let row = other.query_one(&format!("SELECT COUNT(*) {others}"), &[]).await.unwrap();
            if row.get::<_, i64>(0) == 0 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        add(&store, name).await;
        assert!(store.accounts().by_name(name).await.unwrap().is_some());
    }
    let elsewhere = Home { data: tempfile::tempdir().unwrap(), url: home.url.clone() };
    assert!(matches!(elsewhere.try_open().await, Err(OpenError::Held(_))), "the lock was taken again");
}

#[tokio::test]
async fn a_database_taken_by_another_is_not_written() {
    let home = Home::postgres().await;
    let store = provisioned(&home).await;
    let other = crate::postgres::connect(home.url.as_deref().unwrap()).await;
    let lock = i64::from_be_bytes(*b"gsvstore");
    let holder = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted \
                  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    other.batch_execute(holder).await.unwrap();
    other.query_one("SELECT pg_advisory_lock($1)", &[&lock]).await.unwrap();
    // The gateway's end of the connection notices in its own time.
    let refused = loop {
        match store.accounts().set_locked(Uid::ROOT, true).await {
            Ok(_) => tokio::time::sleep(Duration::from_millis(5)).await,
            Err(error) => break error,
        }
    };
    assert!(refused.to_string().contains("another gateway has taken"), "{refused}");
    other.query_one("SELECT pg_advisory_unlock($1)", &[&lock]).await.unwrap();
    assert!(store.accounts().set_locked(Uid::ROOT, false).await.unwrap());
}

#[tokio::test]
async fn an_unreachable_database_is_refused_without_showing_its_password() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    for url in [
        format!("postgres://me:hunter2@127.0.0.1:{free}/db"),
        "postgres://me:hunter2@host:port/db".to_string(),
    ] {
        let data = tempfile::tempdir().unwrap();
        let error =
            Store::open(&Options { data: data.path().to_path_buf(), url: Some(url) }).await.err().unwrap();
        assert!(matches!(error, OpenError::Failed(_)), "{error:?}");
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
}
