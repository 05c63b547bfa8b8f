//! Splice of two connections with an idle timeout and a budget of bytes, and the pieces it is made of.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use base::clock::Clock;
use base::limits::egress::{
    COPY_BYTES, DRAIN_MAX_BYTES, DRAIN_TIMEOUT, IDLE_TIMEOUT, RECEIVED_MAX_BYTES, SENT_MAX_BYTES,
};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

/// How many bytes one proxy may still move.
#[derive(Debug)]
pub(crate) struct Meter {
    pub(crate) sent: Budget,
    pub(crate) received: Budget,
}

/// A number of bytes that only becomes smaller.
#[derive(Debug)]
pub(crate) struct Budget(AtomicU64);

impl Default for Meter {
    fn default() -> Meter {
        Meter { sent: Budget::of(SENT_MAX_BYTES), received: Budget::of(RECEIVED_MAX_BYTES) }
    }
}

impl Meter {
    /// Whether one of the budgets is used up.
    pub(crate) fn is_spent(&self) -> bool {
        [&self.sent, &self.received].iter().any(|budget| budget.0.load(Ordering::Relaxed) == 0)
    }
}

impl Budget {
    pub(crate) fn of(bytes: u64) -> Budget {
        Budget(AtomicU64::new(bytes))
    }

    /// Takes bytes out; an error when there are not so many left, and then none are.
    pub(crate) fn take(&self, bytes: usize) -> io::Result<()> {
        let less = |left: u64| Some(left.saturating_sub(bytes as u64));
        let left = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).unwrap_or_default();
        match left >= bytes as u64 {
            true => Ok(()),
            false => Err(io::Error::other("the bytes of this run are used up")),
        }
    }
}

/// When something last moved on a connection.
pub(crate) struct Activity {
    clock: Clock,
    last_ms: AtomicU64,
}

impl Activity {
    pub(crate) fn new(clock: &Clock) -> Activity {
        let activity = Activity { clock: clock.clone(), last_ms: AtomicU64::new(0) };
        activity.note();
        activity
    }

    fn note(&self) {
        self.last_ms.store(self.clock.elapsed().as_millis() as u64, Ordering::Relaxed);
    }

    /// Returns once nothing has moved for too long.
    pub(crate) async fn silence(&self) {
        loop {
            let last = Duration::from_millis(self.last_ms.load(Ordering::Relaxed));
            let left = (last + IDLE_TIMEOUT).saturating_sub(self.clock.elapsed());
            if left.is_zero() {
                return;
            }
            self.clock.sleep(left).await;
        }
    }
}

/// Copies until the reader ends, within the budget.
pub(crate) async fn pump(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    budget: &Budget,
    activity: &Activity,
) -> io::Result<()> {
    let mut buffer = vec![0; COPY_BYTES];
    loop {
        let count = from.read(&mut buffer).await?;
        if count == 0 {
            return Ok(());
        }
        write(to, &buffer[..count], budget, activity).await?;
    }
}

/// Writes within the budget.
pub(crate) async fn write(
    to: &mut (impl AsyncWrite + Unpin),
    bytes: &[u8],
    budget: &Budget,
    activity: &Activity,
) -> io::Result<()> {
    budget.take(bytes.len())?;
    activity.note();
    to.write_all(bytes).await?;
    activity.note();
    Ok(())
}

/// Joins two connections until both directions have ended, one fails, or nothing moves for too long. `ahead` is what
/// the client has sent already.
pub(crate) async fn splice(
    mut client: TcpStream,
    mut server: TcpStream,
    ahead: &[u8],
    meter: &Meter,
    clock: &Clock,
) {
    let activity = Activity::new(clock);
    let (mut client_read, mut client_write) = client.split();
    let (mut server_read, mut server_write) = server.split();
    let up = async {
        if !ahead.is_empty() {
            write(&mut server_write, ahead, &meter.sent, &activity).await?;
        }
        pump(&mut client_read, &mut server_write, &meter.sent, &activity).await?;
        server_write.shutdown().await
    };
    let down = async {
        pump(&mut server_read, &mut client_write, &meter.received, &activity).await?;
        client_write.shutdown().await
    };
    tokio::select! {
        ended = async { tokio::try_join!(up, down) } => {
            if let Err(error) = ended {
                tracing::debug!(%error, "a connection of a confined command broke off");
            }
        }
        () = activity.silence() => tracing::debug!("a connection of a confined command was silent for too long"),
    }
}

/// Closes a connection so that what was written arrives: to close while something is unread would reset it.
pub(crate) async fn finish(mut stream: TcpStream, clock: &Clock) {
    let drained = clock.timeout(DRAIN_TIMEOUT, async {
        stream.shutdown().await?;
        let mut rest = vec![0; COPY_BYTES];
        let mut read = 0;
        while read < DRAIN_MAX_BYTES {
            match stream.read(&mut rest).await? {
                0 => break,
                count => read += count,
            }
        }
        io::Result::Ok(())
    });
    if !matches!(drained.await, Ok(Ok(()))) {
        tracing::debug!("a client did not end its connection");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_ends_and_stays_at_its_end() {
        let meter = Meter { sent: Budget::of(10), received: Budget::of(1) };
        assert!(meter.sent.take(4).is_ok() && meter.sent.take(6).is_ok() && meter.is_spent());
        assert!(meter.sent.take(1).is_err());
        let budget = Budget::of(5);
        assert!(budget.take(6).is_err() && budget.take(1).is_err());
    }

    /// Two ends of one connection.
    async fn pair() -> (TcpStream, TcpStream) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        (near, listener.accept().await.unwrap().0)
    }

    #[tokio::test]
    async fn a_connection_ends_with_the_budget() {
        let ((mut near, client), (server, mut far)) = (pair().await, pair().await);
        let meter = Meter { sent: Budget::of(10), received: Budget::of(100) };
        near.write_all(b"45678").await.unwrap();
        let watching = tokio::spawn(async move {
            splice(client, server, b"123", &meter, &Clock::manual(0)).await;
            meter.is_spent()
        });
        let mut heard = [0; 8];
        far.read_exact(&mut heard).await.unwrap();
        assert_eq!(&heard, b"12345678");
        near.write_all(b"9abc").await.unwrap();
        assert!(watching.await.unwrap());
        let mut rest = Vec::new();
        // A reset is an end as well.
        let _ended = far.read_to_end(&mut rest).await;
        assert!(rest.is_empty());
    }

    #[tokio::test]
    async fn what_moves_is_not_silent() {
        let clock = Clock::manual(0);
        let activity = std::sync::Arc::new(Activity::new(&clock));
        let watched = activity.clone();
        let watching = tokio::spawn(async move { watched.silence().await });
        for _ in 0..5 {
            clock.pass(IDLE_TIMEOUT / 2).await;
            activity.note();
        }
        assert!(!watching.is_finished());
        clock.pass(IDLE_TIMEOUT + Duration::from_millis(5)).await;
        watching.await.unwrap();
    }
}
