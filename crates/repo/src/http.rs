//! Git smart HTTP server at `/git/<owner>/<repo>[.git]`: clone, fetch and push with the git program behind it, after the
//! house's login and within limits.
//!
//! The path of a request: `access` says who it is and whether they may, `admission` gives it a turn, `service` is the
//! command that answers it, `exchange` carries the bytes. There is no dumb protocol: no file is ever served.

mod access;
mod answer;
mod child;
mod commands;
mod exchange;
mod incoming;
mod leftovers;
mod meter;
mod service;

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::response::Response;
use axum::routing::{get, post};
use base::clock::Clock;
use base::limits;
use bytes::Bytes;
use gateway::{Later, Visitor};
use protocol::config::GIT_PUSH_MAX_BYTES;
use protocol::error::Error;
use protocol::repo::RepoKind;

use crate::admission::Admitted;
use crate::committer::{Held, Look};
use crate::git::hold::Hold;
use crate::git::refs::Branch;
use crate::repos::{Found, Repos};
use crate::slug::Slug;
use access::{Client, Wish};
use answer::Refusal;
use child::GitChild;
use commands::Commands;
use exchange::{Exchange, Fed};
use incoming::Incoming;
use meter::Meter;
use service::{Rules, Service, Version};

/// Git over HTTP.
struct GitHttp {
    repos: Arc<Repos>,
}

/// A request that may go on, with its turn.
struct Granted {
    found: Found,
    slug: Slug,
    client: Client,
    turn: Admitted,
}

type Git = State<Arc<GitHttp>>;
type Named = Path<(String, String)>;

/// The routes.
pub(crate) fn router(repos: Arc<Repos>) -> axum::Router {
    let git = Arc::new(GitHttp { repos });
    axum::Router::new()
        .route("/git/{owner}/{repo}/info/refs", get(info_refs))
        .route("/git/{owner}/{repo}/git-upload-pack", post(upload_pack))
        .route("/git/{owner}/{repo}/git-receive-pack", post(receive_pack))
        .with_state(git)
}

/// What a repository has, before a fetch or a push.
async fn info_refs(State(git): Git, named: Named, request: Request) -> Response {
    let answered = async move {
        let query = request.uri().query().unwrap_or_default();
        let asked = query.split('&').find_map(|pair| pair.strip_prefix("service="));
        let service = asked.and_then(Service::named).ok_or_else(Refusal::dumb)?;
        let version = Version::asked_for(request.headers());
        let granted = git.grant(named, visitor(&request), service.wish()).await?;
        git.repos.settled(&granted.slug).await;
        let rules = Rules { is_protected: false, push_max_bytes: git.push_max_bytes().await? };
        let child = service.advertise(&granted.found.path, version, &rules)?;
        let exchange = git.exchange(service, child, granted.turn);
        let exchange = Exchange { preamble: service.preamble(version), ..exchange };
        exchange.answer(&service.content_type("advertisement")).await
    };
    answered.await.unwrap_or_else(Refusal::into_response)
}

/// A fetch: what the client wants and has comes in, a pack goes out.
async fn upload_pack(State(git): Git, named: Named, request: Request) -> Response {
    let service = Service::UploadPack;
    let answered = async move {
        let granted = git.grant(named, visitor(&request), Wish::Read).await?;
        let version = Version::asked_for(request.headers());
        let rest = git.incoming(service, request, limits::git::FETCH_REQUEST_MAX_BYTES)?;
        let rules = Rules { is_protected: false, push_max_bytes: 0 };
        let child = service.serve(&granted.found.path, version, &rules)?;
        let exchange = git.exchange(service, child, granted.turn);
        let exchange = Exchange { fed: Some(Fed { ahead: Bytes::new(), rest }), ..exchange };
        exchange.answer(&service.content_type("result")).await
    };
    answered.await.unwrap_or_else(Refusal::into_response)
}

/// A push: commands and a pack come in, how each command went goes out.
async fn receive_pack(State(git): Git, named: Named, request: Request) -> Response {
    let service = Service::ReceivePack;
    let answered = async move {
        let granted = git.grant(named, visitor(&request), Wish::Write).await?;
        let version = Version::asked_for(request.headers());
        let push_max_bytes = git.push_max_bytes().await?;
        let body_max_bytes = push_max_bytes.saturating_add(limits::git::DRAIN_MAX_BYTES);
        let mut rest = git.incoming(service, request, body_max_bytes)?;
        let (commands, ahead) = Commands::read(&mut rest).await.map_err(Refusal::cut)?;
        let held = git.hold(&granted.slug, &commands).await?;
        let is_protected = git.prepare(&granted.found, &commands).await?;
        let rules = Rules { is_protected, push_max_bytes };
        let (kept, meter) = (git.share(&granted.found).await?, git.meter(&granted.found, &commands).await?);
        let child = service.serve(&granted.found.path, version, &rules)?;
        let afterwards = git.after_push(&granted, &commands, held, (kept, meter.clone()));
        let exchange = git.exchange(service, child, granted.turn);
        let exchange = Exchange { fed: Some(Fed { ahead, rest }), meter, afterwards, ..exchange };
        exchange.answer(&service.content_type("result")).await
    };
    answered.await.unwrap_or_else(Refusal::into_response)
}

/// Who the server says makes a request.
fn visitor(request: &Request) -> Option<Visitor> {
    request.extensions().get().cloned()
}

