//! Wire types and table of `sys.bootstrap`: importing the system repository and building from it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::pkg::{Runtime, WindowDefaults};
use crate::spec::syscalls;

syscalls! {
    /// Imports the system repository, builds its packages and mirrors the command line programs.
    "sys.bootstrap" Bootstrap => Bootstrapped, Granted, Kernel, Rules, Users;
}

/// Arguments of `sys.bootstrap`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SysBootstrapArgs")]
pub struct Bootstrap {
    /// A git URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote_url: Option<String>,
    /// `owner/name` on GitHub, instead of a URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repo: Option<String>,
    /// The ref; `main` when absent.
    #[serde(rename = "ref", default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
}

/// Result of `sys.bootstrap`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SysBootstrapResult")]
pub struct Bootstrapped {
    /// The local repository.
    pub repo: String,
    /// Where it came from.
    pub remote_url: String,
    /// The ref.
    #[serde(rename = "ref")]
    pub reference: String,
    /// The commit.
    pub head: Option<String>,
    /// False when it was up to date.
    pub changed: bool,
    /// The command line programs.
    pub cli: Cli,
    /// What was built.
    pub packages: Vec<Package>,
}

/// Which command line program people get.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "CliChannel")]
pub enum Channel {
    /// The released one.
    Stable,
    /// The newest one.
    Dev,
}

/// The command line programs that were mirrored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "BootstrapCli")]
pub struct Cli {
    /// Which one people get.
    pub default_channel: Channel,
    /// Which ones there are.
    pub mirrored_channels: Vec<Channel>,
    /// The files.
    pub assets: Vec<String>,
}

/// A package that was built.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "BootstrapPackageSummary")]
pub struct Package {
    /// Id of the package, as `pkg.list` gives it.
    pub package_id: String,
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
}

/// Where a package that was built comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "BootstrapPackageSource")]
pub struct Source {
    /// The repository.
    pub repo: String,
    /// The ref.
    #[serde(rename = "ref")]
    pub reference: String,
    /// The directory in it.
    pub subdir: String,
    /// Hash of the commit that `ref` stood for, in hex.
    pub resolved_commit: Option<String>,
}

/// How a built package is entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "BootstrapEntrypointKind")]
pub enum EntrypointKind {
    /// A shell command.
    Command,
    /// A window.
    Ui,
}

/// A way into a package that was built.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "BootstrapEntrypoint")]
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
    pub icon: Option<String>,
    /// The calls it makes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub syscalls: Option<Vec<String>>,
    /// How large its window opens; only for browser pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_defaults: Option<WindowDefaults>,
}
