//! When changed files are committed: after a quiet moment, before anybody looks at the repository, at the start for what
//! a killed gateway left, and now and then for what was changed on the host.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use base::limits::versions as limits;
use protocol::error::Error;
use protocol::identity::ProcessIdentity;
use tokio::sync::OwnedMutexGuard;
use vfs::VPath;

use crate::git::bare::Bare;
use crate::git::commit::NewCommit;
use crate::git::fault::Fault;
use crate::git::refs::Branch;
use crate::repos::{Found, Repos, refusal};
use crate::slug::Slug;
use crate::versions::agree::{self, Agreed, Agreement};
use crate::versions::live::Live;
use crate::versions::notes::Pending;
use crate::versions::roots;
use crate::versions::roots::Root;

/// A repository that nobody else brings to agreement with its directory while this lives.
pub(crate) struct Held {
    pub(crate) slug: Slug,
    pub(crate) root: Root,
    owner: Arc<ProcessIdentity>,
    /// What the commits say that are made while it is held, in the place of what changed in each.
    said: Option<String>,
    _alone: OwnedMutexGuard<()>,
}

/// What of a directory is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// Everything: somebody may have changed it on the host.
    Everywhere,
    /// What was noted.
    Noted,
}

impl Repos {
    /// Waits until nobody else brings a repository and its directory to agreement. Nothing for repositories that
    /// follow no directory.
    pub(crate) async fn hold(&self, slug: &Slug, wait: Duration) -> Result<Option<Held>, Error> {
        let Some(root) = Root::followed_by(slug) else { return Ok(None) };
        let Some(account) = self.gateway.store().accounts().by_name(slug.owner()).await? else {
            return Ok(None);
        };
        let alone = self.versions.lock_of(slug).lock_owned();
        let Ok(alone) = self.gateway.clock().timeout(wait, alone).await else {
            return Err(Error::too_busy(&format!("{slug} is being pushed to or changed: try again later")));
        };
        let owner = Arc::new(account.identity());
        Ok(Some(Held { slug: slug.clone(), root, owner, said: None, _alone: alone }))
    }

    /// Brings a repository and its directory to agreement; see [`agree`]. It goes on to its end when nobody waits for it.
    pub(crate) async fn agree(self: &Arc<Self>, held: Held, look: Look) -> Result<(Held, Agreed), Error> {
        let repos = self.clone();
        let reached = tokio::spawn(async move {
            let agreed = repos.reach(&held, look).await;
            agreed.map(|agreed| (held, agreed))
        });
        reached.await.map_err(|error| Error::internal(&error.to_string()))?
    }

    async fn reach(&self, held: &Held, look: Look) -> Result<Agreed, Error> {
        let versions = &self.versions;
        if self.find(&held.slug).await?.is_none() && !self.has_files(held).await? {
            if let Some(pending) = versions.notes.take(&held.root) {
                pending.settled();
            }
            return Ok(Agreed::default());
        }
        let pending = versions.notes.take(&held.root);
        let (pending, reached) = match self.find_or_make(&held.slug).await {
            Ok(found) => {
                let pending = pending.map(Arc::new);
                let reached = self.reach_on_disk(held, found.path.clone(), pending.clone(), look).await;
                if reached.as_ref().is_ok_and(|agreed| agreed.has_committed) {
                    self.count_growth(&found).await?;
                }
                (pending.and_then(Arc::into_inner), reached)
            }
            Err(error) => (pending, Err(error)),
        };
        match (&reached, pending) {
            (Ok(agreed), pending) if agreed.unfinished.is_none() => {
                if let Some(pending) = pending {
                    pending.settled();
                }
            }
            (Ok(agreed), pending) => {
                let (slug, why) = (&held.slug, agreed.unfinished.as_deref().unwrap_or_default());
                tracing::warn!(%slug, why, "a commit could not be put into the file tree; it is tried again");
                let pending = pending.unwrap_or_else(|| versions.notes.empty());
                versions.notes.give_back(held.root.clone(), pending);
            }
            (Err(_), Some(pending)) => versions.notes.give_back(held.root.clone(), pending),
            (Err(_), None) => {}
        }
        if reached.as_ref().is_ok_and(|agreed| agreed.has_committed) {
            self.touched(&held.slug).await?;
        }
        reached
    }

