//! Wire types and table of package catalogues, and of which repositories are public.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Entrypoint, Runtime};
use crate::literal::Nullable;
use crate::spec::syscalls;

syscalls! {
    /// Lists the caller's package catalogues by name.
    "pkg.remote.list" RemoteList => Remotes, Granted, Kernel, Reads, Users;
    /// Adds a package catalogue.
    "pkg.remote.add" RemoteAdd => RemoteAdded, Granted, Kernel, Rules, Users;
    /// Removes a package catalogue.
    "pkg.remote.remove" RemoteRemove => RemoteRemoved, Granted, Kernel, Rules | Destroys, Users;
    /// Lists the public packages of this gateway, or of a catalogue.
    "pkg.public.list" PublicList => Catalog, Granted, Kernel, Reads, Users;
    /// Makes a package's repository public, or private again.
    "pkg.public.set" PublicSet => PublicChanged, Granted, Kernel, Rules, Users;
}

/// Where a package in a catalogue comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PkgCatalogSource")]
pub struct CatalogSource {
    /// The repository.
    pub repo: String,
    /// The ref.
    #[serde(rename = "ref")]
    pub reference: String,
    /// The directory in it.
    pub subdir: String,
    /// Hash of the commit that `ref` stood for, in hex.
    #[serde(default, skip_serializing_if = "Nullable::is_absent")]
    pub resolved_commit: Nullable<String>,
}

/// A package in a catalogue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PkgCatalogEntry")]
pub struct CatalogEntry {
    /// Its name, for people.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The version, as its author gives it.
    pub version: String,
    /// What it runs on.
    pub runtime: Runtime,
    /// Where it comes from.
    pub source: CatalogSource,
    /// The ways into it.
    pub entrypoints: Vec<Entrypoint>,
    /// What it wants to be connected to.
    pub binding_names: Vec<String>,
}

/// A package catalogue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PkgRemote")]
pub struct Remote {
    /// Its name, for people.
    pub name: String,
    /// Where it is.
    pub base_url: String,
}

/// Arguments of `pkg.remote.list`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PkgRemoteListArgs")]
pub struct RemoteList {}

/// Result of `pkg.remote.list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PkgRemoteListResult")]
pub struct Remotes {
    /// By name.
    pub remotes: Vec<Remote>,
}

/// Arguments of `pkg.remote.add`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PkgRemoteAddArgs")]
pub struct RemoteAdd {
    /// Letters, digits and dashes.
    pub name: String,
    /// An HTTP or HTTPS URL.
    pub base_url: String,
}

/// Result of `pkg.remote.add`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PkgRemoteAddResult")]
pub struct RemoteAdded {
    /// False when it was there already.
    pub changed: bool,
    /// The catalogue.
    pub remote: Remote,
    /// All of them, by name.
    pub remotes: Vec<Remote>,
}

/// Arguments of `pkg.remote.remove`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PkgRemoteRemoveArgs")]
pub struct RemoteRemove {
    /// The catalogue.
    pub name: String,
}

/// Result of `pkg.remote.remove`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PkgRemoteRemoveResult")]
pub struct RemoteRemoved {
    /// False when there was none.
    pub removed: bool,
    /// The others, by name.
    pub remotes: Vec<Remote>,
}

/// Arguments of `pkg.public.list`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PkgPublicListArgs")]
pub struct PublicList {
    /// A catalogue's name or URL; this gateway when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
}

/// Whose catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "PkgCatalogKind")]
pub enum CatalogKind {
    /// This gateway's.
    Local,
    /// Another's.
    Remote,
}

/// Where a catalogue is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PkgCatalogOrigin")]
pub struct CatalogOrigin {
    /// Whose it is.
    pub kind: CatalogKind,
    /// Its name, for people.
    pub name: String,
    /// Its URL, for another's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
}

/// Result of `pkg.public.list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PkgPublicListResult")]
pub struct Catalog {
    /// What the gateway is called.
    pub server_name: String,
    /// Where the catalogue is.
    pub source: CatalogOrigin,
    /// By name.
    pub packages: Vec<CatalogEntry>,
}

/// Arguments of `pkg.public.set`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PkgPublicSetArgs")]
pub struct PublicSet {
    /// The package whose repository it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package_id: Option<String>,
    /// The repository, instead of a package.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repo: Option<String>,
    /// Whether everybody may read it.
    pub public: bool,
}

/// Result of `pkg.public.set`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PkgPublicSetResult")]
pub struct PublicChanged {
    /// False when it was so already.
    pub changed: bool,
    /// The repository.
    pub repo: String,
    /// Whether everybody may read it.
    pub public: bool,
}
