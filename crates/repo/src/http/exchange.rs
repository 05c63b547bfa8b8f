//! Bidirectional pipe between a client and git with back-pressure: a request flows into git's input while git's output
//! flows out, each as fast as the slower side, in one task that outlives a client who leaves.

use std::sync::Arc;

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use base::clock::Clock;
use base::limits::git as limits;
use bytes::{Bytes, BytesMut};
use gateway::Later;
use rustix::process::Signal;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::ChildStdin;
use tokio::sync::{mpsc, oneshot, watch};

use super::answer::{NOT_KEPT, Refusal};
use super::child::GitChild;
use super::incoming::{Cut, Incoming};
use super::meter::Meter;
use super::service::Service;
use crate::admission::Admitted;

/// One request and the git that answers it.
pub(crate) struct Exchange {
    pub(crate) service: Service,
    pub(crate) child: GitChild,
    pub(crate) turn: Admitted,
    pub(crate) clock: Clock,
    pub(crate) stopping: watch::Receiver<bool>,
    /// What git is told; nothing where it is only asked what there is.
    pub(crate) fed: Option<Fed>,
    /// What the client is told before git's own words.
    pub(crate) preamble: Bytes,
    /// What a push may bring.
    pub(crate) meter: Option<Arc<Meter>>,
    /// Done once git has ended.
    pub(crate) afterwards: Later<()>,
}

/// The request: what of it was read already, and the rest.
pub(crate) struct Fed {
    pub(crate) ahead: Bytes,
    pub(crate) rest: Incoming,
}

/// Bytes for the client; an error breaks the answer off, so that it does not look whole.
type Piece = Result<Bytes, std::io::Error>;

/// Why git was told to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    /// The client reads too slowly, or no longer.
    Client,
    Deadline,
    Gateway,
}

/// How it went.
struct Ended {
    fed: Result<(), Cut>,
    stopped: Option<Stop>,
    succeeded: bool,
}

impl Exchange {
    /// The answer: git's output, or why there is none.
    pub(crate) async fn answer(self, content_type: &str) -> Result<Response, Refusal> {
        let (pieces, mut reading) = mpsc::channel::<Piece>(1);
        let (told, ended) = oneshot::channel();
        tokio::spawn(async move {
            // Nobody may be there any more to be told.
            drop(told.send(self.run(pieces).await));
        });
        let first = reading.recv().await;
        if first.is_none() {
            ended.await.map_err(|_| Refusal::git_failed())?.check()?;
        }
        let pieces = futures_util::stream::unfold((first, reading), |(first, mut reading)| async move {
            let piece = match first {
                Some(first) => first,
                None => reading.recv().await?,
            };
            Some((piece, (None, reading)))
        });
        let kind = [(header::CONTENT_TYPE, content_type.to_string())];
        Ok((NOT_KEPT, kind, Body::from_stream(pieces)).into_response())
    }

    /// Carries everything over, waits for git, and does what comes afterwards.
    async fn run(self, pieces: mpsc::Sender<Piece>) -> Ended {
        let Exchange { service, mut child, turn, clock, mut stopping, fed, preamble, meter, afterwards } =
            self;
        let meter = meter.as_deref();
        let (stdin, stdout, stderr) = (child.take_stdin(), child.take_stdout(), child.take_stderr());
        let (slow, mut slowness) = oneshot::channel();
        let carrying = async {
            let feeding = async {
                match (fed, stdin) {
                    (Some(fed), Some(stdin)) => fed.feed(stdin, meter, &clock).await,
                    _ => Ok(()),
                }
            };
            let sending = async {
                if let Some(stdout) = stdout
                    && let Err(why) = send_all(stdout, (preamble, meter), service, &pieces, &clock).await
                {
                    // Whoever waits for this is below.
                    slow.send(why).ok();
                }
            };
            let complaining = async {
                match stderr {
                    Some(stderr) => complaint(stderr).await,
                    None => String::new(),
                }
            };
            let (fed, (), complaint) = tokio::join!(feeding, sending, complaining);
            (fed, complaint)
        };
        let mut carrying = std::pin::pin!(carrying);
        let mut stopped = None;
        let (fed, complaint) = tokio::select! {
            done = &mut carrying => done,
            why = interruption(&mut slowness, &mut stopping, &clock) => {
                stopped = Some(why);
                child.signal(Signal::TERM);
                let done = clock.timeout(limits::END_TIMEOUT, &mut carrying).await;
                done.unwrap_or_else(|_| (Ok(()), "it did not end by itself".to_string()))
            }
        };
        let succeeded = child.wait(&clock).await;
        if !succeeded {
            tracing::info!(
                ?service,
                ?stopped,
                ?fed,
                complaint = complaint.trim(),
                "git did not do what a client asked"
            );
        }
        afterwards.await;
        if stopped.is_some() {
            let broken = std::io::Error::other("the git program was ended");
            // Nobody may read any more.
            drop(pieces.try_send(Err(broken)));
        }
        drop(turn);
        Ended { fed, stopped, succeeded }
    }
}

