//! The two services of git's smart protocol as commands: `git upload-pack` and `git receive-pack` with a clean
//! environment and every setting that matters given, so that nothing on the machine or in a repository changes them.

use std::path::Path;
use std::process::Stdio;

use axum::http::{HeaderMap, header};
use base::limits::git as limits;
use bytes::Bytes;
use tokio::process::Command;

use super::access::Wish;
use super::answer::Refusal;
use super::child::{Bounds, GitChild};
use crate::git::program;

/// What a client asks of git.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    /// Clone and fetch.
    UploadPack,
    /// Push.
    ReceivePack,
}

/// Version of the wire protocol that a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    Zero,
    One,
    Two,
}

/// What differs between requests.
pub(crate) struct Rules {
    /// Whether history may only grow.
    pub(crate) is_protected: bool,
    pub(crate) push_max_bytes: u64,
}

/// What is set for every request.
const SETTINGS: &[(&str, &str)] = &[
    // The directories are the gateway's own, whoever the operating system says made them.
    ("safe.directory", "*"),
    // Nothing that a repository contains is ever run.
    ("core.hooksPath", "/dev/null"),
    ("protocol.allow", "never"),
    // Other refs are the gateway's own: nobody sees or changes them from outside.
    ("transfer.hideRefs", "refs"),
    ("transfer.hideRefs", "!refs/heads"),
    ("transfer.hideRefs", "!refs/tags"),
    ("transfer.hideRefs", "!refs/notes"),
    ("uploadpack.allowFilter", "true"),
    // Every object is looked at before it is taken. What old programs wrote and nothing suffers from may pass.
    ("transfer.fsckObjects", "true"),
    ("receive.fsck.zeroPaddedFilemode", "ignore"),
    ("receive.fsck.missingSpaceBeforeDate", "ignore"),
    ("receive.fsck.badTimezone", "ignore"),
    ("receive.denyDeleteCurrent", "refuse"),
    ("receive.autogc", "false"),
    ("receive.updateServerInfo", "false"),
    ("receive.advertisePushOptions", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    // A push that was acknowledged is on the disk.
    ("core.fsync", "all"),
    ("core.fsyncMethod", "batch"),
    // What one request may cost. A large file is passed through, not read into memory.
    ("core.bigFileThreshold", "32m"),
    ("core.packedGitWindowSize", "16m"),
    ("core.packedGitLimit", "256m"),
    ("core.deltaBaseCacheLimit", "32m"),
    ("pack.threads", "1"),
    ("pack.windowMemory", "64m"),
    ("pack.deltaCacheSize", "32m"),
];

impl Service {
    /// The service of a name in a query.
    pub(crate) fn named(name: &str) -> Option<Service> {
        [Service::UploadPack, Service::ReceivePack].into_iter().find(|service| service.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Service::UploadPack => "git-upload-pack",
            Service::ReceivePack => "git-receive-pack",
        }
    }

    /// What a client wants of a repository that asks for it.
    pub(crate) fn wish(self) -> Wish {
        match self {
            Service::UploadPack => Wish::Read,
            Service::ReceivePack => Wish::Write,
        }
    }

    /// The type of an answer.
    pub(crate) fn content_type(self, what: &str) -> String {
        format!("application/x-{}-{what}", self.name())
    }

    /// Browsers ask before they send such a type elsewhere, so that no foreign page makes requests with a login.
    pub(crate) fn check_content_type(self, headers: &HeaderMap) -> Result<(), Refusal> {
        let wanted = self.content_type("request");
        match headers.get(header::CONTENT_TYPE) {
            Some(given) if given.as_bytes() == wanted.as_bytes() => Ok(()),
            _ => Err(Refusal::wrong_content_type(&wanted)),
        }
    }

    /// What stands before git's own words in the list of refs; later versions have no such line.
    pub(crate) fn preamble(self, version: Version) -> Bytes {
        if self == Service::UploadPack && version == Version::Two {
            return Bytes::new();
        }
        let line = format!("# service={}\n", self.name());
        format!("{:04x}{line}0000", line.len() + 4).into()
    }

    /// Starts git to list what a repository has.
    pub(crate) fn advertise(
        self,
        repository: &Path,
        version: Version,
        rules: &Rules,
    ) -> Result<GitChild, Refusal> {
        let mut command = self.command(version, rules);
        command.arg("--advertise-refs").arg(repository).stdin(Stdio::null());
        GitChild::start(command, self.bounds(rules))
    }

    /// Starts git to answer one request.
    pub(crate) fn serve(
        self,
        repository: &Path,
        version: Version,
        rules: &Rules,
    ) -> Result<GitChild, Refusal> {
        let mut command = self.command(version, rules);
        command.arg(repository).stdin(Stdio::piped());
        GitChild::start(command, self.bounds(rules))
    }

    fn command(self, version: Version, rules: &Rules) -> Command {
        let mut command = program::command();
        command.envs(version.variable().map(|value| ("GIT_PROTOCOL", value)));
        let own = [
            ("receive.maxInputSize", rules.push_max_bytes.to_string()),
            ("receive.denyNonFastForwards", rules.is_protected.to_string()),
        ];
        let fixed = SETTINGS.iter().map(|(key, value)| (*key, value.to_string()));
        for (key, value) in fixed.chain(own) {
            command.args(["-c", &format!("{key}={value}")]);
        }
        command.arg(self.name().trim_start_matches("git-"));
        if self == Service::UploadPack {
            command.arg("--strict");
        }
        command.arg("--stateless-rpc");
        command
    }

    fn bounds(self, rules: &Rules) -> Bounds {
        Bounds { file_max_bytes: rules.push_max_bytes.saturating_add(limits::FILE_SPARE_BYTES) }
    }
}

impl Version {
    /// The highest version that is asked for and known; what else the header says is not passed on.
    pub(crate) fn asked_for(headers: &HeaderMap) -> Version {
        let asked = headers.get("git-protocol").and_then(|value| value.to_str().ok()).unwrap_or_default();
        let versions = asked.split(':').filter_map(|part| part.strip_prefix("version="));
        let known = versions.filter_map(|version| match version {
            "1" => Some(Version::One),
            "2" => Some(Version::Two),
            _ => None,
        });
        known.max_by_key(|version| *version == Version::Two).unwrap_or(Version::Zero)
    }

    fn variable(self) -> Option<&'static str> {
        match self {
            Version::Zero => None,
            Version::One => Some("version=1"),
            Version::Two => Some("version=2"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_versions_are_passed_on() {
        for (text, version) in [
            ("", Version::Zero),
            ("version=2", Version::Two),
            ("version=1", Version::One),
            ("version=1:version=2", Version::Two),
            ("version=2:version=1", Version::Two),
            ("version=3", Version::Zero),
            ("version=2\" x", Version::Zero),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert("git-protocol", text.parse().unwrap());
            assert_eq!(Version::asked_for(&headers), version, "{text}");
        }
    }

    #[test]
    fn the_environment_has_nothing_of_the_machine_but_the_path() {
        let rules = Rules { is_protected: true, push_max_bytes: 7 };
        let command = Service::ReceivePack.command(Version::Two, &rules);
        let names: Vec<_> = command.as_std().get_envs().map(|(name, _)| name.to_owned()).collect();
        assert!(names.iter().all(|name| {
            let name = name.to_string_lossy();
            name.starts_with("GIT_") || ["PATH", "HOME", "LC_ALL", "TZ"].contains(&name.as_ref())
        }));
        let args: Vec<_> = command.as_std().get_args().map(|arg| arg.to_string_lossy()).collect();
        for wanted in
            ["receive.maxInputSize=7", "receive.denyNonFastForwards=true", "core.hooksPath=/dev/null"]
        {
            assert!(args.iter().any(|arg| arg == wanted), "{wanted}");
        }
        assert_eq!(&args[args.len() - 2..], ["receive-pack", "--stateless-rpc"]);
    }

    #[test]
    fn the_first_line_names_the_service_to_older_clients() {
        assert_eq!(&Service::UploadPack.preamble(Version::Zero)[..], b"001e# service=git-upload-pack\n0000");
        assert_eq!(&Service::ReceivePack.preamble(Version::Two)[..], b"001f# service=git-receive-pack\n0000");
        assert!(Service::UploadPack.preamble(Version::Two).is_empty());
        assert_eq!(Service::named("git-upload-archive"), None);
    }
}
