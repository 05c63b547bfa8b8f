//! Handlers of `repo.create` and `repo.apply`.

use base::limits::repo as limits;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use protocol::error::Error;
use protocol::literal::True;
use protocol::repo::change::{Applied, Apply, Op};
use protocol::repo::{Create, Created};

use super::{Cx, MAIN, stamps};
use crate::git::bare::Bare;
use crate::git::commit::{self, NewCommit};
use crate::git::edit::Change;
use crate::git::fault::Fault;
use crate::git::paths::TreePath;
use crate::git::refs::Branch;
use crate::repos::refusal;
use crate::slug::Slug;
use crate::versions::message;
use crate::versions::notes::By;
use crate::versions::roots::Root;

/// The message of a repository's first commit.
const FIRST: &str = "gsv: create repository";

/// `repo.create`
pub(crate) async fn create(cx: Cx, args: Create) -> Result<Created, Error> {
    let slug = Slug::parse(&args.repo)?;
    let branch = branch(&slug, args.reference.as_deref())?;
    if args.description.as_ref().is_some_and(|text| text.len() > limits::DESCRIPTION_MAX_BYTES) {
        return Err(Error::bad(format!(
            "description must have at most {} bytes",
            limits::DESCRIPTION_MAX_BYTES
        )));
    }
    let found = cx.area.writable_or_new(&cx.caller, &slug).await?;
    let (author, committer) = stamps(&cx.caller, cx.area.gateway.now_ms());
    let new = NewCommit {
        branch: branch.clone(),
        author,
        committer,
        message: FIRST.to_string(),
        expected: Some("0".repeat(40)),
        allow_empty: true,
        changes: Vec::new(),
    };
    let clock = cx.area.gateway.clock().clone();
    let make = move |bare: &Bare| match commit::advance(bare, &new, &clock) {
        Ok(head) => {
            commit::settle_head(bare, &new.branch, &clock)?;
            Ok((head.map(|id| id.to_string()), true))
        }
        Err(Fault::Moved { found, .. }) => Ok((found, false)),
        Err(fault) => Err(fault),
    };
    let (head, created) = cx.area.with(&slug, &found, make).await?;
    let repos = cx.area.gateway.store().repos();
    if let Some(description) = args.description.filter(|_| created) {
        repos.describe(slug.owner(), slug.name(), &description).await?;
    }
    if created {
        cx.area.touched(&slug).await?;
    }
    Ok(Created { repo: slug.to_string(), reference: branch.as_str().to_string(), head, created })
}

fn branch(slug: &Slug, reference: Option<&str>) -> Result<Branch, Error> {
    Branch::parse(reference.unwrap_or(MAIN)).map_err(|fault| refusal(slug, fault))
}

/// `repo.apply`
pub(crate) async fn apply(cx: Cx, args: Apply) -> Result<Applied, Error> {
    let slug = Slug::parse(&args.repo)?;
    let branch = branch(&slug, args.reference.as_deref())?;
    if args.ops.len() > limits::OPS_MAX {
        return Err(Error::new(413, format!("ops must have at most {} entries", limits::OPS_MAX)));
    }
    let changes: Result<Vec<Change>, Fault> = args.ops.into_iter().map(change).collect();
    let changes = changes.map_err(|fault| refusal(&slug, fault))?;
    let (author, committer) = stamps(&cx.caller, cx.area.gateway.now_ms());
    let found = cx.area.writable_or_new(&cx.caller, &slug).await?;
    let room = cx.area.room(&found).await?;
    room.take(changes.iter().map(Change::bytes).sum())?;
    let new = NewCommit {
        branch: branch.clone(),
        author,
        committer,
        message: message_of(&cx, &slug, args.message),
        expected: args.expected_head,
        allow_empty: args.allow_empty == Some(true),
        changes,
    };
    let head = cx.area.advance_followed(&slug, &found, new).await?;
    Ok(Applied { ok: True, repo: slug.to_string(), reference: branch.as_str().to_string(), head })
}

/// A commit to what is versioned says which run made it, so that it can be taken back with the rest of the run.
fn message_of(cx: &Cx, slug: &Slug, message: String) -> String {
    match Root::followed_by(slug) {
        Some(_) if !message.trim().is_empty() => message::with_trailers(&message, &By::of(&cx.caller)),
        _ => message,
    }
}

fn change(op: Op) -> Result<Change, Fault> {
    Ok(match op {
        Op::Put { path, content: Some(_), content_base64: Some(_), .. } => {
            return Err(Fault::Bad(format!("put {path} cannot specify both content and contentBase64")));
        }
        Op::Put { path, content, content_base64, executable } => {
            let content = match (content, content_base64) {
                (Some(text), _) => text.into_bytes(),
                (None, Some(coded)) => STANDARD
                    .decode(coded.trim())
                    .map_err(|_| Fault::Bad(format!("put {path}: contentBase64 is not base64")))?,
                (None, None) => Vec::new(),
            };
            Change::Put { path: TreePath::to_write(&path)?, content, executable }
        }
        Op::Symlink { path, target } => Change::Link { path: TreePath::to_write(&path)?, target },
        Op::Delete { path, recursive } => Change::Delete {
            path: TreePath::to_write(path.trim_end_matches('/'))?,
            recursive: recursive == Some(true),
        },
        Op::Move { from, to } => {
            Change::Move { from: TreePath::to_write(&from)?, to: TreePath::to_write(&to)? }
        }
    })
}
