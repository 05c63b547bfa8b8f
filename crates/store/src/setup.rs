//! Bootstrap: root and the fixed groups, and the one transaction of `sys.setup`.

use protocol::ids::Gid;

use crate::accounts::{self, Account, Setup};
use crate::changes::Topic;
use crate::sql::{Batch, Statement, Written};
use crate::tokens::{self, Token};
use crate::{Error, Result, Store, config};

/// True while root is missing, or has no password and there is no user from 1000 on.
macro_rules! in_setup_mode {
    () => {
        "NOT EXISTS (SELECT 1 FROM accounts WHERE uid = 0) \
         OR (EXISTS (SELECT 1 FROM accounts WHERE uid = 0 AND hash IN ('', '!', '*')) \
         AND NOT EXISTS (SELECT 1 FROM accounts WHERE uid >= 1000))"
    };
}

impl Store {
    /// Adds root (hash `!`, so that nobody logs in as it; home `/root`, shell `/bin/init`) and the groups
    /// root 0, users 100, drivers 101, services 102, if there are no accounts yet.
    pub async fn provision(&self, now_ms: i64) -> Result<()> {
        let any = self.read(Statement::new("SELECT uid FROM accounts LIMIT 1")).await?;
        if any.is_empty() {
            self.write(provision(Batch::new(), now_ms).changing(Topic::Accounts)).await?;
        }
        Ok(())
    }

    /// True while root has no password and there is no user from 1000 on.
    pub async fn in_setup_mode(&self) -> Result<bool> {
        let statement = Statement::new(concat!("SELECT 1 WHERE ", in_setup_mode!()));
        Ok(!self.read(statement).await?.is_empty())
    }

    /// Writes the first user, root's password, config and token in one transaction, only while in setup mode;
    /// `None` when the system had been set up already. Also returns the token's row.
    pub async fn setup(&self, setup: Setup) -> Result<Option<(Account, Option<Token>)>> {
        let new = &setup.account;
        let mut batch = provision(Batch::new(), new.now_ms);
        let gate = batch.steps.len();
        batch = accounts::create(batch.guard(set_root(&setup)), new);
        for (key, value) in &setup.config {
            batch = batch.step(config::set(self.secrets(), key, value)?);
        }
        if let Some(token) = &setup.token {
            batch = batch.step(tokens::create_for(&new.username, token));
        }
        batch = batch.step(accounts::find(&new.username)).changing(Topic::Config).changing(Topic::Accounts);

        let mut rows = match self.write(batch).await? {
            Written::Done(rows) => rows,
            Written::Stopped(step) if step == gate => return Ok(None),
            Written::Stopped(_) => return Err(Error::Conflict(new.username.clone())),
        };
        let account = accounts::first_account(rows.pop().unwrap_or_default())?;
        let token = match setup.token {
            Some(_) => Some(tokens::first_token(rows.pop().unwrap_or_default())?),
            None => None,
        };
        Ok(Some((account, token)))
    }
}

/// Sets root's password, and returns a row, only in setup mode.
fn set_root(setup: &Setup) -> Statement {
    Statement::new(concat!(
        "INSERT INTO accounts (uid, gid, username, gecos, home, shell, hash, locked, changed_at) \
         SELECT 0, 0, 'root', 'root', '/root', '/bin/init', $1, 0, $2 WHERE ",
        in_setup_mode!(),
        " ON CONFLICT (uid) DO UPDATE SET hash = excluded.hash, changed_at = excluded.changed_at RETURNING uid"
    ))
    .bind(setup.root_hash.as_str())
    .bind(setup.account.now_ms)
}

fn provision(batch: Batch, now_ms: i64) -> Batch {
    const GROUPS: [(Gid, &str); 4] =
        [(Gid::ROOT, "root"), (Gid::USERS, "users"), (Gid::DRIVERS, "drivers"), (Gid::SERVICES, "services")];
    let group = |(gid, name): (Gid, &str)| {
        Statement::new(
            "INSERT INTO user_groups (gid, name) SELECT $1, $2 \
             WHERE NOT EXISTS (SELECT 1 FROM accounts) ON CONFLICT DO NOTHING",
        )
        .bind(gid)
        .bind(name)
    };
    let root = Statement::new(
        "INSERT INTO accounts (uid, gid, username, gecos, home, shell, hash, locked, changed_at) \
         SELECT 0, 0, 'root', 'root', '/root', '/bin/init', '!', 0, $1 \
         WHERE NOT EXISTS (SELECT 1 FROM accounts) ON CONFLICT DO NOTHING",
    );
    batch.steps(GROUPS.map(group)).step(root.bind(now_ms))
}
