//! Thread that starts and ends children. A child is killed when the *thread* that started it ends, so none of the
//! runtime's threads, which come and go, may do it; and waiting for a child to be gone must hold nobody up.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use base::limits::guest::ORDERS_MAX;
use tokio::sync::oneshot;

use crate::child::WORD;

/// Hands orders to the thread; it ends with the last of these.
#[derive(Clone)]
pub(crate) struct Spawner(SyncSender<Order>);

/// A child and our end of its socket.
pub(crate) struct Spawned {
    pub(crate) child: Child,
    pub(crate) socket: UnixStream,
}

enum Order {
    Start(oneshot::Sender<io::Result<Spawned>>),
    End(Child, Option<oneshot::Sender<io::Result<ExitStatus>>>),
}

impl Spawner {
    /// A thread that starts children of this kind by running this program.
    pub(crate) fn start(program: PathBuf, kind: &'static str) -> io::Result<Spawner> {
        let (orders, inbox) = sync_channel(ORDERS_MAX);
        std::thread::Builder::new()
            .name("guests".to_string())
            .spawn(move || serve(&inbox, &program, kind))?;
        Ok(Spawner(orders))
    }

    /// Starts a child. It has given nothing up yet.
    pub(crate) async fn spawn(&self) -> io::Result<Spawned> {
        let (reply, started) = oneshot::channel();
        self.0.try_send(Order::Start(reply)).map_err(|_| busy())?;
        started.await.map_err(|_| busy())?
    }

    /// Ends a child and tells how it ended.
    pub(crate) async fn end(&self, child: Child) -> io::Result<ExitStatus> {
        let (reply, ended) = oneshot::channel();
        self.order_end(child, Some(reply));
        ended.await.map_err(|_| busy())?
    }

    /// Ends a child; nobody wants to know how.
    pub(crate) fn discard(&self, child: Child) {
        self.order_end(child, None);
    }

    fn order_end(&self, child: Child, reply: Option<oneshot::Sender<io::Result<ExitStatus>>>) {
        use std::sync::mpsc::TrySendError::{Disconnected, Full};
        if let Err(Full(Order::End(child, _)) | Disconnected(Order::End(child, _))) =
            self.0.try_send(Order::End(child, reply))
        {
            // It is killed now; the system reaps it when this program ends.
            drop(kill(child));
        }
    }
}

fn busy() -> io::Error {
    io::Error::other("too many children are being started and ended")
}

fn serve(inbox: &Receiver<Order>, program: &PathBuf, kind: &str) {
    while let Ok(order) = inbox.recv() {
        match order {
            Order::Start(reply) => {
                if let Err(Ok(unwanted)) = reply.send(spawn(program, kind)) {
                    drop(end(unwanted.child));
                }
            }
            Order::End(child, reply) => {
                let status = end(child);
                if let Some(reply) = reply {
                    // Whoever asked may have gone.
                    drop(reply.send(status));
                }
            }
        }
    }
}

fn spawn(program: &PathBuf, kind: &str) -> io::Result<Spawned> {
    let (ours, theirs) = UnixStream::pair()?;
    let child = Command::new(program)
        .args([WORD, kind, &std::process::id().to_string()])
        .env_clear()
        // The engine must not look for the machine's time zone once it may open nothing.
        .env("TZ", "UTC0")
        .current_dir("/")
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    Ok(Spawned { child, socket: ours })
}

fn kill(mut child: Child) -> io::Result<Child> {
    child.kill()?;
    Ok(child)
}

fn end(child: Child) -> io::Result<ExitStatus> {
    kill(child)?.wait()
}
