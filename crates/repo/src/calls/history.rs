//! Handlers of `fs.history`, `fs.history.read`, `fs.restore` and `fs.undo` on the native target: versions are commits of
//! the repository that a home or a workspace is kept in.

use base::limits::versions as limits;
use content::Side as Reader;
use content::lines::Window;
use gix_hash::ObjectId;
use gix_object::Kind;
use protocol::error::Error;
use protocol::fs::FileContent;
use protocol::fs::history::{
    History, HistoryRead, Restore, Restored, Undo, Undone, UndonePath, Version, Versions,
};
use protocol::ids::{Pid, RunId};
use protocol::outcome::Outcome;
use store::repos::RepoRow;
use vfs::{FileKind, Follow, VPath};

use super::Cx;
use crate::access;
use crate::committer::Look;
use crate::git::bare::Bare;
use crate::git::commit::{Commit, NewCommit};
use crate::git::edit::Change;
use crate::git::fault::Fault;
use crate::git::history::Wanted;
use crate::git::paths::TreePath;
use crate::git::refs::Branch;
use crate::repos::refusal;
use crate::slug::Slug;
use crate::versions::live::Side;
use crate::versions::message::{self, PID, RUN};
use crate::versions::notes::By;
use crate::versions::roots::Root;
use crate::versions::undo;

/// A file whose versions are kept, and which the caller may ask about.
struct Kept {
    path: VPath,
    slug: Slug,
    inner: String,
    /// Whether the caller may see everything in the repository, and not only this file.
    is_theirs: bool,
}

const READ: u32 = 4;
const WRITE: u32 = 2;

/// The file that a caller means, if they have those rights on it; in words, why not.
async fn kept(cx: &Cx, text: &str, rights: u32) -> Result<Result<Kept, String>, Error> {
    let (gateway, caller) = (&cx.area.gateway, &cx.caller);
    let view = gateway.view(caller);
    let path = view.path(text).map_err(|fault| Error::bad(fault.to_string()))?;
    let Some((root, inner)) = Root::of(path.as_str()) else {
        return Ok(Err(format!(
            "No versions are kept of {path}: they are of context.d, skills.d and knowledge in homes, and of workspaces"
        )));
    };
    let inner = inner.to_string();
    let slug = cx.area.slug_of(&root).await?;
    let row = match &slug {
        Some(slug) => cx.area.find(slug).await?,
        None => None,
    };
    let may = |row: &RepoRow| match rights {
        READ => access::may_read(Some(caller), row),
        _ => access::may_write(caller, row),
    };
    let owns = slug.as_ref().is_some_and(|slug| slug.owner() == caller.identity.username);
    let is_theirs = access::is_superior(caller) || owns || row.as_ref().is_some_and(may);
    if !is_theirs {
        // Others learn no more than the file tree tells them.
        match view.stat(&path, Follow::No).await {
            Ok(stat) if stat.kind == FileKind::File => {}
            Ok(_) => return Ok(Err(format!("EACCES: permission denied, open '{path}'"))),
            Err(fault) => return Ok(Err(fault.to_string())),
        }
        if !view.may(&path, rights).await.unwrap_or(false) {
            return Ok(Err(format!("EACCES: permission denied, open '{path}'")));
        }
    }
    Ok(match slug {
        Some(slug) => Ok(Kept { path, slug, inner, is_theirs }),
        None => Err(format!("Not found: {path}")),
    })
}

/// `fs.history`
pub(crate) async fn list(cx: Cx, args: History) -> Result<Outcome<Versions>, Error> {
    let kept = match kept(&cx, &args.path, READ).await? {
        Ok(kept) => kept,
        Err(why) => return Ok(Outcome::Failed(why)),
    };
    let limit = args.limit.unwrap_or(limits::HISTORY_DEFAULT).clamp(1, limits::HISTORY_MAX) as usize;
    cx.area.settled(&kept.slug).await;
    let path = kept.path.to_string();
    if cx.area.find(&kept.slug).await?.is_none() {
        return Ok(Outcome::Done(Versions { path, versions: Vec::new(), truncated: None }));
    }
    let found = cx.area.find_or_make(&kept.slug).await?;
    let inner = kept.inner.clone();
    let look = move |bare: &Bare| {
        let Some(newest) = bare.reference(&Branch::main().full())? else { return Ok(Vec::new()) };
        let path = TreePath::to_read(&inner)?;
        let commits = bare.log(newest, &Wanted { limit: limit + 1, offset: 0, path: Some(path.clone()) })?;
        commits
            .into_iter()
            .map(|commit| version(bare, &path, commit))
            .collect::<Result<Vec<Version>, Fault>>()
    };
    let mut versions = cx.area.with(&kept.slug, &found, look).await?;
    let truncated = (versions.len() > limit).then_some(true);
    versions.truncate(limit);
    Ok(Outcome::Done(Versions { path, versions, truncated }))
}

