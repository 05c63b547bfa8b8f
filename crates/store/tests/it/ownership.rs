//! Tests of data ownership: every table is declared as a user's or the system's, and removing a user leaves none of
//! its rows.

use std::collections::BTreeMap;

use protocol::ids::Uid;
use store::ownership::{Owner, TABLES};

use crate::home::{Home, add, provisioned};
use crate::postgres::connect;

crate::home::on_both_engines! {
    every_table_is_declared,
    a_removed_user_leaves_no_row_and_others_keep_theirs,
}

/// The tables that are there, each with its columns and whether they are numbers.
async fn schema(home: &Home) -> BTreeMap<String, Vec<(String, bool)>> {
    let mut tables: BTreeMap<String, Vec<(String, bool)>> = BTreeMap::new();
    let mut add = |table: String, column: String, kind: String| {
        let number = matches!(kind.to_lowercase().as_str(), "integer" | "bigint");
        tables.entry(table).or_default().push((column, number));
    };
    match &home.url {
        None => {
            let sqlite = rusqlite::Connection::open(home.data.path().join("gsv.db")).unwrap();
            let sql = "SELECT t.name, c.name, c.type FROM sqlite_master t, pragma_table_info(t.name) c \
                       WHERE t.type = 'table' AND substr(t.name, 1, 7) <> 'sqlite_'";
            let mut columns = sqlite.prepare(sql).unwrap();
            let mut rows = columns.query([]).unwrap();
            while let Some(row) = rows.next().unwrap() {
                add(row.get(0).unwrap(), row.get(1).unwrap(), row.get(2).unwrap());
            }
        }
        Some(url) => {
            let sql = "SELECT table_name::text, column_name::text, data_type::text \
                       FROM information_schema.columns WHERE table_schema = current_schema()";
            for row in connect(url).await.query(sql, &[]).await.unwrap() {
                add(row.get(0), row.get(1), row.get(2));
            }
        }
    }
    tables
}

async fn count(home: &Home, table: &str) -> i64 {
    let sql = format!("SELECT count(*) FROM {table}");
    match &home.url {
        None => {
            let sqlite = rusqlite::Connection::open(home.data.path().join("gsv.db")).unwrap();
            sqlite.query_row(&sql, [], |row| row.get(0)).unwrap()
        }
        Some(url) => connect(url).await.query_one(&sql, &[]).await.unwrap().get(0),
    }
}

async fn every_table_is_declared(home: &Home) {
    drop(provisioned(home).await);
    let there: Vec<String> = schema(home).await.into_keys().collect();
    let mut declared: Vec<String> = TABLES.iter().map(|table| table.name.to_string()).collect();
    declared.sort();
    assert_eq!(there, declared, "say in ownership.rs whose the rows of each table are");
}

/// One row of a user in a table: columns that name an owner name this one, the others hold anything.
fn row(table: &str, columns: &[(String, bool)], uid: u32) -> String {
    let value = |(column, number): &(String, bool)| match (table, column.as_str(), number) {
        (_, "uid" | "gid" | "owner_uid", _) | (_, _, true) => uid.to_string(),
        ("config", "key", _) => format!("'users/{uid}/x'"),
        ("leases", "name", _) => format!("'process:p{uid}'"),
        (_, "pid" | "source_pid", _) => format!("'p{uid}'"),
        (_, "run_id", _) => format!("'r{uid}'"),
        (_, "device_id", _) => format!("'d{uid}'"),
        (_, column, false) => format!("'{column}-{uid}'"),
    };
    let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
    let values: Vec<String> = columns.iter().map(value).collect();
    format!("INSERT INTO {table} ({}) VALUES ({});", names.join(", "), values.join(", "))
}

async fn a_removed_user_leaves_no_row_and_others_keep_theirs(home: &Home) {
    let store = provisioned(home).await;
    let (ada, bob) = (add(&store, "ada").await.uid, add(&store, "bob").await.uid);
    drop(store);
    let schema = schema(home).await;
    let owned = TABLES.iter().filter(|table| matches!(table.owner, Owner::User { .. }));
    let owned: Vec<&str> = owned.map(|table| table.name).collect();
    // Those three have rows of both already.
    for table in owned.iter().filter(|table| !["accounts", "user_groups", "members"].contains(table)) {
        for Uid(uid) in [ada, bob] {
            home.tamper(&row(table, &schema[*table], uid)).await;
        }
    }
    let mut before = BTreeMap::new();
    for table in &owned {
        before.insert(*table, count(home, table).await);
    }
    let store = home.open().await;
    assert_eq!(store.accounts().remove(ada).await.unwrap(), Some(vec!["p1000".into()]));
    for table in &owned {
        assert_eq!(count(home, table).await, before[table] - 1, "{table}: one row was the user's");
    }
    assert_eq!(store.accounts().remove(bob).await.unwrap(), Some(vec!["p1001".into()]));
    for table in owned.iter().filter(|table| !["accounts", "user_groups"].contains(table)) {
        assert_eq!(count(home, table).await, 0, "{table}");
    }
    assert!(add(&store, "ada").await.uid > bob, "a number is given once");
}
