//! Recursive walk: a file and everything below it, for the commands that take `-R`.

use base::limits;
use vfs::{Fault, FileKind, Follow, Stat, VPath, View};

/// One file met on the way.
pub(super) struct Visited {
    /// Where.
    pub path: VPath,
    /// How the user would write it.
    pub display: String,
    /// What it is; the link itself when it is one, except for the operand.
    pub stat: Stat,
}

/// A directory that could not be listed.
pub(super) struct Unread {
    /// How the user would write it.
    pub display: String,
    /// Why.
    pub fault: Fault,
}

/// The file itself and, with `below`, everything below it, parents first. Links are met, not followed.
pub(super) async fn walk(
    view: &View,
    operand: &str,
    below: bool,
    follow: Follow,
) -> Result<(Vec<Visited>, Vec<Unread>), Fault> {
    walk_from(view, view.path(operand)?, operand, below, follow).await
}

/// The same with the path of the operand already known.
pub(super) async fn walk_from(
    view: &View,
    path: VPath,
    operand: &str,
    below: bool,
    follow: Follow,
) -> Result<(Vec<Visited>, Vec<Unread>), Fault> {
    let stat = view.stat(&path, follow).await?;
    let (mut met, mut unread) = (Vec::new(), Vec::new());
    let mut todo = vec![Visited { path, display: operand.to_string(), stat }];
    while let Some(next) = todo.pop() {
        if met.len() >= limits::native_shell::WALK_FILES_MAX {
            let fault = Fault::new(vfs::Code::TooLarge, "scandir", next.path.as_str());
            unread.push(Unread { display: next.display, fault: fault.because("Too many files below") });
            break;
        }
        if below && next.stat.kind == FileKind::Directory {
            match view.list(&next.path).await {
                Ok(names) => todo.extend(names.into_iter().rev().map(|named| Visited {
                    path: next.path.join(&named.name),
                    display: beside(&next.display, &named.name),
                    stat: named.stat,
                })),
                Err(fault) => unread.push(Unread { display: next.display.clone(), fault }),
            }
        }
        met.push(next);
        tokio::task::yield_now().await;
    }
    Ok((met, unread))
}

/// A name in a directory as the user would write it.
pub(super) fn beside(directory: &str, name: &str) -> String {
    if directory.ends_with('/') { format!("{directory}{name}") } else { format!("{directory}/{name}") }
}
