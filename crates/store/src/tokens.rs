//! Login tokens; only their hashes are kept.

use protocol::identity::Role;
use protocol::ids::{TokenId, Uid};
use protocol::sys::token::Kind;

use crate::{Result, Store};

/// A token as it is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Token {
    /// Its public id.
    pub token_id: TokenId,
    /// Whose.
    pub uid: Uid,
    /// What for.
    pub kind: Kind,
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
}

/// A token to keep.
#[derive(Clone, Debug)]
pub struct NewToken {
    /// Its public id.
    pub token_id: TokenId,
    /// Whose.
    pub uid: Uid,
    /// What for; the role follows.
    pub kind: Kind,
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
}

impl Store {
    /// Keeps a token.
    pub async fn token_create(&self, _new: NewToken) -> Result<Token> {
        unimplemented!()
    }

    /// The token of that user with that hash.
    pub async fn token_by_hash(&self, _uid: Uid, _hash: &str) -> Result<Option<Token>> {
        unimplemented!()
    }

    /// Newest first; of one user or of all.
    pub async fn tokens(&self, _uid: Option<Uid>) -> Result<Vec<Token>> {
        unimplemented!()
    }

    /// Revokes; of one user or of any. Again is fine and overwrites time and reason. False when there is none.
    pub async fn token_revoke(
        &self,
        _token_id: &TokenId,
        _uid: Option<Uid>,
        _reason: Option<&str>,
        _now_ms: i64,
    ) -> Result<bool> {
        unimplemented!()
    }

    /// Notes that it logged somebody in.
    pub async fn token_used(&self, _token_id: &TokenId, _now_ms: i64) -> Result<()> {
        unimplemented!()
    }
}
