//! Repository of connected accounts; their tokens are encrypted.

use protocol::ids::Uid;
use protocol::sys::oauth::{Account, ConnectionKind};
use serde_json::{Map, Value};

use super::{Secret, kind_from, kind_text};
use crate::oauth::OAuth;
use crate::sql::{Batch, Row, Statement, unexpected};
use crate::{Error, Result};

/// What a flow led to.
#[derive(Clone, Debug)]
pub struct NewAccount {
    /// Its id, if it is not connected already.
    pub account_id: String,
    /// Whose.
    pub uid: Uid,
    pub kind: ConnectionKind,
    /// The service.
    pub provider: String,
    /// Tells several accounts at one service apart.
    pub account_key: String,
    /// A note for people.
    pub label: Option<String>,
    /// What was granted.
    pub scope: Option<String>,
    pub resource: Option<String>,
    /// What the service knows us as.
    pub client_id: String,
    /// Where the tokens came from, and where they are renewed.
    pub token_endpoint: String,
    pub tokens: Tokens,
    /// When the access token ends, in milliseconds.
    pub expires_at: Option<i64>,
    /// What else is known.
    pub metadata: Map<String, Value>,
    /// Now, in milliseconds.
    pub now_ms: i64,
}

/// What a service lets in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tokens {
    /// Usually `Bearer`.
    pub token_type: String,
    /// What is sent with every request.
    pub access_token: Secret,
    /// What a new one can be asked with.
    pub refresh_token: Option<Secret>,
}

/// What renewing an account led to.
#[derive(Clone, Debug)]
pub struct Renewed {
    pub tokens: Tokens,
    /// When the access token ends, in milliseconds.
    pub expires_at: Option<i64>,
    /// What was granted, where it is another than before.
    pub scope: Option<String>,
    /// Now, in milliseconds.
    pub now_ms: i64,
}

/// Which token of an account a sealed text is; the account is named by what cannot change.
struct SealContext<'a> {
    uid: Uid,
    kind: &'a str,
    provider: &'a str,
    account_key: &'a str,
}

impl SealContext<'_> {
    fn record(&self, token: &str) -> String {
        let context = serde_json::json!([self.uid, self.kind, self.provider, self.account_key, token]);
        format!("oauth_accounts:{context}")
    }
}

/// The columns `account_from` reads.
macro_rules! account_columns {
    ($before:literal, $after:literal) => {
        concat!(
            $before,
            " account_id, uid, kind, provider, account_key, label, scope, resource, client_id, token_type, \
             expires_at, created_at, updated_at, last_used_at, metadata ",
            $after
        )
    };
}

