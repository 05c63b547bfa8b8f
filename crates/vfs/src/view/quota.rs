//! What a user may keep, read from the config before something is written.

use std::sync::PoisonError;
use std::time::Instant;

use base::limits;
use protocol::config;
use protocol::ids::Uid;

use crate::disk::fail::Fail;
use crate::fault::Code;
use crate::view::View;

/// What everybody may keep.
const KEY: &str = "config/files/quota_bytes";

impl View {
    /// Lets the disk know the caller's quota as it is now.
    pub(crate) async fn learn_quota(&self) -> Result<(), Fail> {
        let uid = self.who.uid;
        if uid.is_root() {
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
        self.quota_read_at(uid, true);
        Ok(())
    }

    /// The same, content with what was known a moment ago: for many small writes in a row.
    pub(super) async fn learn_quota_soon(&self) -> Result<(), Fail> {
        if self.quota_read_at(self.who.uid, false) { Ok(()) } else { self.learn_quota().await }
    }

    /// Whether the quota was read a moment ago; `now` says that it has just been.
    fn quota_read_at(&self, uid: Uid, now: bool) -> bool {
        let mut read = self.tree.quotas_read.lock().unwrap_or_else(PoisonError::into_inner);
        if now {
            read.insert(uid, Instant::now());
        }
        read.get(&uid).is_some_and(|at| at.elapsed() < limits::FILE_QUOTA_KEPT)
    }
}
