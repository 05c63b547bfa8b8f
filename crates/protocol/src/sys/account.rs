//! Wire types and table of accounts, groups and capabilities, for root.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::identity::ProcessIdentity;
use crate::ids::Gid;
use crate::spec::syscalls;

syscalls! {
    /// Adds a user with a home and a private group. Files that are there already stay closed to it unless it adopts them.
    "sys.user.create" UserCreate => UserCreated, Root, Kernel, Rules, Root, by Approver;
    /// Lists all accounts by uid.
    "sys.user.list" UserList => Users, Root, Kernel, Reads, Root, by Person;
    /// Changes a user's password, lock or groups. Locking closes the user's connections. A new password ends the user's
    /// other sessions: connections of people are closed and `user` tokens revoked. Devices and services go on.
    "sys.user.update" UserUpdate => UserResult, Root, Kernel, Rules, Root, by Approver;
    /// Removes a user with everything that is its own: agents, conversations, tokens, devices, config and connected
    /// accounts. Its connections are closed. Its files are kept for root, or deleted if that is asked for.
    "sys.user.remove" UserRemove => UserRemoved, Root, Kernel, Rules | Destroys, Root, by Person;
    /// Lists all groups by gid.
    "sys.group.list" GroupList => Groups, Root, Kernel, Reads, Root, by Person;
    /// Adds a group.
    "sys.group.create" GroupCreate => GroupResult, Root, Kernel, Rules, Root, by Person;
    /// Removes a group and what was granted to it. Built-in and private groups stay.
    "sys.group.remove" GroupRemove => Removed, Root, Kernel, Rules | Destroys, Root, by Person;
    /// Lists which group holds which capability.
    "sys.capability.list" CapabilityList => Grants, Root, Kernel, Reads, Root, by Person;
    /// Gives a capability to a group.
    "sys.capability.grant" Grant => Changed, Root, Kernel, Rules, Root, by Person;
    /// Takes a capability from a group. It stays taken, also if it was a default.
    "sys.capability.revoke" Revoke => Changed, Root, Kernel, Rules, Root, by Person;
}

/// Arguments of `sys.user.create`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysUserCreateArgs")]
#[serde(rename_all = "camelCase")]
pub struct UserCreate {
    /// Login name.
    pub username: String,
    /// At least 8 characters.
    pub password: String,
    /// Names of further groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<Vec<String>>,
    /// Whether files that are there already, such as those of a removed user of that name, become its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adopt_files: Option<bool>,
}

/// Result of `sys.user.create`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysUserCreateResult")]
#[serde(rename_all = "camelCase")]
pub struct UserCreated {
    /// The account.
    pub user: User,
    /// The home, when there were files in it already. They are the user's only if it adopted them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found_files: Option<String>,
}

/// Result of `sys.user.update`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysUserResult")]
pub struct UserResult {
    /// The account as it is now.
    pub user: User,
}

/// One account.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysUser")]
pub struct User {
    /// Number, name, home and group numbers.
    #[serde(flatten)]
    pub identity: ProcessIdentity,
    /// Names of all its groups.
    pub groups: Vec<String>,
    /// Whether it cannot log in with a password.
    pub locked: bool,
}

/// Arguments of `sys.user.list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysUserListArgs")]
pub struct UserList {}

/// Result of `sys.user.list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysUserListResult")]
pub struct Users {
    /// By uid.
    pub users: Vec<User>,
}

/// Arguments of `sys.user.update`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysUserUpdateArgs")]
#[serde(rename_all = "camelCase")]
pub struct UserUpdate {
    /// Whom to change.
    pub username: String,
    /// The new password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
    /// Locks or unlocks the account; its password is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locked: Option<bool>,
    /// Names of the further groups it is in from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<Vec<String>>,
    /// `true` leaves the user's sessions alone when the password changes, `false` ends them in any case. Absent, they end
    /// with the password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_sessions: Option<bool>,
}

/// Arguments of `sys.user.remove`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysUserRemoveArgs")]
pub struct UserRemove {
    /// Whom to remove.
    pub username: String,
    /// What becomes of its files; they are kept when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<UserFiles>,
}

/// What becomes of a removed user's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysUserFiles")]
#[serde(rename_all = "lowercase")]
pub enum UserFiles {
    /// They become root's, and nobody else can read them until a new user of that name adopts them.
    Keep,
    /// They are deleted.
    Delete,
}

/// Result of `sys.user.remove`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysUserRemoveResult")]
#[serde(rename_all = "camelCase")]
pub struct UserRemoved {
    /// False when there was no such user.
    pub removed: bool,
    /// Where its files are, if they were kept.
    pub files_kept: Option<String>,
}

/// Result of a removal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysRemoved")]
pub struct Removed {
    /// False when there was nothing to remove.
    pub removed: bool,
}

/// Arguments of `sys.group.list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysGroupListArgs")]
pub struct GroupList {}

/// Result of `sys.group.list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysGroupListResult")]
pub struct Groups {
    /// By gid.
    pub groups: Vec<Group>,
}

/// A group with its members.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysGroup")]
pub struct Group {
    /// Its number.
    pub gid: Gid,
    /// The name, unique among groups.
    pub name: String,
    /// Login names of its members.
    pub members: Vec<String>,
}

/// Arguments of `sys.group.create`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysGroupCreateArgs")]
pub struct GroupCreate {
    /// The group's name.
    pub name: String,
}

/// Result of `sys.group.create`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysGroupResult")]
pub struct GroupResult {
    /// The new group.
    pub group: Group,
}

/// Arguments of `sys.group.remove`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysGroupRemoveArgs")]
pub struct GroupRemove {
    /// The group's name.
    pub name: String,
}

/// Arguments of `sys.capability.list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysCapabilityListArgs")]
pub struct CapabilityList {
    /// Of one group; all when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gid: Option<Gid>,
}

/// Result of `sys.capability.list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysCapabilityListResult")]
pub struct Grants {
    /// By gid, then by name.
    pub capabilities: Vec<Granted>,
}

/// A group holds a capability.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysGrantedCapability")]
pub struct Granted {
    /// Number of the group.
    pub gid: Gid,
    /// The pattern.
    pub capability: String,
}

/// Arguments of `sys.capability.grant`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysCapabilityGrantArgs")]
pub struct Grant {
    /// Number of the group.
    pub gid: Gid,
    /// The pattern.
    pub capability: String,
}

/// Arguments of `sys.capability.revoke`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysCapabilityRevokeArgs")]
pub struct Revoke {
    /// Number of the group.
    pub gid: Gid,
    /// The pattern.
    pub capability: String,
}

/// Result of granting or revoking.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SysCapabilityChanged")]
pub struct Changed {
    /// False when nothing had to change.
    pub changed: bool,
}
