//! Router of the driver's handlers, and the context each request gets besides its arguments.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use base::clock::Clock;
use base::limits;
use base::sync::lock;
use client::Connection;
use futures_util::FutureExt;
use protocol::confine::Confine;
use protocol::error::Error;
use protocol::frame;
use protocol::router::{Answer, Router};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::agents::Agents;
use crate::files::Files;
use crate::fs::Uploads;
use crate::overwritten::Keeper;
use crate::shell::Shells;
use crate::{fs, shell};

/// Everything the handlers share.
pub struct Machine {
    pub(crate) files: Files,
    pub(crate) agents: Agents,
    pub(crate) shells: Shells,
    pub(crate) uploads: Uploads,
    transfers: Arc<Semaphore>,
}

impl Machine {
    /// A machine that offers these files. `tell` gets the `exec.status` signals, as frames.
    pub fn new(
        files: Files,
        agents: Agents,
        clock: Clock,
        tell: impl Fn(String) + Send + Sync + 'static,
    ) -> Arc<Machine> {
        Arc::new(Machine {
            files,
            agents,
            uploads: Uploads::new(clock.clone()),
            shells: Shells::new(clock, Box::new(tell)),
            transfers: Arc::new(Semaphore::new(limits::transfer::PER_SOCKET_MAX)),
        })
    }

    /// Ends every running command.
    pub async fn stop(&self) {
        self.shells.stop().await;
    }
}

/// All handlers, on one page.
pub fn router() -> Router<Cx> {
    Router::new()
        .on(fs::read)
        .on(fs::write)
        .on(fs::edit)
        .on(fs::delete)
        .on(fs::search)
        .on(fs::pull)
        .on(fs::push)
        .on(fs::history)
        .on(fs::history_read)
        .on(fs::restore)
        .on(fs::undo)
        .on(shell::exec)
}

/// The socket a request came from.
#[derive(Clone)]
pub struct Asker {
    pub(crate) connection: Connection,
    pub(crate) lost: watch::Receiver<bool>,
}

/// What a handler gets besides its arguments.
#[derive(Clone)]
pub struct Cx {
    pub(crate) machine: Arc<Machine>,
    pub(crate) call_id: String,
    /// For a call of an agent: how it is to run.
    pub(crate) confine: Option<Arc<Confine>>,
    asker: Option<Asker>,
    afterwards: Arc<Mutex<Afterwards>>,
}

/// Takes back what an answer handed over and returns what to answer instead, as a frame.
pub type TakeBack = Box<dyn FnOnce() -> String + Send>;

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

#[derive(Default)]
struct Afterwards {
    then: Option<Task>,
    take_back: Option<TakeBack>,
}

/// A finished request.
pub struct Reply {
    /// The frame.
    pub text: String,
    /// To be done once the answer is on its way.
    pub then: Option<Task>,
    /// To be done if the answer turns out not to have arrived.
    pub take_back: Option<TakeBack>,
}

impl Cx {
    /// For one request. Without an asker transfers are refused and nothing is ever lost.
    pub fn new(machine: Arc<Machine>, call_id: &str, asker: Option<Asker>) -> Cx {
        Cx { machine, call_id: call_id.to_string(), confine: None, asker, afterwards: Arc::default() }
    }

    /// The same for a call of an agent.
    pub(crate) fn of_agent(self, confine: Confine) -> Cx {
        Cx { confine: Some(Arc::new(confine)), ..self }
    }

    /// The files as this call may see them.
    pub(crate) fn files(&self) -> Files {
        match &self.confine {
            Some(confine) => self.machine.files.guarded(self.machine.agents.guard(confine)),
            None => self.machine.files.clone(),
        }
    }

    /// What keeps the files that this call is about to change.
    pub(crate) fn keeper(&self, call: &'static str) -> Keeper {
        self.machine.agents.keeper(self.confine.as_deref(), call, &self.call_id)
    }

    /// Leaves work that begins once the answer is on its way.
    pub(crate) fn then(&self, task: impl Future<Output = ()> + Send + 'static) {
        lock(&self.afterwards).then = Some(Box::pin(task));
    }

    /// Says how to take back what the answer hands over.
    pub(crate) fn take_back(&self, take_back: impl FnOnce() -> String + Send + 'static) {
        lock(&self.afterwards).take_back = Some(Box::new(take_back));
    }

    /// Whether the socket that asked is gone.
    pub(crate) fn is_lost(&self) -> bool {
        self.asker.as_ref().is_some_and(|asker| *asker.lost.borrow())
    }

    /// Returns once the socket that asked is gone.
    pub(crate) async fn lost(&self) {
        match &self.asker {
            // A dropped sender means the same as the word.
            Some(asker) => drop(asker.lost.clone().wait_for(|lost| *lost).await),
            None => std::future::pending().await,
        }
    }

    /// The socket for a transfer's bytes, and the right to one more transfer.
    pub(crate) fn transfer_slot(&self) -> Result<(Connection, OwnedSemaphorePermit), Error> {
        let asker = self.asker.as_ref().ok_or_else(|| Error::bad("a transfer needs a connection"))?;
        let slot = self.machine.transfers.clone().try_acquire_owned();
        let slot = slot.map_err(|_| Error::too_busy("too many transfers on this device"))?;
        Ok((asker.connection.clone(), slot))
    }
}

/// Answers one request. Never fails: a refusal is an answer too.
pub async fn answer(router: &Router<Cx>, cx: Cx, call: &str, args: &str) -> Reply {
    let id = cx.call_id.clone();
    let afterwards = cx.afterwards.clone();
    let admitted = cx.machine.agents.admit(args).map(|confine| match confine {
        Some(confine) => cx.of_agent(confine),
        None => cx,
    });
    let admitted = match admitted {
        Ok(cx) => match &cx.confine {
            Some(confine) => cx.machine.agents.keep_before(call, args, confine).await.map(|()| cx.clone()),
            None => Ok(cx),
        },
        refused => refused,
    };
    let called = match admitted {
        Ok(cx) => router.call(call, cx, args, frame::response_head(&id, 256)),
        Err(error) => Some(Err(error)),
    };
    let result = match called {
        None => Err(Error::unknown_syscall(call)),
        Some(Err(error)) => Err(error),
        Some(Ok(Answer::Now(text))) => Ok(text),
        // A handler that panics fails its own request only.
        Some(Ok(Answer::Later(answer))) => match AssertUnwindSafe(answer).catch_unwind().await {
            Ok(result) => result.map(|written| written.text),
            Err(_) => Err(Error::internal("the handler panicked")),
        },
    };
    let text = match result {
        Ok(mut text) => {
            text.push('}');
            text
        }
        Err(error) => frame::failure(&id, &error),
    };
    let mut afterwards = lock(&afterwards);
    let mut reply = Reply { text, then: afterwards.then.take(), take_back: afterwards.take_back.take() };
    if reply.text.len() > limits::frame::MAX_BYTES {
        let error = Error::answer_too_large(reply.text.len() as u64, limits::frame::MAX_BYTES);
        reply.text = frame::failure(&id, &error);
    }
    reply
}
