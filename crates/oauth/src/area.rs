//! State of the area: the handle, the HTTP client, and which codes and accounts are being worked on.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use base::limits;
use base::timer::Alarm;
use gateway::Gateway;
use outgoing::{Client, PrivateHosts, Settings};
use protocol::config;
use protocol::error::Error;

/// Accounts at other services.
pub struct OAuth {
    pub(crate) gateway: Gateway,
    /// One client for public addresses only, one for any.
    public: Client,
    any: Client,
    /// Flows whose code is being exchanged: a code is worth one request.
    pub(crate) exchanging: Mutex<HashSet<String>>,
    /// Single flight: who renews an account, by its id.
    pub(crate) renewing: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
    /// When to look for tokens that end.
    pub(crate) sweep: Arc<Alarm>,
}

impl OAuth {
    /// The area, with nothing under way.
    pub fn new(gateway: Gateway) -> Arc<OAuth> {
        let client = |hosts| {
            Client::new(Settings {
                idle_connections_max: limits::oauth::IDLE_CONNECTIONS_MAX,
                ..Settings::new(hosts)
            })
        };
        let sweep = Alarm::new("tokens that end", gateway.clock().clone());
        Arc::new(OAuth {
            gateway,
            public: client(PrivateHosts::Deny),
            any: client(PrivateHosts::Allow),
            exchanging: Mutex::default(),
            renewing: Mutex::default(),
            sweep,
        })
    }

    /// The client for requests to services, as root's setting has it now.
    pub(crate) async fn client(&self) -> Result<&Client, Error> {
        let setting = self.gateway.store().config().setting(config::OAUTH_PRIVATE_ENDPOINTS).await?;
        Ok(if setting.eq_ignore_ascii_case("allow") { &self.any } else { &self.public })
    }
}
