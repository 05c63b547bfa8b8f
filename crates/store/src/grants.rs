//! Which group holds which capability.

use protocol::ids::Gid;

use crate::{Result, Store};

impl Store {
    /// Gives each default once and for all: one that was given before and revoked since stays revoked.
    pub async fn grant_defaults(&self, _defaults: &[(Gid, &str)]) -> Result<()> {
        unimplemented!()
    }

    /// All grants, by gid and name.
    pub async fn grants(&self) -> Result<Vec<(Gid, String)>> {
        unimplemented!()
    }

    /// Gives a capability. False when the group held it already.
    pub async fn grant(&self, _gid: Gid, _capability: &str) -> Result<bool> {
        unimplemented!()
    }

    /// Takes it. False when the group did not hold it.
    pub async fn revoke(&self, _gid: Gid, _capability: &str) -> Result<bool> {
        unimplemented!()
    }
}
