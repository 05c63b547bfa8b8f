//! Accept loop with back-pressure: no more connections are served at once than there are permits; the rest wait in the
//! listening socket, whose queue is the kernel's.

use std::sync::Arc;

use base::limits::egress::ACCEPT_REST;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::gate::Gate;

/// Accepts for ever. When it is dropped its connections end.
pub(crate) async fn accept<Served>(
    listener: TcpListener,
    free: Arc<Semaphore>,
    gate: Arc<Gate>,
    serve: impl Fn(TcpStream, Arc<Gate>) -> Served,
) where
    Served: Future<Output = ()> + Send + 'static,
{
    let mut connections = JoinSet::new();
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::debug!(%error, "a connection of a confined command could not be accepted");
                gate.clock.sleep(ACCEPT_REST).await;
                continue;
            }
        };
        while let Some(ended) = connections.try_join_next() {
            if let Err(error) = ended {
                tracing::error!(%error, "a connection of the proxy ended badly");
            }
        }
        // Never closed: it ends with this task.
        let Ok(permit) = free.clone().acquire_owned().await else { return };
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "small packets may be late");
        }
        let served = serve(stream, gate.clone());
        connections.spawn(async move {
            served.await;
            drop(permit);
        });
    }
}
