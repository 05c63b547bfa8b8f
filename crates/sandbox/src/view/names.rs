//! Name resolution inside: the one server that is asked is the driver's, in the run's own network namespace.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::devices::Staging;
use super::mounts;
use crate::failure::{At, Failure};

const RESOLVER: &str = "resolv.conf";
const SWITCH: &str = "nsswitch.conf";
const RESOLVER_TEXT: &str = "nameserver 127.0.0.1\noptions timeout:2 attempts:1\n";

/// The files to put in place of the machine's.
pub(super) struct Names {
    /// Where the resolver's configuration really is.
    resolver: PathBuf,
    /// The configuration of lookups, with hosts taken from the file and the server only.
    switch: Option<String>,
}

/// Looks at the machine's configuration, while its own view stands.
pub(super) fn read() -> Names {
    let configured = Path::new("/etc").join(RESOLVER);
    // A link can lead to a file that does not exist now; it will exist inside.
    let resolver = fs::canonicalize(&configured).or_else(|_| fs::read_link(&configured));
    let switch = fs::read_to_string(Path::new("/etc").join(SWITCH)).ok();
    Names { resolver: Path::new("/etc").join(resolver.unwrap_or(configured)), switch: switch.map(only_dns) }
}

fn only_dns(text: String) -> String {
    let line = |line: &str| {
        let is_hosts = line.trim_start().starts_with("hosts:");
        if is_hosts { "hosts: files dns\n".to_owned() } else { format!("{line}\n") }
    };
    text.lines().map(line).collect()
}

impl Names {
    /// What to stage.
    pub(super) fn files(&self) -> impl Iterator<Item = (&'static str, &str)> {
        [(RESOLVER, RESOLVER_TEXT)].into_iter().chain(self.switch.as_deref().map(|text| (SWITCH, text)))
    }

    /// Puts the files in place. A machine without a place for them has no use for them.
    pub(super) fn apply(&self, staging: &Staging) -> Result<(), Failure> {
        let switch = Path::new("/etc").join(SWITCH);
        for (name, _) in self.files() {
            let target = if name == RESOLVER { self.resolver.as_path() } else { switch.as_path() };
            // `/run` is a file system of this view's own, where what the link leads to is made.
            let point = match mounts::mount_point(target, false) {
                Err(error) if has_no_place(&error) => continue,
                other => other.at_path("find the place for", target)?,
            };
            let file = staging.copy(name).at_path("prepare", target)?;
            mounts::attach(file, point).at_path("replace", target)?;
        }
        Ok(())
    }
}

fn has_no_place(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ReadOnlyFilesystem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_line_of_hosts_changes() {
        let text = "passwd: files systemd\nhosts: mymachines resolve [!UNAVAIL=return] dns\n# hosts:\n";
        assert_eq!(only_dns(text.into()), "passwd: files systemd\nhosts: files dns\n# hosts:\n");
    }
}
