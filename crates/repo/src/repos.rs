//! State of the area: which repositories there are and where, who may use them, and the work on them.
//!
//! The row in the store says that a repository exists; a directory without a row is left over and never shown.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::limits;
use gateway::{Caller, Gateway};
use protocol::error::Error;
use protocol::ids::Uid;
use protocol::repo::RepoKind;
use serde_json::json;
use store::repos::RepoRow;
use tokio::sync::Semaphore;

use crate::access;
use crate::admission::Traffic;
use crate::git::bare::Bare;
use crate::git::commit::{self, NewCommit};
use crate::git::fault::Fault;
use crate::git::{init, lock};
use crate::housekeeping::Housekeeping;
use crate::quota::{Room, Sizes};
use crate::slug::Slug;
use crate::turns::Turns;
use crate::versions::Versions;

/// Git repositories.
pub struct Repos {
    pub(crate) gateway: Gateway,
    pub(crate) traffic: Traffic,
    pub(crate) versions: Versions,
    work: Arc<Semaphore>,
    pub(crate) imports: Semaphore,
    pub(crate) workspaces: Turns,
    sizes: Arc<Sizes>,
    pub(crate) housekeeping: Arc<Housekeeping>,
}

/// A repository that somebody may use.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its row.
    pub row: RepoRow,
    /// Its bare repository, which is there.
    pub path: PathBuf,
}

impl Repos {
    /// The area over what lies in the data directory.
    pub fn new(gateway: Gateway) -> Arc<Repos> {
        let work = Arc::new(Semaphore::new(limits::repo::WORK_MAX));
        let (traffic, versions) = (Traffic::default(), Versions::new(gateway.clock().clone()));
        gateway.tree().observe(versions.notes.clone());
        let imports = Semaphore::new(limits::repo::IMPORTS_MAX);
        let sizes = Arc::new(Sizes::new(gateway.repos(), gateway.clock().clone()));
        let counted = sizes.clone();
        gateway.tree().count_elsewhere(Box::new(move || counted.of_all()));
        let (housekeeping, workspaces) = (Arc::default(), Turns::default());
        Arc::new(Repos { gateway, traffic, versions, work, imports, workspaces, sizes, housekeeping })
    }

    /// Room in the quota of a repository's owner, for what is to be kept there.
    pub(crate) async fn room(&self, found: &Found) -> Result<Room, Error> {
        Room::of(&self.gateway, found.row.owner_uid).await
    }

    /// What a repository has become counts for its owner, and is looked after in time.
    pub(crate) async fn count_growth(&self, found: &Found) -> Result<(), Error> {
        self.housekeeping.changed(&found.path);
        let uid = found.row.owner_uid;
        let is_counted = self.gateway.tree().know_quota(uid).await.map_err(|why| Error::internal(&why))?;
        if is_counted {
            let (sizes, path) = (self.sizes.clone(), found.path.clone());
            let growth = self.work(move || sizes.growth(&path)).await?;
            self.gateway.tree().recount(uid, growth);
        }
        Ok(())
    }

    /// Where a repository of that name lies, whether there is one or not.
    pub fn path_of(&self, slug: &Slug) -> PathBuf {
        slug.path_in(self.gateway.repos())
    }

    /// Whether somebody may read a repository; nobody in particular is `None`.
    pub fn may_read(&self, caller: Option<&Caller>, repo: &RepoRow) -> bool {
        access::may_read(caller, repo)
    }

    /// Whether somebody may commit to a repository.
    pub fn may_write(&self, caller: &Caller, repo: &RepoRow) -> bool {
        access::may_write(caller, repo)
    }

    /// The row of exactly that name.
    pub async fn find(&self, slug: &Slug) -> Result<Option<RepoRow>, Error> {
        let row = self.gateway.store().repos().find(slug.owner(), slug.name()).await?;
        Ok(row.filter(|row| row.owner == slug.owner() && row.name == slug.name()))
    }

    /// A repository to read. Whoever may not learns not whether it is there: 403 in both cases, and 404 for those who
    /// might have made it.
    pub async fn readable(&self, caller: Option<&Caller>, slug: &Slug) -> Result<Found, Error> {
        match self.find(slug).await? {
            Some(row) if access::may_read(caller, &row) => self.found(row, slug).await,
            // Everybody has a home, though nothing may be in it.
            None if caller.is_some_and(|caller| is_home_of(caller, slug)) => self.make(slug).await,
            None if caller.is_some_and(|caller| owns_name(caller, slug)) => {
                Err(Error::not_found(format!("Repository not found: {slug}")))
            }
            _ => Err(Error::forbidden(format!("Forbidden: cannot read repo {slug}"))),
        }
    }

