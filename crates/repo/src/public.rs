//! Handler of `pkg.public.set`: whether everybody may read a repository, with or without an account.

use protocol::error::Error;
use protocol::pkg::catalog::{PublicChanged, PublicSet};

use crate::repos::Repos;
use crate::slug::Slug;

/// Makes a repository public, or private again. A package's repository is given by its own name.
pub(crate) async fn set(cx: gateway::Cx<Repos>, args: PublicSet) -> Result<PublicChanged, Error> {
    let repo = args.repo.as_deref().filter(|repo| !repo.trim().is_empty());
    let repo = repo.ok_or_else(|| Error::bad("pkg.public.set: repo is required: give '<owner>/<name>'"))?;
    let slug = Slug::parse(repo)?;
    let changed = cx.area.set_public(&cx.caller, &slug, args.public).await?;
    Ok(PublicChanged { changed, repo: slug.to_string(), public: args.public })
}
