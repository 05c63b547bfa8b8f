//! Transparent proxy: a connection to an address that the DNS responder gave to a name goes on to that name, on the same
//! port, byte for byte.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpStream;

use crate::gate::{Gate, Wish};
use crate::relay;

/// Serves one connection. One to an address that nobody was given is closed.
pub(crate) async fn serve(client: TcpStream, gate: Arc<Gate>) {
    let Ok(SocketAddr::V4(came_in_at)) = client.local_addr() else { return };
    let Some(name) = gate.names.name(*came_in_at.ip()) else { return };
    let wish = Wish { host: &name, port: came_in_at.port(), token: None };
    if let Ok(server) = gate.open(wish).await {
        relay::splice(client, server, &[], &gate.meter, &gate.clock).await;
    }
}
