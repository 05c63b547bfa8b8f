//! Streaming gzip reader and writer for archives: a page of lines in memory at a time.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::sync::Arc;

use base::limits;
use flate2::Compression;
use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;
use protocol::identity::ProcessIdentity;
use store::messages::MessageRow;
use vfs::upload::{Sweeper, Upload, Wanted};
use vfs::view::Opened;
use vfs::{Code, VPath, View};

use super::line;
use crate::directories::ProcessDirectory;

/// Some messages of an archive.
#[derive(Clone, Debug, Default)]
pub(crate) struct ArchivePage {
    /// Oldest first.
    pub(crate) messages: Vec<MessageRow>,
    /// How many the archive has in all.
    pub(crate) count: u64,
}

/// Which messages of an archive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArchiveSlice {
    /// How many to skip.
    pub(crate) offset: u64,
    /// How many at most.
    pub(crate) limit: u64,
    /// They end early rather than take more room; the first one comes whatever its size.
    pub(crate) bytes_max: usize,
}

/// An archive being written. It is nowhere to be seen until it is finished.
pub(super) struct ArchiveWriter {
    upload: Upload,
    owner: Arc<ProcessIdentity>,
    encoder: GzEncoder<File>,
    lines: u64,
}

impl ArchiveWriter {
    /// Begins an archive.
    pub(super) async fn open(place: &ProcessDirectory, path: &VPath) -> Result<ArchiveWriter, String> {
        let wanted = Wanted { size: 0, tag: "archive".to_string(), mode: Some(0o600) };
        let opened = place.view.upload(path, wanted, Arc::new(Sweeper::default()), |_| ()).await;
        let (upload, file, ()) = opened.map_err(unwritten)?;
        let encoder = GzEncoder::new(file, Compression::default());
        Ok(ArchiveWriter { upload, owner: place.owner.clone(), encoder, lines: 0 })
    }

    /// Adds messages. A pen that fails is gone, and nothing is left of its archive.
    pub(super) async fn write(self, rows: Vec<MessageRow>) -> Result<ArchiveWriter, String> {
        aside(move || {
            let mut writer = self;
            match writer.write_now(&rows) {
                Ok(()) => Ok(writer),
                Err(error) => {
                    writer.give_up();
                    Err(unwritten(error))
                }
            }
        })
        .await
    }

    fn write_now(&mut self, rows: &[MessageRow]) -> std::io::Result<()> {
        for row in rows {
            if self.lines > 0 {
                self.encoder.write_all(b"\n")?;
            }
            self.encoder.write_all(line::text(row).as_bytes())?;
            self.lines += 1;
        }
        Ok(())
    }

    /// Puts the archive in its place, durably; how many messages it has.
    pub(super) async fn finish(self) -> Result<u64, String> {
        aside(move || {
            let ArchiveWriter { upload, owner, encoder, lines } = self;
            let file = match encoder.finish() {
                Ok(file) => file,
                Err(error) => {
                    upload.discard();
                    return Err(unwritten(error));
                }
            };
            upload.store(&owner, file).map(|()| lines).map_err(unwritten)
        })
        .await
    }

    /// Throws away what was written.
    pub(super) fn give_up(self) {
        self.upload.discard();
    }
}

/// Reads some messages of an archive, and counts all of them.
pub(super) async fn read(view: &View, path: &str, cut: ArchiveSlice) -> Result<ArchivePage, String> {
    let missing = || format!("archive not found: {path}");
    let at = VPath::absolute(path).map_err(|_| missing())?;
    let file = match view.open(&at).await {
        Ok(Opened::File(file, _)) => file,
        Ok(_) => return Err(missing()),
        Err(fault) if fault.code == Code::NotFound => return Err(missing()),
        Err(fault) => return Err(fault.to_string()),
    };
    aside(move || read_now(file, cut)).await
}

pub(super) fn read_now(file: impl Read, cut: ArchiveSlice) -> Result<ArchivePage, String> {
    let unpacked = MultiGzDecoder::new(BufReader::new(file)).take(limits::process::ARCHIVE_MAX_BYTES);
    let mut lines = BufReader::with_capacity(64 * 1024, unpacked);
    let mut page = ArchivePage::default();
    let (mut line, mut bytes) = (Vec::new(), 0usize);
    loop {
        line.clear();
        let mut one = (&mut lines).take(limits::process::ARCHIVE_LINE_MAX_BYTES);
        let length = one.read_until(b'\n', &mut line);
        let length = length.map_err(|error| format!("the archive is damaged: {error}"))?;
        if length == 0 {
            break;
        }
        if length as u64 == limits::process::ARCHIVE_LINE_MAX_BYTES {
            return Err("the archive has a line that is too long".to_string());
        }
        let text = std::str::from_utf8(&line).map_err(|_| "the archive has a line that is no text")?;
        let text = text.trim_end_matches(['\n', '\r']);
        if text.is_empty() {
            continue;
        }
        if page.count >= cut.offset && (page.messages.len() as u64) < cut.limit {
            bytes = bytes.saturating_add(length);
            if bytes <= cut.bytes_max || page.messages.is_empty() {
                page.messages.push(line::row(text)?);
            }
        }
        page.count += 1;
    }
    if lines.get_ref().limit() == 0 {
        return Err("the archive is too large to be read".to_string());
    }
    Ok(page)
}

fn unwritten(why: impl std::fmt::Display) -> String {
    format!("the archive could not be written: {why}")
}

/// Does work that waits for the disk where it does not hold others up.
async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => {
            tracing::error!(%error, "work on an archive broke off");
            Err("work on the archive broke off".to_string())
        }
    }
}
