//! Connecting a server: open, sign in where it is wanted, ask what there is; and again later when that fails.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use base::limits::mcp as limits;
use protocol::sys::mcp::ConnectionState;
use store::mcp::ServerRow;
use url::Url;

use crate::area::Mcp;
use crate::connection::Connection;
use crate::discover::{self, Offer};
use crate::failure::{Challenge, Failure, short};
use crate::link::{Link, Told};
use crate::open::{self, Hello};
use crate::session::Session;
use crate::sse_session::STREAM_ENDED;
use crate::{checks, listen, sign_in, tokens};

impl Mcp {
    /// Connects a server, unless it is connected already and that is enough.
    pub(crate) async fn connect(self: &Arc<Self>, row: &ServerRow, anew: bool) -> Result<(), Failure> {
        let connection = self.connection(row);
        let _turn = connection.turn.lock().await;
        if !anew && self.usable(&connection).await?.is_some() {
            return Ok(());
        }
        self.close(connection.leave(ConnectionState::Connecting, None));
        let work = self.connect_alone(row, &connection);
        let limit = limits::CONNECT_TIMEOUT;
        let done = self.gateway.clock().timeout(limit, work).await;
        let done = done.unwrap_or(Err(Failure::TimedOut(limit.as_secs())));
        if let Err(failure) = &done {
            self.failed(&connection, failure);
        }
        done
    }

    /// The session, unless root has changed since then what may be reached.
    async fn usable(&self, connection: &Connection) -> Result<Option<Arc<Session>>, Failure> {
        let Some(session) = connection.session() else { return Ok(None) };
        let private = self.allows_private().await?;
        Ok(Some(session).filter(|_| connection.live().private == private))
    }

    async fn connect_alone(
        self: &Arc<Self>,
        row: &ServerRow,
        connection: &Arc<Connection>,
    ) -> Result<(), Failure> {
        let link = self.link(row, connection).await?;
        let (session, hello) = self.open_signed_in(row, connection, &link).await?;
        let session = Arc::new(session);
        {
            let mut live = connection.live();
            live.state = ConnectionState::Connected;
            live.session = Some(session.clone());
            live.instructions = hello.instructions.as_deref().map(instructions);
            let fits = |size: usize| size <= limits::CAPABILITIES_MAX_BYTES;
            let size = serde_json::to_string(&hello.capabilities).map_or(usize::MAX, |json| json.len());
            live.capabilities = fits(size).then(|| hello.capabilities.clone());
        }
        if row.sign_in.is_some() {
            let now_ms = self.gateway.now_ms();
            self.gateway.store().mcp().set_sign_in(&row.server_id, None, now_ms).await?;
        }
        self.relist(row, connection, &session, &hello).await?;
        {
            let mut live = connection.live();
            (live.failures, live.retry_at) = (0, None);
        }
        listen::begin(self, connection, &session, &hello.capabilities);
        Ok(())
    }

    /// Asks for what a connected server offers, and notes its tools.
    async fn relist(
        &self,
        row: &ServerRow,
        connection: &Connection,
        session: &Session,
        hello: &Hello,
    ) -> Result<(), Failure> {
        {
            // One that is used meanwhile stays ready: calls go on over its session.
            let mut live = connection.live();
            if live.state != ConnectionState::Ready {
                live.state = ConnectionState::Discovering;
            }
        }
        let mut offer = discover::discover(session, &hello.capabilities).await?;
        self.note_tools(row, &mut offer).await?;
        let mut live = connection.live();
        (live.state, live.error) = (ConnectionState::Ready, None);
        live.offer = Arc::new(offer);
        Ok(())
    }

    async fn note_tools(&self, row: &ServerRow, offer: &mut Offer) -> Result<(), Failure> {
        let told: BTreeMap<String, String> = offer
            .tools
            .iter()
            .filter_map(|found| Some((found.tool.name.clone(), found.tool.fingerprint.clone()?)))
            .collect();
        let store = self.gateway.store().mcp();
        let seen = store.see_tools(&row.server_id, &told, self.gateway.now_ms()).await?;
        for found in &mut offer.tools {
            found.tool.changed_at = seen.get(&found.tool.name).and_then(|seen| seen.changed_at);
        }
        Ok(())
    }

    /// Asks a server that is connected for its tools again; one that is not is connected.
    pub(crate) async fn refresh(self: &Arc<Self>, row: &ServerRow) -> Result<(), Failure> {
        let connection = self.connection(row);
        let Some(session) = self.usable(&connection).await? else { return self.connect(row, true).await };
        let hello = {
            let live = connection.live();
            Hello { capabilities: live.capabilities.clone().unwrap_or_default(), instructions: None }
        };
        let work = self.relist(row, &connection, &session, &hello);
        let listed = self.gateway.clock().timeout(limits::CONNECT_TIMEOUT, work).await;
        match listed {
            Ok(Ok(())) => Ok(()),
            _ => self.connect(row, true).await,
        }
    }

    /// Opens a session with the token there is. One that is refused is renewed once; else a person must sign in.
    async fn open_signed_in(
        self: &Arc<Self>,
        row: &ServerRow,
        connection: &Connection,
        link: &Link,
    ) -> Result<(Session, Hello), Failure> {
        if let Some((token, held)) = tokens::current(self, row).await? {
            link.sign_in(Some(token));
            connection.live().held = Some(held);
        }
        let version = self.gateway.version_text();
        let challenge = match open::open(link, row.transport, version).await {
            Err(Failure::Unauthorized(challenge)) => challenge,
            opened => return opened,
        };
        if self.take_other_token(row, connection, link, &challenge).await? {
            match open::open(link, row.transport, version).await {
                Err(Failure::Unauthorized(_)) => {}
                opened => return opened,
            }
        }
        Err(self.want_sign_in(row, link, challenge).await)
    }

