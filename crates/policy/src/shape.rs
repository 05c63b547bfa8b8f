//! Equivalence classes of calls, in words: what a remembered approval covers besides the very call. A shape is the text
//! that a person reads and the key that is compared, so that nothing is covered that was not said. And the digest,
//! which binds an approval to one call alone.

mod plain_file;

use base::limits;
use protocol::confine::Widening;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::paths::{self, PathContext};
use super::{programs, script_files};

/// Whether a script has a shape, found out while it is surveyed: a line for each program.
#[derive(Debug)]
pub(super) struct Shape {
    /// `None` once something has no shape.
    lines: Option<Vec<String>>,
}

impl Shape {
    /// The shape of what runs in a directory.
    pub(super) fn new(cwd: &str) -> Shape {
        Shape { lines: Some(vec![format!("in {}", quote(cwd))]) }
    }

    /// A program with its words.
    pub(super) fn add<'a>(&mut self, words: impl IntoIterator<Item = &'a str>) {
        if let Some(lines) = &mut self.lines {
            lines.push(words.into_iter().map(quote).collect::<Vec<_>>().join(" "));
        }
    }

    /// Something has no shape.
    pub(super) fn lose(&mut self) {
        self.lines = None;
    }

    /// The whole, if it is short enough to be shown to a person.
    pub(super) fn finish(self) -> Option<String> {
        let whole = self.lines.filter(|lines| lines.len() > 1)?.join("; ");
        (whole.len() <= limits::approval::SHAPE_MAX_BYTES).then_some(whole)
    }
}

/// The shape of a command: one plain file in a directory where the program is one of a few, else its whole text.
/// Nothing that runs a file is remembered, for the file may be another one the next time.
pub(super) fn of_command(command: &str, cwd: Option<&str>, paths: &PathContext) -> Option<String> {
    let script = programs::read(command);
    let is_known = |word: &programs::Word| word.text.is_some() || word.pattern.is_some();
    let are_known = |simple: &programs::Simple| {
        simple.words.iter().all(is_known)
            && simple.assignments.iter().all(|(_, value)| value.text.is_some())
            && simple.redirections.iter().all(|redirection| is_known(&redirection.target))
            && simple.input.as_ref().is_none_or(|input| input.text.is_some())
    };
    let is_clear = script.is_clear && !script.commands.is_empty() && script.commands.iter().all(are_known);
    if !is_clear || !script_files::script_files(command, cwd).is_empty() {
        return None;
    }
    let shape = plain_file::shape(command, &script, cwd, paths).or_else(|| {
        let start = place(".", cwd, paths)?;
        Some(format!("exactly {} in {}", quote(command.trim()), said(&start)))
    })?;
    (shape.len() <= limits::approval::SHAPE_MAX_BYTES).then_some(shape)
}

/// The shape of a call about a file: any plain file in that directory, or that file alone.
pub(super) fn of_file(syscall: &str, path: &str, paths: &PathContext) -> Option<String> {
    let path = place(path, None, paths)?;
    // Deleting and searching go below, and neither a hidden file nor one of the system is like its neighbours.
    let is_single = matches!(syscall, "fs.read" | "fs.write" | "fs.edit");
    let shape = match plain_directory(&path, paths).filter(|_| is_single) {
        Some(directory) => format!("{syscall} of a plain file in {}", said(directory)),
        None => format!("{syscall} of {}", quote(&path)),
    };
    (shape.len() <= limits::approval::SHAPE_MAX_BYTES).then_some(shape)
}

/// Where a path leads, in so far as that is known: absolute, below the home (`~`), or below the directory in which a
/// device starts commands (`./`), which is not known to be the home.
fn place(path: &str, cwd: Option<&str>, paths: &PathContext) -> Option<String> {
    let is_whole = |path: &str| path.starts_with(['/', '~']);
    if is_whole(path) || paths.cwd().starts_with('/') {
        return (!paths.is_lost(path)).then(|| paths.resolve(path));
    }
    let path = match cwd.filter(|cwd| !cwd.is_empty()) {
        Some(cwd) => format!("{cwd}/{path}"),
        None => path.to_string(),
    };
    if is_whole(&path) {
        return (!paths.is_lost(&path)).then(|| paths.resolve(&path));
    }
    let leads_up = path.split('/').any(|part| part == "..");
    (!leads_up).then(|| format!(".{}", paths::collapse(&path)))
}

/// A directory in words.
fn said(directory: &str) -> String {
    match directory {
        "." | "./" => "the directory where commands start".to_string(),
        directory => quote(directory),
    }
}

/// The directory of a path whose neighbours are like it: nothing on the way is hidden, and it is not the system's.
fn plain_directory<'a>(path: &'a str, paths: &PathContext) -> Option<&'a str> {
    let directory = paths::directory(path);
    let names = || path.trim_start_matches("./").split('/');
    let is_plain = path.contains('/') && !path.ends_with('/') && names().all(|name| !name.starts_with('.'));
    let is_apart = directory == "/" || paths.is_of_the_system(path) || directory.starts_with("/dev");
    (is_plain && !is_apart).then_some(directory)
}

