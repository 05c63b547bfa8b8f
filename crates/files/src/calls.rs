//! Handlers of `fs.*` on the native target: reading, writing, editing, deleting and searching the file tree. What
//! fails in the operation itself is an outcome; bad paths and what is not permitted are errors.

use std::io::{self, BufReader};

use base::limits;
use content::Side;
use content::lines::Window;
use content::read::{BLOCK_BYTES, content};
use protocol::error::Error;
use protocol::fs::{
    Delete, Deleted, Edit, Edited, Listing, Read, ReadResult, Search, SearchResult, Write, Written,
};
use protocol::identity::ProcessIdentity;
use protocol::outcome::Outcome;
use protocol::spec::Syscall;
use vfs::view::{Opened, Writing};
use vfs::{Code, Fault, FileKind, VPath, View};

use crate::area::Files;

type Cx = gateway::Cx<Files>;

/// `fs.read` of what is in memory already: a thread to wait on would cost more than reading it.
pub(crate) fn read_now(cx: &Cx, args: &Read) -> Option<Result<Outcome<ReadResult>, Error>> {
    let who = &cx.caller.identity;
    let path = match place_for::<Read>(who, &args.path) {
        Ok(path) => path,
        Err(error) => return Some(Err(error)),
    };
    match cx.area.gateway.tree().show_now(who, &path, window(args), cx.since)? {
        Ok(content) => Some(Ok(content.map(ReadResult::File).into())),
        Err(fault) => Some(outcome(fault)),
    }
}

fn window(args: &Read) -> Window {
    Window { offset: args.offset, limit: args.limit }
}

/// `fs.read` of anything else.
pub(crate) async fn read(cx: Cx, args: Read) -> Result<Outcome<ReadResult>, Error> {
    let path = place_for::<Read>(&cx.caller.identity, &args.path)?;
    let window = window(&args);
    let view = cx.area.gateway.view(&cx.caller);
    let opened = match view.open(&path).await {
        Ok(opened) => opened,
        Err(fault) if fault.code == Code::NotFound => return failed(format!("Not found: {path}")),
        Err(fault) => return outcome(fault),
    };
    match opened {
        Opened::Directory(_) => list(&view, &path).await,
        Opened::Bytes(bytes, stat) => {
            Ok(read_result(&path, content(Side::Native, bytes.as_slice(), path.as_str(), stat.size, window)))
        }
        Opened::File(file, stat) => {
            let part = cx.area.reads.take(cx.area.gateway.clock(), memory_for(stat.size)).await?;
            let read = aside(move || {
                let reader = BufReader::with_capacity(BLOCK_BYTES, file);
                (read_result(&path, content(Side::Native, reader, path.as_str(), stat.size, window)), part)
            });
            read.await.map(|(rendered, _part)| rendered)
        }
    }
}

/// What showing a file of so many bytes may take: a picture is there once as bytes and once as text, and a text
/// grows by its numbers and escapes, but no more than an answer may be large.
fn memory_for(size: u64) -> u64 {
    let most = limits::files::IMAGE_MAX_BYTES.max(limits::frame::OUT_MAX_BYTES as u64);
    BLOCK_BYTES as u64 + size.saturating_mul(3).min(most)
}

fn read_result(
    path: &VPath,
    content: io::Result<Result<protocol::fs::FileContent, String>>,
) -> Outcome<ReadResult> {
    match content {
        Ok(content) => content.map(ReadResult::File).into(),
        Err(error) => Outcome::Failed(format!("{}: {error}, read '{path}'", Code::Io.name())),
    }
}

/// A link to a directory counts as one; a link to nothing is a file, and so is one that takes too long.
async fn list(view: &View, path: &VPath) -> Result<Outcome<ReadResult>, Error> {
    let names = match view.list(path).await {
        Ok(names) => names,
        Err(fault) => return outcome(fault),
    };
    let max = limits::device_files::READ_ENTRIES_MAX;
    if names.len() > max {
        return failed(format!("Directory '{path}' has more than {max} entries"));
    }
    let links =
        names.iter().filter(|named| named.stat.kind == FileKind::Link).map(|named| named.name.clone());
    let to_directories = view.links_to_directories(path, links.collect()).await;
    let (mut files, mut directories) = (Vec::new(), Vec::new());
    for named in names {
        let is_directory = match named.stat.kind {
            FileKind::Directory => true,
            FileKind::File => false,
            FileKind::Link => to_directories.contains(&named.name),
        };
        if is_directory { directories.push(named.name) } else { files.push(named.name) }
    }
    Ok(Outcome::Done(ReadResult::Directory(Listing { path: path.to_string(), files, directories })))
}

