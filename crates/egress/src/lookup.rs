//! Name resolution with a concurrency limit: a lookup occupies a thread of the runtime until the operating system gives
//! up, also when nobody waits for it any more, and the driver needs its threads for other work.

use std::io;
use std::net::ToSocketAddrs;
use std::sync::Arc;

use base::limits::egress::LOOKUPS_MAX;
use outgoing::Resolver;
use tokio::sync::Semaphore;

/// The operating system's resolver, with so many lookups at once as one proxy may have.
pub fn resolver() -> Resolver {
    let free = Arc::new(Semaphore::new(LOOKUPS_MAX));
    Resolver::new(move |name| {
        let free = free.clone();
        async move {
            let permit = free.acquire_owned().await.map_err(io::Error::other)?;
            let found = tokio::task::spawn_blocking(move || {
                // Held by the thread and not by who waits for it.
                let _permit = permit;
                let found = (name.as_str(), 0).to_socket_addrs()?;
                Ok(found.map(|address| address.ip()).collect())
            });
            found.await.map_err(io::Error::other)?
        }
    })
}
