//! Handlers of `sys.mcp.*`.

use std::sync::Arc;

use base::limits;
use gateway::{Caller, Cx};
use http::HeaderMap;
use protocol::error::Error;
use protocol::ids::Uid;
use protocol::sys::mcp::{
    Add, Added, Call, CallResult, ConnectionState, List, Listed, Refresh, Refreshed, Remove, Removed, Server,
    TransportType,
};
use serde_json::{Map, Value};
use store::mcp::ServerRow;
use url::Url;

use crate::area::Mcp;
use crate::connection::{Connection, summary};
use crate::failure::{Challenge, Failure, short};
use crate::link::Bounds;
use crate::session::Session;
use crate::{checks, mirror, tokens};

pub(crate) async fn add(cx: Cx<Mcp>, args: Add) -> Result<Added, Error> {
    let uid = whose(&cx.caller, args.uid, "add MCP servers")?;
    let gateway = &cx.area.gateway;
    let (name, url) = (checks::name(&args.name)?, checks::url(&args.url)?.to_string());
    let transport = args.transport.unwrap_or_default();
    let headers = transport.headers.unwrap_or_default();
    checks::headers(&headers)?;
    let callback_host = args.callback_host.as_deref().filter(|host| !host.trim().is_empty());
    let callback_host = callback_host.map(checks::callback_host).transpose()?;
    let now_ms = gateway.now_ms();
    let row = ServerRow {
        server_id: gateway.random().tagged("mcp_"),
        uid,
        name,
        url,
        transport: transport.transport_type.unwrap_or(TransportType::Auto),
        headers,
        callback_host,
        sign_in: None,
        client: None,
        created_at: now_ms,
        updated_at: now_ms,
    };
    let store = gateway.store().mcp();
    // One that is there already stays as it is.
    if let Some(known) = store.named(uid, &row.name, &row.url).await? {
        return Ok(Added { server: cx.area.summary(&known) });
    }
    if !store.add(&row, limits::mcp::SERVERS_MAX).await? {
        return match store.named(uid, &row.name, &row.url).await? {
            Some(known) => Ok(Added { server: cx.area.summary(&known) }),
            None => {
                let most = limits::mcp::SERVERS_MAX;
                Err(Error::new(429, format!("{most} MCP servers are connected already: remove one first")))
            }
        };
    }
    // How that went is in the summary.
    if let Err(failure) = cx.area.connect(&row, true).await {
        tracing::info!(server = row.server_id, %failure, "a new MCP server is not connected yet");
    }
    Ok(Added { server: cx.area.current(&row).await? })
}

pub(crate) async fn list(cx: Cx<Mcp>, args: List) -> Result<Listed, Error> {
    let uid = whose(&cx.caller, args.uid, "list MCP servers")?;
    let rows = cx.area.gateway.store().mcp().of(uid).await?;
    Ok(Listed { servers: rows.iter().map(|row| cx.area.summary(row)).collect() })
}

pub(crate) async fn remove(cx: Cx<Mcp>, args: Remove) -> Result<Removed, Error> {
    let uid = whose(&cx.caller, args.uid, "remove MCP servers")?;
    let removed = cx.area.gateway.store().mcp().remove(&args.server_id, uid).await?;
    if removed && let Some(connection) = cx.area.drop_connection(&args.server_id) {
        cx.area.close(connection.leave(ConnectionState::NotConnected, None));
    }
    Ok(Removed { removed })
}

pub(crate) async fn refresh(cx: Cx<Mcp>, args: Refresh) -> Result<Refreshed, Error> {
    let uid = whose(&cx.caller, args.uid, "refresh MCP servers")?;
    let row = cx.area.gateway.store().mcp().find(&args.server_id).await?;
    let Some(row) = row.filter(|row| row.uid == uid) else { return Ok(Refreshed { server: None }) };
    if let Err(failure) = cx.area.refresh(&row).await {
        tracing::info!(server = row.server_id, %failure, "an MCP server could not be refreshed");
    }
    Ok(Refreshed { server: Some(cx.area.current(&row).await?) })
}

pub(crate) async fn call(cx: Cx<Mcp>, args: Call) -> Result<CallResult, Error> {
    let uid = whose(&cx.caller, args.uid, "call MCP tools")?;
    let row = cx.area.gateway.store().mcp().find(&args.server_id).await?;
    let row = row.filter(|row| row.uid == uid).ok_or_else(|| Error::new(500, "MCP server not found"))?;
    cx.area.call_tool(&row, &args).await
}

impl Mcp {
    /// What everybody may see of a server.
    fn summary(&self, row: &ServerRow) -> Server {
        summary(row, self.known(&row.server_id).as_deref(), self.gateway.now_ms())
    }

    /// The same, of the server as it is kept now.
    async fn current(&self, row: &ServerRow) -> Result<Server, Error> {
        let kept = self.gateway.store().mcp().find(&row.server_id).await?;
        Ok(self.summary(kept.as_ref().unwrap_or(row)))
    }