    async fn reach_on_disk(
        &self,
        held: &Held,
        path: std::path::PathBuf,
        pending: Option<Arc<Pending>>,
        look: Look,
    ) -> Result<Agreed, Error> {
        let (root, owner, slug) = (held.root.clone(), held.owner.clone(), held.slug.clone());
        let said = held.said.clone();
        let (gateway, mut index) = (self.gateway.clone(), self.versions.take_index(&held.root));
        let work = move || {
            let clock = gateway.clock();
            let Some(place) = agree::place(gateway.tree(), &root, &owner) else {
                return (Ok(Agreed::default()), index, Vec::new());
            };
            let scopes = match (look, pending.as_deref()) {
                (Look::Noted, Some(noted)) if !noted.is_overfull => {
                    Some(noted.paths.keys().cloned().collect())
                }
                (Look::Noted, None) => Some(Vec::new()),
                _ => None,
            };
            let now_ms = clock.now_ms();
            let live = Live { root: &root, place: &place, index: &mut index, skipped: Vec::new(), now_ms };
            let opened = Bare::open(&path);
            let (reached, skipped) = match &opened {
                Ok(bare) => {
                    let mut agreement =
                        Agreement { bare, live, clock, owner: &owner.username, said: said.as_deref() };
                    let reached = agreement.reach(pending.as_deref(), scopes);
                    (reached, agreement.live.skipped)
                }
                Err(fault) => (Err(Fault::Damaged(fault.to_string())), Vec::new()),
            };
            (reached, index, skipped)
        };
        let (reached, index, skipped) = self.work(work).await?;
        self.versions.keep_index(held.root.clone(), index);
        self.versions.say_skipped(&held.root, skipped);
        reached.map_err(|fault| refusal(&slug, fault))
    }

    /// Whether there is anything to commit in a directory that has no repository yet.
    async fn has_files(&self, held: &Held) -> Result<bool, Error> {
        let (root, owner, gateway) = (held.root.clone(), held.owner.clone(), self.gateway.clone());
        let look = move || {
            let place = agree::place(gateway.tree(), &root, &owner)?;
            let mut met = Vec::new();
            for top in root.tops() {
                place.survey(top, &roots::has_place, 0, &mut met).ok()?;
            }
            Some(met.iter().any(|one| one.stamp.is_some()))
        };
        Ok(self.work(look).await?.unwrap_or(false))
    }