impl Ended {
    /// Why git said nothing, unless there was nothing to say.
    fn check(self) -> Result<(), Refusal> {
        match (self.stopped, self.fed) {
            (Some(Stop::Client), _) => Err(Refusal::cut(Cut::Stalled)),
            (Some(Stop::Deadline), _) => Err(Refusal::took_too_long()),
            (Some(Stop::Gateway), _) => Err(Refusal::stopping()),
            (None, Err(cut)) => Err(Refusal::cut(cut)),
            (None, Ok(())) if !self.succeeded => Err(Refusal::git_failed()),
            (None, Ok(())) => Ok(()),
        }
    }
}

impl Fed {
    /// Gives git the request. Where it breaks off git's input ends, which git takes as a failure and undoes what it began.
    async fn feed(mut self, mut stdin: ChildStdin, meter: Option<&Meter>, clock: &Clock) -> Result<(), Cut> {
        let mut piece = Some(self.ahead);
        while let Some(bytes) = piece {
            let fits = meter.is_none_or(|meter| meter.admits(bytes.len()));
            if !fits || stdin.write_all(&bytes).await.is_err() {
                drop(stdin);
                drain(&mut self.rest, clock).await;
                return Ok(());
            }
            piece = self.rest.next().await?;
        }
        Ok(())
    }
}

/// Git has made up its mind before the end of a request: the rest is read away, so that the client, who may not look
/// for an answer before it has sent everything, gets to read it.
async fn drain(rest: &mut Incoming, clock: &Clock) {
    let mut left_bytes = limits::DRAIN_MAX_BYTES;
    let draining = async {
        while let Ok(Some(piece)) = rest.next().await {
            match left_bytes.checked_sub(piece.len() as u64) {
                Some(less) => left_bytes = less,
                None => return,
            }
        }
    };
    if clock.timeout(limits::DRAIN_TIMEOUT, draining).await.is_err() {
        tracing::debug!("a refused push was not read to its end");
    }
}

/// Gives the client git's output. A push goes on when its client has left: what it sent is all there.
async fn send_all(
    mut stdout: impl AsyncRead + Unpin,
    (preamble, meter): (Bytes, Option<&Meter>),
    service: Service,
    pieces: &mpsc::Sender<Piece>,
    clock: &Clock,
) -> Result<(), Stop> {
    let mut buffer = BytesMut::from(&preamble[..]);
    let (mut is_there, mut is_first) = (true, true);
    loop {
        buffer.reserve(limits::CHUNK_BYTES);
        // An output that can not be read has ended.
        if stdout.read_buf(&mut buffer).await.unwrap_or(0) == 0 {
            return Ok(());
        }
        let mut piece = buffer.split().freeze();
        if let Some(words) = meter.map(Meter::words).filter(|words| is_first && !words.is_empty()) {
            piece = [words, piece].concat().into();
        }
        is_first = false;
        if !is_there {
            continue;
        }
        match clock.timeout(limits::CLIENT_TIMEOUT, pieces.send(Ok(piece))).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) | Err(_) if service == Service::UploadPack => return Err(Stop::Client),
            Ok(Err(_)) | Err(_) => is_there = false,
        }
    }
}

/// Returns when git must not go on.
async fn interruption(
    slowness: &mut oneshot::Receiver<Stop>,
    stopping: &mut watch::Receiver<bool>,
    clock: &Clock,
) -> Stop {
    tokio::select! {
        Ok(why) = slowness => why,
        () = clock.sleep(limits::REQUEST_TIMEOUT) => Stop::Deadline,
        Ok(_) = stopping.wait_for(|stopping| *stopping) => Stop::Gateway,
    }
}

/// What git says to those who run it, as much of it as fits.
async fn complaint(mut stderr: impl AsyncRead + Unpin) -> String {
    let (mut kept, mut buffer) = (Vec::new(), [0; 1_024]);
    while let Ok(read @ 1..) = stderr.read(&mut buffer).await {
        let room = limits::COMPLAINT_MAX_BYTES.saturating_sub(kept.len());
        kept.extend_from_slice(&buffer[..read.min(room)]);
    }
    String::from_utf8_lossy(&kept).into_owned()
}
