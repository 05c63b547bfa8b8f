//! Test fixture: a gateway inside the test's own process, on a free port and a directory of its own.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use base::shutdown::Trigger;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::data::Data;
use crate::peer::Peer;

/// The first user's name.
pub const USER: &str = "alice";
/// The first user's password.
pub const PASSWORD: &str = "alice-password";
/// Password that root is set up with.
pub const ROOT_PASSWORD: &str = "root-password";
/// The device that setup made a token for.
pub const DEVICE: &str = "laptop";

/// A running gateway. Dropped, it stops and its directory goes.
pub struct Gateway {
    /// Where it listens.
    pub address: SocketAddr,
    /// The token of [`DEVICE`], once set up.
    pub node_token: String,
    /// What it printed for whoever sets it up from elsewhere.
    pub setup_code: Option<String>,
    directory: Arc<Data>,
    store_url: Option<String>,
    trigger: Trigger,
    running: Option<JoinHandle<Result<(), server::Error>>>,
}

impl Gateway {
    /// A fresh one, in setup mode.
    pub async fn fresh() -> Gateway {
        let own = Data::new();
        Gateway::launch(Arc::new(own), None, "127.0.0.1:0").await
    }

    /// The same on another address, behind these proxies.
    pub async fn fresh_at(listen: &str, trusted_proxies: &[&str]) -> Gateway {
        let own = Data::new();
        let trusted =
            trusted_proxies.iter().map(|text| text.parse().expect("a block of addresses")).collect();
        Gateway::launch_with(Arc::new(own), None, listen, Vec::new(), trusted).await
    }

    /// The same with its store in PostgreSQL, set up.
    pub async fn set_up_on(store_url: &str) -> Gateway {
        let own = Data::new();
        let mut gateway = Gateway::launch(Arc::new(own), Some(store_url.to_string()), "127.0.0.1:0").await;
        gateway.setup().await;
        gateway
    }

    /// One with root, [`USER`] and a token for [`DEVICE`].
    pub async fn set_up() -> Gateway {
        let mut gateway = Gateway::fresh().await;
        gateway.setup().await;
        gateway
    }

    /// The same with an area beside the built-in ones.
    pub async fn set_up_with(area: server::NewArea) -> Gateway {
        let own = Data::new();
        let mut gateway =
            Gateway::launch_with(Arc::new(own), None, "127.0.0.1:0", vec![area], Vec::new()).await;
        gateway.setup().await;
        gateway
    }

    async fn launch(directory: Arc<Data>, store_url: Option<String>, listen: &str) -> Gateway {
        Gateway::launch_with(directory, store_url, listen, Vec::new(), Vec::new()).await
    }

    async fn launch_with(
        directory: Arc<Data>,
        store_url: Option<String>,
        listen: &str,
        areas: Vec<server::NewArea>,
        trusted_proxies: Vec<server::Network>,
    ) -> Gateway {
        let (trigger, shutdown) = base::shutdown::channel();
        let options = server::Options {
            listen: listen.to_string(),
            data: directory.path().to_path_buf(),
            store_url: store_url.clone(),
            guest_program: Some(crate::guest_program::find()),
            version: "test".to_string(),
            areas,
            trusted_proxies,
        };
        let (told, ready) = oneshot::channel();
        let running = tokio::spawn(server::serve(options, shutdown, move |ready| {
            told.send(ready).expect("the test waits for it");
        }));
        let ready = match ready.await {
            Ok(ready) => ready,
            Err(_) => panic!("the gateway did not start: {:?}", running.await),
        };
        Gateway {
            address: ready.address,
            node_token: String::new(),
            setup_code: ready.setup_code,
            directory,
            store_url,
            trigger,
            running: Some(running),
        }
    }

    /// Sends `sys.setup`.
    pub async fn setup(&mut self) -> Value {
        let args = json!({
            "username": USER, "password": PASSWORD, "rootPassword": ROOT_PASSWORD, "node": { "deviceId": DEVICE },
        });
        let done = self.peer().await.call("sys.setup", args).await.expect("setup works");
        self.node_token = done["nodeToken"]["token"].as_str().expect("a token").to_string();
        done
    }

    /// The address for clients.
    pub fn url(&self) -> String {
        format!("ws://{}/ws", self.address)
    }

    /// The data directory.
    pub fn data(&self) -> &Path {
        self.directory.path()
    }

    /// A socket that has not logged in.
    pub async fn peer(&self) -> Peer {
        Peer::open(&self.url()).await
    }

    /// A socket of the first user.
    pub async fn user(&self) -> Peer {
        self.login(USER, PASSWORD).await
    }

    /// A socket of root.
    pub async fn root(&self) -> Peer {
        self.login("root", ROOT_PASSWORD).await
    }

    /// A socket that logged in with a password.
    pub async fn login(&self, username: &str, password: &str) -> Peer {
        let mut peer = self.peer().await;
        let auth = json!({ "username": username, "password": password });
        peer.connect("user", &base::random::uuid(), json!({ "auth": auth })).await.expect("login works");
        peer
    }

    /// A socket that logged in with a token of the given role.
    pub async fn login_token(&self, role: &str, username: &str, token: &str) -> Peer {
        let mut peer = self.peer().await;
        let auth = json!({ "username": username, "token": token });
        peer.connect(role, &base::random::uuid(), json!({ "auth": auth })).await.expect("login works");
        peer
    }

    /// Root adds a user; returns a socket of it.
    pub async fn add_user(&self, username: &str) -> Peer {
        let args = json!({ "username": username, "password": PASSWORD });
        self.root().await.call("sys.user.create", args).await.expect("root adds a user");
        self.login(username, PASSWORD).await
    }

    /// A driver of [`DEVICE`].
    pub async fn driver(&self) -> Peer {
        let mut peer = self.peer().await;
        peer.connect("driver", DEVICE, self.driver_args("test-instance")).await.expect("the driver connects");
        peer
    }

    /// What a driver of [`DEVICE`] says besides who it is.
    pub fn driver_args(&self, instance: &str) -> Value {
        json!({
            "auth": { "username": USER, "token": self.node_token },
            "driver": { "implements": ["fs.*", "shell.exec"], "instance": instance },
        })
    }

    /// Stops it and waits until it is gone.
    pub async fn stop(mut self) {
        self.wait_stopped().await;
    }

    /// Stops it and starts another on the same directory and address.
    pub async fn restart(mut self) -> Gateway {
        self.wait_stopped().await;
        let (directory, store_url) = (self.directory.clone(), self.store_url.clone());
        let mut next = Gateway::launch(directory, store_url, &self.address.to_string()).await;
        next.node_token = self.node_token.clone();
        next
    }

    /// The same; what `meanwhile` does to the directory is done while no gateway has it.
    pub async fn restarted_after(mut self, meanwhile: impl AsyncFnOnce()) -> Gateway {
        self.wait_stopped().await;
        meanwhile().await;
        self.restart().await
    }

    async fn wait_stopped(&mut self) {
        self.trigger.stop();
        if let Some(running) = self.running.take() {
            running.await.expect("the gateway does not panic").expect("the gateway stops cleanly");
        }
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.trigger.stop();
    }
}
