//! [`gateway::Subsystem`] implementation of MCP servers: handlers, and connecting again what was lost.

use std::sync::{Arc, Weak};
use std::time::Duration;

use base::limits::mcp as limits;
use base::timer::Alarm;
use gateway::{Call, Cx, Gone, Later, Subsystem};
use protocol::router::Router;

use crate::area::Mcp;
use crate::calls;

fn router() -> Router<Cx<Mcp>> {
    Router::new().on(calls::add).on(calls::list).on(calls::remove).on(calls::refresh).on(calls::call)
}

impl Subsystem for Mcp {
    fn name(&self) -> &'static str {
        "mcp"
    }

    fn calls() -> Vec<&'static str> {
        router().names().to_vec()
    }

    fn handlers(self: Arc<Self>) -> Router<Call> {
        router().over(move |call| Ok(Cx::new(self.clone(), call)))
    }

    fn start(self: Arc<Self>) -> Later<Result<(), store::Error>> {
        let weak: Weak<Mcp> = Arc::downgrade(&self);
        self.sweep.does(move |_| weak.upgrade().and_then(|area| sweep(&area)));
        Box::pin(async move {
            // Those that were connected before are connected again, a few at a time.
            let ids = self.gateway.store().mcp().connectable().await?;
            for id in ids {
                tokio::spawn(connect(self.clone(), id));
            }
            Ok(())
        })
    }

    fn alarms(&self) -> Vec<Arc<Alarm>> {
        vec![self.sweep.clone()]
    }

    fn gone(self: Arc<Self>, gone: Gone) -> Later<()> {
        if let Gone::User(uid) = gone {
            self.drop_user(uid);
        }
        Box::pin(async {})
    }
}

/// Connects what is due. Returns in how long something else is.
fn sweep(area: &Arc<Mcp>) -> Option<Duration> {
    let now = area.gateway.clock().instant();
    let mut next: Option<Duration> = None;
    for (server_id, connection) in area.all() {
        let mut live = connection.live();
        match live.retry_at {
            Some(at) if at <= now => {
                live.retry_at = None;
                tokio::spawn(connect(area.clone(), server_id));
            }
            Some(at) => {
                let wait = at.saturating_duration_since(now);
                next = Some(next.map_or(wait, |next| next.min(wait)));
            }
            None => {}
        }
    }
    next.map(|wait| wait.max(limits::RECONNECT_MIN))
}

/// Connects a server that nobody waits for, when it is its turn.
async fn connect(area: Arc<Mcp>, server_id: String) {
    let Ok(_place) = area.connecting.clone().acquire_owned().await else { return };
    let row = match area.gateway.store().mcp().find(&server_id).await {
        Ok(Some(row)) => row,
        Ok(None) => {
            area.drop_connection(&server_id);
            return;
        }
        Err(error) => return tracing::warn!(%error, "MCP servers could not be read"),
    };
    if let Err(failure) = area.connect(&row, false).await {
        tracing::info!(server = server_id, %failure, "an MCP server is not connected");
    }
}
