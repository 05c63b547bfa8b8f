//! Batch resolution of links with a time budget: where the links of a directory lead, found out for all of them at
//! once. A link can cost as much as thousands of files.

use std::collections::HashSet;

use base::clock::Clock;
use base::limits;

use crate::disk::walk::Found;
use crate::live;
use crate::path::VPath;
use crate::stat::FileKind;
use crate::view::{Follow, View};

impl View {
    /// Those of a directory's links, by name, that lead to directories, as far as that is found out in time.
    pub async fn links_to_directories(&self, directory: &VPath, names: Vec<String>) -> HashSet<String> {
        if names.is_empty() {
            return HashSet::new();
        }
        let deadline = Clock::system().instant() + limits::files::LIST_LINKS_TIME_MAX;
        let from = directory.clone();
        let followed = self.on_disk(move |disk, who| {
            let (mut directories, mut live) = (HashSet::new(), Vec::new());
            for name in names {
                if Clock::system().instant() >= deadline {
                    break;
                }
                match disk.find(who, &from.join(&name), Follow::Yes) {
                    Ok(Found::Live(path)) => live.push((name, path)),
                    Ok(found) if found.stat().is_ok_and(|stat| stat.kind == FileKind::Directory) => {
                        directories.insert(name);
                    }
                    // A link to nothing, or to where the caller may not go, is shown as a file.
                    Ok(_) | Err(_) => {}
                }
            }
            Ok((directories, live))
        });
        let Ok((mut directories, live)) = followed.await else { return HashSet::new() };
        for (name, path) in live {
            if Clock::system().instant() >= deadline {
                break;
            }
            if live::stat(self, &path, Follow::Yes).await.is_ok_and(|stat| stat.kind == FileKind::Directory) {
                directories.insert(name);
            }
        }
        directories
    }
}
