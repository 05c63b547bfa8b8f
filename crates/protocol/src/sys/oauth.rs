//! Wire types and table of `sys.oauth.*`: accounts at other services, connected by OAuth.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ids::Uid;
use crate::spec::syscalls;

syscalls! {
    /// Starts connecting an account: authorization code with PKCE. The person opens the URL it answers with.
    "sys.oauth.start" Start => Started, Granted, Kernel, Rules, Users, by Person;
    /// Lists connected accounts without their tokens.
    "sys.oauth.list" List => Listed, Granted, Kernel, Reads, Users, by Person;
    /// Renews the tokens of a connected account now, in place of shortly before they end.
    "sys.oauth.refresh" Refresh => Refreshed, Granted, Kernel, Rules | Network, Users, by Person;
    /// Forgets a connected account.
    "sys.oauth.forget" Forget => Forgotten, Granted, Kernel, Rules | Destroys, Users, by Person;
}

/// What an account is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "OAuthConnectionKind")]
pub enum ConnectionKind {
    /// A model.
    AiProvider,
    /// An MCP server that wants OAuth.
    McpServer,
    /// Anything else.
    Generic,
}

/// Arguments of `sys.oauth.start`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SysOAuthStartArgs")]
pub struct Start {
    /// Whose; the caller's when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<Uid>,
    /// What uses the account.
    pub kind: ConnectionKind,
    /// The service.
    pub provider: String,
    /// Tells several accounts at one service apart; `default` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account_key: Option<String>,
    /// A note for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Where the person agrees.
    pub authorization_endpoint: String,
    /// Where the code becomes a token.
    pub token_endpoint: String,
    /// What the service knows us as.
    pub client_id: String,
    /// `/oauth/callback` on this gateway.
    pub redirect_uri: String,
    /// What to ask for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// The resource to ask for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// Further query parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra_auth_params: Option<BTreeMap<String, String>>,
    /// Who must answer, as the service's own metadata say (RFC 9207). When absent, an answer that says who it is from
    /// must be from the origin of `authorizationEndpoint`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
}

/// Result of `sys.oauth.start`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SysOAuthStartResult")]
pub struct Started {
    /// For the person to open.
    pub authorization_url: String,
    /// What waits for them.
    pub flow: Flow,
}

/// A connection that waits for a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "OAuthFlowSummary")]
pub struct Flow {
    /// Id of the flow, for the page that the service redirects to.
    pub flow_id: String,
    /// Whose it is.
    pub uid: Uid,
    /// What uses the account.
    pub kind: ConnectionKind,
    /// The service.
    pub provider: String,
    /// Tells several accounts apart.
    pub account_key: String,
    /// A note for people.
    pub label: Option<String>,
    /// Where the person agrees.
    pub authorization_endpoint: String,
    /// Where the code becomes a token.
    pub token_endpoint: String,
    /// What the service knows us as.
    pub client_id: String,
    /// Where the person comes back to.
    pub redirect_uri: String,
    /// What is asked for.
    pub scope: Option<String>,
    /// The resource that is asked for.
    pub resource: Option<String>,
    /// When it was started, in milliseconds.
    pub created_at: i64,
    /// Until when it waits.
    pub expires_at: i64,
    /// Who must answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
}

/// Arguments of `sys.oauth.list`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SysOAuthListArgs")]
pub struct List {
    /// Whose; for root all when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<Uid>,
    /// Also list what waits for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include_pending: Option<bool>,
}

/// Result of `sys.oauth.list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysOAuthListResult")]
pub struct Listed {
    /// Last changed first.
    pub accounts: Vec<Account>,
    /// What waits for a person, newest first, if asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<Vec<Flow>>,
}

/// A connected account.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "OAuthAccountSummary")]
pub struct Account {
    /// Id of the account, unique in the gateway.
    pub account_id: String,
    /// Whose it is.
    pub uid: Uid,
    /// What uses the account.
    pub kind: ConnectionKind,
    /// The service.
    pub provider: String,
    /// Tells several accounts apart.
    pub account_key: String,
    /// A note for people.
    pub label: Option<String>,
    /// What was granted.
    pub scope: Option<String>,
    /// The resource indicator that tokens are asked for (RFC 8707).
    pub resource: Option<String>,
    /// What the service knows us as.
    pub client_id: String,
    /// Usually `Bearer`.
    pub token_type: String,
    /// When its token ends, in milliseconds.
    pub expires_at: Option<i64>,
    /// When it was connected.
    pub created_at: i64,
    /// When it last changed.
    pub updated_at: i64,
    /// When it was last used.
    pub last_used_at: Option<i64>,
    /// What else is known.
    pub metadata: Map<String, Value>,
}

/// Arguments of `sys.oauth.refresh`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SysOAuthRefreshArgs")]
pub struct Refresh {
    /// Id of the account, as `sys.oauth.list` gives it.
    pub account_id: String,
    /// Whose; the caller's when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<Uid>,
}

/// Result of `sys.oauth.refresh`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysOAuthRefreshResult")]
pub struct Refreshed {
    /// The account as it is now; `null` when there is no such account for the caller.
    pub account: Option<Account>,
}

/// Arguments of `sys.oauth.forget`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SysOAuthForgetArgs")]
pub struct Forget {
    /// Id of the account, as `sys.oauth.list` gives it.
    pub account_id: String,
    /// Whose; the caller's when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<Uid>,
}

/// Result of `sys.oauth.forget`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysOAuthForgetResult")]
pub struct Forgotten {
    /// False when there is no such account for the caller.
    pub forgotten: bool,
}
