//! Effect notes of a survey: what each program of a command destroys, needs and names, for the choice between the
//! sandbox and a question.

use places::classify;

use super::Surveyor;
use crate::catalogue;
use crate::findings::{Findings, Need, Secret};
use crate::programs::Word;
use crate::tags::Tags;

/// Programs that the catalogue calls destructive and that lose nothing a checkpoint would not bring back: modes, names
/// and edits. `kill` reaches nothing outside the sandbox.
const MENDABLE: &[&str] =
    &["chmod", "chown", "chgrp", "chattr", "setfacl", "mv", "rmdir", "sed", "gsed", "ssed", "kill"];
/// Programs that destroy or not depending on their words.
const BY_WORDS: &[&str] = &["git", "find", "gfind", "tar", "gtar", "bsdtar", "rsync", "proc", "pkg", "gsv"];
/// Build tools: what they clean or remove they made, or it is a line in a file of the project.
const BUILDERS: &[&str] = &[
    "make", "gmake", "ninja", "cmake", "meson", "cargo", "npm", "pnpm", "yarn", "bun", "deno", "gradle",
    "gradlew", "mvn", "mvnw", "go", "dotnet", "swift", "flutter", "dart", "poetry", "uv", "pip", "pip3",
    "pdm", "composer", "bundle", "gem", "mix", "sbt", "lein", "stack", "cabal", "bazel", "just", "task",
    "rake", "tox", "nox", "hatch", "conda", "mamba", "pipx", "nx", "turbo", "lerna", "rush",
];
/// Package managers: without a network they fail and say what they wanted to reach.
const INSTALLERS: &[&str] =
    &["npm", "pnpm", "yarn", "pip", "pip3", "pipx", "gem", "composer", "conda", "mamba"];
/// Directories that are private to a run inside the sandbox.
const PRIVATE: &[&str] = &["/tmp", "/var/tmp", "/private/tmp", "/dev"];
/// Programs that write to their last operand.
const COPIERS: &[&str] = &["cp", "install", "ln", "link", "rsync"];
/// Programs that write to every operand.
const WRITERS: &[&str] = &["touch", "mkdir", "tee", "mkfifo", "mknod", "mv", "truncate", "sponge", "rmdir"];
/// Programs that open none of their words.
const SPEAKERS: &[&str] =
    &["echo", "printf", "true", "false", ":", "test", "[", "basename", "dirname", "which", "type", "command"];

