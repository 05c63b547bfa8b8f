//! Wire types and table of `sys.link.*`: links between users and people on chat services.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::Uid;
use crate::spec::syscalls;

syscalls! {
    /// Links a person on a chat service to a user. Only root may link somebody else.
    "sys.link" Create => Linked, User, Kernel, Rules, Users, by Approver;
    /// Removes a link.
    "sys.unlink" Remove => Removed, User, Kernel, Rules, Users, by Person;
    /// Lists links, newest first. Only root sees those of others.
    "sys.link.list" List => Listed, User, Kernel, Reads, Users, by Person;
    /// Links whoever was given this code on a chat service to the caller.
    "sys.link.consume" Consume => Linked, User, Kernel, Rules, Users, by Approver;
}

/// Arguments of `sys.link`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SysLinkArgs")]
pub struct Create {
    /// The chat service.
    pub adapter: String,
    /// Our account there.
    pub account_id: String,
    /// The person there.
    pub actor_id: String,
    /// The user; the caller when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<Uid>,
}

/// Result of `sys.link` and `sys.link.consume`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysLinkResult")]
pub struct Linked {
    /// Whether they are linked now.
    pub linked: bool,
    /// The link, if one was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<Link>,
}

/// Which account of a chat service is which user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SysLink")]
pub struct Link {
    /// The chat service.
    pub adapter: String,
    /// Our account there.
    pub account_id: String,
    /// The person there.
    pub actor_id: String,
    /// Number of the user.
    pub uid: Uid,
    /// When it was made, in milliseconds.
    pub created_at: i64,
}

/// Arguments of `sys.unlink`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SysUnlinkArgs")]
pub struct Remove {
    /// The chat service.
    pub adapter: String,
    /// Our account there.
    pub account_id: String,
    /// The person there.
    pub actor_id: String,
}

/// Result of `sys.unlink`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysUnlinkResult")]
pub struct Removed {
    /// False when there was no such link.
    pub removed: bool,
}

/// Arguments of `sys.link.list`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysLinkListArgs")]
pub struct List {
    /// Whose; for root all when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<Uid>,
}

/// Result of `sys.link.list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysLinkListResult")]
pub struct Listed {
    /// Newest first.
    pub links: Vec<Record>,
}

/// A link in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SysLinkRecord")]
pub struct Record {
    /// The chat service.
    pub adapter: String,
    /// Our account there.
    pub account_id: String,
    /// The person there.
    pub actor_id: String,
    /// Number of the user.
    pub uid: Uid,
    /// When it was made, in milliseconds.
    pub created_at: i64,
    /// Who made it.
    pub linked_by_uid: Uid,
}

/// Arguments of `sys.link.consume`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysLinkConsumeArgs")]
pub struct Consume {
    /// The code, such as `ABCD-EFGH`.
    pub code: String,
}
