//! Virtual file node: what is found at a virtual path, and the small pieces that the parts of the tree build it from.

use protocol::ids::{Gid, Uid};

use crate::fault::{Code, Fault};
use crate::stat::{FileKind, Named, Stat};
use crate::view::View;

/// What is at a live path.
pub(crate) enum Node {
    /// Its names, in any order; none when only the directory itself was asked for.
    Directory(Vec<Named>, Stat),
    /// Its text.
    File(Vec<u8>, Stat),
    /// Where it leads: a name in the same directory.
    Link(String, Stat),
}

/// What somebody wants to know about a directory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ask {
    /// That it is there.
    Node,
    Names,
}

impl Node {
    pub(crate) fn stat(&self) -> Stat {
        match self {
            Node::Directory(_, stat) | Node::File(_, stat) | Node::Link(_, stat) => *stat,
        }
    }

    /// A regular file with this text.
    pub(crate) fn file(view: &View, text: impl Into<Vec<u8>>, access: Access) -> Node {
        let bytes = text.into();
        let stat = file(view, bytes.len(), access);
        Node::File(bytes, stat)
    }

    /// A directory of root's with the given files.
    pub(crate) fn folder(view: &View, mode: u32, names: impl IntoIterator<Item = (String, Stat)>) -> Node {
        let names = names.into_iter().map(|(name, stat)| Named { name, stat }).collect();
        Node::Directory(names, directory(view, mode))
    }

    /// One of a directory's files by its name.
    pub(crate) fn pick(found: Option<Node>) -> Result<Node, Fault> {
        found.ok_or_else(|| fault(Code::NotFound))
    }
}

/// Whose a live file is, and its mode.
#[derive(Clone, Copy)]
pub(crate) struct Access {
    pub(crate) uid: Uid,
    pub(crate) gid: Gid,
    pub(crate) mode: u32,
}

impl Access {
    /// Root's.
    pub(crate) fn root(mode: u32) -> Access {
        Access { uid: Uid::ROOT, gid: Gid::ROOT, mode }
    }

    /// A user's and its private group's.
    pub(crate) fn of(uid: Uid, mode: u32) -> Access {
        Access { uid, gid: Gid(uid.0), mode }
    }
}

/// A directory of root's.
pub(crate) fn directory(view: &View, mode: u32) -> Stat {
    directory_of(view, Access::root(mode))
}

/// A virtual directory with this owner and mode.
pub(crate) fn directory_of(view: &View, access: Access) -> Stat {
    Stat { kind: FileKind::Directory, ..file(view, 0, access) }
}

/// A file of a length.
pub(crate) fn file(view: &View, size: usize, access: Access) -> Stat {
    Stat {
        kind: FileKind::File,
        size: size as u64,
        mode: access.mode,
        uid: access.uid,
        gid: access.gid,
        modified_ms: view.tree.clock.now_ms(),
    }
}

/// A fault that does not say yet which path and what for.
pub(crate) fn fault(code: Code) -> Fault {
    Fault::new(code, "", "")
}

/// A value on a line of its own; nothing at all when it is empty.
pub(crate) fn line(value: &str) -> Vec<u8> {
    if value.is_empty() { Vec::new() } else { format!("{value}\n").into_bytes() }
}

/// The value somebody wrote as a line: without the newline at its end.
pub(crate) fn value_of(bytes: &[u8]) -> Result<&str, Fault> {
    let text =
        std::str::from_utf8(bytes).map_err(|_| fault(Code::Invalid).because("the text is not UTF-8"))?;
    let text = text.strip_suffix('\n').unwrap_or(text);
    Ok(text.strip_suffix('\r').unwrap_or(text))
}

/// An id as the name of a file: slashes, percent signs and names of dots only are escaped.
pub(crate) fn name_of(id: &str) -> String {
    if id.bytes().all(|byte| byte == b'.') {
        return "%2E".repeat(id.len());
    }
    id.replace('%', "%25").replace('/', "%2F")
}

/// The id behind the name of a file; `None` when no id has that name.
pub(crate) fn id_of(name: &str) -> Option<String> {
    let id = name.replace("%2E", ".").replace("%2F", "/").replace("%25", "%");
    (name_of(&id) == name).then_some(id)
}

/// A number as people write it: `007` and `+7` are not numbers.
pub(crate) fn number(text: &str) -> Option<u32> {
    text.parse().ok().filter(|number: &u32| number.to_string() == text)
}

/// `key: value` lines. Values stay on their line.
pub(crate) fn record(fields: &[(&str, String)]) -> String {
    fields.iter().map(|(key, value)| format!("{key}: {}\n", one_line(value))).collect()
}

fn one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_names_are_one_to_one() {
        for id in ["mac book", "a/b", "100%", "%2F", ".", "..", "a.b", "%", "%252F", "ä/ö"] {
            let name = name_of(id);
            assert!(!name.contains('/') && name != "." && name != "..", "{id}");
            assert_eq!(id_of(&name).as_deref(), Some(id));
        }
        assert_eq!(id_of("a%2fb").as_deref(), None, "another spelling is not a name");
    }

    #[test]
    fn a_value_loses_one_newline() {
        assert_eq!(value_of(b"a\n").unwrap(), "a");
        assert_eq!(value_of(b"a\n\n").unwrap(), "a\n");
        assert_eq!(value_of(b"a\r\n").unwrap(), "a");
        assert_eq!(value_of(b"").unwrap(), "");
        assert_eq!(value_of(b"\xff").unwrap_err().code, Code::Invalid);
        assert_eq!((line("a"), line("")), (b"a\n".to_vec(), Vec::new()));
    }

    #[test]
    fn a_record_has_one_line_for_each_field() {
        let text = record(&[("input", "a\nb: c\\".to_string()), ("uid", "7".to_string())]);
        assert_eq!(text, "input: a\\nb: c\\\\\nuid: 7\n");
    }
}