impl Surveyor<'_> {
    /// Notes what a program by itself was found to do: its own tags, and its words.
    pub(super) fn note_leaf(&mut self, base: &str, args: &[Word], own: Tags) {
        self.note_writes(base, args);
        // A word like `clean` has been noted where it was found.
        let is_itself = catalogue::find(base).tags.intersects(Tags::DESTRUCTIVE) || BY_WORDS.contains(&base);
        if own.intersects(Tags::DESTRUCTIVE)
            && is_itself
            && !MENDABLE.contains(&base)
            && !self.only_private(args)
        {
            self.note_destroyer(base, args);
        }
        if own.intersects(Tags::PRIVILEGED) && self.findings.needs.is_empty() {
            self.need(format!(
                "changes the machine, the gateway, or uses the rights of another user: {base}"
            ));
        }
        if own.intersects(Tags::NETWORK) && !INSTALLERS.contains(&base) {
            self.note_network(base, args);
        }
    }

    /// Notes what the name of a program says, whatever it runs.
    pub(super) fn note_name(&mut self, base: &str, args: &[Word]) {
        match base {
            "docker" | "podman" | "nerdctl" | "kubectl" | "oc" | "docker-compose" => {
                self.need(format!("talks to a service of the machine: {base}"));
            }
            "gsv" => self.need("acts through the gateway's own command line".to_string()),
            "open" | "xdg-open" | "gio" | "osascript" | "explorer" => {
                self.need(format!("acts on the desktop: {base}"))
            }
            "pkill" | "killall" | "killall5" | "xkill" | "skill" | "fuser" => {
                self.need("ends other programs".to_string())
            }
            "kill" if args.iter().any(|word| word.text.as_deref().is_some_and(is_pid)) => {
                self.need("ends another program".to_string());
            }
            "git" => self.note_git(args),
            "psql" | "mysql" | "mariadb" | "sqlite3" | "sqlite" if args.iter().any(drops) => {
                self.note_destroyer(base, &[])
            }
            _ => {}
        }
    }

    /// Notes that a program removes or overwrites something.
    pub(super) fn note_destroyer(&mut self, base: &str, args: &[Word]) {
        let first = args.first().and_then(|word| word.text.as_deref()).unwrap_or_default();
        let name = if base == "git" { format!("git {first}") } else { base.to_string() };
        Findings::note(
            &mut self.findings.destroys,
            format!("deletes or overwrites something for good: {name}"),
        );
    }

    /// Notes a word like `clean` after a program that is not in the books.
    pub(super) fn note_order_to_destroy(&mut self, base: &str, order: &str) {
        if !BUILDERS.contains(&base) {
            let sentence = format!("is told to delete something for good: {base} {order}");
            Findings::note(&mut self.findings.destroys, sentence);
        }
    }

    /// Notes something that no sandbox gives.
    pub(super) fn need(&mut self, sentence: String) {
        Findings::note(&mut self.findings.needs, Need::Other(sentence));
    }

    /// Secrets among the words of a program.
    pub(super) fn note_words(&mut self, base: &str, args: &[Word]) {
        if SPEAKERS.contains(&base) {
            return;
        }
        for word in args {
            let text = word.text.as_deref().or(word.pattern.as_deref()).unwrap_or(&word.start);
            // An option is no path, but may have one behind its `=`.
            self.note_secret(text);
            if let Some((_, value)) = text.split_once('=') {
                self.note_secret(value);
            }
            if let Some((_, path)) = text.rsplit_once(':') {
                self.note_secret(path);
            }
        }
    }

    /// A path that a command names, if it is a secret.
    pub(super) fn note_secret(&mut self, text: &str) {
        let is_path = !text.is_empty() && !text.starts_with('-') && !text.contains(char::is_whitespace);
        if !is_path {
            return;
        }
        // `@file`, as curl and others read it.
        let text = text.strip_prefix('@').filter(|rest| !rest.is_empty()).unwrap_or(text);
        let path = self.paths.resolve(text);
        let roots = self.paths.roots();
        let Some(place) = classify(&path, &roots).filter(|place| place.kind.is_secret()) else { return };
        let is_readable_confined = place.at == places::At::Anywhere && roots.is_in_workspace(&path);
        Findings::note(&mut self.findings.secrets, Secret { path, words: place.words, is_readable_confined });
    }

    /// A file that is written: whether a sandbox lets it.
    pub(super) fn note_write(&mut self, path: &str) {
        let path = self.paths.resolve(path);
        let is_private =
            PRIVATE.iter().any(|place| path.strip_prefix(place).is_some_and(|rest| rest.starts_with('/')));
        if is_private || path == "/dev/null" {
            return;
        }
        let roots = self.paths.roots();
        let what = match classify(&path, &roots) {
            Some(place) => place.words,
            None if self.paths.is_in_workspace(&path) => return,
            None => "a path outside the workspace",
        };
        Findings::note(&mut self.findings.needs, Need::Write { path, what });
    }

    /// A file that is replaced as a whole.
    pub(super) fn note_overwrite(&mut self, path: &str) {
        let path = self.paths.resolve(path);
        if self.paths.is_in_workspace(&path) {
            Findings::note(&mut self.findings.overwrites, path);
        }
    }

    fn note_writes(&mut self, base: &str, args: &[Word]) {
        let operands = || args.iter().filter(|word| !word.start.starts_with('-'));
        let path = |word: &Word| word.text.clone().unwrap_or_else(|| word.start.clone());
        let written: Vec<String> = match base {
            _ if COPIERS.contains(&base) => operands().next_back().map(path).into_iter().collect(),
            _ if WRITERS.contains(&base) => operands().map(path).collect(),
            _ => return,
        };
        for path in written.iter().filter(|path| !path.is_empty()) {
            // `rsync a host:b` goes elsewhere, and that has been noted.
            if base != "rsync" || !path.contains(':') {
                self.note_write(path);
            }
        }
        let appends = args.iter().any(|word| word.start.starts_with("-a") || word.start == "--append");
        if base == "tee" && !appends {
            written.iter().for_each(|path| self.note_overwrite(path));
        }
    }

    /// Commands of git that change its settings; those that reach other machines have their tag.
    fn note_git(&mut self, args: &[Word]) {
        let mut words =
            args.iter().filter_map(|word| word.text.as_deref()).skip_while(|text| text.starts_with('-'));
        let (command, first) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let is_reading =
            ["--get", "--get-all", "--list", "-l", "--get-regexp", "get", "list", "--show-origin"]
                .contains(&first);
        let changes = match command {
            "config" => !is_reading && args.len() > 2,
            "remote" => {
                matches!(first, "add" | "set-url" | "rename" | "remove" | "rm" | "set-head" | "set-branches")
            }
            "submodule" => !matches!(first, "" | "status" | "summary"),
            _ => false,
        };
        if changes {
            self.need("changes the settings of a git repository".to_string());
        }
    }

    /// Which hosts a program reaches. Its own machine is within the sandbox.
    fn note_network(&mut self, base: &str, args: &[Word]) {
        let is_client = matches!(base, "curl" | "wget" | "http" | "https" | "xh");
        let mut hosts: Vec<String> = Vec::new();
        let mut is_known = is_client;
        for word in args {
            match word.text.as_deref().map(host_of) {
                Some(Some(host)) => Findings::note(&mut hosts, host),
                Some(None) => {}
                None => {
                    is_known &=
                        !word.start.is_empty() && host_of(&word.start).is_some_and(|host| is_local(&host))
                }
            }
        }
        if is_known && !hosts.is_empty() && hosts.iter().all(|host| is_local(host)) {
            return;
        }
        match is_known && !hosts.is_empty() {
            true => {
                let far = hosts.into_iter().filter(|host| !is_local(host));
                far.for_each(|host| Findings::note(&mut self.findings.needs, Need::Host(host)));
            }
            false => self.need(format!("reaches other machines: {base}")),
        }
    }

    /// Whether all that is named is private to the run.
    fn only_private(&self, args: &[Word]) -> bool {
        let mut operands = args.iter().filter(|word| !word.start.starts_with('-')).peekable();
        let is_private = |word: &Word| {
            let text = word.text.as_deref().or(word.pattern.as_deref());
            text.is_some_and(|text| {
                let path = self.paths.resolve(text);
                ["/tmp/", "/var/tmp/"].iter().any(|start| path.starts_with(start))
                    && !self.paths.is_in_workspace(&path)
            })
        };
        operands.peek().is_some() && operands.all(is_private)
    }

    /// Whether a program is in no book: nothing is known of it.
    pub(super) fn note_unknown(&mut self, base: &str) {
        if !catalogue::is_known(base) {
            Findings::note(&mut self.findings.unknown, base.to_string());
        }
    }
}

