//! What is known of one server while the gateway runs: how the connection stands, and what came over it.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use base::sync::lock;
use protocol::ids::Uid;
use protocol::sys::mcp::{ConnectionState, Server};
use serde_json::{Map, Value};
use store::mcp::ServerRow;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::AbortHandle;

use crate::discover::Offer;
use crate::held::Held;
use crate::session::Session;

/// The connection to one server.
pub(crate) struct Connection {
    /// Whose server it is.
    pub(crate) uid: Uid,
    /// Single flight: whoever connects it.
    pub(crate) turn: tokio::sync::Mutex<()>,
    live: Mutex<Live>,
}

/// How it stands.
pub(crate) struct Live {
    pub(crate) state: ConnectionState,
    pub(crate) session: Option<Arc<Session>>,
    /// The token that requests carry.
    pub(crate) held: Option<Held>,
    pub(crate) error: Option<String>,
    pub(crate) instructions: Option<String>,
    pub(crate) capabilities: Option<Map<String, Value>>,
    pub(crate) offer: Arc<Offer>,
    /// How often connecting has failed since it last worked.
    pub(crate) failures: u32,
    /// When it is tried again.
    pub(crate) retry_at: Option<Instant>,
    /// When its tools were last asked for because it told of a change.
    pub(crate) relisted_at: Option<Instant>,
    /// Whether that is about to happen.
    pub(crate) relisting: bool,
    pub(crate) listener: Option<Listener>,
    /// Whether private addresses were allowed when it was connected.
    pub(crate) private: bool,
}

/// The task that hears of changes; it ends when this is dropped.
pub(crate) struct Listener {
    pub(crate) task: AbortHandle,
    pub(crate) _place: OwnedSemaphorePermit,
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Connection {
    pub(crate) fn new(uid: Uid) -> Arc<Connection> {
        Arc::new(Connection {
            uid,
            turn: tokio::sync::Mutex::default(),
            live: Mutex::new(Live {
                state: ConnectionState::NotConnected,
                session: None,
                held: None,
                error: None,
                instructions: None,
                capabilities: None,
                offer: Arc::default(),
                failures: 0,
                retry_at: None,
                relisted_at: None,
                relisting: false,
                listener: None,
                private: false,
            }),
        })
    }

    pub(crate) fn live(&self) -> MutexGuard<'_, Live> {
        lock(&self.live)
    }

    /// The session, where one is there to be used.
    pub(crate) fn session(&self) -> Option<Arc<Session>> {
        let live = self.live();
        let session = live.session.clone().filter(|_| live.state == ConnectionState::Ready)?;
        (!session.is_over()).then_some(session)
    }

    /// Goes to a state in which nothing can be asked. Returns the session there was.
    pub(crate) fn leave(&self, state: ConnectionState, error: Option<String>) -> Option<Arc<Session>> {
        let mut live = self.live();
        (live.state, live.error) = (state, error);
        (live.listener, live.held) = (None, None);
        live.session.take()
    }
}

/// What everybody may see of a server. Without a connection a sign-in that waits is what there is to say.
pub(crate) fn summary(row: &ServerRow, connection: Option<&Connection>, now_ms: i64) -> Server {
    let mut server = Server {
        server_id: row.server_id.clone(),
        uid: row.uid,
        name: row.name.clone(),
        url: row.url.clone(),
        transport: row.transport,
        state: ConnectionState::NotConnected,
        auth_url: None,
        error: None,
        instructions: None,
        capabilities: None,
        tools: Vec::new(),
        resource_count: 0,
        prompt_count: 0,
        created_at: row.created_at,
        updated_at: row.updated_at,
    };
    if let Some(connection) = connection {
        let live = connection.live();
        server.state = live.state;
        server.error = live.error.clone();
        server.instructions = live.instructions.clone();
        server.capabilities = live.capabilities.clone();
        server.tools = live.offer.tools.iter().map(|found| found.tool.clone()).collect();
        server.resource_count = live.offer.resource_count;
        server.prompt_count = live.offer.prompt_count;
    }
    if let Some(sign_in) = &row.sign_in {
        if server.state == ConnectionState::NotConnected {
            server.state = ConnectionState::Authenticating;
        }
        if server.state == ConnectionState::Authenticating {
            match sign_in.expires_at > now_ms {
                true => server.auth_url = Some(sign_in.url.clone()),
                false => {
                    server.error = Some(
                        "the link for the sign-in is too old: refresh the server for a new one".to_string(),
                    );
                }
            }
        }
    }
    server
}