/// Whether the last name begins with a dot.
pub(super) fn is_hidden(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.starts_with('.'))
}

/// The shape of any other call: all its arguments as they are.
pub(super) fn of_call(syscall: &str, args: &Map<String, Value>) -> Option<String> {
    let mut shape = format!("{syscall} with exactly ");
    canonical(&Value::Object(args.clone()), &mut shape);
    (shape.len() <= limits::approval::SHAPE_MAX_BYTES).then_some(shape)
}

/// The shape of a call of an MCP server's tool: that tool, as the server describes it now, with any arguments. A tool that
/// is described otherwise is another one; of a call that does not say which it means nothing is remembered.
pub(super) fn of_mcp_tool(args: &Map<String, Value>) -> Option<String> {
    let text = |name: &str| args.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let (server, tool, fingerprint) = (text("serverId")?, text("name")?, text("fingerprint")?);
    let shape = format!(
        "the tool {} of MCP server {}, as it is described now ({})",
        quote(tool),
        quote(server),
        quote(fingerprint)
    );
    (shape.len() <= limits::approval::SHAPE_MAX_BYTES).then_some(shape)
}

/// A word as it can stand among others without being taken for two.
pub(super) fn quote(word: &str) -> String {
    let is_plain =
        |character: char| character.is_alphanumeric() || "_./~*?=:@%+,-…{}[]^#<>|".contains(character);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_string();
    }
    format!("'{}'", word.replace('\\', "\\\\").replace('\'', "\\'").replace('\n', "\\n"))
}

/// Whether two names of targets are the same: case does not matter in names of devices, and the gateway has only one.
pub fn is_same_target(one: &str, other: &str) -> bool {
    const NATIVE: &str = "gsv";
    one == other || (one != NATIVE && other != NATIVE && one.trim().eq_ignore_ascii_case(other.trim()))
}

/// What is remembered of a host: every confined command in that workspace may reach it.
pub(super) fn of_host(host: &str, workspace: &str) -> String {
    format!("{REACHING}{host}{FROM}{}", quote(workspace))
}

/// The host that such a text is about, if it is about that workspace.
pub(super) fn host_in(shape: &str, workspace: &str) -> Option<String> {
    let (host, place) = shape.strip_prefix(REACHING)?.split_once(FROM)?;
    (place == quote(workspace) && !host.contains(char::is_whitespace)).then(|| host.to_string())
}

const REACHING: &str = "reaching ";
const FROM: &str = " from confined commands in ";

/// The shape of a call that runs inside the sandbox with a widening.
pub(super) fn widened(shape: &str, widening: &Widening) -> Option<String> {
    let whole = format!("{shape}, inside the sandbox, which may {}", widening.words());
    (whole.len() <= limits::approval::SHAPE_MAX_BYTES).then_some(whole)
}

/// The digest of a call together with the widening that a person was shown. Without one it is the digest of the call.
pub fn digest_with_widening(digest: &str, widening: Option<&Widening>) -> String {
    let Some(widening) = widening else { return digest.to_string() };
    let mut sha = Sha256::new();
    for list in [&widening.write, &widening.read, &widening.hosts] {
        sha.update((list.len() as u64).to_be_bytes());
        for item in list {
            sha.update((item.len() as u64).to_be_bytes());
            sha.update(item.as_bytes());
        }
    }
    sha.update(digest.as_bytes());
    hex(sha)
}

/// SHA-256 in hex, of target, call, arguments and working directory. Each has its length before it, so that no two
/// different calls are the same text.
pub(super) fn digest(target: &str, syscall: &str, args: &Map<String, Value>, cwd: &str) -> String {
    let mut text = String::new();
    canonical(&Value::Object(args.clone()), &mut text);
    let mut sha = Sha256::new();
    for part in [target, syscall, &text, cwd] {
        sha.update((part.len() as u64).to_be_bytes());
        sha.update(part.as_bytes());
    }
    hex(sha)
}

/// The digest of a call together with the content of the files it runs: each path with what is there. Without files it
/// is the digest of the call.
pub fn digest_with_files<'a>(digest: &str, files: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut sha = Sha256::new();
    let mut are_any = false;
    for (path, content) in files {
        are_any = true;
        for part in [path, content] {
            sha.update((part.len() as u64).to_be_bytes());
            sha.update(part.as_bytes());
        }
    }
    if !are_any {
        return digest.to_string();
    }
    sha.update(digest.as_bytes());
    hex(sha)
}

