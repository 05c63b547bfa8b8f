//! Fast path for reading small files: at once, without a view and without handing it to another thread.

use std::io::BufReader;
use std::time::Instant;

use base::limits;
use content::Side;
use content::lines::Window;
use content::read::{BLOCK_BYTES, content};
use protocol::fs::FileContent;
use protocol::identity::ProcessIdentity;

use crate::disk::fast::Cached;
use crate::fault::Fault;
use crate::path::VPath;
use crate::tree::Tree;

impl Tree {
    /// What `fs.read` shows of a file that is in the machine's memory already, or why it is not shown, or why the
    /// caller may not see it. Nothing when that can not be told without waiting: then ask a [`crate::View`].
    pub fn show_now(
        &self,
        who: &ProcessIdentity,
        path: &VPath,
        window: Window,
        since: Instant,
    ) -> Option<Result<Result<FileContent, String>, Fault>> {
        if let Some(content) = self.show_again(who, path, window, since) {
            return Some(Ok(Ok(content)));
        }
        let began = self.clock.instant();
        let plain = match self.disk.open_plain_now(who, path)? {
            Ok(plain) => plain,
            Err(fail) => return Some(Err(fail.at("open", path.as_str()))),
        };
        if plain.stat.size > limits::files::READ_NOW_MAX_BYTES {
            return None;
        }
        // Block by block, so that a large file is not in memory twice.
        let (cached, size) = (Cached { file: &plain.file, at: 0 }, plain.stat.size);
        let reader = BufReader::with_capacity(BLOCK_BYTES.min(size as usize + 1), cached);
        let rendered = content(Side::Native, reader, path.as_str(), size, window).ok()?;
        if let Ok(content) = &rendered {
            self.disk.keep(path, window, &plain, began, content);
        }
        Some(Ok(rendered))
    }

    /// The same for a file that was shown before and has not changed since.
    pub fn show_again(
        &self,
        who: &ProcessIdentity,
        path: &VPath,
        window: Window,
        since: Instant,
    ) -> Option<FileContent> {
        self.disk.recall(who, path, window, since)
    }
}
