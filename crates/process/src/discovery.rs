//! Discovery of a model on this machine when none is configured, with a time-limited cache of probes; also the
//! client for gateways that keep away from private addresses.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use base::clock::Clock;
use base::limits;
use base::sync::lock;
use model::{Choice, Client, LocalServer, PrivateHosts};
use tokio::sync::OnceCell;

/// Local servers whose answer is remembered.
const SERVERS_MAX: usize = 64;

type Environment = dyn Fn(&str) -> Option<String> + Send + Sync;

/// Finds models on this machine.
pub(crate) struct ModelDiscovery {
    clock: Clock,
    client: Client,
    /// For gateways that keep away from private addresses.
    outward: OnceLock<Client>,
    environment: Box<Environment>,
    servers: Mutex<HashMap<(String, bool), Probed>>,
}

/// What was found at an address. Several who ask at once wait for one probe.
#[derive(Clone)]
struct Probed {
    at_ms: i64,
    server: Arc<OnceCell<Option<LocalServer>>>,
}

impl ModelDiscovery {
    /// With the environment of this program.
    pub(crate) fn new(clock: Clock, client: Client) -> ModelDiscovery {
        ModelDiscovery::with_environment(clock, client, |name| std::env::var(name).ok())
    }

    /// With an environment of its own.
    pub(crate) fn with_environment(
        clock: Clock,
        client: Client,
        environment: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    ) -> ModelDiscovery {
        let environment = Box::new(environment);
        ModelDiscovery { clock, client, outward: OnceLock::new(), environment, servers: Mutex::default() }
    }

    /// The client that keeps away from private addresses.
    pub(crate) fn outward_client(&self) -> &Client {
        self.outward.get_or_init(|| Client::new(self.clock.clone(), PrivateHosts::Deny))
    }

    /// A variable of the environment that is not blank.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        (self.environment)(name).filter(|value| !value.trim().is_empty())
    }

    /// What to use when nothing is configured.
    pub(crate) async fn discover(&self, hosts: PrivateHosts) -> Choice {
        model::discover(|name| self.variable(name), |base_url| self.ollama(hosts, base_url)).await
    }

    /// Whether Ollama answers at an address; the answer holds for a while.
    pub(crate) async fn ollama(&self, hosts: PrivateHosts, base_url: String) -> Option<LocalServer> {
        let server = self.probed(hosts, &base_url).server;
        let client = match hosts {
            PrivateHosts::Allow => &self.client,
            PrivateHosts::Deny => self.outward_client(),
        };
        server.get_or_init(|| client.probe_ollama(base_url)).await.clone()
    }

    fn probed(&self, hosts: PrivateHosts, base_url: &str) -> Probed {
        let now_ms = self.clock.now_ms();
        let kept_ms = limits::process::DISCOVERY_KEPT.as_millis() as i64;
        let mut servers = lock(&self.servers);
        // A clock that was set back must not make an answer hold for long.
        servers.retain(|_, probed| (0..kept_ms).contains(&now_ms.saturating_sub(probed.at_ms)));
        if servers.len() >= SERVERS_MAX {
            servers.clear();
        }
        let key = (base_url.to_string(), hosts == PrivateHosts::Deny);
        let fresh = || Probed { at_ms: now_ms, server: Arc::default() };
        servers.entry(key).or_insert_with(fresh).clone()
    }
}
