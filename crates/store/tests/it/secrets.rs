//! Tests of encryption at rest, and of the key that must fit.

use std::os::unix::fs::PermissionsExt;

use store::Error;

use crate::home::{Home, provisioned};

crate::home::on_both_engines! {
    secrets_are_not_readable_in_the_database,
    a_missing_key_is_refused_only_when_it_is_needed,
    a_wrong_key_is_refused,
    a_key_others_can_read_is_refused,
    a_damaged_key_is_refused,
    a_value_moved_to_another_key_does_not_open,
}

const KEY: &str = "config/ai/api_key";

fn key_file(home: &Home) -> std::path::PathBuf {
    home.data.path().join("keys/secrets.key")
}

/// Every byte the database keeps.
async fn raw(home: &Home) -> Vec<u8> {
    match &home.url {
        None => ["gsv.db", "gsv.db-wal"]
            .iter()
            .filter_map(|file| std::fs::read(home.data.path().join(file)).ok())
            .flatten()
            .collect(),
        Some(url) => {
            let rows = crate::postgres::connect(url)
                .await
                .query("SELECT key, value FROM config", &[])
                .await
                .unwrap();
            let text = |row: &tokio_postgres::Row| row.get::<_, String>(0) + "\n" + &row.get::<_, String>(1);
            rows.iter().map(text).collect::<Vec<String>>().join("\n").into_bytes()
        }
    }
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

async fn secrets_are_not_readable_in_the_database(home: &Home) {
    let store = provisioned(home).await;
    store.config().set(KEY, "sk-very-secret-0001").await.unwrap();
    store.config().set("config/ai/model", "plain-to-see-0001").await.unwrap();
    let bytes = raw(home).await;
    assert!(contains(&bytes, "plain-to-see-0001") && contains(&bytes, KEY));
    assert!(!contains(&bytes, "sk-very-secret-0001") && !contains(&bytes, "very-secret"));
    drop(store);
    assert!(!contains(&raw(home).await, "very-secret"));
    let store = home.open().await;
    assert_eq!(store.config().value(KEY).await.unwrap().as_deref(), Some("sk-very-secret-0001"));
    assert_eq!(store.config().below("config/ai").await.unwrap()[0].1, "sk-very-secret-0001");
}

async fn a_missing_key_is_refused_only_when_it_is_needed(home: &Home) {
    drop(provisioned(home).await);
    std::fs::remove_file(key_file(home)).unwrap();
    let store = home.open().await;
    store.config().set(KEY, "hush").await.unwrap();
    drop(store);
    let key = std::fs::read(key_file(home)).unwrap();
    std::fs::remove_file(key_file(home)).unwrap();
    let refusal = home.refusal().await;
    assert!(refusal.contains("keys/secrets.key is missing"), "{refusal}");
    assert!(!key_file(home).exists(), "no new key was made");
    std::fs::write(key_file(home), key).unwrap();
    std::fs::set_permissions(key_file(home), std::fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(home.open().await.config().value(KEY).await.unwrap().as_deref(), Some("hush"));
}

async fn a_wrong_key_is_refused(home: &Home) {
    let store = home.open().await;
    store.config().set(KEY, "hush").await.unwrap();
    drop(store);
    let other = Home::sqlite();
    drop(other.open().await);
    std::fs::copy(key_file(&other), key_file(home)).unwrap();
    let refusal = home.refusal().await;
    assert!(refusal.contains("secrets.key is not the key"), "{refusal}");
}

async fn a_key_others_can_read_is_refused(home: &Home) {
    drop(home.open().await);
    std::fs::set_permissions(key_file(home), std::fs::Permissions::from_mode(0o640)).unwrap();
    let refusal = home.refusal().await;
    assert!(refusal.contains("can be read by others (mode 0640): run chmod 600 "), "{refusal}");
}

async fn a_damaged_key_is_refused(home: &Home) {
    drop(home.open().await);
    std::fs::write(key_file(home), "gsv-key-1:AAAA\n").unwrap();
    let refusal = home.refusal().await;
    assert!(refusal.contains("secrets.key cannot be used"), "{refusal}");
}

async fn a_value_moved_to_another_key_does_not_open(home: &Home) {
    let store = home.open().await;
    store.config().set("users/1000/ai/api_key", "ada's").await.unwrap();
    drop(store);
    home.tamper("UPDATE config SET key = 'users/1001/ai/api_key'").await;
    let store = home.open().await;
    let refused = store.config().value("users/1001/ai/api_key").await;
    assert!(
        matches!(&refused, Err(Error::Failed(why)) if why.contains("cannot be decrypted")),
        "{refused:?}"
    );
}
