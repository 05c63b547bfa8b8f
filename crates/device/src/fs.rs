//! Handlers of `fs.*` on this machine. What fails in the operation itself is an outcome; bad arguments and what is not
//! allowed are errors. Everything that touches a disk runs on a blocking thread.

mod delete;
mod edit;
mod pull;
mod push;
mod read;
mod search;
mod uploads;
mod write;

use protocol::error::Error;
use protocol::fs::{
    Delete, Deleted, Edit, Edited, Pull, PullOpened, Push, PushOpened, Read, ReadResult, Search,
    SearchResult, Write, Written,
};
use protocol::outcome::Outcome;

use crate::files::{Failure, Files};
use crate::machine::Cx;

pub(crate) use uploads::Uploads;

/// `fs.read`
pub async fn read(cx: Cx, args: Read) -> Result<Outcome<ReadResult>, Error> {
    blocking(&cx, move |files| read::read(files, &args)).await
}

/// `fs.write`
pub async fn write(cx: Cx, args: Write) -> Result<Outcome<Written>, Error> {
    blocking(&cx, move |files| write::write(files, &args)).await
}

/// `fs.edit`
pub async fn edit(cx: Cx, args: Edit) -> Result<Outcome<Edited>, Error> {
    blocking(&cx, move |files| edit::edit(files, &args)).await
}

/// `fs.delete`
pub async fn delete(cx: Cx, args: Delete) -> Result<Outcome<Deleted>, Error> {
    blocking(&cx, move |files| delete::delete(files, &args)).await
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
