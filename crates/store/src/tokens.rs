//! Bearer tokens for logging in; only their hashes are kept.

use std::collections::HashSet;

use protocol::identity::Role;
use protocol::ids::{TokenId, Uid};
use protocol::sys::token::TokenKind;

use crate::changes::Topic;
use crate::sql::{Row, Statement, unexpected};
use crate::{Error, Result, Store};

/// A token as it is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Token {
    /// Its public id.
    pub token_id: TokenId,
    /// Whose.
    pub uid: Uid,
    pub kind: TokenKind,
    /// A note.
    pub label: Option<String>,
    /// `$token-sha256$<hex>`
    pub hash: String,
    /// First characters of the raw value.
    pub prefix: String,
    /// The role it logs in.
    pub allowed_role: Role,
    /// The device it is bound to.
    pub allowed_device_id: Option<String>,
    /// In milliseconds.
    pub created_at: i64,
    /// When it last logged somebody in.
    pub last_used_at: Option<i64>,
    /// When it ends.
    pub expires_at: Option<i64>,
    /// When it was revoked.
    pub revoked_at: Option<i64>,
    /// Why.
    pub revoked_reason: Option<String>,
    /// Whether logins with it may answer approvals.
    pub approve: bool,
    /// The token whose login made it.
    pub parent_id: Option<TokenId>,
}

/// A token to keep.
#[derive(Clone, Debug)]
pub struct NewToken {
    /// Its public id.
    pub token_id: TokenId,
    /// Whose.
    pub uid: Uid,
    /// What for; the role follows.
    pub kind: TokenKind,
    /// A note.
    pub label: Option<String>,
    /// `$token-sha256$<hex>`
    pub hash: String,
    /// First characters of the raw value.
    pub prefix: String,
    /// The device it is bound to.
    pub allowed_device_id: Option<String>,
    /// In milliseconds.
    pub created_at: i64,
    /// When it ends.
    pub expires_at: Option<i64>,
    /// Whether logins with it may answer approvals.
    pub approve: bool,
    /// The token whose login makes it.
    pub parent_id: Option<TokenId>,
}

/// The reason that is kept with tokens whose parent was revoked.
const WITH_PARENT: &str = "made with a token that was revoked";

/// The columns `token_from` reads.
macro_rules! token_columns {
    () => {
        "token_id, uid, kind, label, hash, prefix, allowed_role, allowed_device_id, created_at, last_used_at, \
         expires_at, revoked_at, revoked_reason, approve, parent_id"
    };
}

/// Login tokens. See [`Store::tokens`].
#[derive(Clone, Copy)]
pub struct Tokens<'a>(pub(crate) &'a Store);

impl Store {
    /// Login tokens.
    pub fn tokens(&self) -> Tokens<'_> {
        Tokens(self)
    }
}

impl Tokens<'_> {
    /// Keeps a token. `None` when the one whose login makes it was revoked meanwhile: decided in the statement, so that no
    /// child slips through beside the revocation of its family.
    pub async fn create(self, new: NewToken) -> Result<Option<Token>> {
        let statement = Statement::new(concat!(
            "INSERT INTO tokens (token_id, uid, kind, label, hash, prefix, allowed_role, allowed_device_id, \
             created_at, expires_at, approve, parent_id) \
             SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12 WHERE $12 IS NULL \
             OR EXISTS (SELECT 1 FROM tokens WHERE token_id = $12 AND revoked_at IS NULL) RETURNING ",
            token_columns!()
        ));
        let statement = bind(statement.bind(&new.token_id).bind(new.uid), &new);
        let mut rows = self.0.change(statement).await.map_err(|error| error.named(new.token_id.as_str()))?;
        rows.pop().map(token_from).transpose()
    }

    /// The token of that user with that hash.
    pub async fn by_hash(self, uid: Uid, hash: &str) -> Result<Option<Token>> {
        let statement =
            Statement::new(concat!("SELECT ", token_columns!(), " FROM tokens WHERE uid = $1 AND hash = $2"));
        self.0.read(statement.bind(uid).bind(hash)).await?.pop().map(token_from).transpose()
    }

    /// The token with that hash, whoever it belongs to: a bearer token says whose it is.
    pub async fn with_hash(self, hash: &str) -> Result<Option<Token>> {
        let statement = Statement::new(concat!("SELECT ", token_columns!(), " FROM tokens WHERE hash = $1"));
        self.0.read(statement.bind(hash)).await?.pop().map(token_from).transpose()
    }

    /// Newest first; of one user or of all.
    pub async fn of(self, uid: Option<Uid>) -> Result<Vec<Token>> {
        let statement = Statement::new(concat!(
            "SELECT ",
            token_columns!(),
            " FROM tokens WHERE $1 IS NULL OR uid = $1 ORDER BY created_at DESC, token_id"
        ));
        self.0.read(statement.bind(uid)).await?.into_iter().map(token_from).collect()
    }

    /// The ids of all that were not revoked.
    pub async fn not_revoked(self) -> Result<HashSet<TokenId>> {
        let statement = Statement::new("SELECT token_id FROM tokens WHERE revoked_at IS NULL");
        self.0.read(statement).await?.into_iter().map(|mut row| row.text().map(TokenId)).collect()
    }

    /// Revokes one, of one user or of any, and all that were made with it, by whatever steps and for whomever. Again is
    /// fine and overwrites its time and reason. Returns those that are revoked by this; none when there is no such token.
    pub async fn revoke(
        self,
        token_id: &TokenId,
        uid: Option<Uid>,
        reason: Option<&str>,
        now_ms: i64,
    ) -> Result<Vec<TokenId>> {
        let statement = Statement::new(
            "WITH RECURSIVE family (token_id) AS (\
                SELECT token_id FROM tokens WHERE token_id = $1 AND ($2 IS NULL OR uid = $2) \
                UNION SELECT t.token_id FROM tokens t JOIN family f ON t.parent_id = f.token_id) \
             UPDATE tokens SET revoked_at = $3, revoked_reason = CASE WHEN token_id = $1 THEN $4 ELSE $5 END \
             WHERE token_id IN (SELECT token_id FROM family) AND (token_id = $1 OR revoked_at IS NULL) \
             RETURNING token_id",
        );
        let reason = reason.map(str::to_string);
        let statement = statement.bind(token_id).bind(uid).bind(now_ms).bind(reason).bind(WITH_PARENT);
        let rows = self.0.change_of(Topic::Tokens, statement).await?;
        rows.into_iter().map(|mut row| row.text().map(TokenId)).collect()
    }

    /// Notes that it logged somebody in.
    pub async fn used(self, token_id: &TokenId, now_ms: i64) -> Result<()> {
        let statement = Statement::new("UPDATE tokens SET last_used_at = $2 WHERE token_id = $1");
        self.0.change(statement.bind(token_id).bind(now_ms)).await?;
        Ok(())
    }
}