fn version(bare: &Bare, path: &TreePath, commit: Commit) -> Result<Version, Fault> {
    let entry = bare.entry_at(&commit.tree, &path.names())?;
    let size = match entry {
        Some((mode, id)) if mode.is_blob_or_symlink() => Some(bare.blob_size(&id)?),
        _ => None,
    };
    let trailer = |name| message::trailer(&commit.message, name);
    Ok(Version {
        version: commit.id.to_string(),
        at: commit.committer.seconds.saturating_mul(1_000),
        pid: trailer(PID).map(Pid::from),
        run_id: trailer(RUN).map(RunId::from),
        message: commit.message.lines().next().unwrap_or_default().to_string(),
        author: commit.author.name,
        size,
        deleted: entry.is_none(),
    })
}

/// What a path was in a version; in words, why there is no such version.
fn side_in(
    bare: &Bare,
    version: &str,
    inner: &str,
    whole_repository: bool,
) -> Result<Result<Option<Side>, String>, Fault> {
    let unknown = || Ok(Err(format!("Unknown version: {version}")));
    let id = match ObjectId::from_hex(version.trim().as_bytes()) {
        Ok(id) if id.kind() == gix_hash::Kind::Sha1 => id,
        _ => return unknown(),
    };
    if !matches!(bare.header(&id)?, Some((Kind::Commit, _))) {
        return unknown();
    }
    // Whoever may only see this file sees it as it was on the branch that the file tree follows.
    if !whole_repository {
        let head = bare.reference(&Branch::main().full())?;
        if !head.is_some_and(|head| bare.is_ancestor(&id, &head).unwrap_or(false)) {
            return unknown();
        }
    }
    let commit = bare.commit(&id)?;
    let names = TreePath::to_read(inner)?;
    let names = names.names();
    if let Some(side) = bare.entry_at(&commit.tree, &names)? {
        return Ok(Ok(Some(side)));
    }
    let before = match commit.parents.first() {
        Some(parent) if bare.has(parent) => bare.entry_at(&bare.commit(parent)?.tree, &names)?,
        _ => None,
    };
    match before {
        Some(_) => Ok(Ok(None)),
        None => Ok(Err(format!("The file was not there in version {version}"))),
    }
}

/// `fs.history.read`
pub(crate) async fn read(cx: Cx, args: HistoryRead) -> Result<Outcome<FileContent>, Error> {
    let kept = match kept(&cx, &args.path, READ).await? {
        Ok(kept) => kept,
        Err(why) => return Ok(Outcome::Failed(why)),
    };
    if cx.area.find(&kept.slug).await?.is_none() {
        return Ok(Outcome::Failed(format!("Unknown version: {}", args.version)));
    }
    let found = cx.area.find_or_make(&kept.slug).await?;
    let (inner, path, is_theirs) = (kept.inner, kept.path.to_string(), kept.is_theirs);
    let look = move |bare: &Bare| {
        let side = match side_in(bare, &args.version, &inner, is_theirs)? {
            Ok(side) => side,
            Err(why) => return Ok(Err(why)),
        };
        let Some((mode, id)) = side else {
            return Ok(Err(format!("This version deleted the file: {}", args.version)));
        };
        if !mode.is_blob_or_symlink() {
            return Ok(Err(format!("{path} is a directory in this version")));
        }
        let bytes = bare.blob(&id)?;
        let window = Window { offset: args.offset, limit: args.limit };
        let size = bytes.len() as u64;
        Ok(content::read::content(Reader::Native, bytes.as_slice(), &path, size, window)?)
    };
    Ok(cx.area.with(&kept.slug, &found, look).await?.into())
}

