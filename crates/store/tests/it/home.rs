//! Test fixture: a fresh data directory, and a fresh database where PostgreSQL is meant.

use protocol::ids::Gid;
use store::accounts::{Account, NewAccount};
use store::{OpenError, Options, Store};
use tempfile::TempDir;

use crate::postgres;

/// A fixed time, in milliseconds.
pub const NOW_MS: i64 = 1_700_000_000_000;

/// Where a store can be opened, again and again.
pub struct Home {
    pub data: TempDir,
    pub url: Option<String>,
}

impl Home {
    pub fn sqlite() -> Home {
        Home { data: tempfile::tempdir().unwrap(), url: None }
    }

    pub async fn postgres() -> Home {
        Home { data: tempfile::tempdir().unwrap(), url: Some(postgres::fresh_database().await) }
    }

    pub fn options(&self) -> Options {
        Options { data: self.data.path().to_path_buf(), url: self.url.clone() }
    }

    pub async fn open(&self) -> Store {
        self.try_open().await.unwrap()
    }

    pub async fn try_open(&self) -> Result<Store, OpenError> {
        Store::open(&self.options()).await
    }

    /// The reason it does not open, as a text.
    pub async fn refusal(&self) -> String {
        match self.try_open().await {
            Ok(_) => panic!("it opened"),
            Err(error) => error.to_string(),
        }
    }

    /// Runs SQL past the store, which must be closed.
    pub async fn tamper(&self, sql: &str) {
        match &self.url {
            None => {
                let path = self.data.path().join("gsv.db");
                rusqlite::Connection::open(path).unwrap().execute_batch(sql).unwrap();
            }
            Some(url) => postgres::connect(url).await.batch_execute(sql).await.unwrap(),
        }
    }
}

/// Runs each function, which takes a `&Home`, on both engines.
macro_rules! on_both_engines {
    ($($name:ident),* $(,)?) => {
        mod sqlite {$(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(&crate::home::Home::sqlite()).await;
            }
        )*}
        mod postgres {$(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(&crate::home::Home::postgres().await).await;
            }
        )*}
    };
}

/// Runs each function, which takes the `&Store` of a provisioned system, on both engines.
macro_rules! with_a_store_on_both_engines {
    ($($name:ident),* $(,)?) => {
        mod sqlite {$(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                let home = crate::home::Home::sqlite();
                super::$name(&crate::home::provisioned(&home).await).await;
            }
        )*}
        mod postgres {$(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                let home = crate::home::Home::postgres().await;
                super::$name(&crate::home::provisioned(&home).await).await;
            }
        )*}
    };
}

pub(crate) use {on_both_engines, with_a_store_on_both_engines};

pub async fn provisioned(home: &Home) -> Store {
    let store = home.open().await;
    store.provision(NOW_MS).await.unwrap();
    store
}

/// A user to add, who is in `users`.
pub fn person(name: &str) -> NewAccount {
    NewAccount {
        username: name.to_string(),
        hash: format!("$hash${name}"),
        groups: vec![Gid::USERS],
        now_ms: NOW_MS,
    }
}

pub async fn add(store: &Store, name: &str) -> Account {
    store.accounts().create(person(name)).await.unwrap()
}
