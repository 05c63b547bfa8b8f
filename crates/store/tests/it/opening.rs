//! Tests of opening, refusing to open, and what survives closing.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use store::{OpenError, Options, Store};

use crate::home::{Home, NOW_MS, add, provisioned};

crate::home::on_both_engines! {
    what_was_written_is_there_after_opening_again,
    a_held_store_is_refused_until_it_is_let_go,
    a_newer_schema_is_refused_and_left_alone,
    an_older_store_is_brought_up_to_date_and_keeps_everything,
    a_route_of_an_older_store_keeps_the_id_its_driver_knows,
    a_clone_keeps_it_open,
    closing_leaves_it_ready_for_the_next,
    metrics_count,
    a_damaged_row_is_an_error,
}

async fn what_was_written_is_there_after_opening_again(home: &Home) {
    let store = provisioned(home).await;
    let ada = add(&store, "ada").await;
    drop(store);
    let store = home.open().await;
    assert_eq!(store.accounts().by_name("ada").await.unwrap(), Some(ada));
    store.provision(NOW_MS + 1).await.unwrap();
    assert_eq!(store.accounts().all().await.unwrap().len(), 2);
}

async fn a_held_store_is_refused_until_it_is_let_go(home: &Home) {
    let store = home.open().await;
    match home.try_open().await.err() {
        Some(OpenError::Held(place)) => assert_eq!(Path::new(&place), home.data.path()),
        other => panic!("{other:?}"),
    }
    drop(store);
    home.open().await;
}

async fn a_newer_schema_is_refused_and_left_alone(home: &Home) {
    drop(provisioned(home).await);
    home.tamper("UPDATE meta SET version = 4711 WHERE name = 'schema'").await;
    let error = home.try_open().await.err().unwrap();
    assert!(matches!(error, OpenError::Newer { found: 4711, .. }), "{error:?}");
    assert!(error.to_string().ends_with(": update gsv"), "{error}");
    let ours = match error {
        OpenError::Newer { ours, .. } => ours,
        other => panic!("{other:?}"),
    };
    home.tamper(&format!("UPDATE meta SET version = {ours} WHERE name = 'schema'")).await;
    assert_eq!(home.open().await.accounts().all().await.unwrap().len(), 1);
}

async fn an_older_store_is_brought_up_to_date_and_keeps_everything(home: &Home) {
    let rows = "INSERT INTO accounts VALUES (1000, 1000, 'ada', 'Ada', '/home/ada', '/bin/sh', 'x', 0, 5);\n\
         UPDATE numbers SET latest = 1000 WHERE name = 'account';\n\
         INSERT INTO config VALUES ('a/b', 'c', 0);\n\
         INSERT INTO routes VALUES ('1', 'fs.read', 'init:1000', '7', 'pc', 1, 2);\n";
    older(home, &[include_str!("../../migrations/0001_first.sql")], rows).await;
    for _ in 0..2 {
        let store = home.open().await;
        let ada = store.accounts().by_name("ada").await.unwrap().unwrap();
        assert_eq!((ada.uid.0, ada.home.as_str()), (1000, "/home/ada"));
        assert_eq!(store.config().value("a/b").await.unwrap().as_deref(), Some("c"));
        let routes = store.routes().all().await.unwrap();
        assert_eq!((routes.len(), routes[0].request_id.as_str(), &routes[0].wire_id), (1, "7", &None));
        drop(store);
    }
    let store = home.open().await;
    let row = crate::processes::process("p", 1000, NOW_MS);
    assert!(store.processes().create(&row).await.unwrap());
    assert_eq!(store.processes().by_id(&row.pid).await.unwrap(), Some(row));
    assert_eq!(add(&store, "bob").await.uid.0, 1001);
}

async fn a_route_of_an_older_store_keeps_the_id_its_driver_knows(home: &Home) {
    let migrations = [
        include_str!("../../migrations/0001_first.sql"),
        include_str!("../../migrations/0002_processes.sql"),
    ];
    let rows =
        "INSERT INTO routes VALUES ('1', 'fs.read', 'init:1000', '7', 'pc', 1, 2, 'w9', 'run', '{}');\n";
    older(home, &migrations, rows).await;
    let routes = home.open().await.routes().all().await.unwrap();
    assert_eq!((routes.len(), routes[0].wire_id.as_deref()), (1, Some("w9")));
    assert_eq!((routes[0].instance.as_deref(), routes[0].args.as_deref()), (Some("run"), Some("{}")));
}

/// Lays a store down as a program wrote it that knew only the given migrations.
async fn older(home: &Home, migrations: &[&str], rows: &str) {
    let (text, number, strict) = match &home.url {
        None => ("TEXT", "INTEGER", "STRICT"),
        Some(_) => ("TEXT COLLATE \"C\"", "BIGINT", ""),
    };
    let schema = format!(
        "CREATE TABLE meta (name {{TEXT}} PRIMARY KEY, version {{BIGINT}}, value {{TEXT}}) {{STRICT}};\n{}\n\
         INSERT INTO meta (name, version) VALUES ('schema', {});\n",
        migrations.join("\n"),
        migrations.len()
    );
    let schema = schema.replace("{TEXT}", text).replace("{BIGINT}", number).replace("{STRICT}", strict);
    home.tamper(&(schema + rows)).await;
}

