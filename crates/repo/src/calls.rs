//! Handlers of `repo.*`, and what they share: who acts, and work on an open repository.

pub(crate) mod change;
pub(crate) mod compare;
pub(crate) mod history;
pub(crate) mod import;
pub(crate) mod look;

use gateway::Caller;
use protocol::error::Error;

use crate::git::bare::Bare;
use crate::git::commit::Stamp;
use crate::git::fault::Fault;
use crate::repos::{Found, Repos, refusal};
use crate::slug::Slug;

type Cx = gateway::Cx<Repos>;

/// What is meant when no ref is named.
const MAIN: &str = "main";

impl Repos {
    /// Does something with an open repository, on a thread that may block.
    pub(crate) async fn with<T: Send + 'static>(
        &self,
        slug: &Slug,
        found: &Found,
        work: impl FnOnce(&Bare) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Error> {
        let path = found.path.clone();
        let done = self.work(move || Bare::open(&path).and_then(|bare| work(&bare))).await?;
        done.map_err(|fault| refusal(slug, fault))
    }
}

/// A repository to read.
async fn readable(cx: &Cx, repo: &str) -> Result<(Slug, Found), Error> {
    let (slug, found) = readable_as_it_is(cx, repo).await?;
    cx.area.settled(&slug).await;
    Ok((slug, found))
}

/// The same without committing first what was changed in its directory: for what does not depend on it.
async fn readable_as_it_is(cx: &Cx, repo: &str) -> Result<(Slug, Found), Error> {
    let slug = Slug::parse(repo)?;
    let found = cx.area.readable(Some(&cx.caller), &slug).await?;
    Ok((slug, found))
}

/// Whether a ref is a commit itself, whose content never changes.
fn is_commit(reference: Option<&str>) -> bool {
    reference.is_some_and(|text| text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// In whose name a commit is made, and who makes it: an agent is named with its process.
fn stamps(caller: &Caller, now_ms: i64) -> (Stamp, Stamp) {
    let username = &caller.identity.username;
    let email = format!("{username}@gsv.local");
    let of = |name: String| Stamp { name, email: email.clone(), seconds: now_ms / 1_000 };
    let author = of(username.clone());
    match caller.origin.pid() {
        Some(pid) => (author, of(format!("{username} (agent {})", pid.0))),
        None => (author.clone(), author),
    }
}
