//! Handler of `repo.import`.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use base::limits::repo as limits;
use gix_hash::ObjectId;
use outgoing::PrivateHosts;
use protocol::config;
use protocol::error::Error;
use protocol::repo::change::{Import, Imported};
use protocol::signal::change::{ImportStage, RepoImportProgress};
use store::repos::{RepoRow, Upstream};
use url::Url;

use super::{Cx, MAIN};
use crate::committer::Look;
use crate::git::bare::Bare;
use crate::git::commit;
use crate::git::fault::Fault;
use crate::git::hold::Hold;
use crate::git::refs::Branch;
use crate::import::local;
use crate::import::quarantine::{self, Quarantine};
use crate::import::remote::{Remote, RemoteRef};
use crate::repos::{Found, on_disk, refusal};
use crate::slug::Slug;

/// Where something is imported from.
struct Source {
    url: Url,
    reference: Option<String>,
}

/// An import under way.
struct Order {
    cx: Cx,
    slug: Slug,
    branch: Branch,
    source: Source,
    /// Whether it is what the next import without words is to bring up to date: what goes to another ref is an aside.
    is_followed: bool,
    /// What is in the repository already, and is counted on, stays there until the branch names it.
    held: OnceLock<Hold>,
}

/// `repo.import`
pub(crate) async fn import(cx: Cx, args: Import) -> Result<Imported, Error> {
    let slug = Slug::parse(&args.repo)?;
    let branch =
        Branch::parse(args.reference.as_deref().unwrap_or(MAIN)).map_err(|fault| refusal(&slug, fault))?;
    let row = cx.area.check_writable(&cx.caller, &slug).await?;
    let is_main = args.reference.as_deref().unwrap_or(MAIN) == MAIN;
    let is_followed = is_main || row.as_ref().is_none_or(|row| row.upstream.is_none());
    let source = source(&args, row.as_ref(), is_main)?;
    let (area, clock) = (cx.area.clone(), cx.area.gateway.clock().clone());
    let turn = clock.timeout(limits::WORK_WAIT, area.imports.acquire()).await;
    let Ok(Ok(_turn)) = turn else {
        return Err(Error::too_busy("other repositories are being imported, try again later"));
    };
    let order = Order { cx, slug, branch, source, is_followed, held: OnceLock::new() };
    match clock.timeout(limits::IMPORT_TIMEOUT, order.carry_out()).await {
        Ok(imported) => imported,
        Err(_) => Err(Error::new(504, "The import took too long: push the repository with git instead")),
    }
}

/// The URL and ref that were given, or those of the last import into the main branch.
fn source(args: &Import, row: Option<&RepoRow>, is_main: bool) -> Result<Source, Error> {
    let known = row.and_then(|row| row.upstream.as_ref());
    let text = args.remote_url.as_deref().map(str::trim).filter(|text| !text.is_empty());
    let text = text.or(known.map(|upstream| upstream.url.as_str()));
    let text = text.ok_or_else(|| Error::missing_argument("repo.import", "remoteUrl"))?;
    let url = Url::parse(text).map_err(|why| Error::bad(format!("remoteUrl is not a URL: {why}")))?;
    let known_ref = known.filter(|upstream| is_main && upstream.url == text);
    let known_ref = known_ref.map(|upstream| upstream.reference.clone());
    let reference = args.remote_ref.clone().filter(|text| !text.is_empty()).or(known_ref);
    // It becomes a line of git's protocol.
    if reference
        .as_ref()
        .is_some_and(|text| text.len() > limits::REF_MAX_BYTES || text.contains(char::is_control))
    {
        return Err(Error::bad("remoteRef is not the name of a ref"));
    }
    Ok(Source { url, reference })
}

/// A URL as it may be shown and kept.
fn without_secrets(url: &Url) -> String {
    let mut url = url.clone();
    // Only URLs that can have neither refuse to lose them.
    url.set_username("").ok();
    url.set_password(None).ok();
    url.to_string()
}

/// Ends work on other threads when nobody waits for it any more.
struct Interrupt(Arc<AtomicBool>);

impl Drop for Interrupt {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Order {
    async fn carry_out(self) -> Result<Imported, Error> {
        let (found, remote_ref, head) = match self.source.url.scheme() {
            "http" | "https" => self.fetch_remote().await?,
            "file" if self.cx.caller.is_root() => self.copy_local().await?,
            "file" => {
                return Err(Error::forbidden(
                    "Forbidden: only root imports from a path of the gateway's machine",
                ));
            }
            other => {
                return Err(Error::bad(format!(
                    "remoteUrl must begin with https://, http://, or file:// for root; not {other}://"
                )));
            }
        };
        let (before, head) = self.move_branch(&found, head).await?;
        let (repos, url) = (self.cx.area.gateway.store().repos(), without_secrets(&self.source.url));
        if self.is_followed {
            let upstream = Upstream { url: url.clone(), reference: remote_ref.clone() };
            repos.set_upstream(self.slug.owner(), self.slug.name(), &upstream).await?;
        }
        let changed = before != Some(head);
        if changed {
            self.cx.area.count_growth(&found).await?;
            self.cx.area.touched(&self.slug).await?;
        }
        self.tell(ImportStage::Done, 0);
        Ok(Imported {
            repo: self.slug.to_string(),
            reference: self.branch.as_str().to_string(),
            head: Some(head.to_string()),
            changed,
            remote_url: url,
            remote_ref,
        })
    }

