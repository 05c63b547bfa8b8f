//! Repository of users, and the rows of groups.

use protocol::identity::ProcessIdentity;
use protocol::ids::{Gid, TokenId, Uid};

use crate::changes::Topic;
use crate::sql::{Batch, Row, Statement, Written};
use crate::{Error, Result, Store, tokens};

/// A user.
#[derive(Clone, Debug, PartialEq)]
pub struct Account {
    /// Its number.
    pub uid: Uid,
    /// Its private group's number, the same as `uid`.
    pub gid: Gid,
    /// All its groups, ascending, the private one included.
    pub gids: Vec<Gid>,
    /// Login name.
    pub username: String,
    /// Real name.
    pub gecos: String,
    /// Home directory on the native target.
    pub home: String,
    /// Login shell, as `/etc/passwd` shows it.
    pub shell: String,
    /// Password hash; `!` when it has none.
    pub hash: String,
    /// Locked by root; the hash is kept.
    pub locked: bool,
    /// When the password was changed, in milliseconds.
    pub changed_at: i64,
    /// How often its sessions were ended at once: a login that was made at a smaller count is over.
    pub sessions_ended: i64,
}

impl Account {
    /// Who it is to others, in its home.
    pub fn identity(&self) -> ProcessIdentity {
        ProcessIdentity {
            uid: self.uid,
            gid: self.gid,
            gids: self.gids.clone(),
            username: self.username.clone(),
            home: self.home.clone(),
            cwd: self.home.clone(),
            workspace_id: None,
        }
    }
}

/// A user to add. Its uid is the next free number from 1000 on, over users and groups.
#[derive(Clone, Debug)]
pub struct NewAccount {
    /// Login name; also the private group's name.
    pub username: String,
    /// Password hash.
    pub hash: String,
    /// Groups besides the private one.
    pub groups: Vec<Gid>,
    /// Now, in milliseconds.
    pub now_ms: i64,
}

/// Whose logins end, why, and which token outlives it.
#[derive(Clone, Copy, Debug)]
pub struct EndSessions<'a> {
    /// Whose.
    pub uid: Uid,
    /// The new password hash, where that is why.
    pub hash: Option<&'a str>,
    /// The token that stays good.
    pub but: Option<&'a TokenId>,
    /// Kept with the tokens that end.
    pub reason: &'a str,
    /// Now, in milliseconds.
    pub now_ms: i64,
}

/// Row of a group.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Its number.
    pub gid: Gid,
    pub name: String,
    /// Login names, in order of the uid; users whose private group it is are not listed.
    pub members: Vec<String>,
}

/// What `sys.setup` writes, all of it or nothing.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The first user.
    pub account: NewAccount,
    /// Root's new password hash.
    pub root_hash: String,
    /// Config values.
    pub config: Vec<(String, String)>,
    /// A device token; its `uid` is replaced by the new user's.
    pub token: Option<crate::tokens::NewToken>,
}

/// The columns `accounts_from` reads, one row for each membership.
macro_rules! select_accounts {
    ($tail:literal) => {
        concat!(
            "SELECT a.uid, a.gid, a.username, a.gecos, a.home, a.shell, a.hash, a.locked, a.changed_at, \
             a.sessions_ended, m.gid \
             FROM accounts a LEFT JOIN members m ON m.uid = a.uid ",
            $tail
        )
    };
}

/// Users. See [`Store::accounts`].
#[derive(Clone, Copy)]
pub struct Accounts<'a>(pub(crate) &'a Store);

impl Store {
    /// Users.
    pub fn accounts(&self) -> Accounts<'_> {
        Accounts(self)
    }
}