/// `fs.restore`
pub(crate) async fn restore(cx: Cx, args: Restore) -> Result<Outcome<Restored>, Error> {
    let kept = match kept(&cx, &args.path, WRITE).await? {
        Ok(kept) => kept,
        Err(why) => return Ok(Outcome::Failed(why)),
    };
    if cx.area.find(&kept.slug).await?.is_none() {
        return Ok(Outcome::Failed(format!("Unknown version: {}", args.version)));
    }
    let Some(held) = cx.area.hold(&kept.slug, limits::HOLD_WAIT).await? else {
        return Ok(Outcome::Failed(format!("Not found: {}", kept.path)));
    };
    // What is there now is a version first.
    let (held, _) = cx.area.agree(held, Look::Everywhere).await?;
    let found = cx.area.find_or_make(&kept.slug).await?;
    let (inner, version, is_theirs) = (kept.inner.clone(), args.version.clone(), kept.is_theirs);
    let look = move |bare: &Bare| {
        let side = match side_in(bare, &version, &inner, is_theirs)? {
            Ok(side) => side,
            Err(why) => return Ok(Err(why)),
        };
        let path = TreePath::to_write(&inner)?;
        let now = match bare.reference(&Branch::main().full())? {
            Some(head) => bare.entry_at(&bare.commit(&head)?.tree, &path.names())?,
            None => None,
        };
        Ok(match side {
            _ if side == now => Ok((None, side.map(|(_, id)| bare.blob_size(&id)).transpose()?)),
            None => Ok((Some(Change::Delete { path, recursive: false }), None)),
            Some((mode, _)) if !mode.is_blob_or_symlink() => {
                Err(format!("{} is a directory in version {version}", path.as_str()))
            }
            Some(_) if now.is_some_and(|(mode, _)| mode.is_tree()) => {
                Err(format!("{} is a directory now: move it away first", path.as_str()))
            }
            Some((mode, id)) => {
                let content = bare.blob(&id)?;
                let size = Some(content.len() as u64);
                let change = match mode.is_link() {
                    true => Change::Link { path, target: String::from_utf8_lossy(&content).into_owned() },
                    false => Change::Put { path, content, executable: Some(mode.is_executable()) },
                };
                Ok((Some(change), size))
            }
        })
    };
    let (change, size) = match cx.area.with(&kept.slug, &found, look).await? {
        Ok(planned) => planned,
        Err(why) => return Ok(Outcome::Failed(why)),
    };
    let path = kept.path.to_string();
    let Some(change) = change else { return Ok(Outcome::Done(Restored { path, version: None, size })) };
    let title =
        format!("gsv: restore {} of {}", message::shown(&kept.inner), message::shown(args.version.trim()));
    let new = new_commit(&cx, &title, vec![change]);
    let version = cx.area.advance(&kept.slug, &found, new).await?;
    cx.area.agree_afterwards(held).await;
    Ok(Outcome::Done(Restored { path, version, size }))
}

fn new_commit(cx: &Cx, message: &str, changes: Vec<Change>) -> NewCommit {
    let by = By::of(&cx.caller);
    let stamp = message::stamp(&by, &cx.caller.identity.username, cx.area.gateway.now_ms());
    NewCommit {
        branch: Branch::main(),
        author: stamp.clone(),
        committer: stamp,
        message: message::with_trailers(message, &by),
        expected: None,
        allow_empty: false,
        changes,
    }
}

/// `fs.undo`
pub(crate) async fn undo(cx: Cx, args: Undo) -> Result<Outcome<Undone>, Error> {
    let repos = cx.area.gateway.store().repos();
    let run = cx.area.gateway.store().runs().by_id(&args.run_id).await?;
    let mut undone = Undone::default();
    let mine = repos.visible_to(cx.caller.uid()).await?;
    let mine = mine.into_iter().filter(|row| row.owner_uid == cx.caller.uid());
    for row in mine.take(limits::UNDO_REPOS_MAX) {
        let slug = Slug::new(&row.owner, &row.name)?;
        let Some(root) = Root::followed_by(&slug) else { continue };
        undo_in(&cx, &slug, &root, &args, run.as_ref().map(|run| run.started_at), &mut undone).await?;
    }
    undone.paths.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(Outcome::Done(undone))
}

/// Takes a run back in one repository.
async fn undo_in(
    cx: &Cx,
    slug: &Slug,
    root: &Root,
    args: &Undo,
    began_ms: Option<i64>,
    undone: &mut Undone,
) -> Result<(), Error> {
    let Some(held) = cx.area.hold(slug, limits::HOLD_WAIT).await? else { return Ok(()) };
    let (held, _) = cx.area.agree(held, Look::Everywhere).await?;
    let found = cx.area.find_or_make(slug).await?;
    let run = args.run_id.0.clone();
    let planned = cx.area.with(slug, &found, move |bare| undo::plan(bare, &run, began_ms)).await?;
    let Some(plan) = planned else { return Ok(()) };
    undone.paths.extend(plan.steps.into_iter().map(|step| UndonePath {
        path: format!("{}/{}", root.path(), step.path),
        action: step.action,
        why: step.why,
    }));
    if args.dry_run == Some(true) || plan.changes.is_empty() {
        return Ok(());
    }
    let run = message::shown(&args.run_id.0);
    let message = format!("gsv: undo run {run}\n\n{}: {run}", message::UNDO);
    let version = cx.area.advance(slug, &found, new_commit(cx, &message, plan.changes)).await;
    undone.versions.extend(version.map_err(|error| match error.code {
        409 => refusal(slug, Fault::Conflict(format!("the undo does not fit what is there: {error}"))),
        _ => error,
    })?);
    cx.area.agree_afterwards(held).await;
    Ok(())
}