/// Revokes every `user` token of a user that is still good, but for one.
pub(crate) fn revoke_sessions(uid: Uid, but: Option<&TokenId>, reason: &str, now_ms: i64) -> Statement {
    let statement = Statement::new(
        "UPDATE tokens SET revoked_at = $4, revoked_reason = $5 WHERE uid = $1 AND kind = $2 \
         AND revoked_at IS NULL AND ($3 IS NULL OR token_id <> $3)",
    );
    let but = but.map(|id| id.0.clone());
    statement.bind(uid).bind(TokenKind::User.as_str()).bind(but).bind(now_ms).bind(reason)
}

/// Adds a token for the user of that name, who may have been added in the same batch.
pub(crate) fn create_for(username: &str, new: &NewToken) -> Statement {
    let statement = Statement::new(concat!(
        "INSERT INTO tokens (token_id, uid, kind, label, hash, prefix, allowed_role, allowed_device_id, \
         created_at, expires_at, approve, parent_id) \
         SELECT $1, uid, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12 FROM accounts \
         WHERE username = $2 RETURNING ",
        token_columns!()
    ));
    bind(statement.bind(&new.token_id).bind(username), new)
}

/// The token among the rows of a statement that has just added it.
pub(crate) fn first_token(mut rows: Vec<Row>) -> Result<Token> {
    let gone = || Error::Failed("the token that was just added is not there".to_string());
    token_from(rows.pop().ok_or_else(gone)?)
}

/// Binds everything after the token's id and its user.
fn bind(statement: Statement, new: &NewToken) -> Statement {
    statement
        .bind(new.kind.as_str())
        .bind(new.label.clone())
        .bind(new.hash.as_str())
        .bind(new.prefix.as_str())
        .bind(new.kind.role().as_str())
        .bind(new.allowed_device_id.clone())
        .bind(new.created_at)
        .bind(new.expires_at)
        .bind(new.approve)
        .bind(new.parent_id.as_ref().map(|id| id.0.clone()))
}

fn token_from(mut row: Row) -> Result<Token> {
    Ok(Token {
        token_id: TokenId(row.text()?),
        uid: row.uid()?,
        kind: row
            .text()
            .and_then(|name| TokenKind::parse(&name).ok_or_else(|| unexpected("a kind", &name)))?,
        label: row.text_or_null()?,
        hash: row.text()?,
        prefix: row.text()?,
        allowed_role: row
            .text()
            .and_then(|name| Role::parse(&name).ok_or_else(|| unexpected("a role", &name)))?,
        allowed_device_id: row.text_or_null()?,
        created_at: row.int()?,
        last_used_at: row.int_or_null()?,
        expires_at: row.int_or_null()?,
        revoked_at: row.int_or_null()?,
        revoked_reason: row.text_or_null()?,
        approve: row.int()? == 1,
        parent_id: row.text_or_null()?.map(TokenId),
    })
}