impl Accounts<'_> {
    /// By login name.
    pub async fn by_name(self, username: &str) -> Result<Option<Account>> {
        Ok(accounts_from(self.0.read(find(username)).await?)?.pop())
    }

    /// By number.
    pub async fn by_uid(self, uid: Uid) -> Result<Option<Account>> {
        let statement = Statement::new(select_accounts!("WHERE a.uid = $1 ORDER BY m.gid")).bind(uid);
        Ok(accounts_from(self.0.read(statement).await?)?.pop())
    }

    /// All, by uid.
    pub async fn all(self) -> Result<Vec<Account>> {
        let statement = Statement::new(select_accounts!("ORDER BY a.uid, m.gid"));
        accounts_from(self.0.read(statement).await?)
    }

    /// Adds a user with its private group; `Conflict` when the name is taken by a user or a group. Groups that
    /// are not there are passed over.
    pub async fn create(self, new: NewAccount) -> Result<Account> {
        let batch = create(Batch::new(), &new).step(find(&new.username)).changing(Topic::Accounts);
        let rows = match self.0.write(batch).await.map_err(|error| error.named(&new.username))? {
            Written::Done(mut rows) => rows.pop().unwrap_or_default(),
            Written::Stopped(_) => return Err(Error::Conflict(new.username)),
        };
        first_account(rows)
    }

    /// Sets the password hash. False when there is no such user.
    pub async fn set_hash(self, uid: Uid, hash: &str, now_ms: i64) -> Result<bool> {
        let statement =
            Statement::new("UPDATE accounts SET hash = $2, changed_at = $3 WHERE uid = $1 RETURNING uid")
                .bind(uid)
                .bind(hash)
                .bind(now_ms);
        Ok(!self.0.change_of(Topic::Accounts, statement).await?.is_empty())
    }

    /// Ends the sessions of a user, all of it or nothing: logins from before are over on every gateway, `user` tokens are
    /// revoked but for one, and a new password hash is set where there is one. Returns the count of such ends, `None`
    /// when there is no such user.
    pub async fn end_sessions(self, ending: EndSessions<'_>) -> Result<Option<i64>> {
        let EndSessions { uid, hash, but, reason, now_ms } = ending;
        let account = Statement::new(
            "UPDATE accounts SET sessions_ended = sessions_ended + 1, hash = COALESCE($2, hash), \
             changed_at = CASE WHEN $2 IS NULL THEN changed_at ELSE $3 END WHERE uid = $1 \
             RETURNING sessions_ended",
        );
        let batch = Batch::new()
            .guard(account.bind(uid).bind(hash.map(str::to_string)).bind(now_ms))
            .step(tokens::revoke_sessions(uid, but, reason, now_ms))
            .changing(Topic::Accounts)
            .changing(Topic::Tokens);
        match self.0.write(batch).await? {
            Written::Stopped(_) => Ok(None),
            Written::Done(rows) => rows.into_iter().flatten().next().map(|mut row| row.int()).transpose(),
        }
    }

    /// Sets the real name. False when there is no such user.
    pub async fn set_gecos(self, uid: Uid, gecos: &str) -> Result<bool> {
        let statement = Statement::new("UPDATE accounts SET gecos = $2 WHERE uid = $1 RETURNING uid")
            .bind(uid)
            .bind(gecos);
        Ok(!self.0.change_of(Topic::Accounts, statement).await?.is_empty())
    }

    /// The last number that was given to a user or a group; the next one gets the number after it.
    pub async fn latest_number(self) -> Result<u32> {
        let statement = Statement::new("SELECT latest FROM numbers WHERE name = 'account'");
        let Some(mut row) = self.0.read(statement).await?.pop() else {
            return Err(Error::Failed("the count of accounts is not there".to_string()));
        };
        Ok(row.uid()?.0)
    }

    /// Locks or unlocks; the hash is kept. False when there is no such user.
    pub async fn set_locked(self, uid: Uid, locked: bool) -> Result<bool> {
        let statement = Statement::new("UPDATE accounts SET locked = $2 WHERE uid = $1 RETURNING uid")
            .bind(uid)
            .bind(locked);
        Ok(!self.0.change_of(Topic::Accounts, statement).await?.is_empty())
    }

    /// Replaces the memberships besides the private group. Groups that are not there are passed over.
    pub async fn set_groups(self, uid: Uid, groups: &[Gid]) -> Result<()> {
        let join = |gid: &Gid| {
            Statement::new(
                "INSERT INTO members (uid, gid) SELECT a.uid, g.gid FROM accounts a, user_groups g \
                 WHERE a.uid = $1 AND g.gid = $2 AND g.gid <> a.gid ON CONFLICT DO NOTHING",
            )
            .bind(uid)
            .bind(*gid)
        };
        let batch = Batch::new()
            .step(Statement::new("DELETE FROM members WHERE uid = $1").bind(uid))
            .steps(groups.iter().map(join))
            .changing(Topic::Accounts);
        self.0.write(batch).await?;
        Ok(())
    }
}

