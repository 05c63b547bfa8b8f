//! Typed router: from a call's name to its handler. Each host (kernel, device) fills its own router.

use std::cell::Cell;
use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;

use base::limits;
use base::quick_hash::QuickHash;
use serde::Serialize;

use crate::args;
use crate::error::Error;
use crate::spec::Syscall;

/// The answer's text, written behind the head that was given for it, or the handler that is still at it.
pub enum Answer {
    /// It needed no waiting.
    Now(String),
    /// It may have to wait.
    Later(Pin<Box<dyn Future<Output = Result<Written, Error>> + Send>>),
}

/// The answer's text, and what is to be done once it has been given.
pub struct Written {
    /// JSON of the answer's `data`.
    pub text: String,
    /// Done after the answer is on its way: what must not overtake it.
    pub then: Option<Then>,
}

/// Something that is done after the answer to a call is on its way.
pub type Then = Box<dyn FnOnce() + Send>;

/// A handler with what decodes its arguments and writes its answer behind a head.
pub type Handler<C> = Box<dyn Fn(C, &str, String) -> Result<Answer, Error> + Send + Sync>;

/// Handlers by call name. `C` is what each handler gets besides its arguments.
pub struct Router<C> {
    handlers: HashMap<&'static str, Handler<C>, QuickHash>,
    names: Vec<&'static str>,
}

impl<C: Send + 'static> Default for Router<C> {
    fn default() -> Self {
        Router { handlers: HashMap::default(), names: Vec::new() }
    }
}

impl<C: Send + 'static> Router<C> {
    /// An empty router.
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers a handler; its argument type says for which call.
    pub fn on<S, F, Fut>(mut self, handler: F) -> Self
    where
        S: Syscall,
        F: Fn(C, S) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<S::Result, Error>> + Send + 'static,
    {
        self.put(S::SPEC.name, move |cx, raw, head| {
            let answer = handler(cx, args::decode::<S>(raw)?);
            Ok(Answer::Later(Box::pin(async move { write_only(head, &answer.await?) })))
        });
        self
    }

    /// Registers a handler that also says what is done once its answer is on its way.
    pub fn on_then<S, F, Fut>(mut self, handler: F) -> Self
    where
        S: Syscall,
        F: Fn(C, S) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(S::Result, Then), Error>> + Send + 'static,
    {
        self.put(S::SPEC.name, move |cx, raw, head| {
            let answer = handler(cx, args::decode::<S>(raw)?);
            Ok(Answer::Later(Box::pin(async move {
                let (result, then) = answer.await?;
                Ok(Written { text: write(head, &result)?, then: Some(then) })
            })))
        });
        self
    }

    /// Registers a handler that never waits.
    pub fn on_now<S, F>(mut self, handler: F) -> Self
    where
        S: Syscall,
        F: Fn(&C, S) -> Result<S::Result, Error> + Send + Sync + 'static,
    {
        self.put(S::SPEC.name, move |cx, raw, head| {
            write(head, &handler(&cx, args::decode::<S>(raw)?)?).map(Answer::Now)
        });
        self
    }

    /// Registers a handler that often need not wait: `quick` is asked first, and answers where it can.
    pub fn on_quick<S, Q, F, Fut>(mut self, quick: Q, handler: F) -> Self
    where
        S: Syscall,
        Q: Fn(&C, &S) -> Option<Result<S::Result, Error>> + Send + Sync + 'static,
        F: Fn(C, S) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<S::Result, Error>> + Send + 'static,
    {
        self.put(S::SPEC.name, move |cx, raw, head| {
            let args = args::decode::<S>(raw)?;
            if let Some(answer) = quick(&cx, &args) {
                return write(head, &answer?).map(Answer::Now);
            }
            let answer = handler(cx, args);
            Ok(Answer::Later(Box::pin(async move { write_only(head, &answer.await?) })))
        });
        self
    }

    /// The same handlers for a host that has another context, from which theirs can be made.
    pub fn over<D: Send + 'static>(
        self,
        context: impl Fn(D) -> Result<C, Error> + Clone + Send + Sync + 'static,
    ) -> Router<D> {
        let mut over = Router::new();
        let mut handlers = self.handlers;
        for name in self.names {
            if let Some(handler) = handlers.remove(name) {
                let context = context.clone();
                over.put(name, move |cx, raw, head| handler(context(cx)?, raw, head));
            }
        }
        over
    }

    /// These handlers and the others.
    pub fn and(mut self, others: Router<C>) -> Self {
        let mut handlers = others.handlers;
        for name in others.names {
            if let Some(handler) = handlers.remove(name) {
                self.put(name, handler);
            }
        }
        self
    }

    fn put<F>(&mut self, name: &'static str, handler: F)
    where
        F: Fn(C, &str, String) -> Result<Answer, Error> + Send + Sync + 'static,
    {
        let before = self.handlers.insert(name, Box::new(handler));
        assert!(before.is_none(), "two handlers for {name}");
        self.names.push(name);
    }

    /// Decodes the arguments and starts the handler. The answer's JSON is appended to `head`.
    /// `None` when this host has no handler of that name.
    pub fn call(&self, name: &str, cx: C, raw_args: &str, head: String) -> Option<Result<Answer, Error>> {
        self.handler(name).map(|handler| handler(cx, raw_args, head))
    }

    /// The handler of a call, for hosts that make its context only then.
    pub fn handler(&self, name: &str) -> Option<&Handler<C>> {
        self.handlers.get(name)
    }

    /// Whether there is a handler.
    pub fn has(&self, name: &str) -> bool {
        self.handlers.contains_key(name)
    }

    /// The registered names, in order of registration.
    pub fn names(&self) -> &[&'static str] {
        &self.names
    }
}

thread_local! {
    static ROOM_BYTES: Cell<usize> = const { Cell::new(0) };
}

/// How much room to leave behind a head: what the answer before took on this thread, so that one like it need not be
/// moved while it grows.
pub fn room_bytes() -> usize {
    ROOM_BYTES.get().clamp(limits::frame::ANSWER_ROOM_MIN_BYTES, limits::frame::ANSWER_ROOM_MAX_BYTES)
}

fn write_only<T: Serialize>(head: String, value: &T) -> Result<Written, Error> {
    write(head, value).map(|text| Written { text, then: None })
}

fn write<T: Serialize>(head: String, value: &T) -> Result<String, Error> {
    let mut buffer = head.into_bytes();
    let before = buffer.len();
    serde_json::to_writer(&mut buffer, value).map_err(|error| Error::internal(&error.to_string()))?;
    // With a little more for the end of the frame.
    ROOM_BYTES.set(buffer.len() - before + 8);
    String::from_utf8(buffer).map_err(|error| Error::internal(&error.to_string()))
}
