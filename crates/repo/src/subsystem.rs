//! [`gateway::Subsystem`] implementation of repositories: handlers and cleanup.

use std::sync::Arc;

use base::limits::repo as limits;
use gateway::{Call, Cx, Gauges, Gone, Later, Subsystem};
use protocol::router::Router;

use crate::calls::{change, compare, history, import, look};
use crate::git::init;
use crate::repos::Repos;
use crate::{http, public, workspaces};

fn router() -> Router<Cx<Repos>> {
    Router::new()
        .on(look::list)
        .on(change::create)
        .on(look::refs)
        .on(look::read)
        .on(look::search)
        .on(look::log)
        .on(compare::diff)
        .on(compare::compare)
        .on(change::apply)
        .on(import::import)
        .on(public::set)
        .on(history::list)
        .on(history::read)
        .on(history::restore)
        .on(history::undo)
        .on(workspaces::list::list)
        .on(workspaces::create::create)
        .on(workspaces::archive::archive)
        .on(workspaces::restore::restore)
}

impl Subsystem for Repos {
    fn name(&self) -> &'static str {
        "repo"
    }

    fn calls() -> Vec<&'static str> {
        router().names().to_vec()
    }

    fn handlers(self: Arc<Self>) -> Router<Call> {
        router().over(move |call| Ok(Cx::new(self.clone(), call)))
    }

    fn http(self: Arc<Self>) -> Option<axum::Router> {
        Some(http::router(self))
    }

    fn stop(self: Arc<Self>) -> Later<()> {
        Box::pin(async move {
            self.traffic.stop(self.gateway.clock()).await;
            self.flush_all().await;
        })
    }

    fn metrics(&self, gauges: &mut Gauges) {
        let help = "Requests that the git program works on.";
        gauges.gauge("gsv_git_requests", help, self.traffic.admission.under_way());
    }

    fn start(self: Arc<Self>) -> Later<Result<(), store::Error>> {
        Box::pin(async move {
            self.swept(true).await;
            // Before files are watched: what an archiving left half done must not be taken for a change.
            if let Err(error) = self.recover_workspaces().await {
                tracing::warn!(%error, "workspaces could not be looked through; the next start tries again");
            }
            self.watch_files();
            self.look_after();
            Ok(())
        })
    }

    /// The rows of a removed user are gone: so are its directories.
    fn gone(self: Arc<Self>, gone: Gone) -> Later<()> {
        Box::pin(async move {
            if let Gone::User(_) = gone {
                self.swept(false).await;
            }
        })
    }
}

impl Repos {
    /// Looks after repositories from now on: after a while, and then once a day, after all of them.
    fn look_after(self: &Arc<Self>) {
        let (weak, housekeeping) = (Arc::downgrade(self), self.housekeeping.clone());
        let (clock, mut stopping) = (self.gateway.clock().clone(), self.traffic.stopping());
        tokio::spawn(async move {
            let looking = async {
                let mut wait = limits::HOUSEKEEPING_DELAY;
                loop {
                    clock.sleep(wait).await;
                    wait = limits::HOUSEKEEPING_EVERY;
                    // Held only while it looks: the store is let go with the gateway.
                    let Some(repos) = weak.upgrade() else { return };
                    let root = repos.gateway.repos().to_path_buf();
                    match repos.work(move || init::directories(&root, false)).await {
                        Ok(Ok(all)) => repos.housekeeping.add(all),
                        _ => tracing::warn!("the repositories could not be looked after"),
                    }
                }
            };
            tokio::select! {
                () = looking => {}
                () = housekeeping.run(&clock) => {}
                _ = stopping.wait_for(|stopping| *stopping) => {}
            }
        });
    }

    /// What can not be removed now is removed at the next start, and is shown to nobody until then.
    async fn swept(&self, drafts: bool) {
        if let Err(error) = self.sweep(drafts).await {
            tracing::warn!(%error, "left-over repositories could not be removed");
        }
    }
}
