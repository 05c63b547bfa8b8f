//! Connections: attempts to reach somebody, and servers for those that are allowed.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr as UnixAddress, UnixListener, UnixStream};
use std::time::Duration;

const WAIT: Duration = Duration::from_secs(2);

pub fn tcp(address: &str) -> io::Result<String> {
    let address: SocketAddr = address.parse().expect("an address");
    let mut stream = TcpStream::connect_timeout(&address, WAIT)?;
    stream.set_read_timeout(Some(WAIT))?;
    stream.write_all(b"hello")?;
    let mut answer = [0; 16];
    let read = stream.read(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer[..read]).into_owned())
}

pub fn udp(address: &str) -> io::Result<String> {
    let address: SocketAddr = address.parse().expect("an address");
    let socket = UdpSocket::bind(if address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" })?;
    socket.send_to(b"hello", address).map(|sent| sent.to_string())
}

pub fn unix(path: &str) -> io::Result<String> {
    greet(UnixStream::connect(path)?)
}

pub fn by_abstract_name(name: &str) -> io::Result<String> {
    greet(UnixStream::connect_addr(&UnixAddress::from_abstract_name(name)?)?)
}

fn greet(mut stream: UnixStream) -> io::Result<String> {
    stream.set_read_timeout(Some(WAIT))?;
    stream.write_all(b"hello")?;
    let mut answer = [0; 16];
    let read = stream.read(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer[..read]).into_owned())
}

/// Answers one connection.
pub fn serve(address: &str) -> io::Result<String> {
    let listener = TcpListener::bind(address)?;
    println!("ready");
    let (mut stream, _) = listener.accept()?;
    answer(&mut stream)
}

pub fn serve_unix(path: &str) -> io::Result<String> {
    let listener = UnixListener::bind(path)?;
    println!("ready");
    let (mut stream, _) = listener.accept()?;
    answer(&mut stream)
}

fn answer(stream: &mut (impl Read + Write)) -> io::Result<String> {
    let mut question = [0; 16];
    let read = stream.read(&mut question)?;
    stream.write_all(b"welcome")?;
    Ok(String::from_utf8_lossy(&question[..read]).into_owned())
}