    /// Puts another token in the place of one that was refused. False when there is none.
    pub(crate) async fn take_other_token(
        self: &Arc<Self>,
        row: &ServerRow,
        connection: &Connection,
        link: &Link,
        challenge: &Challenge,
    ) -> Result<bool, Failure> {
        if challenge.is_insufficient || link.has_own_credentials() {
            return Ok(false);
        }
        let refused = connection.live().held.clone();
        let Some((token, held)) = tokens::other_than(self, row, refused.as_ref()).await? else {
            return Ok(false);
        };
        link.sign_in(Some(token));
        connection.live().held = Some(held);
        Ok(true)
    }

    /// A person must sign in. Returns what to say.
    pub(crate) async fn want_sign_in(
        self: &Arc<Self>,
        row: &ServerRow,
        link: &Link,
        challenge: Challenge,
    ) -> Failure {
        if link.has_own_credentials() && !link.is_signed_in() {
            let why = "the server refuses the Authorization header that it was added with".to_string();
            return Failure::Unexpected(why);
        }
        match sign_in::begin(self, row, &challenge).await {
            Ok(()) => Failure::Unauthorized(challenge),
            Err(failure) => failure,
        }
    }

    async fn link(self: &Arc<Self>, row: &ServerRow, connection: &Arc<Connection>) -> Result<Link, Failure> {
        let broken = |_| Failure::Inside("the server's URL or headers are broken".to_string());
        let url = Url::parse(&row.url).map_err(|_| broken(()))?;
        let headers = checks::headers(&row.headers).map_err(|_| broken(()))?;
        let told = self.told(row.server_id.clone(), Arc::downgrade(connection));
        connection.live().private = self.allows_private().await?;
        let client = self.client().await?.clone();
        Ok(Link::new(client, self.gateway.clock().clone(), url, headers, told))
    }

    /// What is done about what a server tells.
    fn told(self: &Arc<Self>, server_id: String, connection: Weak<Connection>) -> Told {
        let area = Arc::downgrade(self);
        Arc::new(move |method| {
            let (Some(area), Some(connection)) = (area.upgrade(), connection.upgrade()) else { return };
            match method {
                STREAM_ENDED => area.lost(&connection, "the server closed the connection"),
                "notifications/tools/list_changed"
                | "notifications/resources/list_changed"
                | "notifications/prompts/list_changed" => area.relist_soon(server_id.clone(), &connection),
                _ => {}
            }
        })
    }

    /// A connection that was there is gone: it is made again.
    pub(crate) fn lost(&self, connection: &Connection, why: &str) {
        if connection.live().state != ConnectionState::Ready {
            return;
        }
        self.close(connection.leave(ConnectionState::Failed, Some(why.to_string())));
        connection.live().retry_at = Some(self.gateway.clock().instant() + limits::RECONNECT_MIN);
        self.sweep.within(limits::RECONNECT_MIN);
    }

    /// Connecting failed: later again, where that can help.
    fn failed(&self, connection: &Connection, failure: &Failure) {
        let (state, error) = match failure {
            Failure::Unauthorized(_) => (ConnectionState::Authenticating, None),
            failure => (ConnectionState::Failed, Some(short(&failure.to_string()))),
        };
        self.close(connection.leave(state, error));
        let mut live = connection.live();
        live.failures = live.failures.saturating_add(1);
        live.retry_at = None;
        if failure.is_passing() {
            let pause = backoff(live.failures, self.gateway.random().below(1_000));
            live.retry_at = Some(self.gateway.clock().instant() + pause);
            self.sweep.within(pause);
        }
    }

    /// A server told that its lists have changed: they are asked for, but not for every word of it.
    fn relist_soon(self: &Arc<Self>, server_id: String, connection: &Arc<Connection>) {
        let now = self.gateway.clock().instant();
        let wait = {
            let mut live = connection.live();
            if live.relisting || live.state != ConnectionState::Ready {
                return;
            }
            live.relisting = true;
            let next = live.relisted_at.map(|last| last + limits::RELIST_MIN);
            let wait = next.map_or(Duration::ZERO, |next| next.saturating_duration_since(now));
            live.relisted_at = Some(now + wait);
            wait
        };
        let (area, connection) = (self.clone(), connection.clone());
        tokio::spawn(async move {
            area.gateway.clock().sleep(wait).await;
            connection.live().relisting = false;
            let done = async {
                match area.gateway.store().mcp().find(&server_id).await? {
                    Some(row) => area.refresh(&row).await,
                    None => Ok(()),
                }
            };
            if let Err(failure) = done.await {
                tracing::info!(server = server_id, %failure, "changed tools of an MCP server could not be asked for");
            }
        });
    }

    /// Tells a server that its session is over, without waiting for it.
    pub(crate) fn close(&self, session: Option<Arc<Session>>) {
        if let Some(session) = session {
            tokio::spawn(async move { session.close().await });
        }
    }
}

/// How long to wait before a server is tried again.
fn backoff(failures: u32, jitter_ms: u64) -> Duration {
    let doubled = limits::RECONNECT_MIN.saturating_mul(1 << failures.saturating_sub(1).min(16));
    doubled.min(limits::RECONNECT_MAX) + Duration::from_millis(jitter_ms)
}

/// What a server says about itself, as long as is kept.
fn instructions(text: &str) -> String {
    text[..text.floor_char_boundary(limits::INSTRUCTIONS_MAX_BYTES)].to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_a_cap() {
        let pauses: Vec<u64> = [1, 2, 3, 40, u32::MAX].map(|times| backoff(times, 0).as_secs()).to_vec();
        assert_eq!(pauses, [2, 4, 8, 600, 600]);
    }
}
