//! Name resolution, injected: the operating system's resolver, or one that a test controls.

use std::fmt;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;

type Lookup = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// Turns a host's name into its addresses. Cheap to clone.
#[derive(Clone)]
pub struct Resolver(Arc<dyn Fn(String) -> Lookup + Send + Sync>);

impl Resolver {
    /// The operating system's.
    pub fn system() -> Resolver {
        Resolver::new(|name| async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }

    /// One that asks `lookup`, for tests of names that change their addresses.
    pub fn new<F>(lookup: impl Fn(String) -> F + Send + Sync + 'static) -> Resolver
    where
        F: Future<Output = io::Result<Vec<IpAddr>>> + Send + 'static,
    {
        Resolver(Arc::new(move |name| Box::pin(lookup(name))))
    }

    pub(crate) async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        (self.0)(name.to_owned()).await
    }
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Resolver")
    }
}
