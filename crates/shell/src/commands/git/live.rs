//! The live files of a repository, with the objects that they would be.

use std::io::Read as _;

use base::limits::native_shell as limits;
use vfs::{FileKind, Stat, VPath};

use super::super::{Cx, Done, sink, words};
use super::fatal;
use super::pathspec::Pathspec;
use super::place::{Kind, MARKER, OF_A_HOME, Place};
use super::trees::{Entry, Files};

/// How much of a file is read at once.
const PIECE: usize = 256 * 1024;

/// Git's mode of a file.
pub(super) fn mode(stat: &Stat) -> &'static str {
    match stat.kind {
        FileKind::Link => "120000",
        _ if stat.mode & 0o100 != 0 => "100755",
        _ => "100644",
    }
}

/// The object of some bytes.
pub(super) fn object(bytes: &[u8]) -> String {
    let mut sha = sha1_smol::Sha1::new();
    sha.update(format!("blob {}\0", bytes.len()).as_bytes());
    sha.update(bytes);
    sha.digest().to_string()
}

/// Whether a name at this place is none of the repository's business.
fn is_left_out(place: &Place, directory: &str, name: &str) -> bool {
    let is_top = directory.is_empty();
    name.eq_ignore_ascii_case(".git")
        || is_top && place.kind == Kind::Clone && name == MARKER
        || is_top && place.kind == Kind::Home && !OF_A_HOME.contains(&name)
}

/// All files below the top that are wanted.
pub(super) async fn files(cx: &Cx<'_>, place: &Place, wanted: &Pathspec) -> Result<Files, Done> {
    let (mut found, mut bytes_left) = (Files::new(), limits::GIT_LIVE_MAX_BYTES);
    let mut todo = vec![String::new()];
    while let Some(directory) = todo.pop() {
        let unread =
            |path: &str, fault: &vfs::Fault| fatal(format!("cannot read '{path}': {}", words(fault)));
        let names =
            cx.view.list(&place.full(&directory)).await.map_err(|fault| unread(&directory, &fault))?;
        for named in names {
            if is_left_out(place, &directory, &named.name) {
                continue;
            }
            let path = match directory.is_empty() {
                true => named.name.clone(),
                false => format!("{directory}/{}", named.name),
            };
            if named.stat.kind == FileKind::Directory {
                todo.extend(wanted.may_be_below(&path).then_some(path));
                continue;
            }
            if !wanted.matches(&path) {
                continue;
            }
            bytes_left = bytes_left.checked_sub(named.stat.size).ok_or_else(too_much)?;
            let hash =
                hash(cx, &place.full(&path), &named.stat).await.map_err(|fault| unread(&path, &fault))?;
            found.insert(path, Entry { mode: mode(&named.stat).to_string(), hash });
        }
        if found.len() + todo.len() > limits::GIT_FILES_MAX {
            return Err(too_much());
        }
        tokio::task::yield_now().await;
    }
    Ok(found)
}

fn too_much() -> Done {
    fatal(format!(
        "there are more than {} files or {} MiB here: name a path",
        limits::GIT_FILES_MAX,
        limits::GIT_LIVE_MAX_BYTES / 1024 / 1024
    ))
}

/// The object that a file would be, read in pieces.
async fn hash(cx: &Cx<'_>, path: &VPath, stat: &Stat) -> Result<String, vfs::Fault> {
    if stat.kind == FileKind::Link {
        return Ok(object(cx.view.read_link(path).await?.as_bytes()));
    }
    let (mut source, stat) = sink::source(cx.view, path).await?;
    let mut sha = sha1_smol::Sha1::new();
    sha.update(format!("blob {}\0", stat.size).as_bytes());
    let mut piece = vec![0; PIECE];
    loop {
        let failed = |_| vfs::Fault::new(vfs::Code::Io, "read", path.as_str());
        let count = source.read(&mut piece).map_err(failed)?;
        if count == 0 {
            return Ok(sha.digest().to_string());
        }
        sha.update(&piece[..count]);
        tokio::task::yield_now().await;
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn objects_are_named_as_git_names_them() {
        assert_eq!(super::object(b""), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
        assert_eq!(super::object(b"hello\n"), "ce013625030ba8dba906f756967f9e9ca394464a");
    }
}
