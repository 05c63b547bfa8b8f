//! Handlers of `fs.*` on this machine. What fails in the operation itself is an outcome; bad arguments and what is not
//! allowed are errors. Everything that touches a disk runs on a blocking thread.

mod delete;
mod edit;
mod history;
mod pull;
mod push;
mod read;
mod restore;
mod search;
mod undo;
mod uploads;
mod write;

use std::sync::Arc;

use protocol::error::Error;
use protocol::fs::history::{History, HistoryRead, Restore, Restored, Undo, Undone, Versions};
use protocol::fs::{
    Delete, Deleted, Edit, Edited, FileContent, Pull, PullOpened, Push, PushOpened, Read, ReadResult, Search,
    SearchResult, Write, Written,
};
use protocol::outcome::Outcome;

use crate::files::{Failure, Files};
use crate::machine::Cx;
use crate::overwritten::{Author, Overwritten};

pub(crate) use uploads::Uploads;

/// Calls that need what is kept of files.
pub(crate) const NEED_KEPT: &[&str] = &["fs.history", "fs.history.read", "fs.restore", "fs.undo"];

/// `fs.read`
pub async fn read(cx: Cx, args: Read) -> Result<Outcome<ReadResult>, Error> {
    blocking(&cx, move |files| read::read(files, &args)).await
}

/// `fs.write`
pub async fn write(cx: Cx, args: Write) -> Result<Outcome<Written>, Error> {
    let keeper = cx.keeper("fs.write");
    blocking(&cx, move |files| write::write(files, &keeper, &args)).await
}

/// `fs.edit`
pub async fn edit(cx: Cx, args: Edit) -> Result<Outcome<Edited>, Error> {
    let keeper = cx.keeper("fs.edit");
    blocking(&cx, move |files| edit::edit(files, &keeper, &args)).await
}

/// `fs.delete`
pub async fn delete(cx: Cx, args: Delete) -> Result<Outcome<Deleted>, Error> {
    let keeper = cx.keeper("fs.delete");
    blocking(&cx, move |files| delete::delete(files, &keeper, &args)).await
}

/// `fs.search`
pub async fn search(cx: Cx, args: Search) -> Result<Outcome<SearchResult>, Error> {
    blocking(&cx, move |files| search::search(files, &args)).await
}

/// `fs.pull`
pub async fn pull(cx: Cx, args: Pull) -> Result<Outcome<PullOpened>, Error> {
    pull::pull(cx, args).await
}

/// `fs.push`
pub async fn push(cx: Cx, args: Push) -> Result<Outcome<PushOpened>, Error> {
    push::push(cx, args).await
}

/// `fs.history`
pub async fn history(cx: Cx, args: History) -> Result<Outcome<Versions>, Error> {
    let store = kept(&cx)?;
    blocking(&cx, move |files| history::history(files, &store, &args)).await
}

/// `fs.history.read`
pub async fn history_read(cx: Cx, args: HistoryRead) -> Result<Outcome<FileContent>, Error> {
    let store = kept(&cx)?;
    blocking(&cx, move |files| history::read(files, &store, &args)).await
}

/// `fs.restore`
pub async fn restore(cx: Cx, args: Restore) -> Result<Outcome<Restored>, Error> {
    let store = kept(&cx)?;
    let author = cx.confine.as_deref().map(Author::of).unwrap_or_default();
    let request = cx.call_id.clone();
    blocking(&cx, move |files| restore::restore(files, &store, author, &request, &args)).await
}

/// `fs.undo`
pub async fn undo(cx: Cx, args: Undo) -> Result<Outcome<Undone>, Error> {
    // The gateway refuses it to programs; a driver does not rely on that.
    if cx.confine.is_some() {
        return Err(Error::forbidden("Permission denied: fs.undo is for people, not for agents"));
    }
    let store = kept(&cx)?;
    let request = cx.call_id.clone();
    blocking(&cx, move |files| undo::undo(files, &store, &request, &args)).await
}

/// What this machine keeps of files. A driver without it does not offer what needs it.
fn kept(cx: &Cx) -> Result<Arc<Overwritten>, Error> {
    let kept = cx.machine.agents.overwritten().cloned();
    kept.ok_or_else(|| Error::new(501, "This device keeps nothing of files that agents change".to_string()))
}

async fn blocking<T: Send + 'static>(
    cx: &Cx,
    work: impl FnOnce(&Files) -> Result<T, Failure> + Send + 'static,
) -> Result<Outcome<T>, Error> {
    let files = cx.files();
    match tokio::task::spawn_blocking(move || work(&files)).await {
        Ok(Ok(done)) => Ok(Outcome::Done(done)),
        Ok(Err(Failure::Failed(why))) => Ok(Outcome::Failed(why)),
        Ok(Err(Failure::Refused(error))) => Err(error),
        Err(error) => Err(Error::internal(&error.to_string())),
    }
}
