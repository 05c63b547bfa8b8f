//! What a process needs of the world around it. The kernel gives it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use protocol::calls::Calling;
use protocol::error::Error;
use protocol::identity::ProcessIdentity;
use protocol::ids::{ConversationId, Pid, RunId, Uid};
use store::processes::ProcessRow;

/// Something that takes a while.
pub type Later<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// The world around processes.
pub trait Outside: Send + Sync + 'static {
    /// Sends a signal to whom it belongs. Never waits: a slow client does not slow a run.
    fn emit(&self, note: Note);

    /// Makes a call as the process, through the same checks and routes as a client's. `request_id` names it for
    /// [`Outside::recall`].
    fn call(&self, process: &ProcessRow, request_id: &str, name: &str, args: &str) -> Calling;

    /// What became of a call that was sent to a device before the gateway stopped, or before the device was lost. Waits
    /// for the device to come back, so long at most.
    fn recall(&self, process: &ProcessRow, request_id: &str, wait: Duration) -> Later<Recalled>;

    /// Who the process acts as, with the groups the account has now; 403 when it was locked or removed.
    fn identity(&self, process: &ProcessRow) -> Later<Result<ProcessIdentity, Error>>;

    /// Another value after every change of what decides who processes act as and what they may call: accounts,
    /// grants and devices. What was asked for afterwards is as new as it says.
    fn generation(&self) -> [u64; 2];

    /// The file tree as that identity sees it.
    fn view(&self, process: &ProcessRow, identity: Arc<ProcessIdentity>) -> vfs::View;
}

/// What is known of a call whose answer did not arrive.
#[derive(Clone, Debug)]
pub enum Recalled {
    /// The device told its result, or its error.
    Answered(Result<String, Error>),
    /// It was never sent, or never arrived: it may be made now.
    NeverSent,
    /// Nobody can tell.
    Unknown,
}

/// A signal on its way out.
#[derive(Clone, Debug)]
pub struct Note {
    /// Whose.
    pub uid: Uid,
    /// The run it belongs to; signals of a run go to the connection that started it, if it is still there.
    pub run_id: Option<RunId>,
    /// The signal's name.
    pub name: &'static str,
    /// Its payload.
    pub body: NoteBody,
}

/// The payload of a signal.
#[derive(Clone, Debug)]
pub enum NoteBody {
    /// JSON.
    Text(String),
    /// An event of a model's answer. Several may be merged for a client that is slow to read.
    Stream(StreamNote),
}

/// A `proc.run.stream` whose text is made when it is sent.
#[derive(Clone, Debug)]
pub struct StreamNote {
    /// The process.
    pub pid: Pid,
    /// The run.
    pub run_id: RunId,
    /// The conversation.
    pub conversation_id: ConversationId,
    /// Counts the events of one run, from 1.
    pub seq: u64,
    /// In milliseconds.
    pub timestamp: i64,
    /// What is new, and a handle on the answer so far.
    pub event: model::Event,
}
