//! Requester of an HTTP route of an area: where a request comes from, and who makes it. The server puts one into the
//! extensions of every request to an area; credentials are checked only when the route asks.

use std::net::IpAddr;
use std::sync::Arc;

use protocol::error::Error;

use crate::caller::Caller;
use crate::handle::Later;

/// Who makes an HTTP request. Cheap to clone.
#[derive(Clone)]
pub struct Visitor {
    /// Where the request comes from, behind the proxies that are trusted, cut to what one customer gets: for counting.
    pub address: IpAddr,
    login: Option<Arc<Login>>,
}

type Login = dyn Fn() -> Later<Result<Caller, Error>> + Send + Sync;

impl Visitor {
    /// Somebody who gave no credentials.
    pub fn anonymous(address: IpAddr) -> Visitor {
        Visitor { address, login: None }
    }

    /// Somebody whose credentials can be checked.
    pub fn with_login(
        address: IpAddr,
        login: impl Fn() -> Later<Result<Caller, Error>> + Send + Sync + 'static,
    ) -> Visitor {
        Visitor { address, login: Some(Arc::new(login)) }
    }

    /// The account behind the credentials, with the same throttling as `sys.connect`; `None` where none were given.
    pub async fn caller(&self) -> Option<Result<Caller, Error>> {
        let login = self.login.as_ref()?;
        Some(login().await)
    }
}
