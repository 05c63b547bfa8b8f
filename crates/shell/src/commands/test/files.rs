//! File predicates: what `test` asks about files.

use base::limits;
use vfs::{FileKind, Follow, Stat, VPath};

use crate::commands::Cx;
use crate::program_paths;

/// `-f x` and its like; anything that cannot be looked at is false.
pub(super) async fn unary(cx: &Cx<'_>, operator: &str, word: &str) -> bool {
    let Some(path) = path(cx, word) else { return false };
    if program_paths::is_program(&path.to_string()) {
        return matches!(operator, "-e" | "-a" | "-f" | "-s" | "-r" | "-x");
    }
    let link = matches!(operator, "-L" | "-h");
    let follow = if link { Follow::No } else { Follow::Yes };
    let Ok(stat) = cx.view.stat(&path, follow).await else { return false };
    let who = cx.view.who();
    match operator {
        "-L" | "-h" => stat.kind == FileKind::Link,
        "-f" => stat.kind == FileKind::File && !is_device(&path),
        "-d" => stat.kind == FileKind::Directory,
        "-c" => stat.kind == FileKind::File && is_device(&path),
        "-s" => stat.size > 0,
        "-r" => cx.view.may(&path, 4).await.unwrap_or(false),
        "-w" => cx.view.may(&path, 2).await.unwrap_or(false),
        "-x" => cx.view.may(&path, 1).await.unwrap_or(false),
        "-O" => stat.uid == who.uid,
        "-G" => stat.gid == who.gid,
        "-u" => stat.mode & 0o4000 != 0,
        "-g" => stat.mode & 0o2000 != 0,
        "-k" => stat.mode & 0o1000 != 0,
        _ => true,
    }
}

/// `a -nt b` and its like.
pub(super) async fn binary(cx: &Cx<'_>, left: &str, operator: &str, right: &str) -> bool {
    let (one, other) = (seen(cx, left).await, seen(cx, right).await);
    match (operator, one, other) {
        ("-nt", Some((_, one)), Some((_, other))) => one.modified_ms > other.modified_ms,
        ("-ot", Some((_, one)), Some((_, other))) => one.modified_ms < other.modified_ms,
        ("-nt", Some(_), None) | ("-ot", None, Some(_)) => true,
        ("-ef", Some((one, _)), Some((other, _))) => end_of(cx, one).await == end_of(cx, other).await,
        _ => false,
    }
}

async fn seen(cx: &Cx<'_>, word: &str) -> Option<(VPath, Stat)> {
    let path = path(cx, word)?;
    let stat = cx.view.stat(&path, Follow::Yes).await.ok()?;
    Some((path, stat))
}

/// Where a path leads when every link on it is followed; there are no hard links here.
async fn end_of(cx: &Cx<'_>, path: VPath) -> Option<VPath> {
    let mut links = 0;
    let mut todo: Vec<String> = path.parts().map(str::to_string).collect();
    todo.reverse();
    let mut end = VPath::root();
    while let Some(part) = todo.pop() {
        match part.as_str() {
            "" | "." => continue,
            ".." => {
                end = end.parent().unwrap_or_else(VPath::root);
                continue;
            }
            _ => {}
        }
        let next = end.join(&part);
        if cx.view.stat(&next, Follow::No).await.ok()?.kind != FileKind::Link {
            end = next;
            continue;
        }
        links += 1;
        if links > limits::files::LINKS_FOLLOWED_MAX {
            return None;
        }
        let target = cx.view.read_link(&next).await.ok()?;
        if target.starts_with('/') {
            end = VPath::root();
        }
        todo.extend(target.split('/').rev().map(str::to_string));
    }
    Some(end)
}

/// An empty word names no file, and `~` has been expanded by the shell already.
fn path(cx: &Cx<'_>, word: &str) -> Option<VPath> {
    match word {
        "" => None,
        word if word.starts_with('~') => cx.view.path(&format!("./{word}")).ok(),
        word => cx.view.path(word).ok(),
    }
}

fn is_device(path: &VPath) -> bool {
    path.as_str().starts_with("/dev/")
}
