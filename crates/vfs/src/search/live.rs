//! Search of virtual files: each is asked for its text as it is now.

use base::limits;

use super::Search;
use crate::live;
use crate::path::VPath;
use crate::stat::FileKind;
use crate::view::View;

/// Searches the live parts of the tree that are at the start or below it. What the caller may not see is passed over.
pub(super) async fn search(view: &View, search: &Search) {
    let mut waiting: Vec<(VPath, FileKind, usize)> = Vec::new();
    for root in roots(search) {
        if let Ok(stat) = live::stat(view, &root, crate::view::Follow::No).await {
            waiting.push((root, stat.kind, 0));
        }
    }
    waiting.reverse();
    let mut files = 0;
    while let Some((path, kind, depth)) = waiting.pop() {
        if search.is_late() || files >= limits::files::SEARCH_LIVE_FILES_MAX {
            return search.found.cut_short();
        }
        match kind {
            FileKind::Directory if depth >= limits::files::SEARCH_DEPTH_MAX => search.found.cut_short(),
            FileKind::Directory => {
                let names = live::list(view, &path).await.unwrap_or_default();
                let child = |named: crate::stat::Named| (path.join(&named.name), named.stat.kind, depth + 1);
                waiting.extend(names.into_iter().rev().map(child));
            }
            FileKind::File => {
                files += 1;
                look_into(view, &path, search).await;
            }
            FileKind::Link => {}
        }
    }
}

async fn look_into(view: &View, path: &VPath, search: &Search) {
    let display_path = search.directory_path(path);
    if !search.wants(&display_path) {
        return;
    }
    let Ok(bytes) = live::read(view, path).await else { return };
    let mut lens = search.query.lens(search.deadline);
    search.found.add(lens.look(bytes.as_slice(), || display_path.clone(), search.found.room()));
    if lens.is_cut_short() {
        search.found.cut_short();
    }
}

/// The live parts to search, in order. `/dev` is not one of them: nothing can be found there, and some of it has no
/// end.
fn roots(search: &Search) -> Vec<VPath> {
    let mut roots = if live::covers(&search.real) { vec![search.real.clone()] } else { search.met() };
    roots.retain(|path| path.parts().next() != Some("dev"));
    roots.sort();
    roots
}
