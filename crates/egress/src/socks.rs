//! SOCKS 5 server (RFC 1928, 1929) that opens TCP connections to names and does nothing else: no UDP, no listening, no
//! addresses. The password, where there is one, is the token of the call.

use std::io;
use std::sync::Arc;

use base::limits::egress::HEAD_TIMEOUT;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::environment::is_token;
use crate::gate::{Gate, Wish};
use crate::log::Outcome;
use crate::relay;

const VERSION: u8 = 5;
/// Methods of authentication.
const NO_AUTHENTICATION: u8 = 0;
const PASSWORD: u8 = 2;
const NO_METHOD: u8 = 0xff;
/// The only command there is.
const CONNECT: u8 = 1;

/// Why there is no connection, as the wire says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reply {
    Succeeded = 0,
    NotAllowed = 2,
    HostUnreachable = 4,
    CommandNotSupported = 7,
    AddressNotSupported = 8,
}

/// What a client asks for.
#[derive(Debug, PartialEq, Eq)]
struct Asked {
    command: u8,
    /// A name; an address in its usual spelling.
    host: String,
    port: u16,
    token: Option<String>,
}

/// Serves one connection.
pub(crate) async fn serve(mut client: TcpStream, gate: Arc<Gate>) {
    let opened = async {
        let asked =
            gate.clock.timeout(HEAD_TIMEOUT, handshake(&mut client)).await.map_err(io::Error::other)??;
        let (reply, server) = match asked {
            Some(asked) => open(&gate, &asked).await,
            None => (Reply::AddressNotSupported, None),
        };
        // Version, reply, reserved, and where the connection comes from, which nobody needs to know.
        client.write_all(&[VERSION, reply as u8, 0, 1, 0, 0, 0, 0, 0, 0]).await?;
        io::Result::Ok(server)
    };
    match opened.await {
        Ok(Some(server)) => relay::splice(client, server, &[], &gate.meter, &gate.clock).await,
        Ok(None) => relay::finish(client, &gate.clock).await,
        Err(error) => tracing::debug!(%error, "a SOCKS connection broke off"),
    }
}

async fn open(gate: &Gate, asked: &Asked) -> (Reply, Option<TcpStream>) {
    if asked.command != CONNECT {
        return (Reply::CommandNotSupported, None);
    }
    let wish = Wish { host: &asked.host, port: asked.port, token: asked.token.as_deref() };
    match gate.open(wish).await {
        Ok(server) => (Reply::Succeeded, Some(server)),
        Err(Outcome::Refused(_)) => (Reply::NotAllowed, None),
        Err(_) => (Reply::HostUnreachable, None),
    }
}

/// Greets, and reads what is asked for; `None` when that has an unknown kind of address.
async fn handshake(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> io::Result<Option<Asked>> {
    let token = greet(stream).await?;
    let mut head = [0; 4];
    stream.read_exact(&mut head).await?;
    let [version, command, reserved, kind] = head;
    if version != VERSION || reserved != 0 {
        return Err(wrong("this is no SOCKS 5 request"));
    }
    let host = match kind {
        1 => {
            let mut address = [0; 4];
            stream.read_exact(&mut address).await?;
            std::net::Ipv4Addr::from(address).to_string()
        }
        3 => {
            let name = short(stream).await?;
            String::from_utf8(name).unwrap_or_else(|bad| bad.as_bytes().escape_ascii().to_string())
        }
        4 => {
            let mut address = [0; 16];
            stream.read_exact(&mut address).await?;
            std::net::Ipv6Addr::from(address).to_string()
        }
        _ => return Ok(None),
    };
    Ok(Some(Asked { command, host, port: stream.read_u16().await?, token }))
}

/// Agrees on a method and takes the token. Everybody who gets here may ask: the list decides, not the token.
async fn greet(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> io::Result<Option<String>> {
    if stream.read_u8().await? != VERSION {
        return Err(wrong("this is not SOCKS 5"));
    }
    let methods = short(stream).await?;
    if methods.contains(&PASSWORD) {
        stream.write_all(&[VERSION, PASSWORD]).await?;
        if stream.read_u8().await? != 1 {
            return Err(wrong("an unknown version of the password's negotiation"));
        }
        short(stream).await?;
        let password = short(stream).await?;
        stream.write_all(&[1, 0]).await?;
        return Ok(String::from_utf8(password).ok().filter(|text| is_token(text)));
    }
    let method = if methods.contains(&NO_AUTHENTICATION) { NO_AUTHENTICATION } else { NO_METHOD };
    stream.write_all(&[VERSION, method]).await?;
    if method == NO_METHOD { Err(wrong("no method of authentication in common")) } else { Ok(None) }
}

/// Bytes with their number before them.
async fn short(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::from(stream.read_u8().await?)];
    stream.read_exact(&mut bytes).await?;
    Ok(bytes)
}

fn wrong(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(bytes: &[u8]) -> io::Result<Option<Asked>> {
        let runtime = tokio::runtime::Builder::new_current_thread().build()?;
        runtime.block_on(handshake(&mut tokio::io::join(bytes, Vec::new())))
    }

    #[test]
    fn names_addresses_and_tokens_are_read() {
        let plain = [&[5, 1, 0, 5, 1, 0, 3, 9][..], b"a.example", &[1, 187]].concat();
        let asked = Asked { command: 1, host: "a.example".into(), port: 443, token: None };
        assert_eq!(read(&plain).unwrap(), Some(asked));
        let known =
            [&[5, 2, 0, 2, 1, 3][..], b"gsv", &[2], b"t1", &[5, 3, 0, 1, 127, 0, 0, 1, 0, 53]].concat();
        let asked = Asked { command: 3, host: "127.0.0.1".into(), port: 53, token: Some("t1".into()) };
        assert_eq!(read(&known).unwrap(), Some(asked));
        let sixth = [&[5, 1, 0, 5, 1, 0, 4][..], &[0; 15], &[1, 0, 80]].concat();
        assert_eq!(read(&sixth).unwrap().map(|asked| asked.host).as_deref(), Some("::1"));
        assert_eq!(read(&[5, 1, 0, 5, 1, 0, 9, 0]).unwrap(), None);
    }

    #[test]
    fn other_versions_and_halves_are_refused() {
        for bytes in [
            &[4, 1, 0][..],
            &[5, 1, 1],
            &[5, 0],
            &[5, 1, 0, 4, 1, 0, 1],
            &[5, 1, 0, 5, 1, 0, 3, 9, b'a'],
            &[],
        ] {
            assert!(read(bytes).is_err(), "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_harm(mut bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            if let [first, ..] = bytes.as_mut_slice() {
                *first = VERSION;
            }
            if let Ok(Some(asked)) = read(&bytes) {
                prop_assert!(asked.host.len() <= 4 * 255);
            }
        }
    }
}
