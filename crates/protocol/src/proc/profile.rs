//! Wire types and table of profiles: what kinds of agents there are.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::spec::syscalls;

syscalls! {
    /// Lists the built-in profiles, then those of enabled packages.
    "proc.profile.list" List => Listed, Granted, Kernel, Reads, Users.*;
}

/// `init`, `task`, `review`, `cron`, `mcp`, `app`, or `<package>#<profile>`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Profile(pub String);

impl Profile {
    /// The built-in ones.
    pub const SYSTEM: [&str; 6] = ["init", "task", "review", "cron", "mcp", "app"];

    /// The profile's name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl JsonSchema for Profile {
    fn schema_name() -> Cow<'static, str> {
        "AiContextProfile".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A built-in profile, or `<package>#<profile>`.",
            "anyOf": [{ "enum": Profile::SYSTEM }, { "type": "string", "pattern": "^.*#.*$" }]
        })
    }
}

/// Arguments of `proc.profile.list`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ProcProfileListArgs")]
pub struct List {}

/// Result of `proc.profile.list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ProcProfileListResult")]
pub struct Listed {
    /// Built-in ones first, then by package and name.
    pub profiles: Vec<ProfileInfo>,
}

/// What a kind of agent is called, and when to choose it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProcProfile")]
pub struct ProfileInfo {
    /// Its id, as `proc.spawn` takes it.
    pub id: Profile,
    /// A shorter name for the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    /// Where it comes from.
    pub kind: ProfileKind,
    /// Its name for people.
    pub display_name: String,
    /// When to choose it, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether people talk to it.
    pub interactive: bool,
    /// Whether `proc.spawn` takes it.
    pub startable: bool,
    /// Whether it works without anybody watching.
    pub background: bool,
    /// How many there are.
    pub spawn_mode: SpawnMode,
    /// Id of the package, as `pkg.list` gives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package_id: Option<String>,
    /// The package's name, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package_name: Option<String>,
}

/// Where a profile comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "ProcProfileKind")]
pub enum ProfileKind {
    /// Built in.
    System,
    /// From a package.
    Package,
}

/// How many processes of a profile a user has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "ProcSpawnMode")]
pub enum SpawnMode {
    /// One process per user at most.
    Singleton,
    /// A new one each time.
    New,
}
