//! Test fixture for TLS: a private authority, and a relay that terminates TLS in front of a plain server.

use std::net::SocketAddr;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// An authority that nobody trusts who was not told to.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    /// A new one.
    #[allow(clippy::new_without_default)] // Every one is another.
    pub fn new() -> Authority {
        let mut parameters = CertificateParams::new(Vec::new()).expect("no names are good names");
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        Authority { issuer: CertifiedIssuer::self_signed(parameters, key).expect("a certificate") }
    }

    /// Its certificate, for `SSL_CERT_FILE`.
    pub fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// What a server of these names shows.
    pub fn server(&self, names: &[&str]) -> Arc<ServerConfig> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let key = KeyPair::generate().expect("a key");
        let parameters = CertificateParams::new(names).expect("good names");
        let certificate = parameters.signed_by(&key, &self.issuer).expect("a certificate");
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("ring speaks TLS")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .expect("the key fits");
        Arc::new(config)
    }
}

/// A relay in a thread of its own. Dropped, it and its connections end.
pub struct Relay {
    /// Where it listens.
    pub address: SocketAddr,
    stop: watch::Sender<bool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Relay {
    /// Listens on a free port of this machine.
    pub fn start(server: Arc<ServerConfig>, to: SocketAddr) -> Relay {
        Relay::start_at(SocketAddr::from(([127, 0, 0, 1], 0)), server, to)
    }

    /// Listens where it is told to.
    pub fn start_at(at: SocketAddr, server: Arc<ServerConfig>, to: SocketAddr) -> Relay {
        let listener = std::net::TcpListener::bind(at).expect("a free port");
        listener.set_nonblocking(true).expect("a socket that can wait");
        let address = listener.local_addr().expect("an address");
        let (stop, stopped) = watch::channel(false);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(relay(listener, server, to, stopped));
        });
        Relay { address, stop, thread: Some(thread) }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        if let Some(thread) = self.thread.take() {
            // It may have panicked, which the test has noticed in its own way.
            drop(thread.join());
        }
    }
}

async fn relay(
    listener: std::net::TcpListener,
    server: Arc<ServerConfig>,
    to: SocketAddr,
    mut stopped: watch::Receiver<bool>,
) {
    let listener = TcpListener::from_std(listener).expect("a listening socket");
    let acceptor = TlsAcceptor::from(server);
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => accepted.expect("a connection").0,
            _ = stopped.wait_for(|stopped| *stopped) => return,
        };
        let acceptor = acceptor.clone();
        tokio::spawn(async move {
            // Clients that do not trust us go away here, and servers may be away.
            let Ok(mut inner) = acceptor.accept(stream).await else { return };
            let Ok(mut outer) = TcpStream::connect(to).await else { return };
            drop(copy_bidirectional(&mut inner, &mut outer).await);
        });
    }
}
