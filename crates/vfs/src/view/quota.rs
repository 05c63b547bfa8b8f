//! Quota lookup: how much a user may keep, read from the config before something is written; and the quota for what other
//! parts of the gateway keep for users beside the tree, so that there is one sum.

use std::collections::HashMap;
use std::sync::{Arc, MutexGuard};

use base::sync::{lock, write};
use protocol::config::FILES_QUOTA_BYTES;
use protocol::ids::Uid;
use store::changes::Topic;

use crate::disk::fail::Fail;
use crate::disk::usage::{Elsewhere, signed};
use crate::fault::{Code, Fault};
use crate::tree::Tree;
use crate::view::View;

impl View {
    /// Lets the disk know the caller's quota before something is written on its behalf by other ways than this view.
    pub async fn ready_to_write(&self) -> Result<(), Fault> {
        self.learn_quota().await.map_err(|fail| fail.at("open", "/"))
    }

    /// Lets the disk know the caller's quota as it is now.
    pub(crate) async fn learn_quota(&self) -> Result<(), Fail> {
        self.tree.learn_quota(self.who.uid).await
    }
}

impl Tree {
    /// Tells how many bytes users keep elsewhere; it is asked when everything is counted anew.
    pub fn count_elsewhere(&self, elsewhere: Elsewhere) {
        *write(&self.disk.usage.elsewhere) = Some(elsewhere);
    }

    /// Learns the quota of a user and counts what is used of it, where that is not known. Returns whether anything is
    /// counted at all. To be called before [`Tree::charge`].
    pub async fn know_quota(self: &Arc<Self>, uid: Uid) -> Result<bool, String> {
        self.learn_quota(uid)
            .await
            .map_err(|fail| fail.note.unwrap_or_else(|| fail.code.words().to_string()))?;
        if !self.disk.counts_usage() {
            return Ok(false);
        }
        let tree = self.clone();
        let counting = tokio::task::spawn_blocking(move || tree.disk.freshen_usage());
        counting.await.map(|()| true).map_err(|error| format!("what is used could not be counted: {error}"))
    }

    /// Adds to what a user keeps; why not, with the numbers, when that would be more than the quota.
    pub fn charge(&self, uid: Uid, bytes: u64) -> Result<(), String> {
        let advice = || {
            let key = FILES_QUOTA_BYTES.own(uid);
            format!("; delete something that counts for it, or ask root for more room: {key}")
        };
        let charged = self.disk.charge(uid, signed(bytes));
        charged.map_err(|fail| fail.note.unwrap_or_else(|| fail.code.words().to_string()) + &advice())
    }

    /// Adds to what a user keeps, or takes from it, whatever the quota is: it is so already.
    pub fn recount(&self, uid: Uid, bytes: i64) {
        self.disk.refund(uid, bytes.saturating_neg());
    }

    /// Lets the disk know a user's quota as it is now. It is read again only after the config has changed.
    pub(crate) async fn learn_quota(&self, uid: Uid) -> Result<(), Fail> {
        // Taken first: what is changed while it is read counts as not read.
        let generation = self.store.changes().generation(Topic::Config);
        if uid.is_root() || self.quotas_read().get(&uid) == Some(&generation) {
            return Ok(());
        }
        let (own_key, store) = (FILES_QUOTA_BYTES.own(uid), &self.store);
        let (everybodys, own) =
            tokio::join!(store.config().value(FILES_QUOTA_BYTES.name()), store.config().value(&own_key));
        let broken =
            |error: store::Error| Fail::because(Code::Io, format!("the quota can not be read: {error}"));
        let everybodys = FILES_QUOTA_BYTES.of([everybodys.map_err(broken)?.as_deref()]);
        let own = own.map_err(broken)?.and_then(|text| FILES_QUOTA_BYTES.read(&text));
        self.disk.usage.set_quota(everybodys, uid, own);
        self.quotas_read().insert(uid, generation);
        Ok(())
    }

    fn quotas_read(&self) -> MutexGuard<'_, HashMap<Uid, u64>> {
        lock(&self.quotas_read)
    }
}