async fn a_clone_keeps_it_open(home: &Home) {
    let store = provisioned(home).await;
    let clone = store.clone();
    drop(store);
    assert_eq!(clone.accounts().all().await.unwrap().len(), 1);
    add(&clone, "ada").await;
    assert!(matches!(home.try_open().await, Err(OpenError::Held(_))));
}

async fn closing_leaves_it_ready_for_the_next(home: &Home) {
    let store = provisioned(home).await;
    add(&store, "ada").await;
    store.close().await.unwrap();
    if home.url.is_none() {
        let log = std::fs::metadata(home.data.path().join("gsv.db-wal")).unwrap();
        assert_eq!(log.len(), 0, "the log was moved into the database");
    }
    drop(store);
    assert_eq!(home.open().await.accounts().all().await.unwrap().len(), 2);
}

async fn metrics_count(home: &Home) {
    let store = provisioned(home).await;
    let value = |text: &str, name: &str| -> f64 {
        let line = text.lines().find(|line| line.starts_with(&format!("{name} "))).unwrap();
        line.rsplit(' ').next().unwrap().parse().unwrap()
    };
    let before = store.metrics();
    add(&store, "ada").await;
    store.accounts().by_name("ada").await.unwrap();
    assert!(store.config().set("a", "\0").await.is_err());
    let after = store.metrics();
    let grown = |name: &str| value(&after, name) - value(&before, name);
    assert_eq!(grown("gsv_store_reads_total"), 1.0);
    assert_eq!(grown("gsv_store_batches_total"), 2.0);
    assert!(grown("gsv_store_writes_total") > 3.0);
    assert_eq!(grown("gsv_store_commit_seconds_count"), 1.0);
    assert!(grown("gsv_store_commit_seconds_sum") > 0.0);
    assert_eq!(grown("gsv_store_failures_total"), 1.0);
    assert_eq!(value(&after, "gsv_store_queue_length"), 0.0);
    for line in after.lines() {
        assert!(line.starts_with("# ") || line.starts_with("gsv_store_"), "{line}");
    }
}

async fn a_damaged_row_is_an_error(home: &Home) {
    let store = provisioned(home).await;
    let ada = add(&store, "ada").await;
    store.tokens().create(crate::tokens::token("t", ada.uid)).await.unwrap();
    store.devices().register(crate::devices::registration("pc", &ada)).await.unwrap().unwrap();
    drop(store);
    home.tamper("UPDATE tokens SET kind = 'odd'").await;
    home.tamper("UPDATE devices SET implements = '[1'").await;
    home.tamper("UPDATE accounts SET gid = -5 WHERE uid = 1000").await;
    let store = home.open().await;
    assert!(store.tokens().of(None).await.unwrap_err().to_string().contains("odd"));
    assert!(store.devices().all().await.unwrap_err().to_string().contains("[1"));
    assert!(store.accounts().all().await.unwrap_err().to_string().contains("-5"));
    assert!(store.accounts().by_name("root").await.unwrap().is_some());
}

#[tokio::test]
async fn the_files_are_private() {
    let home = Home::sqlite();
    let data = home.data.path().join("new/data");
    let store = Store::open(&Options { data: data.clone(), url: None }).await.unwrap();
    store.config().set("a", "b").await.unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&data), mode(&data.join("keys"))), (0o700, 0o700));
    for file in ["gsv.db", "gsv.db-wal", "gsv.db-shm", "gsv.lock", "keys/secrets.key"] {
        assert_eq!(mode(&data.join(file)), 0o600, "{file}");
    }
}

#[tokio::test]
async fn a_directory_that_cannot_be_written_is_refused() {
    let home = Home::sqlite();
    let file = home.data.path().join("file");
    std::fs::write(&file, "in the way").unwrap();
    let blocked = home.data.path().join("blocked");
    std::fs::create_dir_all(blocked.join("gsv.lock")).unwrap();
    let mut places = vec![file.clone(), file.join("data"), blocked];
    if cfg!(target_os = "linux") {
        places.push("/proc/self".into());
    }
    for data in places {
        let error = Store::open(&Options { data: data.clone(), url: None }).await.err().unwrap();
        assert!(matches!(error, OpenError::NotWritable { .. }), "{}: {error:?}", data.display());
        assert!(error.to_string().contains("is not writable: "), "{error}");
    }
}

#[tokio::test]
async fn a_file_that_is_no_database_is_refused() {
    let home = Home::sqlite();
    std::fs::write(home.data.path().join("gsv.db"), "hello ".repeat(1000)).unwrap();
    let refusal = home.refusal().await;
    assert!(refusal.contains("damaged or not a database"), "{refusal}");
}
