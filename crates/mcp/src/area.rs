//! State of the area: the handle, the HTTP clients, and the connections to servers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use base::limits;
use base::sync::lock;
use base::timer::Alarm;
use gateway::Gateway;
use outgoing::{Client, PrivateHosts, Settings};
use protocol::config;
use protocol::ids::Uid;
use store::mcp::ServerRow;
use tokio::sync::Semaphore;

use crate::connection::Connection;
use crate::failure::Failure;

/// MCP servers of users.
pub struct Mcp {
    pub(crate) gateway: Gateway,
    /// One client for public addresses only, one for any.
    public: Client,
    any: Client,
    /// What is known of servers, by their ids.
    connections: Mutex<HashMap<String, Arc<Connection>>>,
    /// Places for servers that are connected without anybody waiting for it.
    pub(crate) connecting: Arc<Semaphore>,
    /// Places for servers whose changes are listened to.
    pub(crate) listening: Arc<Semaphore>,
    /// When to look for servers that are to be connected again.
    pub(crate) sweep: Arc<Alarm>,
}

impl Mcp {
    /// The area, with nothing connected.
    pub fn new(gateway: Gateway) -> Arc<Mcp> {
        let client = |hosts| {
            Client::new(Settings {
                idle_connections_max: limits::mcp::IDLE_CONNECTIONS_MAX,
                ..Settings::new(hosts)
            })
        };
        let sweep = Alarm::new("MCP servers to connect again", gateway.clock().clone());
        Arc::new(Mcp {
            gateway,
            public: client(PrivateHosts::Deny),
            any: client(PrivateHosts::Allow),
            connections: Mutex::default(),
            connecting: Arc::new(Semaphore::new(limits::mcp::CONNECTING_MAX)),
            listening: Arc::new(Semaphore::new(limits::mcp::LISTENING_MAX)),
            sweep,
        })
    }

    /// Whether servers may have private addresses, as root's setting has it now.
    pub(crate) async fn allows_private(&self) -> Result<bool, Failure> {
        let setting = self.gateway.store().config().setting(config::MCP_PRIVATE_ENDPOINTS).await?;
        Ok(setting.eq_ignore_ascii_case("allow"))
    }

    /// The client for requests to servers.
    pub(crate) async fn client(&self) -> Result<&Client, Failure> {
        Ok(if self.allows_private().await? { &self.any } else { &self.public })
    }

    /// What is known of a server.
    pub(crate) fn known(&self, server_id: &str) -> Option<Arc<Connection>> {
        lock(&self.connections).get(server_id).cloned()
    }

    /// What is known of a server, from now on if nothing was.
    pub(crate) fn connection(&self, row: &ServerRow) -> Arc<Connection> {
        let mut connections = lock(&self.connections);
        connections.entry(row.server_id.clone()).or_insert_with(|| Connection::new(row.uid)).clone()
    }

    /// All that are known.
    pub(crate) fn all(&self) -> Vec<(String, Arc<Connection>)> {
        lock(&self.connections).iter().map(|(id, connection)| (id.clone(), connection.clone())).collect()
    }

    /// Drops what is known of a server.
    pub(crate) fn drop_connection(&self, server_id: &str) -> Option<Arc<Connection>> {
        lock(&self.connections).remove(server_id)
    }

    /// Drops what is known of a user's servers.
    pub(crate) fn drop_user(&self, uid: Uid) {
        lock(&self.connections).retain(|_, connection| connection.uid != uid);
    }
}