/// Finds a user by name.
pub(crate) fn find(username: &str) -> Statement {
    Statement::new(select_accounts!("WHERE a.username = $1 ORDER BY m.gid")).bind(username)
}

/// Adds the steps that add a user; the guards among them fail when its name is taken.
pub(crate) fn create(batch: Batch, new: &NewAccount) -> Batch {
    let join = |gid: &Gid| {
        Statement::new(
            "INSERT INTO members (uid, gid) SELECT a.uid, g.gid FROM accounts a, user_groups g \
             WHERE a.username = $1 AND g.gid = $2 AND g.gid <> a.gid ON CONFLICT DO NOTHING",
        )
        .bind(new.username.as_str())
        .bind(*gid)
    };
    batch
        .guard(Statement::new("UPDATE numbers SET latest = latest + 1 WHERE name = 'account' RETURNING latest"))
        .guard(
            Statement::new(
                "INSERT INTO user_groups (gid, name) SELECT latest, $1 FROM numbers WHERE name = 'account' \
                 ON CONFLICT DO NOTHING RETURNING gid",
            )
            .bind(new.username.as_str()),
        )
        .guard(
            Statement::new(
                "INSERT INTO accounts (uid, gid, username, gecos, home, shell, hash, locked, changed_at) \
                 SELECT latest, latest, $1, $1, $2, '/bin/init', $3, 0, $4 FROM numbers WHERE name = 'account' \
                 ON CONFLICT DO NOTHING RETURNING uid",
            )
            .bind(new.username.as_str())
            .bind(format!("/home/{}", new.username))
            .bind(new.hash.as_str())
            .bind(new.now_ms),
        )
        .steps(new.groups.iter().map(join))
}

/// The user among the rows of `find` at the end of a batch that has just added it.
pub(crate) fn first_account(rows: Vec<Row>) -> Result<Account> {
    let gone = || Error::Failed("the account that was just added is not there".to_string());
    accounts_from(rows)?.pop().ok_or_else(gone)
}

/// Folds the rows of each user into one.
fn accounts_from(rows: Vec<Row>) -> Result<Vec<Account>> {
    let mut accounts: Vec<Account> = Vec::new();
    for mut row in rows {
        let mut account = Account {
            uid: row.uid()?,
            gid: row.gid()?,
            gids: Vec::new(),
            username: row.text()?,
            gecos: row.text()?,
            home: row.text()?,
            shell: row.text()?,
            hash: row.text()?,
            locked: row.flag()?,
            changed_at: row.int()?,
            sessions_ended: row.int()?,
        };
        let member_of = row.gid_or_null()?;
        if accounts.last().is_none_or(|last| last.uid != account.uid) {
            account.gids.push(account.gid);
            accounts.push(account);
        }
        if let (Some(last), Some(gid)) = (accounts.last_mut(), member_of) {
            last.gids.push(gid);
        }
    }
    for account in &mut accounts {
        account.gids.sort_unstable();
    }
    Ok(accounts)
}