/// Whether a statement for a database throws something away.
fn drops(word: &Word) -> bool {
    let text = word.text.as_deref().unwrap_or(&word.start).to_ascii_lowercase();
    ["drop ", "delete ", "truncate ", "update "].iter().any(|order| text.contains(order))
}

fn is_pid(text: &str) -> bool {
    text.len() > 1 && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The host of an address, as far as a word is one.
fn host_of(text: &str) -> Option<String> {
    let rest = match text.split_once("://") {
        Some((_, rest)) => rest,
        None if text.starts_with("localhost") || text.starts_with("127.0.0.1") => text,
        // `curl example.org`; a file or a value looks the same, which then is a question too many.
        None if text.contains('.')
            && !text.starts_with(['-', '.', '/', '@', '{', '~'])
            && !text.contains([' ', '=', '{', '"']) =>
        {
            text
        }
        None => return None,
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let authority = authority.rsplit('@').next().unwrap_or_default();
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => (rest.split(']').next().unwrap_or_default(), None),
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    let host = host.to_ascii_lowercase();
    if is_local(&host) {
        return Some(host);
    }
    match (port, port.and_then(|port| port.parse().ok())) {
        (None, _) => (!host.is_empty()).then_some(host),
        (_, Some(port)) => Some(protocol::hosts::entry(&host, Some(port))),
        // Nobody can tell which port that is.
        (Some(_), None) => Some(authority.to_string()),
    }
}

fn is_local(host: &str) -> bool {
    matches!(host, "localhost" | "127.0.0.1" | "::1" | "0.0.0.0") || host.ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_read_from_addresses() {
        for (text, host) in [
            ("https://Example.org/x?y", Some("example.org")),
            ("http://user:secret@example.org:8080/x", Some("example.org:8080")),
            ("https://example.org:443/x", Some("example.org")),
            ("http://example.org:$PORT", Some("example.org:$PORT")),
            ("http://localhost@example.org/", Some("example.org")),
            ("http://[::1]:3000/", Some("::1")),
            ("localhost:3000/x", Some("localhost")),
            ("example.org", Some("example.org")),
            ("-sS", None),
            ("./file.txt", None),
            ("POST", None),
            ("Content-Type: text/x.y", None),
        ] {
            assert_eq!(host_of(text).as_deref(), host, "{text}");
        }
        assert!(is_local("localhost") && is_local("::1") && !is_local("localhost.example.org"));
    }
}
