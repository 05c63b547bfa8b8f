//! Repository of MCP servers: whose each is, how it is reached, what it is signed in with, and a fingerprint of every
//! tool it has told of. Headers and sign-in links are encrypted, each bound to the server it belongs to.

mod tools;

use std::collections::BTreeMap;

use protocol::ids::Uid;
use protocol::sys::mcp::TransportType;

pub use tools::SeenTool;

use crate::sql::{Batch, Row, Statement, unexpected};
use crate::{Error, Result, Store, Written};

/// An MCP server of a user.
#[derive(Clone, PartialEq)]
pub struct ServerRow {
    pub server_id: String,
    /// Whose it is.
    pub uid: Uid,
    /// The name that its user gave it.
    pub name: String,
    pub url: String,
    pub transport: TransportType,
    /// Sent with every request; they may be secrets.
    pub headers: BTreeMap<String, String>,
    /// The origin a sign-in comes back to, where its user has said one.
    pub callback_host: Option<String>,
    /// Where the person signs in, while that is needed.
    pub sign_in: Option<SignIn>,
    /// What an authorization server knows us as.
    pub client: Option<Client>,
    /// In milliseconds.
    pub created_at: i64,
    /// When it last changed, in milliseconds.
    pub updated_at: i64,
}

/// A sign-in that waits for a person.
#[derive(Clone, PartialEq, Eq)]
pub struct SignIn {
    /// For the person to open.
    pub url: String,
    /// Until when that works, in milliseconds.
    pub expires_at: i64,
}

/// A client that was registered at an authorization server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// Whose it is: it is never shown to another one.
    pub issuer: String,
    /// The redirect URI it was registered with.
    pub redirect_uri: String,
    pub client_id: String,
}

/// MCP servers. See [`Store::mcp`].
#[derive(Clone, Copy)]
pub struct Mcp<'a>(pub(crate) &'a Store);

impl Store {
    /// MCP servers.
    pub fn mcp(&self) -> Mcp<'_> {
        Mcp(self)
    }
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT server_id, uid, name, url, transport, headers, callback_host, auth_url, auth_expires_at, \
             client_issuer, client_redirect, client_id, created_at, updated_at FROM mcp_servers ",
            $rest
        )
    };
}