impl GitHttp {
    /// Whether a request may go on: who makes it, whether they may, and whether it is their turn.
    async fn grant(&self, named: Named, visitor: Option<Visitor>, wish: Wish) -> Result<Granted, Refusal> {
        let Path((owner, name)) = named;
        let slug = Slug::new(&owner, name.strip_suffix(".git").unwrap_or(&name)).ok();
        // Without the server's word for where it comes from nobody is let in.
        let visitor = visitor.ok_or_else(Refusal::not_introduced)?;
        let (slug, found, client) = access::decide(&self.repos, &visitor, slug, wish).await?;
        let turn = self.repos.traffic.admission.admit(client.whose(), self.clock()).await;
        let turn = turn.map_err(Refusal::crowded)?;
        if *self.repos.traffic.stopping().borrow() {
            return Err(Refusal::stopping());
        }
        Ok(Granted { found, slug, client, turn })
    }

    fn incoming(&self, service: Service, request: Request, max_bytes: u64) -> Result<Incoming, Refusal> {
        service.check_content_type(request.headers())?;
        Incoming::new(request, max_bytes, self.clock().clone()).map_err(Refusal::cut)
    }

    fn exchange(&self, service: Service, child: GitChild, turn: Admitted) -> Exchange {
        Exchange {
            service,
            child,
            turn,
            clock: self.clock().clone(),
            stopping: self.repos.traffic.stopping(),
            fed: None,
            preamble: Bytes::new(),
            meter: None,
            afterwards: Box::pin(async {}),
        }
    }

    /// Clears away what killed pushes left, and says whether this one touches what must not be rewritten: the default
    /// branch of a home or a workspace, which the file tree follows.
    async fn prepare(&self, found: &Found, commands: &Commands) -> Result<bool, Refusal> {
        let (path, names) = (found.path.clone(), commands.names());
        let (now_ms, started_at) = (self.repos.gateway.now_ms(), self.repos.gateway.started_at());
        let default_branch = self.repos.work(move || {
            leftovers::remove(&path, &names, now_ms, started_at);
            leftovers::default_branch(&path)
        });
        let default_branch = default_branch.await.map_err(|error| Refusal::of(&error))?;
        let is_followed = matches!(found.row.kind, RepoKind::Home | RepoKind::Workspace);
        let touches = |branch: &String| commands.names().contains(branch);
        let is_touched =
            default_branch.is_none_or(|branch| touches(&branch)) || touches(&Branch::main().full());
        Ok(is_followed && is_touched)
    }

    /// Before a push to the branch that a directory follows, what was changed there is committed; nothing else is put
    /// into the directory until the push is. One that does not know of these changes is refused.
    async fn hold(&self, slug: &Slug, commands: &Commands) -> Result<Option<Held>, Refusal> {
        let branch = Branch::main().full();
        let Some(expected) = commands.old(&branch) else { return Ok(None) };
        let refused = |error: Error| Refusal::of(&error);
        let Some(held) = self.repos.hold(slug, limits::versions::HOLD_WAIT).await.map_err(refused)? else {
            return Ok(None);
        };
        let (held, agreed) = self.repos.agree(held, Look::Everywhere).await.map_err(refused)?;
        let head = agreed.head.map_or_else(|| "0".repeat(40), |head| head.to_string());
        if agreed.has_committed && head != expected {
            return Err(Refusal::changed_meanwhile(slug));
        }
        Ok(Some(held))
    }

    /// Objects that are there already, and that a push counts on, stay until its refs have moved.
    async fn share(&self, found: &Found) -> Result<Hold, Refusal> {
        let path = found.path.clone();
        let held = self.repos.work(move || Hold::share(&path)).await.map_err(|error| Refusal::of(&error))?;
        held.map_err(|error| Refusal::of(&Error::internal(&error.to_string())))
    }

    /// What a push may bring; one that only deletes is not counted.
    async fn meter(&self, found: &Found, commands: &Commands) -> Result<Option<Arc<Meter>>, Refusal> {
        if !commands.has_pack {
            return Ok(None);
        }
        let room = self.repos.room(found).await.map_err(|error| Refusal::of(&error))?;
        Ok(Some(Arc::new(Meter::new(room, commands.has_side_band))))
    }

    /// What is done once git has ended, whatever became of the client.
    fn after_push(
        &self,
        granted: &Granted,
        commands: &Commands,
        held: Option<Held>,
        kept: (Hold, Option<Arc<Meter>>),
    ) -> Later<()> {
        let (repos, slug, uid) = (self.repos.clone(), granted.slug.clone(), granted.client.uid());
        let found = granted.found.clone();
        if commands.names().is_empty() {
            return Box::pin(async {});
        }
        Box::pin(async move {
            drop(kept);
            if let Some(held) = held {
                repos.agree_afterwards(held).await;
            }
            let Some(uid) = uid else { return };
            if let Err(error) = repos.count_growth(&found).await {
                tracing::warn!(%slug, %error, "what a push brought is counted later");
            }
            if let Err(error) = repos.after_push(&slug, uid).await {
                tracing::warn!(%slug, %error, "what follows a push was not done");
            }
        })
    }

    async fn push_max_bytes(&self) -> Result<u64, Refusal> {
        let set = self.repos.gateway.store().config().setting(GIT_PUSH_MAX_BYTES).await;
        set.map_err(|error| Refusal::of(&Error::from(error)))
    }

    fn clock(&self) -> &Clock {
        self.repos.gateway.clock()
    }
}
