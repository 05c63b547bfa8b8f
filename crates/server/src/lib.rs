//! HTTP and WebSocket front end: knows sockets and pages, and leaves the meaning of frames to the kernel.

mod admission;
mod credentials;
mod http;
mod inlet;
mod outlet;
mod source;
mod ws;

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

pub use auth::network::Network;
use base::clock::Clock;
use base::limits;
use base::random::Random;
use base::shutdown::Shutdown;
use kernel::Kernel;
pub use kernel::NewArea;
use source::TrustedProxies;
use store::Store;
use tokio::net::TcpListener;

/// What a gateway needs to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Address and port; port 0 takes a free one.
    pub listen: String,
    /// Everything it keeps.
    pub data: PathBuf,
    /// `postgres://…`; SQLite in the data directory when absent.
    pub store_url: Option<String>,
    /// The program whose children run code that is not ours; this one where none is named.
    pub guest_program: Option<PathBuf>,
    /// What it calls itself to clients.
    pub version: String,
    /// Areas beside those of the kernel's page of subsystems.
    pub areas: Vec<NewArea>,
    /// Proxies whose `X-Forwarded-For` or `Forwarded` says where requests come from.
    pub trusted_proxies: Vec<Network>,
}

/// What a gateway says once it listens.
#[derive(Clone, Debug)]
pub struct Ready {
    /// Where.
    pub address: SocketAddr,
    /// Whether nobody has set it up yet.
    pub setup_mode: bool,
    /// Whether other machines can reach it: it listens beyond loopback.
    pub is_reachable: bool,
    /// What whoever sets it up from elsewhere needs, if that is possible.
    pub setup_code: Option<String>,
}

/// Why a gateway does not run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store does not open.
    #[error(transparent)]
    Store(#[from] store::OpenError),
    /// The store opens but cannot be used.
    #[error("the store cannot be used: {0}")]
    Statement(#[from] store::Error),
    /// The address cannot be had.
    #[error("cannot listen on {listen}: {why}")]
    Listen {
        /// What was asked for.
        listen: String,
        /// Why not.
        why: std::io::Error,
    },
}

/// Does the work of a guest and does not return, if this program was started as one. The program that serves calls it
/// first thing in its `main`, while there is one thread.
pub fn run_if_guest() {
    guest::run_if_guest(&[codemode::GUEST]);
}

/// Runs a gateway until it is asked to stop.
pub async fn serve(
    options: Options,
    mut shutdown: Shutdown,
    on_ready: impl FnOnce(Ready),
) -> Result<(), Error> {
    let listener = listen(&options.listen).await?;
    let address =
        listener.local_addr().map_err(|why| Error::Listen { listen: options.listen.clone(), why })?;
    let files = options.data.join("files");
    let store = open(store::Options { data: options.data, url: options.store_url }).await?;
    let setting = kernel::Setting {
        store: store.clone(),
        files: &files,
        guest_program: options.guest_program,
        clock: Clock::system(),
        random: Random::system(),
        version: &options.version,
        more: options.areas,
    };
    let kernel = Kernel::start_in(setting).await?;
    let timers = tokio::spawn(kernel.clone().run_timers(shutdown.clone()));
    let is_reachable = !address.ip().to_canonical().is_loopback();
    let is_elsewhere = is_reachable || !options.trusted_proxies.is_empty();
    on_ready(Ready {
        address,
        setup_mode: kernel.in_setup_mode(),
        is_reachable,
        setup_code: kernel.setup_code().filter(|_| is_elsewhere),
    });
    let trusted = TrustedProxies::new(options.trusted_proxies);
    tokio::select! {
        () = shutdown.requested() => {}
        () = http::accept(listener, &kernel, trusted) => {}
    }
    stop(&kernel).await;
    timers.abort();
    store.close().await?;
    Ok(())
}

/// Takes the address; one that a dying gateway still holds is waited for.
async fn listen(listen: &str) -> Result<TcpListener, Error> {
    let clock = Clock::system();
    let deadline = clock.instant() + limits::lifecycle::TAKEOVER_WAIT;
    loop {
        match TcpListener::bind(listen).await {
            Ok(listener) => return Ok(listener),
            Err(why) if why.kind() == ErrorKind::AddrInUse && clock.instant() < deadline => {
                clock.sleep(limits::lifecycle::TAKEOVER_RETRY).await;
            }
            Err(why) => return Err(Error::Listen { listen: listen.to_string(), why }),
        }
    }
}

/// Opens the store; one that a dying gateway still holds is waited for.
async fn open(options: store::Options) -> Result<Store, store::OpenError> {
    let clock = Clock::system();
    let deadline = clock.instant() + limits::lifecycle::TAKEOVER_WAIT;
    loop {
        match Store::open(&options).await {
            Err(store::OpenError::Held(_)) if clock.instant() < deadline => {
                clock.sleep(limits::lifecycle::TAKEOVER_RETRY).await;
            }
            opened => return opened,
        }
    }
}

/// Lets processes come to rest, closes every socket and waits until they are gone, within a limit.
async fn stop(kernel: &Arc<Kernel>) {
    tracing::info!("stopping");
    // First of all: a call that is cut off by its device going away would count as failed.
    kernel.stop_areas().await;
    kernel.close_all();
    let gone = async {
        while kernel.socket_count() > 0 {
            kernel.clock().sleep(std::time::Duration::from_millis(10)).await;
        }
    };
    if kernel.clock().timeout(limits::lifecycle::STOP_TIMEOUT, gone).await.is_err() {
        tracing::warn!("some sockets did not close in time");
    }
}
