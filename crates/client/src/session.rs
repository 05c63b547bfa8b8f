//! Reconnecting client: a logged-in connection that remembers how it was made, so that it can be made again.

use base::limits;
use protocol::frame;
use protocol::spec::Syscall;
use protocol::sys::{Connect, Connected, ResumeStatus, Streams};

use crate::{Connection, Error, Signals};

/// A logged-in connection.
pub struct Session {
    /// The socket of the moment.
    pub connection: Connection,
    /// The gateway.
    pub url: String,
    handshake: Connect,
}

/// An answer, typed and as it came.
pub struct Answer<T> {
    /// The JSON text.
    pub raw: String,
    /// What it says.
    pub value: T,
}

impl Session {
    /// Connects and says who is there.
    pub async fn open(url: &str, handshake: Connect) -> Result<Session, Error> {
        let (connection, _events) = Connection::open(url).await?;
        connection.connect(&handshake).await?;
        Ok(Session { connection, url: url.to_string(), handshake })
    }

    /// Who is logged in.
    pub fn username(&self) -> &str {
        self.handshake.auth.as_ref().map_or("", |auth| &auth.username)
    }

    /// Connects again as before, after the connection was lost.
    pub async fn reconnect(&mut self) -> Result<(), Error> {
        let (connection, _events) = Connection::open(&self.url).await?;
        connection.connect(&self.handshake).await?;
        self.connection = connection;
        Ok(())
    }

    /// Connects again as before and listens: what came since `signals` was read last comes first, or the status says
    /// that it is forgotten.
    pub async fn listen(&mut self, signals: &mut Signals) -> Result<(Connected, ResumeStatus), Error> {
        let (connection, _events) = Connection::open(&self.url).await?;
        signals.attach(&connection);
        let wanted = Connect {
            resume: Some(signals.resume()),
            streams: Some(Streams::Compact),
            ..self.handshake.clone()
        };
        let connected = connection.connect(&wanted).await?;
        let status = signals.resumed(&connected);
        self.connection = connection;
        Ok((connected, status))
    }

    /// A typed call on the gateway itself.
    pub async fn call<S: Syscall>(&self, args: &S) -> Result<Answer<S::Result>, Error> {
        let name = S::SPEC.name;
        let raw = self.connection.call_raw(name, &frame::to_json(args), limits::client::CALL_TIMEOUT).await?;
        let value = serde_json::from_str(&raw)
            .map_err(|why| Error::Decode { call: name.to_string(), why: why.to_string() })?;
        Ok(Answer { raw, value })
    }
}
