//! Quota lookup: how much a user may keep, read from the config before something is written.

use std::collections::HashMap;
use std::sync::MutexGuard;

use base::sync::lock;
use protocol::config::FILES_QUOTA_BYTES;
use protocol::ids::Uid;
use store::changes::Topic;

use crate::disk::fail::Fail;
use crate::fault::{Code, Fault};
use crate::view::View;

impl View {
    /// Lets the disk know the caller's quota before something is written on its behalf by other ways than this view.
    pub async fn ready_to_write(&self) -> Result<(), Fault> {
        self.learn_quota().await.map_err(|fail| fail.at("open", "/"))
    }

    /// Lets the disk know the caller's quota as it is now. It is read again only after the config has changed.
    pub(crate) async fn learn_quota(&self) -> Result<(), Fail> {
        let uid = self.who.uid;
        // Taken first: what is changed while it is read counts as not read.
        let generation = self.tree.store.changes().generation(Topic::Config);
        if uid.is_root() || self.quotas_read().get(&uid) == Some(&generation) {
            return Ok(());
        }
        let (own_key, store) = (FILES_QUOTA_BYTES.own(uid), &self.tree.store);
        let (everybodys, own) =
            tokio::join!(store.config().value(FILES_QUOTA_BYTES.name()), store.config().value(&own_key));
        let broken =
            |error: store::Error| Fail::because(Code::Io, format!("the quota can not be read: {error}"));
        let everybodys = FILES_QUOTA_BYTES.of([everybodys.map_err(broken)?.as_deref()]);
        let own = own.map_err(broken)?.and_then(|text| FILES_QUOTA_BYTES.read(&text));
        self.tree.disk.usage.set_quota(everybodys, uid, own);
        self.quotas_read().insert(uid, generation);
        Ok(())
    }

    fn quotas_read(&self) -> MutexGuard<'_, HashMap<Uid, u64>> {
        lock(&self.tree.quotas_read)
    }
}