    /// A repository to commit to, which must be there.
    pub async fn writable(&self, caller: &Caller, slug: &Slug) -> Result<Found, Error> {
        match self.find(slug).await? {
            Some(row) if access::may_write(caller, &row) => self.found(row, slug).await,
            None if owns_name(caller, slug) => Err(Error::not_found(format!("Repository not found: {slug}"))),
            _ => Err(Error::forbidden(format!("Forbidden: cannot write repo {slug}"))),
        }
    }

    /// A repository to commit to, made where there is none.
    pub async fn writable_or_new(&self, caller: &Caller, slug: &Slug) -> Result<Found, Error> {
        match self.check_writable(caller, slug).await? {
            Some(row) => self.found(row, slug).await,
            None => self.make(slug).await,
        }
    }

    /// Whether somebody may commit to a repository, or make it; its row if it is there.
    pub(crate) async fn check_writable(
        &self,
        caller: &Caller,
        slug: &Slug,
    ) -> Result<Option<RepoRow>, Error> {
        match self.find(slug).await? {
            Some(row) if access::may_write(caller, &row) => Ok(Some(row)),
            None if owns_name(caller, slug) => Ok(None),
            _ => Err(Error::forbidden(format!("Forbidden: cannot write repo {slug}"))),
        }
    }

    /// A repository, made where there is none; who may do so was asked before.
    pub(crate) async fn find_or_make(&self, slug: &Slug) -> Result<Found, Error> {
        match self.find(slug).await? {
            Some(row) => self.found(row, slug).await,
            None => self.make(slug).await,
        }
    }

    /// Sets whether everybody may read a repository. Returns whether that changed anything.
    pub async fn set_public(&self, caller: &Caller, slug: &Slug, public: bool) -> Result<bool, Error> {
        let found = self.writable(caller, slug).await?;
        self.gateway.store().repos().set_public(slug.owner(), slug.name(), public).await?;
        Ok(found.row.public != public)
    }

    /// To be called when refs of a repository were changed by somebody else than this area: a push.
    pub async fn after_push(&self, slug: &Slug, _by: Uid) -> Result<(), Error> {
        self.touched(slug).await
    }

    /// The content of a repository has changed.
    pub(crate) async fn touched(&self, slug: &Slug) -> Result<(), Error> {
        let now_ms = self.gateway.now_ms();
        Ok(self.gateway.store().repos().touch(slug.owner(), slug.name(), now_ms).await?)
    }

    /// Makes a commit; where its branch is then.
    pub(crate) async fn advance(
        &self,
        slug: &Slug,
        found: &Found,
        new: NewCommit,
    ) -> Result<Option<String>, Error> {
        let clock = self.gateway.clock().clone();
        let make = move |bare: &Bare| {
            let before = bare.reference(&new.branch.full())?;
            let after = commit::advance(bare, &new, &clock)?;
            if before.is_none() && after.is_some() {
                commit::settle_head(bare, &new.branch, &clock)?;
            }
            Ok((after.map(|id| id.to_string()), before != after))
        };
        let (head, has_changed) = self.with(slug, found, make).await?;
        if has_changed {
            self.count_growth(found).await?;
            self.touched(slug).await?;
        }
        Ok(head)
    }

