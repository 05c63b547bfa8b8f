//! Wire types and table of `sys.token.*`: login tokens for devices, services and people's sessions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::identity::Role;
use crate::ids::{TokenId, Uid};
use crate::spec::syscalls;

syscalls! {
    /// Makes a token. Its raw value is in the answer and nowhere else.
    "sys.token.create" Create => Created, Granted, Kernel, Rules, Users, by Person;
    /// Lists tokens, newest first, revoked ones included, never their raw values.
    "sys.token.list" List => Listed, Granted, Kernel, Reads, Users, by Person;
    /// Revokes a token with those that were made with it, and closes the connections that logged in with them.
    "sys.token.revoke" Revoke => Revoked, Granted, Kernel, Rules | Destroys, Users, by Person;
}

/// Who logs in with a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "SysTokenKind")]
pub enum TokenKind {
    /// A device.
    Node,
    /// An adapter.
    Service,
    /// A person's session.
    User,
}

impl TokenKind {
    /// The kind's name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            TokenKind::Node => "node",
            TokenKind::Service => "service",
            TokenKind::User => "user",
        }
    }

    /// The kind of that name.
    pub fn parse(name: &str) -> Option<TokenKind> {
        match name {
            "node" => Some(TokenKind::Node),
            "service" => Some(TokenKind::Service),
            "user" => Some(TokenKind::User),
            _ => None,
        }
    }

    /// The only role a token of this kind logs in.
    pub fn role(self) -> Role {
        match self {
            TokenKind::Node => Role::Driver,
            TokenKind::Service => Role::Service,
            TokenKind::User => Role::User,
        }
    }
}

/// Arguments of `sys.token.create`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SysTokenCreateArgs")]
pub struct Create {
    /// Whose token; the caller's when absent. Only root may name another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<Uid>,
    /// `node`, `service` or `user`.
    #[schemars(with = "TokenKind")]
    pub kind: String,
    /// A note for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Must fit the kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Role>")]
    pub allowed_role: Option<String>,
    /// For node tokens: the only device that may use it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_device_id: Option<String>,
    /// When it ends, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<f64>,
    /// For user tokens: whether logins with it may answer approvals. As the connection that makes it when absent, and
    /// true only for one that may itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approve: Option<bool>,
}

/// Result of `sys.token.create`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysTokenCreateResult")]
pub struct Created {
    /// The token, shown this once.
    pub token: NewToken,
}

/// A fresh token with its raw value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SysNewToken")]
pub struct NewToken {
    /// Names it in `sys.token.revoke`.
    pub token_id: TokenId,
    /// The secret.
    pub token: String,
    /// Its first characters, for people to tell tokens apart.
    pub token_prefix: String,
    /// Whose it is.
    pub uid: Uid,
    /// Who logs in with it.
    pub kind: TokenKind,
    /// A note for people.
    pub label: Option<String>,
    /// The role it logs in.
    pub allowed_role: Option<Role>,
    /// The device that may use it.
    pub allowed_device_id: Option<String>,
    /// When it was made, in milliseconds.
    pub created_at: i64,
    /// When it ends.
    pub expires_at: Option<i64>,
    /// Whether logins with it may answer approvals.
    #[serde(default)]
    pub approve: bool,
}

/// Arguments of `sys.token.list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysTokenListArgs")]
pub struct List {
    /// Whose; for root all when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<Uid>,
}

/// Result of `sys.token.list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysTokenListResult")]
pub struct Listed {
    /// Newest first.
    pub tokens: Vec<Record>,
}

/// A token without its secret.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SysTokenRecord")]
pub struct Record {
    /// Names it in `sys.token.revoke`.
    pub token_id: TokenId,
    /// Whose it is.
    pub uid: Uid,
    /// Who logs in with it.
    pub kind: TokenKind,
    /// A note for people.
    pub label: Option<String>,
    /// Its first characters.
    pub token_prefix: String,
    /// The role it logs in.
    pub allowed_role: Option<Role>,
    /// The device that may use it.
    pub allowed_device_id: Option<String>,
    /// When it was made, in milliseconds.
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
    #[serde(default)]
    pub approve: bool,
}

/// Arguments of `sys.token.revoke`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SysTokenRevokeArgs")]
pub struct Revoke {
    /// Id of the token, as `sys.token.list` gives it; not its secret.
    #[serde(default)]
    pub token_id: String,
    /// Why, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whose; the caller's when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<Uid>,
}

/// Result of `sys.token.revoke`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysTokenRevokeResult")]
pub struct Revoked {
    /// False when there is no such token for the caller.
    pub revoked: bool,
}