/// `fs.write`
pub(crate) async fn write(cx: Cx, args: Write) -> Result<Outcome<Written>, Error> {
    let view = cx.area.gateway.view(&cx.caller);
    let path = place::<Write>(&view, &args.path)?;
    let size = args.content.len() as u64;
    let how = Writing { parents: true, ..Writing::default() };
    match view.write(&path, args.content.into_bytes(), how).await {
        Ok(_) => Ok(Outcome::Done(Written { path: path.to_string(), size })),
        Err(fault) => outcome(fault),
    }
}

/// `fs.edit`
pub(crate) async fn edit(cx: Cx, args: Edit) -> Result<Outcome<Edited>, Error> {
    let view = cx.area.gateway.view(&cx.caller);
    let path = place::<Edit>(&view, &args.path)?;
    if let Err(why) = content::edit::refuse_empty(&args) {
        return failed(why);
    }
    let path_text = path.to_string();
    let change = move |bytes| content::edit::edited(Side::Native, &path_text, bytes, &args);
    match view.edit(&path, change).await {
        Ok(Ok(replacements)) => Ok(Outcome::Done(Edited { path: path.to_string(), replacements })),
        Ok(Err(why)) => failed(why),
        Err(fault) if fault.code == Code::NotFound => failed(format!("File not found: {path}")),
        Err(fault) => outcome(fault),
    }
}

/// `fs.delete`
pub(crate) async fn delete(cx: Cx, args: Delete) -> Result<Outcome<Deleted>, Error> {
    let view = cx.area.gateway.view(&cx.caller);
    let path = place::<Delete>(&view, &args.path)?;
    match view.remove(&path, true).await {
        Ok(()) => Ok(Outcome::Done(Deleted { path: path.to_string() })),
        Err(fault) if fault.code == Code::NotFound => failed(format!("File not found: {path}")),
        Err(fault) => outcome(fault),
    }
}

/// `fs.search`
pub(crate) async fn search(cx: Cx, args: Search) -> Result<Outcome<SearchResult>, Error> {
    let view = cx.area.gateway.view(&cx.caller);
    let path = place::<Search>(&view, args.path.as_deref().unwrap_or("."))?;
    let query = match content::query::Query::new(Side::Native, &args) {
        Ok(query) => query,
        Err(why) => return failed(why),
    };
    match view.search(&path, query).await {
        Ok(found) => {
            let (count, truncated) = (found.matches.len() as u64, found.is_truncated.then_some(true));
            Ok(Outcome::Done(SearchResult { matches: found.matches, count, truncated }))
        }
        Err(fault) if fault.code == Code::NotFound => failed(format!("Not found: {path}")),
        Err(fault) => outcome(fault),
    }
}

/// What a path means to the caller. One that cannot be a path is a bad argument.
pub(crate) fn place<S: Syscall>(view: &View, text: &str) -> Result<VPath, Error> {
    place_for::<S>(view.who(), text)
}

fn place_for<S: Syscall>(who: &ProcessIdentity, text: &str) -> Result<VPath, Error> {
    VPath::resolve(text, &who.home, &who.cwd).map_err(|fault| {
        let why = fault.note.unwrap_or_else(|| fault.code.words().to_string());
        Error::bad_argument(S::SPEC.name, "path", &why)
    })
}

/// A refusal is an error, any other failure an outcome.
pub(crate) fn outcome<T>(fault: Fault) -> Result<Outcome<T>, Error> {
    match fault.code {
        Code::Denied | Code::NotPermitted => Err(Error::forbidden(fault.to_string())),
        _ => failed(fault.to_string()),
    }
}

fn failed<T>(why: String) -> Result<Outcome<T>, Error> {
    Ok(Outcome::Failed(why))
}

/// Work that may wait for a disk.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
    tokio::task::spawn_blocking(work).await.map_err(|error| Error::internal(&error.to_string()))
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Waker};

    use super::*;
    use base::clock::Clock;

    use crate::area::Reads;

    #[tokio::test]
    async fn large_readings_wait_for_memory_and_small_ones_share_it() {
        let (reads, clock) = (Reads::default(), Clock::system());
        let most = memory_for(u64::MAX);
        assert!(
            memory_for(limits::device_files::READ_TEXT_MAX_BYTES)
                > 2 * limits::device_files::READ_TEXT_MAX_BYTES
        );
        let mut large = Vec::new();
        for _ in 0..limits::files::READS_MAX_BYTES / most {
            large.push(reads.take(&clock, most).await.unwrap());
        }
        let mut waiting = Box::pin(reads.take(&clock, most));
        let mut cx = Context::from_waker(Waker::noop());
        assert!(waiting.as_mut().poll(&mut cx).is_pending(), "there is no memory for one more");
        large.pop();
        let got = waiting.await.unwrap();
        drop((large, got));
        assert_eq!(reads.0.available_permits() as u64, limits::files::READS_MAX_BYTES / 1024);
    }
}