fn hex(sha: Sha256) -> String {
    sha.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// JSON with its members in order and no blanks.
fn canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(members) => {
            let mut names: Vec<&String> = members.keys().collect();
            names.sort();
            out.push('{');
            for (at, name) in names.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                out.push_str(&Value::String(name.clone()).to_string());
                out.push(':');
                canonical(&members[name], out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                canonical(item, out);
            }
            out.push(']');
        }
        plain => out.push_str(&plain.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn args(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn the_digest_is_of_the_call_alone() {
        let one = args(json!({ "a": 1, "b": { "x": [1, 2], "y": "z" } }));
        let same: Map<String, Value> =
            serde_json::from_str(r#"{ "b": {"y":"z","x":[1,2]}, "a": 1 }"#).expect("JSON");
        let first = digest("gsv", "fs.read", &one, "/home/a");
        assert_eq!(first.len(), 64);
        assert_eq!(first, digest("gsv", "fs.read", &same, "/home/a"));
        let others = [
            digest("gsvf", "s.read", &one, "/home/a"),
            digest("gsv", "fs.read", &one, "/home/b"),
            digest("mac", "fs.read", &one, "/home/a"),
            digest("gsv", "fs.read", &args(json!({ "a": "1", "b": { "x": [1, 2], "y": "z" } })), "/home/a"),
            digest("gsv", "fs.read", &args(json!({ "a": 1, "b": { "x": [2, 1], "y": "z" } })), "/home/a"),
            digest("gsv", "fs.read", &args(json!({ "a": 1, "b": { "x": [1, 2] }, "y": "z" })), "/home/a"),
        ];
        for (at, other) in others.iter().enumerate() {
            assert_ne!(&first, other, "{at}");
            assert_eq!(others.iter().filter(|known| *known == other).count(), 1, "{at}");
        }
    }

    #[test]
    fn the_digest_covers_what_the_files_say() {
        let with = |files: &[(&str, &str)]| digest_with_files("d", files.iter().copied());
        assert_eq!(with(&[]), "d");
        let all = [
            with(&[("a", "1")]),
            with(&[("a", "2")]),
            with(&[("b", "1")]),
            with(&[("a", "1"), ("b", "1")]),
            with(&[("a1", "")]),
            digest_with_files("e", [("a", "1")]),
        ];
        for (at, one) in all.iter().enumerate() {
            assert!(one.len() == 64 && !all[at + 1..].contains(one), "{at}");
        }
    }

    #[test]
    fn the_digest_covers_the_widening() {
        let list = |all: &[&str]| all.iter().map(|one| one.to_string()).collect::<Vec<_>>();
        let with = |write: &[&str], read: &[&str], hosts: &[&str]| {
            let widening = Widening { write: list(write), read: list(read), hosts: list(hosts) };
            digest_with_widening("d", Some(&widening))
        };
        assert_eq!(digest_with_widening("d", None), "d");
        let all = [
            with(&["/a"], &[], &[]),
            with(&[], &["/a"], &[]),
            with(&[], &[], &["/a"]),
            with(&["/a", "/b"], &[], &[]),
            with(&["/a/b"], &[], &[]),
            with(&["/a"], &["/b"], &[]),
            with(&[], &[], &[]),
        ];
        for (at, one) in all.iter().enumerate() {
            assert!(one.len() == 64 && !all[at + 1..].contains(one), "{at}");
        }
    }

    #[test]
    fn a_host_is_remembered_for_its_workspace() {
        let shape = of_host("example.org:8080", "/home/a/my work");
        assert_eq!(shape, "reaching example.org:8080 from confined commands in '/home/a/my work'");
        assert_eq!(host_in(&shape, "/home/a/my work").as_deref(), Some("example.org:8080"));
        assert_eq!(host_in(&shape, "/home/a"), None);
        assert_eq!(host_in("exactly x", "/home/a"), None);
    }

    #[test]
    fn names_of_devices_are_compared_as_the_router_does() {
        assert!(is_same_target("Laptop", "laptop ") && is_same_target("gsv", "gsv"));
        assert!(!is_same_target("gsv", "GSV") && !is_same_target("laptop", "lap"));
    }

    #[test]
    fn words_do_not_run_together() {
        let shape = |lines: &[&[&str]]| {
            let mut shape = Shape::new("/");
            lines.iter().for_each(|line| shape.add(line.iter().copied()));
            shape.finish()
        };
        assert_eq!(shape(&[&["a", "b c"]]).as_deref(), Some("in /; a 'b c'"));
        let all = [
            shape(&[&["a", "b"], &["c"]]),
            shape(&[&["a", "b; c"]]),
            shape(&[&["a", "'b'; 'c'"]]),
            shape(&[&["a", "b", ";", "c"]]),
            shape(&[&["a", "", "b"], &["c"]]),
            shape(&[&["a", "\\n"]]),
            shape(&[&["a", "\n"]]),
        ];
        for (at, one) in all.iter().enumerate() {
            assert!(all.iter().skip(at + 1).all(|other| other != one), "{one:?}");
        }
        assert_eq!(shape(&[]), None);
    }
}