    /// What was changed in the directory of a repository is committed before somebody looks at it. What can not be
    /// waited for is seen later.
    pub(crate) async fn settled(self: &Arc<Self>, slug: &Slug) {
        let settling = async {
            if let Some(held) = self.hold(slug, limits::SETTLE_WAIT).await? {
                self.agree(held, Look::Everywhere).await?;
            }
            Ok::<(), Error>(())
        };
        match self.gateway.clock().timeout(limits::SETTLE_WAIT, settling).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%slug, %error, "changed files could not be committed yet"),
            Err(_) => tracing::info!(%slug, "changed files are still being committed"),
        }
    }

    /// Makes a commit; where its branch is then. One on the main branch of a home or a workspace is made on top of what
    /// was changed in the file tree, and appears there.
    pub(crate) async fn advance_followed(
        self: &Arc<Self>,
        slug: &Slug,
        found: &Found,
        new: NewCommit,
    ) -> Result<Option<String>, Error> {
        let held = match new.branch == Branch::main() {
            true => self.hold(slug, limits::HOLD_WAIT).await?,
            false => None,
        };
        let Some(mut held) = held else { return self.advance(slug, found, new).await };
        // Nothing of its own: what was changed in the file tree is committed in its words.
        if new.changes.is_empty()
            && new.expected.is_none()
            && !new.allow_empty
            && !new.message.trim().is_empty()
        {
            held.said = Some(new.message.clone());
            let (_, agreed) = self.agree(held, Look::Everywhere).await?;
            return Ok(agreed.head.map(|head| head.to_string()));
        }
        let (held, _) = self.agree(held, Look::Everywhere).await?;
        let head = self.advance(slug, found, new).await?;
        // It is committed: what the file tree has of it is seen to again, should this fail.
        self.agree_afterwards(held).await;
        Ok(head)
    }

    /// Puts a commit that was made into the file tree; what fails is tried again.
    pub(crate) async fn agree_afterwards(self: &Arc<Self>, held: Held) {
        let (slug, root) = (held.slug.clone(), held.root.clone());
        if let Err(error) = self.agree(held, Look::Everywhere).await {
            tracing::warn!(%slug, %error, "a commit could not be put into the file tree; it is tried again");
            let notes = &self.versions.notes;
            notes.give_back(root, notes.empty());
        }
    }

    /// Commits what has changed below a root, now.
    pub(crate) async fn flush(self: &Arc<Self>, root: &Root, look: Look) {
        let flushing = async {
            let held = match self.slug_of(root).await? {
                Some(slug) => self.hold(&slug, limits::HOLD_WAIT).await?,
                None => None,
            };
            match held {
                Some(held) => drop(self.agree(held, look).await?),
                // It is nobody's: what was noted is of no use.
                None => drop(self.versions.notes.take(root)),
            }
            Ok::<(), Error>(())
        };
        if let Err(error) = flushing.await {
            tracing::warn!(root = root.path(), %error, "changed files could not be committed; it is tried again");
        }
    }

    /// The repository that follows a root: its owner's.
    pub(crate) async fn slug_of(&self, root: &Root) -> Result<Option<Slug>, Error> {
        if let Root::Home(user) = root {
            return Ok(root.slug(user));
        }
        let path = VPath::absolute(&root.path()).map_err(|fault| Error::bad(fault.to_string()))?;
        let Some(uid) = self.gateway.tree().owner_of(&path) else { return Ok(None) };
        let account = self.gateway.store().accounts().by_uid(uid).await?;
        Ok(account.and_then(|account| root.slug(&account.username)))
    }

    /// All homes and workspaces.
    async fn roots(&self) -> VecDeque<Root> {
        let accounts = self.gateway.store().accounts().all().await.unwrap_or_else(|error| {
            tracing::warn!(%error, "the homes could not be listed");
            Vec::new()
        });
        let homes = accounts.into_iter().map(|account| Root::Home(account.username));
        let (tree, directory) = (self.gateway.tree().clone(), VPath::absolute("/workspaces"));
        let listed = self.work(move || directory.and_then(|directory| tree.places_in(&directory))).await;
        let workspaces = match listed {
            Ok(Ok(places)) => places,
            failed => {
                tracing::warn!(?failed, "the workspaces could not be listed");
                Vec::new()
            }
        };
        homes.chain(workspaces.into_iter().filter_map(|(name, _)| Root::workspace(&name))).collect()
    }

    /// Sees to changed files from now on, until the gateway stops.
    pub(crate) fn watch_files(self: &Arc<Self>) {
        let (weak, notes, clock) =
            (Arc::downgrade(self), self.versions.notes.clone(), self.gateway.clock().clone());
        let mut stopping = self.traffic.stopping();
        tokio::spawn(async move {
            let (mut round, mut is_first, mut scan_at) = (VecDeque::new(), true, clock.instant());
            while let Some(repos) = weak.upgrade() {
                if *stopping.borrow() {
                    return;
                }
                if clock.instant() >= scan_at {
                    if round.is_empty() {
                        round = repos.roots().await;
                    }
                    for root in (0..limits::SCAN_ROOTS_MAX).map_while(|_| round.pop_front()) {
                        repos.flush(&root, Look::Everywhere).await;
                        // Whoever waits for theirs does not wait for all of them.
                        for root in notes.due().0 {
                            repos.flush(&root, Look::Noted).await;
                        }
                    }
                    // What a killed gateway left is committed without a pause.
                    is_first &= !round.is_empty();
                    scan_at = clock.instant() + if is_first { Duration::ZERO } else { limits::SCAN_EVERY };
                }
                let (due, next) = notes.due();
                for root in &due {
                    repos.flush(root, Look::Noted).await;
                }
                drop(repos);
                if due.is_empty() && !is_first {
                    tokio::select! {
                        () = notes.wake.notified() => {}
                        () = clock.sleep(next) => {}
                        _ = stopping.wait_for(|stopping| *stopping) => return,
                    }
                }
            }
        });
    }

    /// Commits what is left, when the gateway stops.
    pub(crate) async fn flush_all(self: &Arc<Self>) {
        let flushing = async {
            for root in self.versions.notes.roots() {
                self.flush(&root, Look::Noted).await;
            }
        };
        if self.gateway.clock().timeout(limits::STOP_TIMEOUT, flushing).await.is_err() {
            tracing::warn!("not all changed files were committed in time; the next start does it");
        }
    }
}
