//! What a user may keep, read from the config before something is written.

use std::collections::HashMap;
use std::sync::{MutexGuard, PoisonError};

use protocol::config;
use protocol::ids::Uid;

use crate::disk::fail::Fail;
use crate::fault::Code;
use crate::view::View;

/// What everybody may keep.
const KEY: &str = "config/files/quota_bytes";

impl View {
    /// Lets the disk know the caller's quota as it is now. It is read again only after the config has changed.
    pub(crate) async fn learn_quota(&self) -> Result<(), Fail> {
        let uid = self.who.uid;
        // Taken first: what is changed while it is read counts as not read.
        let generation = self.tree.store.config_generation();
        if uid.is_root() || self.quotas_read().get(&uid) == Some(&generation) {
            return Ok(());
        }
        let own_key = format!("users/{uid}/files/quota_bytes");
        let store = &self.tree.store;
        let (default, own) = tokio::join!(store.config_value(KEY), store.config_value(&own_key));
        let broken =
            |error: store::Error| Fail::because(Code::Io, format!("the quota can not be read: {error}"));
        let default = default.map_err(broken)?.and_then(|text| text.trim().parse().ok());
        let default = default.or_else(|| config::key(KEY).and_then(|key| key.default.parse().ok()));
        let own = own.map_err(broken)?.and_then(|text| text.trim().parse().ok());
        self.tree.disk.usage.set_quota(default.unwrap_or(0), uid, own);
        self.quotas_read().insert(uid, generation);
        Ok(())
    }

    fn quotas_read(&self) -> MutexGuard<'_, HashMap<Uid, u64>> {
        self.tree.quotas_read.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