    fn tell(&self, stage: ImportStage, bytes: u64) {
        let (repo, reference) = (self.slug.to_string(), self.branch.as_str().to_string());
        let progress = RepoImportProgress { repo, reference, stage, bytes };
        self.cx.area.gateway.signal(self.cx.caller.uid(), None, &progress);
    }

    async fn move_branch(&self, found: &Found, to: ObjectId) -> Result<(Option<ObjectId>, ObjectId), Error> {
        let (branch, clock) = (self.branch.clone(), self.cx.area.gateway.clock().clone());
        let moving = move |bare: &Bare| {
            let before = bare.reference(&branch.full())?;
            let head = commit::fast_forward(bare, &branch, to, &clock)?;
            commit::settle_head(bare, &branch, &clock)?;
            Ok((before, head))
        };
        let area = &self.cx.area;
        let held = match self.branch == Branch::main() {
            true => area.hold(&self.slug, base::limits::versions::HOLD_WAIT).await?,
            false => None,
        };
        let Some(held) = held else { return area.with(&self.slug, found, moving).await };
        // What was changed in the file tree is a commit of its own, which the import must know of.
        let (held, _) = area.agree(held, Look::Everywhere).await?;
        let moved = area.with(&self.slug, found, moving).await?;
        area.agree_afterwards(held).await;
        Ok(moved)
    }

    async fn hold(&self, found: &Found) -> Result<(), Error> {
        let path = found.path.clone();
        let held = self.cx.area.work(move || Hold::share(&path)).await?;
        self.held.set(held.map_err(|error| on_disk(&self.slug, &error))?).ok();
        Ok(())
    }

    async fn fetch_remote(&self) -> Result<(Found, String, ObjectId), Error> {
        let area = &self.cx.area;
        let private = area.gateway.store().config().setting(config::REPO_NETWORK_PRIVATE).await?;
        let hosts = if private { PrivateHosts::Allow } else { PrivateHosts::Deny };
        let mut remote = Remote::new(self.source.url.clone(), hosts);
        let RemoteRef { name, id } = remote.find(self.source.reference.as_deref()).await?;
        // Only now: what can not be imported leaves no empty repository.
        let found = area.writable_or_new(&self.cx.caller, &self.slug).await?;
        self.hold(&found).await?;
        let known = area.with(&self.slug, &found, move |bare| Ok((bare.has(&id), tips(bare)?))).await?;
        if let (false, haves) = known {
            self.receive(&remote, &found, id, haves).await?;
        }
        Ok((found, name, id))
    }

    /// Fetches a commit into quarantine, looks at it, and lets it out.
    async fn receive(
        &self,
        remote: &Remote,
        found: &Found,
        id: ObjectId,
        haves: Vec<ObjectId>,
    ) -> Result<(), Error> {
        let (area, slug) = (&self.cx.area, &self.slug);
        let (path, unique) = (found.path.clone(), area.gateway.random().uuid());
        let opening = move || {
            let quarantine = Quarantine::new(&path, &unique)?;
            let file = quarantine.incoming()?;
            Ok((quarantine, file))
        };
        let opened: Result<(Quarantine, std::fs::File), Fault> = area.work(opening).await?;
        let (quarantine, file) = opened.map_err(|fault| refusal(slug, fault))?;
        let (mut told, mut counted) = (0, 0);
        let room = area.room(found).await?;
        let mut pack = tokio::fs::File::from_std(file);
        remote
            .fetch(&id, &haves, &mut pack, |bytes| {
                if bytes >= told + limits::PROGRESS_BYTES || told == 0 {
                    told = bytes;
                    self.tell(ImportStage::Receiving, bytes);
                }
                room.take(bytes - std::mem::replace(&mut counted, bytes))
            })
            .await?;
        self.tell(ImportStage::Checking, told);
        let interrupted = Arc::new(AtomicBool::new(false));
        let _interrupt = Interrupt(interrupted.clone());
        let release = move |bare: &Bare| {
            quarantine.index(&interrupted)?;
            let all = quarantine.open()?;
            quarantine::check(&all, bare, id, &interrupted)?;
            quarantine.release()
        };
        area.with(slug, found, release).await
    }

    async fn copy_local(&self) -> Result<(Found, String, ObjectId), Error> {
        let path: PathBuf =
            self.source.url.to_file_path().map_err(|()| Error::bad("remoteUrl is not a path"))?;
        let (wanted, slug) = (self.source.reference.clone(), &self.slug);
        let look = move || -> Result<(PathBuf, String, ObjectId), Fault> {
            let dir = local::directory(&path)?;
            let word = wanted.unwrap_or_else(|| "HEAD".to_string());
            let id = Bare::open(&dir)?.resolve(&word)?;
            Ok((dir, word, id))
        };
        let looked = self.cx.area.work(look).await?;
        let (dir, word, id) = looked.map_err(|fault| refusal(slug, fault))?;
        let found = self.cx.area.writable_or_new(&self.cx.caller, slug).await?;
        self.hold(&found).await?;
        let copy = move |bare: &Bare| local::copy(&Bare::open(&dir)?, bare, id);
        self.cx.area.with(slug, &found, copy).await?;
        Ok((found, word, id))
    }
}

/// The commits that are here, by which the other side knows what need not be sent.
fn tips(bare: &Bare) -> Result<Vec<ObjectId>, Fault> {
    let refs = bare.refs()?;
    let mut tips: Vec<ObjectId> = refs.heads.into_values().chain(refs.tags.into_values()).collect();
    tips.sort_unstable();
    tips.dedup();
    tips.truncate(limits::HAVES_MAX);
    Ok(tips)
}