    /// Calls a tool. What the server has surely not begun, for it refused the token or forgot the session, is asked once
    /// more; anything else never.
    async fn call_tool(self: &Arc<Self>, row: &ServerRow, args: &Call) -> Result<CallResult, Error> {
        let connection = self.connection(row);
        // Nothing but the person's sign-in helps, and that connects it by itself.
        let waits = row.sign_in.as_ref().is_some_and(|sign_in| sign_in.expires_at > self.gateway.now_ms());
        if waits && connection.live().state == ConnectionState::Authenticating {
            return Err(said(row, &Failure::Unauthorized(Challenge::default())));
        }
        let mut again = true;
        loop {
            if let Err(failure) = self.connect(row, false).await {
                return Err(said(row, &failure));
            }
            let Some(session) = connection.session() else {
                continue_or(&mut again, row)?;
                continue;
            };
            self.keep_fresh(row, &connection, &session).await;
            match ask(&connection, &session, args).await? {
                Ok(result) => return read(row, result),
                Err(Failure::Unauthorized(challenge)) => {
                    let link = &session.link;
                    let other = match again {
                        true => self.take_other_token(row, &connection, link, &challenge).await,
                        false => Ok(false),
                    };
                    match other {
                        // An old session may hang on the old token.
                        Ok(true) if session.stream_headers().is_some() => {
                            self.close(connection.leave(ConnectionState::Connecting, None));
                        }
                        Ok(true) => {}
                        _ => return Err(self.signed_out(row, &connection, &session, challenge).await),
                    }
                    again = false;
                }
                Err(Failure::SessionGone) if again => {
                    again = false;
                    connection.leave(ConnectionState::Connecting, None);
                }
                Err(failure) => {
                    if matches!(failure, Failure::Unreachable(_) | Failure::SessionGone) {
                        self.lost(&connection, &short(&failure.to_string()));
                    }
                    return Err(said(row, &failure));
                }
            }
        }
    }

    /// A server does not take the sign-in any more: a person must sign in again, and everybody sees so.
    async fn signed_out(
        self: &Arc<Self>,
        row: &ServerRow,
        connection: &Connection,
        session: &Session,
        challenge: Challenge,
    ) -> Error {
        let failure = self.want_sign_in(row, &session.link, challenge).await;
        let (state, error) = match &failure {
            Failure::Unauthorized(_) => (ConnectionState::Authenticating, None),
            failure => (ConnectionState::Failed, Some(short(&failure.to_string()))),
        };
        self.close(connection.leave(state, error));
        said(row, &failure)
    }

    /// Puts a newer token in the place of one that ends.
    async fn keep_fresh(self: &Arc<Self>, row: &ServerRow, connection: &Connection, session: &Session) {
        let held = connection.live().held.clone();
        if !held.is_some_and(|held| held.is_ending(self.gateway.now_ms())) {
            return;
        }
        if let Ok(Some((token, held))) = tokens::current(self, row).await {
            session.link.sign_in(Some(token));
            connection.live().held = Some(held);
        }
    }
}

/// The connection went while it was looked at: once more, then no more.
fn continue_or(again: &mut bool, row: &ServerRow) -> Result<(), Error> {
    match std::mem::take(again) {
        true => Ok(()),
        false => Err(said(row, &Failure::SessionGone)),
    }
}

/// Asks for the call of a tool. The outer error is one of the caller's.
async fn ask(
    connection: &Connection,
    session: &Session,
    args: &Call,
) -> Result<Result<Value, Failure>, Error> {
    let offer = connection.live().offer.clone();
    let found = offer.tools.iter().find(|found| found.tool.name == args.name);
    if let Some(meant) = &args.fingerprint
        && found.and_then(|found| found.tool.fingerprint.as_ref()) != Some(meant)
    {
        return Err(Error::conflict(format!(
            "The tool {} is not the one it was: the server has changed it. Look at it again with sys.mcp.list",
            short(&args.name)
        )));
    }
    let arguments = args.arguments.clone().unwrap_or_default();
    let headers =
        found.map_or_else(HeaderMap::new, |found| mirror::of_arguments(&found.mirrored, &arguments));
    let mut params = Map::new();
    params.insert("name".to_string(), Value::from(args.name.as_str()));
    params.insert("arguments".to_string(), Value::Object(arguments));
    let bounds =
        Bounds { total: limits::mcp::CALL_TIMEOUT, bytes: limits::mcp::ANSWER_MAX_BYTES, resume: false };
    Ok(session.ask("tools/call", params, headers, bounds).await)
}

/// The result of a tool as it is passed on.
fn read(row: &ServerRow, mut result: Value) -> Result<CallResult, Error> {
    if !result.is_object() {
        return Err(said(row, &Failure::Unexpected("it did not answer with a result of a tool".to_string())));
    }
    let mut take = |name: &str| result.get_mut(name).map(Value::take).filter(|value| !value.is_null());
    let (content, structured_content) = (take("content"), take("structuredContent"));
    let is_error = take("isError").and_then(|value| value.as_bool());
    let url = Url::parse(&row.url).ok();
    let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
    Ok(CallResult {
        content,
        structured_content,
        is_error,
        origin: Some(format!("MCP server {} ({host})", row.name)),
    })
}

/// What a caller is told of a server that did not do what it was asked.
fn said(row: &ServerRow, failure: &Failure) -> Error {
    let name = &row.name;
    let message = match failure {
        Failure::Unauthorized(_) => {
            format!("MCP server {name} wants a sign-in: the link is in sys.mcp.list (`mcp status`)")
        }
        failure => format!("MCP server {name}: {}", short(&failure.to_string())),
    };
    Error { retryable: failure.is_passing().then_some(true), ..Error::new(500, message) }
}

/// The user that is meant: oneself, or for root anybody.
fn whose(caller: &Caller, uid: Option<Uid>, what: &str) -> Result<Uid, Error> {
    match uid {
        Some(uid) if uid != caller.uid() && !caller.is_root() => {
            Err(Error::forbidden(format!("Permission denied: cannot {what} for another user")))
        }
        uid => Ok(uid.unwrap_or(caller.uid())),
    }
}