impl Mcp<'_> {
    /// Keeps a new server. False, keeping nothing, when its user has `most` already, or one of that name and URL.
    pub async fn add(self, server: &ServerRow, most: usize) -> Result<bool> {
        let headers = match server.headers.is_empty() {
            true => None,
            false => {
                let json = serde_json::to_string(&server.headers)
                    .map_err(|error| Error::Failed(format!("the headers cannot be written: {error}")))?;
                Some(self.0.secrets().seal(&record(&server.server_id, "headers"), &json)?)
            }
        };
        let add = Statement::new(
            "INSERT INTO mcp_servers (server_id, uid, name, url, transport, headers, callback_host, created_at, \
             updated_at) SELECT $1, $2, $3, $4, $5, $6, $7, $8, $8 \
             WHERE (SELECT COUNT(*) FROM mcp_servers WHERE uid = $2) < $9 ON CONFLICT DO NOTHING RETURNING server_id",
        );
        let add = add
            .bind(server.server_id.as_str())
            .bind(server.uid)
            .bind(server.name.as_str())
            .bind(server.url.as_str())
            .bind(transport_text(server.transport))
            .bind(headers)
            .bind(server.callback_host.clone())
            .bind(server.created_at)
            .bind(i64::try_from(most).unwrap_or(i64::MAX));
        Ok(!self.0.change(add).await?.is_empty())
    }

    /// One server, by its id.
    pub async fn find(self, server_id: &str) -> Result<Option<ServerRow>> {
        let find = Statement::new(select!("WHERE server_id = $1")).bind(server_id);
        self.0.read(find).await?.pop().map(|row| self.server_from(row)).transpose()
    }

    /// The server of a user with that name and URL.
    pub async fn named(self, uid: Uid, name: &str, url: &str) -> Result<Option<ServerRow>> {
        let find = Statement::new(select!("WHERE uid = $1 AND name = $2 AND url = $3"));
        let rows = self.0.read(find.bind(uid).bind(name).bind(url)).await?;
        rows.into_iter().next().map(|row| self.server_from(row)).transpose()
    }

    /// The servers of a user, in the order they were connected.
    pub async fn of(self, uid: Uid) -> Result<Vec<ServerRow>> {
        let find = Statement::new(select!("WHERE uid = $1 ORDER BY created_at, server_id")).bind(uid);
        self.0.read(find).await?.into_iter().map(|row| self.server_from(row)).collect()
    }

    /// The ids of all servers that wait for nobody's sign-in, in the order they were connected.
    pub async fn connectable(self) -> Result<Vec<String>> {
        let find = Statement::new(
            "SELECT server_id FROM mcp_servers WHERE auth_url IS NULL ORDER BY created_at, server_id",
        );
        self.0.read(find).await?.into_iter().map(|mut row| row.text()).collect()
    }

    /// Forgets a server of a user with its tools and the account it was signed in with. False when there is none. One
    /// transaction.
    pub async fn remove(self, server_id: &str, uid: Uid) -> Result<bool> {
        let of = |sql| Statement::new(sql).bind(server_id).bind(uid);
        let batch = Batch::new()
            .guard(of("DELETE FROM mcp_servers WHERE server_id = $1 AND uid = $2 RETURNING server_id"))
            .step(Statement::new("DELETE FROM mcp_tools WHERE server_id = $1").bind(server_id))
            .step(of("DELETE FROM oauth_flows WHERE kind = 'mcp-server' AND provider = $1 AND uid = $2"))
            .step(of("DELETE FROM oauth_accounts WHERE kind = 'mcp-server' AND provider = $1 AND uid = $2"));
        Ok(matches!(self.0.write(batch).await?, Written::Done(_)))
    }

    /// Notes that a server waits for a sign-in, or waits no more. False when it is not there any more.
    pub async fn set_sign_in(self, server_id: &str, sign_in: Option<&SignIn>, now_ms: i64) -> Result<bool> {
        let sealed =
            sign_in.map(|sign_in| self.0.secrets().seal(&record(server_id, "auth_url"), &sign_in.url));
        let set = Statement::new(
            "UPDATE mcp_servers SET auth_url = $2, auth_expires_at = $3, updated_at = $4 WHERE server_id = $1 \
             RETURNING server_id",
        );
        let set = set
            .bind(server_id)
            .bind(sealed.transpose()?)
            .bind(sign_in.map(|sign_in| sign_in.expires_at))
            .bind(now_ms);
        Ok(!self.0.change(set).await?.is_empty())
    }

    /// Notes what an authorization server knows us as.
    pub async fn set_client(self, server_id: &str, client: &Client) -> Result<()> {
        let set = Statement::new(
            "UPDATE mcp_servers SET client_issuer = $2, client_redirect = $3, client_id = $4 WHERE server_id = $1",
        );
        let set = set
            .bind(server_id)
            .bind(client.issuer.as_str())
            .bind(client.redirect_uri.as_str())
            .bind(client.client_id.as_str());
        self.0.change(set).await.map(|_| ())
    }

    fn server_from(self, mut row: Row) -> Result<ServerRow> {
        let server_id = row.text()?;
        let (uid, name, url, transport) = (row.uid()?, row.text()?, row.text()?, row.text()?);
        let open = |what: &str, sealed: &str| self.0.secrets().open(&record(&server_id, what), sealed);
        let headers = match row.text_or_null()? {
            None => BTreeMap::new(),
            Some(sealed) => {
                let json = open("headers", &sealed)?;
                serde_json::from_str(&json).map_err(|_| unexpected("headers", "something else"))?
            }
        };
        let callback_host = row.text_or_null()?;
        let auth_url = row.text_or_null()?.map(|sealed| open("auth_url", &sealed)).transpose()?;
        let expires_at = row.int_or_null()?;
        let client = match (row.text_or_null()?, row.text_or_null()?, row.text_or_null()?) {
            (Some(issuer), Some(redirect_uri), Some(client_id)) => {
                Some(Client { issuer, redirect_uri, client_id })
            }
            _ => None,
        };
        Ok(ServerRow {
            uid,
            name,
            url,
            transport: transport_from(&transport)?,
            headers,
            callback_host,
            sign_in: auth_url.map(|url| SignIn { url, expires_at: expires_at.unwrap_or_default() }),
            client,
            created_at: row.int()?,
            updated_at: row.int()?,
            server_id,
        })
    }
}

/// What a sealed text of a server is.
fn record(server_id: &str, what: &str) -> String {
    format!("mcp_servers:{server_id}:{what}")
}

fn transport_text(transport: TransportType) -> &'static str {
    match transport {
        TransportType::Auto => "auto",
        TransportType::StreamableHttp => "streamable-http",
        TransportType::Sse => "sse",
    }
}

fn transport_from(text: &str) -> Result<TransportType> {
    match text {
        "auto" => Ok(TransportType::Auto),
        "streamable-http" => Ok(TransportType::StreamableHttp),
        "sse" => Ok(TransportType::Sse),
        other => Err(unexpected("a transport", other)),
    }
}
