//! Test fixture: a private PostgreSQL for this test binary, gone when the binary ends in whatever way.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use base::clock::Clock;
use tokio_postgres::{Client, NoTls};

const START_MAX: Duration = Duration::from_secs(60);

const SCRIPT: &str = include_str!("postgres.sh");

struct Cluster {
    port: u16,
    _script: Child,
}

static CLUSTER: LazyLock<Cluster> = LazyLock::new(|| {
    // The thread is needed because a runtime cannot be started inside the test's own.
    std::thread::spawn(start).join().expect("PostgreSQL starts")
});
static DATABASES: AtomicUsize = AtomicUsize::new(0);

/// The URL of a new, empty database.
pub async fn fresh_database() -> String {
    let name = format!("store_{}", DATABASES.fetch_add(1, Ordering::Relaxed));
    let admin = connect(&url("postgres")).await;
    admin.batch_execute(&format!("CREATE DATABASE {name} TEMPLATE template0")).await.unwrap();
    url(&name)
}

/// A connection past the store.
pub async fn connect(url: &str) -> Client {
    try_connect(url).await.unwrap()
}

async fn try_connect(url: &str) -> Result<Client, tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

fn url(database: &str) -> String {
    address(CLUSTER.port, database)
}

fn address(port: u16, database: &str) -> String {
    format!("postgres://postgres@127.0.0.1:{port}/{database}")
}

fn start() -> Cluster {
    let bin = binaries();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for _ in 0..3 {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut script = run_script(&bin, port);
        let mut said = String::new();
        BufReader::new(script.stdout.as_mut().unwrap()).read_line(&mut said).unwrap();
        assert_eq!(said, "started\n", "PostgreSQL's initdb failed; its words are above");
        if runtime.block_on(answers(port, &mut script)) {
            return Cluster { port, _script: script };
        }
    }
    panic!("PostgreSQL was started but does not answer");
}

fn run_script(bin: &std::path::Path, port: u16) -> Child {
    let root =
        std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
    let mut command = if root { Command::new("runuser") } else { Command::new("sh") };
    if root {
        command.args(["-u", "postgres", "--", "sh"]);
    }
    command.args(["-c", SCRIPT, "sh"]).arg(bin).arg(port.to_string());
    // Its own process group, so that Ctrl-C ends the tests and these end the server in order.
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped());
    command.spawn().expect("a shell for PostgreSQL starts")
}

/// False when the server ended instead: somebody else took the port.
async fn answers(port: u16, script: &mut Child) -> bool {
    let started = Clock::system().instant();
    while started.elapsed() < START_MAX && script.try_wait().unwrap().is_none() {
        if try_connect(&address(port, "postgres")).await.is_ok() {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    false
}

/// Where `initdb` and `postgres` are: on the path, or where Debian keeps them, the newest first.
fn binaries() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let mut installed: Vec<(u32, PathBuf)> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .collect();
    installed.sort();
    places.extend(installed.into_iter().rev().map(|(_, place)| place));
    places
        .into_iter()
        .find(|place| place.join("initdb").is_file() && place.join("postgres").is_file())
        .expect(
            "PostgreSQL is not installed (no `initdb` was found), and half of the store's tests need it: \
         run `cargo xtask test`, which installs it",
        )
}
