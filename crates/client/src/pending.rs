//! Request correlation: calls that wait for their answers, by request id.

use std::collections::HashMap;
use std::sync::Mutex;

use base::sync::lock;
use tokio::sync::oneshot;

use crate::Error;

/// An answer: raw JSON, or why there is none.
pub(crate) type Answer = Result<String, Error>;

/// The calls of one connection.
#[derive(Default)]
pub(crate) struct Pending {
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    waiting: HashMap<String, oneshot::Sender<Answer>>,
    closed: Option<String>,
}

/// One waiting call; dropping it forgets the call.
pub(crate) struct Waiting<'a> {
    pending: &'a Pending,
    id: String,
    pub(crate) answer: oneshot::Receiver<Answer>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        lock(&self.pending.table).waiting.remove(&self.id);
    }
}

impl Pending {
    /// Enters a call, unless the connection has ended.
    pub(crate) fn enter(&self, id: &str) -> Result<Waiting<'_>, Error> {
        let (sender, answer) = oneshot::channel();
        let mut table = lock(&self.table);
        if let Some(why) = &table.closed {
            return Err(Error::Closed(why.clone()));
        }
        table.waiting.insert(id.to_string(), sender);
        drop(table);
        Ok(Waiting { pending: self, id: id.to_string(), answer })
    }

    /// Hands an answer to its call. Answers nobody waits for are dropped.
    pub(crate) fn answer(&self, id: &str, answer: Answer) {
        let sender = lock(&self.table).waiting.remove(id);
        deliver(sender, answer);
    }

    /// A refusal that could not name its request: it is for the only waiting call, if there is only one.
    pub(crate) fn refuse_unnamed(&self, error: protocol::error::Error) {
        let mut table = lock(&self.table);
        let only = if table.waiting.len() == 1 { table.waiting.keys().next().cloned() } else { None };
        let sender = only.and_then(|id| table.waiting.remove(&id));
        drop(table);
        deliver(sender, Err(Error::Gateway(error)));
    }

    /// Fails every call, now and from now on.
    pub(crate) fn close(&self, why: &str) {
        let mut table = lock(&self.table);
        table.closed.get_or_insert_with(|| why.to_string());
        let waiting = std::mem::take(&mut table.waiting);
        drop(table);
        for sender in waiting.into_values() {
            deliver(Some(sender), Err(Error::Closed(why.to_string())));
        }
    }

    /// Why the connection ended, once it has.
    pub(crate) fn closed(&self) -> Option<String> {
        lock(&self.table).closed.clone()
    }
}

/// A caller that stopped waiting does not mind.
fn deliver(sender: Option<oneshot::Sender<Answer>>, answer: Answer) {
    if let Some(sender) = sender {
        drop(sender.send(answer));
    }
}