impl OAuth<'_> {
    /// Ends a flow and keeps what came of it. An account that is connected already keeps its id, when it was
    /// connected and when it was last used. `None`, changing nothing, when the flow has ended already. One
    /// transaction.
    pub async fn keep_account(self, flow_id: &str, new: NewAccount) -> Result<Option<Account>> {
        let kind = kind_text(new.kind);
        let context =
            SealContext { uid: new.uid, kind, provider: &new.provider, account_key: &new.account_key };
        let seal = |name: &str, secret: &Secret| self.0.secrets().seal(&context.record(name), &secret.0);
        let access = seal("access_token", &new.tokens.access_token)?;
        let refresh = new.tokens.refresh_token.as_ref();
        let refresh = refresh.map(|secret| seal("refresh_token", secret)).transpose()?;
        let metadata = serde_json::to_string(&new.metadata)
            .map_err(|error| Error::Failed(format!("the metadata cannot be written: {error}")))?;
        let end =
            Statement::new("DELETE FROM oauth_flows WHERE flow_id = $1 RETURNING flow_id").bind(flow_id);
        let keep = Statement::new(account_columns!(
            "INSERT INTO oauth_accounts (account_id, uid, kind, provider, account_key, label, scope, resource, \
             client_id, token_type, access_token, refresh_token, expires_at, created_at, updated_at, \
             last_used_at, metadata, token_endpoint) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $14, NULL, $15, $16) \
             ON CONFLICT (uid, kind, provider, account_key) DO UPDATE SET label = excluded.label, \
             scope = excluded.scope, resource = excluded.resource, client_id = excluded.client_id, \
             token_type = excluded.token_type, access_token = excluded.access_token, \
             refresh_token = excluded.refresh_token, expires_at = excluded.expires_at, \
             updated_at = excluded.updated_at, metadata = excluded.metadata, \
             token_endpoint = excluded.token_endpoint RETURNING",
            ""
        ));
        let keep = keep
            .bind(new.account_id)
            .bind(new.uid)
            .bind(kind)
            .bind(new.provider.as_str())
            .bind(new.account_key.as_str())
            .bind(new.label)
            .bind(new.scope)
            .bind(new.resource)
            .bind(new.client_id)
            .bind(new.tokens.token_type)
            .bind(access)
            .bind(refresh)
            .bind(new.expires_at)
            .bind(new.now_ms)
            .bind(metadata)
            .bind(new.token_endpoint);
        let rows = self.0.write(Batch::new().guard(end).step(keep)).await?.last();
        rows.unwrap_or_default().pop().map(account_from).transpose()
    }

    /// The accounts of a user, or of all; last changed first.
    pub async fn accounts(self, uid: Option<Uid>) -> Result<Vec<Account>> {
        let find = match uid {
            Some(uid) => Statement::new(account_columns!(
                "SELECT",
                "FROM oauth_accounts WHERE uid = $1 ORDER BY updated_at DESC, account_id"
            ))
            .bind(uid),
            None => Statement::new(account_columns!(
                "SELECT",
                "FROM oauth_accounts ORDER BY updated_at DESC, account_id"
            )),
        };
        self.0.read(find).await?.into_iter().map(account_from).collect()
    }

    /// The tokens of an account, which is thereby used. `None` when there is no such account.
    pub async fn use_account(self, account_id: &str, now_ms: i64) -> Result<Option<Tokens>> {
        let find = Statement::new(
            "UPDATE oauth_accounts SET last_used_at = $2 WHERE account_id = $1 \
             RETURNING uid, kind, provider, account_key, token_type, access_token, refresh_token",
        );
        let Some(mut row) = self.0.change(find.bind(account_id).bind(now_ms)).await?.pop() else {
            return Ok(None);
        };
        let (uid, kind, provider, account_key) = (row.uid()?, row.text()?, row.text()?, row.text()?);
        let context = SealContext { uid, kind: &kind, provider: &provider, account_key: &account_key };
        let open =
            |name: &str, sealed: &str| self.0.secrets().open(&context.record(name), sealed).map(Secret);
        Ok(Some(Tokens {
            token_type: row.text()?,
            access_token: open("access_token", &row.text()?)?,
            refresh_token: row.text_or_null()?.map(|sealed| open("refresh_token", &sealed)).transpose()?,
        }))
    }

    /// One account of a user, by what it is for, the service and its key.
    pub async fn account(
        self,
        uid: Uid,
        kind: ConnectionKind,
        provider: &str,
        account_key: &str,
    ) -> Result<Option<Account>> {
        let find = Statement::new(account_columns!(
            "SELECT",
            "FROM oauth_accounts WHERE uid = $1 AND kind = $2 AND provider = $3 AND account_key = $4"
        ));
        let find = find.bind(uid).bind(kind_text(kind)).bind(provider).bind(account_key);
        self.0.read(find).await?.pop().map(account_from).transpose()
    }

    /// One account, by its id.
    pub async fn account_by_id(self, account_id: &str) -> Result<Option<Account>> {
        let find = Statement::new(account_columns!("SELECT", "FROM oauth_accounts WHERE account_id = $1"))
            .bind(account_id);
        self.0.read(find).await?.pop().map(account_from).transpose()
    }

    /// The accounts whose access token ends by then and can be renewed, those that end first first.
    pub async fn ending_by(self, ms: i64, most: usize) -> Result<Vec<Account>> {
        let find = Statement::new(account_columns!(
            "SELECT",
            "FROM oauth_accounts WHERE expires_at <= $1 AND refresh_token IS NOT NULL \
             AND token_endpoint IS NOT NULL ORDER BY expires_at, account_id LIMIT $2"
        ));
        let find = find.bind(ms).bind(i64::try_from(most).unwrap_or(i64::MAX));
        self.0.read(find).await?.into_iter().map(account_from).collect()
    }

    /// Where the tokens of an account are renewed.
    pub async fn token_endpoint(self, account_id: &str) -> Result<Option<String>> {
        let find = Statement::new("SELECT token_endpoint FROM oauth_accounts WHERE account_id = $1");
        let row = self.0.read(find.bind(account_id)).await?.pop();
        row.map(|mut row| row.text_or_null()).transpose().map(Option::flatten)
    }

    /// Puts renewed tokens in the place of those that were there when it was last changed; without a new refresh token
    /// the old one stays. False, changing nothing, when somebody else has changed the account since.
    pub async fn renew_account(self, account: &Account, renewed: Renewed) -> Result<bool> {
        let kind = kind_text(account.kind);
        let context = SealContext {
            uid: account.uid,
            kind,
            provider: &account.provider,
            account_key: &account.account_key,
        };
        let seal = |name: &str, secret: &Secret| self.0.secrets().seal(&context.record(name), &secret.0);
        let access = seal("access_token", &renewed.tokens.access_token)?;
        let refresh = renewed.tokens.refresh_token.as_ref();
        let refresh = refresh.map(|secret| seal("refresh_token", secret)).transpose()?;
        let renew = Statement::new(
            "UPDATE oauth_accounts SET token_type = $3, access_token = $4, \
             refresh_token = COALESCE($5, refresh_token), expires_at = $6, scope = COALESCE($7, scope), \
             updated_at = $8 WHERE account_id = $1 AND updated_at = $2 RETURNING account_id",
        );
        let renew = renew
            .bind(account.account_id.as_str())
            .bind(account.updated_at)
            .bind(renewed.tokens.token_type)
            .bind(access)
            .bind(refresh)
            .bind(renewed.expires_at)
            .bind(renewed.scope)
            .bind(renewed.now_ms.max(account.updated_at + 1));
        Ok(!self.0.change(renew).await?.is_empty())
    }

    /// Notes that the service will not renew an account any more: its refresh token is dropped, `metadata` says why.
    pub async fn end_renewing(self, account: &Account, why: &str, now_ms: i64) -> Result<bool> {
        let mut metadata = account.metadata.clone();
        metadata.insert("refreshError".to_string(), Value::from(why));
        metadata.insert("refreshFailedAt".to_string(), Value::from(now_ms));
        let metadata = serde_json::to_string(&metadata)
            .map_err(|error| Error::Failed(format!("the metadata cannot be written: {error}")))?;
        let end = Statement::new(
            "UPDATE oauth_accounts SET refresh_token = NULL, metadata = $3, updated_at = $4 \
             WHERE account_id = $1 AND updated_at = $2 RETURNING account_id",
        );
        let end = end.bind(account.account_id.as_str()).bind(account.updated_at).bind(metadata);
        Ok(!self.0.change(end.bind(now_ms.max(account.updated_at + 1))).await?.is_empty())
    }

    /// Forgets an account, of this user only where one is named. False when there is none.
    pub async fn remove_account(self, account_id: &str, uid: Option<Uid>) -> Result<bool> {
        let remove = match uid {
            Some(uid) => Statement::new(
                "DELETE FROM oauth_accounts WHERE account_id = $1 AND uid = $2 RETURNING account_id",
            )
            .bind(account_id)
            .bind(uid),
            None => Statement::new("DELETE FROM oauth_accounts WHERE account_id = $1 RETURNING account_id")
                .bind(account_id),
        };
        Ok(!self.0.change(remove).await?.is_empty())
    }
}

fn account_from(mut row: Row) -> Result<Account> {
    Ok(Account {
        account_id: row.text()?,
        uid: row.uid()?,
        kind: kind_from(&row.text()?)?,
        provider: row.text()?,
        account_key: row.text()?,
        label: row.text_or_null()?,
        scope: row.text_or_null()?,
        resource: row.text_or_null()?,
        client_id: row.text()?,
        token_type: row.text()?,
        expires_at: row.int_or_null()?,
        created_at: row.int()?,
        updated_at: row.int()?,
        last_used_at: row.int_or_null()?,
        metadata: metadata_from(&row.text()?)?,
    })
}

fn metadata_from(json: &str) -> Result<Map<String, Value>> {
    serde_json::from_str(json).map_err(|_| unexpected("an object", json))
}
