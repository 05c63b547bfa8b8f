//! A proxy on free ports, with names that only the test knows.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::sync::{Arc, Mutex};

use base::clock::Clock;
use egress::{Allow, Listeners, Outcome, Proxy, Refusal, Settings, Tried};
use outgoing::Resolver;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

/// What a proxy is started with.
pub struct Setup {
    pub allow: String,
    /// The answers to lookups of each name: the first lookup, the second, and so on; the last stays.
    pub answers: HashMap<String, Vec<Vec<IpAddr>>>,
    /// Servers of this machine that count as public.
    pub public: Vec<SocketAddr>,
    /// The port of the transparent proxy on 127.64.0.1; any free one when 0.
    pub transparent_port: u16,
    pub clock: Clock,
}

pub struct World {
    pub proxy: Proxy,
    pub http: SocketAddr,
    pub socks: SocketAddr,
    pub dns_udp: SocketAddr,
    pub dns_tcp: SocketAddr,
    pub transparent: SocketAddr,
    lookups: Arc<Mutex<Vec<String>>>,
    reports: Arc<Mutex<Vec<Tried>>>,
}

impl Setup {
    pub fn new(allow: &str) -> Setup {
        Setup {
            allow: allow.to_string(),
            answers: HashMap::new(),
            public: Vec::new(),
            transparent_port: 0,
            clock: Clock::manual(1_000),
        }
    }

    /// A name, and its addresses at every lookup.
    pub fn host(self, name: &str, addresses: &[&str]) -> Setup {
        self.changing_host(name, &[addresses])
    }

    /// A name whose addresses change from lookup to lookup.
    pub fn changing_host(mut self, name: &str, answers: &[&[&str]]) -> Setup {
        let parsed = |list: &&[&str]| list.iter().map(|text| text.parse().expect("an address")).collect();
        self.answers.insert(name.to_string(), answers.iter().map(parsed).collect());
        self
    }

    /// A server of this machine that counts as public.
    pub fn public(mut self, address: SocketAddr) -> Setup {
        self.public.push(address);
        self
    }

    pub fn start(self) -> World {
        let tcp = |address: &str| listen(address.parse().expect("an address"));
        // Only Linux has all of 127.0.0.0/8; elsewhere nothing uses this one.
        let own = if cfg!(target_os = "linux") { "127.64.0.1" } else { "127.0.0.1" };
        let listeners = Listeners {
            http: tcp("127.0.0.1:0"),
            socks: tcp("127.0.0.1:0"),
            dns_udp: UdpSocket::bind("127.0.0.1:0").expect("a free port"),
            dns_tcp: tcp("127.0.0.1:0"),
            plain: tcp(&format!("{own}:{}", self.transparent_port)),
            tls: tcp("127.0.0.1:0"),
        };
        let of = |listener: &TcpListener| listener.local_addr().expect("an address");
        let (http, socks, dns_tcp) = (of(&listeners.http), of(&listeners.socks), of(&listeners.dns_tcp));
        let dns_udp = listeners.dns_udp.local_addr().expect("an address");
        let transparent = of(&listeners.plain);
        let (lookups, reports) = (Arc::<Mutex<Vec<String>>>::default(), Arc::<Mutex<Vec<Tried>>>::default());
        let (noted, reported) = (lookups.clone(), reports.clone());
        let mut settings = Settings::new(Allow::parse(&self.allow).expect("a list"));
        settings.clock = self.clock.clone();
        settings.report = Box::new(move |tried| reported.lock().expect("not poisoned").push(tried.clone()));
        settings.outgoing.exceptions = self.public;
        let answers = self.answers;
        settings.outgoing.resolver = Resolver::new(move |name| {
            let mut noted = noted.lock().expect("not poisoned");
            let before = noted.iter().filter(|other| **other == name).count();
            let known = answers.get(&name).and_then(|list| list.get(before).or(list.last())).cloned();
            noted.push(name);
            async move { known.ok_or(std::io::Error::other("no such name")) }
        });
        let proxy = Proxy::start(listeners, settings).expect("a proxy");
        World { proxy, http, socks, dns_udp, dns_tcp, transparent, lookups, reports }
    }
}

/// Listens with room for many who wait: a socket whose queue is full lets clients try again after seconds.
fn listen(address: SocketAddr) -> TcpListener {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind(address).expect("a free port");
    let listener = socket.listen(1_024).expect("a listener");
    listener.into_std().expect("a listener")
}

impl World {
    /// The names that were looked up: all that left the machine.
    pub fn lookups(&self) -> Vec<String> {
        self.lookups.lock().expect("not poisoned").clone()
    }

    pub fn reports(&self) -> Vec<Tried> {
        self.reports.lock().expect("not poisoned").clone()
    }

    /// The only attempt that is in the log.
    pub fn only(&self) -> Tried {
        let mut log = self.proxy.log();
        assert_eq!(log.len(), 1, "{log:?}");
        log.remove(0)
    }

    /// What came of the attempts at a host, in their order.
    pub fn outcomes(&self, host: &str) -> Vec<Outcome> {
        let log = self.proxy.log();
        log.into_iter().filter(|tried| tried.host == host).map(|tried| tried.outcome).collect()
    }

    pub fn is_refused(&self, host: &str, refusal: Refusal) -> bool {
        self.outcomes(host) == [Outcome::Refused(refusal)]
    }

    /// Sends a text to the HTTP proxy and reads to the end.
    pub async fn ask(&self, text: &str) -> String {
        exchange(self.http, text.as_bytes()).await
    }

    /// Opens a tunnel; `Err` is the answer of a proxy that does not.
    pub async fn tunnel(&self, target: &str) -> Result<TcpStream, String> {
        let mut stream = TcpStream::connect(self.http).await.expect("the proxy listens");
        let head = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.expect("the proxy reads");
        let mut answer = Vec::new();
        while !answer.windows(4).any(|end| end == b"\r\n\r\n") {
            match stream.read_buf(&mut answer).await {
                Ok(0) | Err(_) => break,
                Ok(_) => {}
            }
        }
        if answer.starts_with(b"HTTP/1.1 200 ") {
            return Ok(stream);
        }
        let mut rest = Vec::new();
        // A reset ends it as well.
        let _ended = stream.read_to_end(&mut rest).await;
        Err(String::from_utf8_lossy(&[answer, rest].concat()).into_owned())
    }
}

/// Sends bytes and reads to the end.
pub async fn exchange(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.expect("somebody listens");
    // A proxy that has heard enough may be gone.
    let _sent = stream.write_all(bytes).await;
    let mut answer = Vec::new();
    let _ended = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

/// Says something and hears it back from a server that echoes.
pub async fn echoes(stream: &mut TcpStream, text: &str) -> bool {
    let mut back = vec![0; text.len()];
    stream.write_all(text.as_bytes()).await.is_ok()
        && stream.read_exact(&mut back).await.is_ok()
        && back == text.as_bytes()
}

/// Waits until somebody waits on the clock, so that moving it means something.
pub async fn until_somebody_waits(clock: &Clock) {
    while clock.next_deadline_in().is_none() {
        tokio::task::yield_now().await;
    }
}