    /// Does something that blocks, once it is its turn.
    pub(crate) async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        let waiting = self.work.clone().acquire_owned();
        let Ok(Ok(turn)) = self.gateway.clock().timeout(limits::repo::WORK_WAIT, waiting).await else {
            return Err(Error::too_busy("the repositories are busy, try again later"));
        };
        let done = tokio::task::spawn_blocking(move || {
            let done = work();
            drop(turn);
            done
        });
        done.await.map_err(|error| Error::internal(&error.to_string()))
    }

    /// Makes a row and a directory. Whoever asks may do it.
    async fn make(&self, slug: &Slug) -> Result<Found, Error> {
        let account = self.gateway.store().accounts().by_name(slug.owner()).await?;
        let account = account.ok_or_else(|| Error::not_found(format!("Unknown owner: {}", slug.owner())))?;
        let now_ms = self.gateway.now_ms();
        let row = RepoRow {
            owner: slug.owner().to_string(),
            name: slug.name().to_string(),
            owner_uid: account.uid,
            kind: slug.kind(),
            public: false,
            description: None,
            upstream: None,
            created_at: now_ms,
            updated_at: now_ms,
        };
        // What lies there is of nobody: its row went with its user, and whoever has the name now must not see it.
        self.clear(slug).await?;
        if self.gateway.store().repos().create(&row).await? {
            return self.found(row, slug).await;
        }
        match self.find(slug).await? {
            Some(row) => self.found(row, slug).await,
            None => Err(Error::conflict(format!(
                "There is a repository whose name differs from {slug} by small and capital letters only: use its \
                 spelling, or another name"
            ))),
        }
    }

    /// A row with its directory, which a crash may have kept from being made.
    async fn found(&self, row: RepoRow, slug: &Slug) -> Result<Found, Error> {
        let path = self.path_of(slug);
        if !init::is_there(&path) {
            let (path, unique) = (path.clone(), self.gateway.random().uuid());
            let made = self.work(move || match init::init(&path, &unique) {
                // Somebody was faster.
                Err(_) if init::is_there(&path) => Ok(()),
                made => made,
            });
            made.await?.map_err(|error| on_disk(slug, &error))?;
        }
        Ok(Found { row, path })
    }

    async fn clear(&self, slug: &Slug) -> Result<(), Error> {
        let path = self.path_of(slug);
        if !path.exists() || self.find(slug).await?.is_some() {
            return Ok(());
        }
        self.take_away(path).await?.map_err(|error| on_disk(slug, &error))
    }

    /// Puts directories aside that no row speaks of; at the start of the gateway also what unfinished work left.
    pub(crate) async fn sweep(&self, drafts: bool) -> Result<(), Error> {
        let root = self.gateway.repos().to_path_buf();
        // In this order: a row is made before its directory, so each of these has one if it is somebody's.
        let there = self.work(move || init::directories(&root, drafts)).await?;
        let there = there.map_err(|error| Error::internal(&error.to_string()))?;
        if there.is_empty() {
            return Ok(());
        }
        let (root, rows) = (self.gateway.repos(), self.gateway.store().repos().all().await?);
        let path_of = |row: &RepoRow| root.join(&row.owner).join(format!("{}.git", row.name));
        let known: HashSet<PathBuf> = rows.iter().map(path_of).collect();
        let (ours, others): (Vec<PathBuf>, Vec<PathBuf>) =
            there.into_iter().partition(|path| known.contains(path));
        if drafts {
            self.work(move || ours.iter().for_each(|path| tidy(path))).await?;
        }
        for path in others {
            tracing::info!(path = %path.display(), "putting a repository aside that is nobody's");
            let removed = self.take_away(path).await?;
            removed.map_err(|error| Error::internal(&error.to_string()))?;
        }
        Ok(())
    }

    async fn take_away(&self, path: PathBuf) -> Result<io::Result<()>, Error> {
        let (root, unique) = (self.gateway.repos().to_path_buf(), self.gateway.random().uuid());
        self.work(move || init::take_away(&root, &path, &unique)).await
    }
}

/// Removes what a killed gateway left in a repository; what can not be removed does no harm.
fn tidy(path: &Path) {
    if let Err(error) = lock::tidy(path) {
        tracing::warn!(path = %path.display(), %error, "a repository could not be tidied");
    }
}

/// Whether a name is somebody's to give.
fn owns_name(caller: &Caller, slug: &Slug) -> bool {
    access::is_superior(caller) || caller.identity.username == slug.owner()
}

fn is_home_of(caller: &Caller, slug: &Slug) -> bool {
    caller.identity.username == slug.owner() && slug.kind() == RepoKind::Home
}

/// What a fault is on the wire.
pub(crate) fn refusal(slug: &Slug, fault: Fault) -> Error {
    let message = fault.to_string();
    match fault {
        Fault::Missing(_) => Error::not_found(message),
        Fault::Bad(_) => Error::bad(message),
        Fault::Conflict(_) => Error::conflict(message),
        Fault::Moved { reference, expected, found } => Error::conflict(message)
            .with_details(json!({ "ref": reference, "expectedHead": expected, "head": found })),
        Fault::TooLarge(_) => Error::new(413, message),
        Fault::Busy(_) => Error { retryable: Some(true), ..Error::new(503, message) },
        Fault::Io(error) => on_disk(slug, &error),
        Fault::Damaged(_) => {
            tracing::error!(%slug, fault = message, "a repository is damaged");
            Error::internal(&format!("{slug}: {message}; `git fsck` in its directory says more"))
        }
    }
}

/// The disk failed; people are told which repository, the log why.
pub(crate) fn on_disk(slug: &Slug, error: &io::Error) -> Error {
    tracing::warn!(%slug, %error, "a repository could not be used");
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            Error::store_failed("there is no room on the disk")
        }
        _ => Error::internal(&format!("the repository {slug} could not be used; the log says why")),
    }
}
