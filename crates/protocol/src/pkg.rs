//! Wire types and table of `pkg.*`: installed packages and their review. Repositories as such are in [`crate::repo`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::Uid;
use crate::literal::Nullable;
use crate::spec::syscalls;

pub mod catalog;

syscalls! {
    /// Lists the packages the caller sees: its own scope first, then the global one.
    "pkg.list" List => Listed, Granted, Kernel, Reads, Users;
    /// Imports a package from a repository. It stays disabled until it was reviewed.
    "pkg.add" Add => Added, Granted, Kernel, Rules, Root;
    /// Rebuilds the built-in packages from the system repository.
    "pkg.sync" Sync => Listed, Granted, Kernel, Rules, Root;
    /// Moves a package to another ref and keeps its grants and state.
    "pkg.checkout" Checkout => Changed, Granted, Kernel, Rules, Users;
    /// Enables a package. One that needs review must have been approved.
    "pkg.install" Install => Changed, Granted, Kernel, Rules, Users;
    /// Approves a package that needs review.
    "pkg.review.approve" ReviewApprove => Changed, Granted, Kernel, Rules, Root;
    /// Disables a package. Its row stays.
    "pkg.remove" Remove => Changed, Granted, Kernel, Rules | Destroys, Users;
}

/// What a package runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "PkgRuntime")]
pub enum Runtime {
    /// Its own backend.
    DynamicWorker,
    /// A Node.js program.
    Node,
    /// A browser page, with or without a backend.
    WebUi,
}

/// How a package is entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "PkgEntrypointKind")]
pub enum EntrypointKind {
    /// A shell command.
    Command,
    /// A web route.
    Http,
    /// Calls from its own page.
    Rpc,
    /// A window.
    Ui,
}

/// A picture for an entrypoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[schemars(rename = "PkgIcon")]
pub enum Icon {
    /// One of ours.
    Builtin {
        /// Its name.
        id: String,
    },
    /// Its own.
    Svg {
        /// The picture.
        svg: String,
    },
}

/// How large a window opens, in pixels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PkgWindowDefaults")]
pub struct WindowDefaults {
    /// Width, in pixels.
    pub width: u32,
    /// Height, in pixels.
    pub height: u32,
    /// Smallest width.
    pub min_width: u32,
    /// Smallest height.
    pub min_height: u32,
}

/// A way into a package.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PkgEntrypointSummary")]
pub struct Entrypoint {
    /// Its name, unique within the package.
    pub name: String,
    /// How it is entered.
    pub kind: EntrypointKind,
    /// What it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The shell command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The web route.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route: Option<String>,
    /// Its picture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icon: Option<Icon>,
    /// The calls it makes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub syscalls: Option<Vec<String>>,
    /// How large its window opens; only for browser pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_defaults: Option<WindowDefaults>,
}

/// For whom a package is installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "PkgScopeKind")]
pub enum ScopeKind {
    /// Everybody.
    Global,
    /// The user `uid`.
    User,
    /// The workspace `workspaceId`.
    Workspace,
}

/// For whom a package is installed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PkgScope")]
pub struct Scope {
    /// Everybody, a user or a workspace.
    pub kind: ScopeKind,
    /// The user, when `kind` is `user`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<Uid>,
    /// The workspace, when `kind` is `workspace`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<String>,
}

/// Where an installed package comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PkgSource")]
pub struct Source {
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
    /// Whether the repository is public.
    pub public: bool,
}

/// Whether somebody looked at a package.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PkgReview")]
pub struct Review {
    /// Whether it must be approved before it can be enabled.
    pub required: bool,
    /// When it was approved, in milliseconds.
    pub approved_at: Option<i64>,
}

/// An installed package.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PkgSummary")]
pub struct Package {
    /// Id of the package, as `pkg.list` gives it.
    pub package_id: String,
    /// For whom it is installed.
    pub scope: Scope,
    /// Its name, for people.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The version, as its author gives it.
    pub version: String,
    /// What it runs on.
    pub runtime: Runtime,
    /// Whether it can be used.
    pub enabled: bool,
    /// Where it comes from.
    pub source: Source,
    /// The ways into it.
    pub entrypoints: Vec<Entrypoint>,
    /// What it is connected to.
    pub binding_names: Vec<String>,
    /// Whether somebody looked at it.
    pub review: Review,
    /// When it was installed, in milliseconds.
    pub installed_at: i64,
    /// When it last changed.
    pub updated_at: i64,
}

/// Arguments of `pkg.list`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PkgListArgs")]
pub struct List {
    /// Only enabled, or only disabled ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Only this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Only this runtime.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Runtime>,
}

/// Result of `pkg.list` and `pkg.sync`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PkgListResult")]
pub struct Listed {
    /// The packages that the caller sees.
    pub packages: Vec<Package>,
}

/// Arguments of `pkg.add`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PkgAddArgs")]
pub struct Add {
    /// A git URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote_url: Option<String>,
    /// `owner/name` on GitHub, instead of a URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repo: Option<String>,
    /// The ref; `main` when absent.
    #[serde(rename = "ref", default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// The directory in it; `.` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subdir: Option<String>,
    /// Enables it at once, where that is allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enable: Option<bool>,
}

/// Result of `pkg.add`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PkgAddResult")]
pub struct Added {
    /// False when it was there already.
    pub changed: bool,
    /// What was imported.
    pub imported: Imported,
    /// The package as it is now.
    pub package: Package,
}

/// A repository that was imported for a package.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PkgImported")]
pub struct Imported {
    /// The local repository.
    pub repo: String,
    /// Where it came from.
    pub remote_url: String,
    /// The ref.
    #[serde(rename = "ref")]
    pub reference: String,
    /// The commit.
    pub head: Option<String>,
}

/// Arguments of `pkg.sync`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PkgSyncArgs")]
pub struct Sync {}

/// Result of changing a package.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PkgChangeResult")]
pub struct Changed {
    /// False when nothing had to change.
    pub changed: bool,
    /// The package as it is now.
    pub package: Package,
}

/// Arguments of `pkg.checkout`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PkgCheckoutArgs")]
pub struct Checkout {
    /// Id of the package, as `pkg.list` gives it.
    pub package_id: String,
    /// The ref.
    #[serde(rename = "ref")]
    pub reference: String,
}

/// Arguments of `pkg.install`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PkgInstallArgs")]
pub struct Install {
    /// Id of the package, as `pkg.list` gives it.
    pub package_id: String,
}

/// Arguments of `pkg.review.approve`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PkgReviewApproveArgs")]
pub struct ReviewApprove {
    /// Id of the package, as `pkg.list` gives it.
    pub package_id: String,
}

/// Arguments of `pkg.remove`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PkgRemoveArgs")]
pub struct Remove {
    /// Id of the package, as `pkg.list` gives it.
    pub package_id: String,
}
