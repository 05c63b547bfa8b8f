//! Benchmark of a cold start: from starting the program to its first accepted `sys.connect`, on a data directory that
//! is set up.

use std::fs::File;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use base::clock::Clock;
use serde_json::Value;
use tokio_tungstenite::tungstenite::{self, Message};

use crate::child;
use crate::report::{Bar, Row, Spread};
use crate::stage::Stage;
use crate::wire;

/// Pause between attempts to connect.
const PAUSE: Duration = Duration::from_micros(200);
/// When a start counts as failed.
const LIMIT: Duration = Duration::from_secs(20);

/// The median of several starts; the baseline is the bare echo up to its first echo.
pub(crate) async fn run(stage: &Stage) -> Result<Vec<Row>> {
    let gateway = stage.gateway().await?;
    let login = wire::request("1", "sys.connect", &gateway.login("bench-start"));
    let mut ours = Vec::new();
    let mut theirs = Vec::new();
    for _ in 0..stage.effort.starts {
        let address = free_address()?;
        let mut command = gateway.command(&address.to_string());
        command.stderr(File::create(gateway.log()).context("create a log file")?);
        ours.push(time_start(&mut command, address, &login, "res").context("the gateway")?);
        let address = free_address()?;
        let mut command = stage.bare_command("echo")?;
        command.arg("--listen").arg(address.to_string());
        theirs.push(time_start(&mut command, address, &login, "req").context("the echo")?);
    }
    let (ours, theirs) = (Spread::of(ours), Spread::of(theirs));
    let note = format!(
        "the median of {} starts; the baseline is the bare echo up to its first echo",
        stage.effort.starts
    );
    let row = Row::figure(
        "cold start to the first sys.connect",
        "ms",
        ours.median(),
        Some(theirs.median()),
        Bar::AimAtMost(20.0),
    );
    Ok(vec![row.with_note(note)])
}

/// Milliseconds from starting a server to a frame of the expected type. Plain blocking sockets, because the async
/// runtime's timer is too coarse.
fn time_start(command: &mut Command, address: SocketAddr, request: &str, expected: &str) -> Result<f64> {
    let begin = Clock::system().instant();
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().context("start a server")?;
    let answered = connect(address, begin + LIMIT).and_then(|stream| ask(stream, address, request, expected));
    let elapsed = begin.elapsed();
    let stopped = child::stop(&mut child);
    answered?;
    stopped?;
    Ok(elapsed.as_secs_f64() * 1_000.0)
}

fn connect(address: SocketAddr, deadline: Instant) -> Result<TcpStream> {
    loop {
        match TcpStream::connect(address) {
            Ok(stream) => return Ok(stream),
            Err(error) if Clock::system().instant() > deadline => {
                return Err(error).context("the server never accepted a connection");
            }
            Err(_) => std::thread::sleep(PAUSE),
        }
    }
}

fn ask(stream: TcpStream, address: SocketAddr, request: &str, expected: &str) -> Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(LIMIT))?;
    let (mut socket, _response) = tungstenite::client(format!("ws://{address}/ws"), stream)?;
    socket.send(Message::text(request))?;
    loop {
        let Message::Text(text) = socket.read()? else { continue };
        let frame: Value = serde_json::from_str(&text)?;
        if frame["type"] == "sig" {
            continue;
        }
        if frame["type"] != expected || frame["ok"] == false {
            bail!("not the answer that was asked for: {text}");
        }
        return Ok(());
    }
}

/// A port that was free a moment ago. The program must not pick one itself here: reading it from its output would
/// be part of the time.
fn free_address() -> Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0").context("find a free port")?.local_addr()?)
}
