//! Login without a socket: credentials in, caller out, for requests over HTTP.

use std::sync::Arc;

use auth::Credentials;
use protocol::error::Error;

use crate::{Kernel, access};
use gateway::{Caller, Origin};

impl Kernel {
    /// Who makes a request that came without a socket, by the same rules and with the same throttling as
    /// `sys.connect`. It may then call what a socket of that account may.
    pub async fn authenticate(&self, credentials: &Credentials<'_>) -> Result<Caller, Error> {
        if self.in_setup_mode() {
            return Err(Error::setup_required());
        }
        // Asked for first: what is read after it is at least as new.
        let as_of = self.gateway.standing_generation();
        let authenticated = self.authenticator.authenticate(credentials).await?;
        let identity = authenticated.account.identity();
        let may_approve = authenticated.may_approve();
        let capabilities = access::capabilities_for(self, credentials.role, &identity.gids);
        Ok(Caller {
            identity: Arc::new(identity),
            role: credentials.role,
            capabilities,
            as_of,
            may_approve,
            origin: Origin::Inside,
            permit: None,
            door: None,
        })
    }
}
