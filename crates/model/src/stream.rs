//! Cancellable stream of events, whoever the provider is: one beginning, one end, cancelled by a token or by dropping.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use base::limits;
use futures_util::Stream;
use protocol::signal::stream::AssistantMessage;
use tokio::sync::mpsc;

use crate::cancel::Cancel;
use crate::draft::{Draft, Step};
use crate::event::{Event, EventKind, Partial};
use crate::failure::Failure;
use crate::message::Request;

/// A model's answer as it comes. Dropping it closes the connection to the provider.
pub struct EventStream {
    /// What produces the steps; it runs only while the stream is polled, so that nothing outlives it.
    work: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    pieces: mpsc::Receiver<Vec<Step>>,
    ready: VecDeque<Step>,
    partial: Partial,
    ended: bool,
}

/// Where the work behind a stream puts its steps.
pub(crate) type Sink = mpsc::Sender<Vec<Step>>;

impl EventStream {
    /// A stream over `work`, which ends early when it is cancelled or takes longer than the request allows.
    /// What the work returns as a failure becomes the last event.
    pub(crate) fn over<F>(
        request: &Request,
        api: &str,
        now_ms: i64,
        cancel: Cancel,
        work: impl FnOnce(Sink) -> F,
    ) -> Self
    where
        F: Future<Output = Result<(), Failure>> + Send + 'static,
    {
        let (sink, pieces) = mpsc::channel(limits::model::PIECES_MAX);
        let limit = request.timeout;
        let inner = work(sink.clone());
        let outer = async move {
            let result = tokio::select! {
                biased;
                () = cancel.cancelled() => Err(Failure::aborted()),
                result = tokio::time::timeout(limit, inner) => {
                    result.unwrap_or_else(|_| Err(Failure::timed_out(limit)))
                }
            };
            if let Err(failure) = result {
                // The receiver is the stream that polls this very future, so it is there.
                if sink.send(vec![Step::Fail(failure)]).await.is_err() {
                    tracing::debug!("nobody heard how a generation failed");
                }
            }
        };
        EventStream {
            work: Some(Box::pin(outer)),
            pieces,
            ready: VecDeque::new(),
            partial: Partial::new(Draft::new(request.model.clone(), api, now_ms)),
            ended: false,
        }
    }

    /// The answer as far as its events were taken.
    pub fn partial(&self) -> &Partial {
        &self.partial
    }

    /// Reads to the end. A failure is in the message's stop reason and error message.
    pub async fn finish(mut self) -> AssistantMessage {
        while let Some(event) = futures_util::StreamExt::next(&mut self).await {
            match event.kind {
                EventKind::Done { message, .. } | EventKind::Error { error: message, .. } => {
                    return std::sync::Arc::unwrap_or_clone(message);
                }
                _ => {}
            }
        }
        self.partial.message()
    }

    fn emit(&mut self, kind: EventKind) -> Event {
        let event = Event { kind, partial: self.partial.clone() };
        if event.is_last() {
            self.ended = true;
            self.work = None;
        }
        event
    }

    /// The next step that nobody needs to wait for.
    fn advance(&mut self) -> Option<Event> {
        while let Some(step) = self.ready.pop_front() {
            if let Some(kind) = self.partial.apply(step) {
                return Some(self.emit(kind));
            }
        }
        None
    }
}

impl Stream for EventStream {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        if self.ended {
            return Poll::Ready(None);
        }
        loop {
            if let Some(event) = self.advance() {
                return Poll::Ready(Some(event));
            }
            if let Poll::Ready(Some(piece)) = self.pieces.poll_recv(cx) {
                self.ready.extend(piece);
                continue;
            }
            match &mut self.work {
                Some(work) => {
                    if work.as_mut().poll(cx).is_ready() {
                        self.work = None;
                    } else if let Ok(piece) = self.pieces.try_recv() {
                        self.ready.extend(piece);
                    } else {
                        return Poll::Pending;
                    }
                }
                None => match self.pieces.try_recv() {
                    Ok(piece) => self.ready.extend(piece),
                    Err(_) => self.ready.push_back(Step::Fail(Failure::broken_off())),
                },
            }
        }
    }
}
