//! Bearer tokens for logging in; only their hashes are kept.

use protocol::identity::Role;
use protocol::ids::{TokenId, Uid};
use protocol::sys::token::TokenKind;

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
}

/// The columns `token_from` reads.
macro_rules! token_columns {
    () => {
        "token_id, uid, kind, label, hash, prefix, allowed_role, allowed_device_id, created_at, last_used_at, \
         expires_at, revoked_at, revoked_reason, approve"
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
    /// Keeps a token.
    pub async fn create(self, new: NewToken) -> Result<Token> {
        let statement = Statement::new(concat!(
            "INSERT INTO tokens (token_id, uid, kind, label, hash, prefix, allowed_role, allowed_device_id, \
             created_at, expires_at, approve) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) RETURNING ",
            token_columns!()
        ));
        let statement = bind(statement.bind(&new.token_id).bind(new.uid), &new);
        let rows = self.0.change(statement).await.map_err(|error| error.named(new.token_id.as_str()))?;
        first_token(rows)
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

    /// Revokes; of one user or of any. Again is fine and overwrites time and reason. False when there is none.
    pub async fn revoke(
        self,
        token_id: &TokenId,
        uid: Option<Uid>,
        reason: Option<&str>,
        now_ms: i64,
    ) -> Result<bool> {
        let statement = Statement::new(
            "UPDATE tokens SET revoked_at = $3, revoked_reason = $4 \
             WHERE token_id = $1 AND ($2 IS NULL OR uid = $2) RETURNING token_id",
        );
        let statement = statement.bind(token_id).bind(uid).bind(now_ms).bind(reason);
        Ok(!self.0.change(statement).await?.is_empty())
    }

    /// Revokes every token of a user and a kind that is still good, but for one. Their ids.
    pub async fn revoke_all(
        self,
        uid: Uid,
        kind: TokenKind,
        but: Option<&TokenId>,
        reason: &str,
        now_ms: i64,
    ) -> Result<Vec<TokenId>> {
        let statement = Statement::new(
            "UPDATE tokens SET revoked_at = $4, revoked_reason = $5 WHERE uid = $1 AND kind = $2 \
             AND revoked_at IS NULL AND ($3 IS NULL OR token_id <> $3) RETURNING token_id",
        );
        let but = but.map(|id| id.0.clone());
        let statement = statement.bind(uid).bind(kind.as_str()).bind(but).bind(now_ms).bind(reason);
        self.0.change(statement).await?.into_iter().map(|mut row| row.text().map(TokenId)).collect()
    }

    /// Notes that it logged somebody in.
    pub async fn used(self, token_id: &TokenId, now_ms: i64) -> Result<()> {
        let statement = Statement::new("UPDATE tokens SET last_used_at = $2 WHERE token_id = $1");
        self.0.change(statement.bind(token_id).bind(now_ms)).await?;
        Ok(())
    }
}

/// Adds a token for the user of that name, who may have been added in the same batch.
pub(crate) fn create_for(username: &str, new: &NewToken) -> Statement {
    let statement = Statement::new(concat!(
        "INSERT INTO tokens (token_id, uid, kind, label, hash, prefix, allowed_role, allowed_device_id, \
         created_at, expires_at, approve) SELECT $1, uid, $3, $4, $5, $6, $7, $8, $9, $10, $11 FROM accounts \
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
    })
}
