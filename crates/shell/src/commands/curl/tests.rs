//! `curl` and `wget` against a server on this machine.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::order::KNOWN;
use super::perform;
use crate::commands::Done;
use crate::commands::options::Options;
use crate::commands::stage::{Stage, text};

/// A server that remembers what it was asked.
struct Server {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    async fn start(answer: impl Fn(&str) -> String + Send + Sync + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let kept = asked.clone();
        let answer = Arc::new(answer);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (kept, answer) = (kept.clone(), answer.clone());
                tokio::spawn(async move { serve(stream, &kept, &*answer).await });
            }
        });
        Server { address, asked }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    fn last(&self) -> String {
        self.asked().pop().unwrap()
    }
}

async fn serve(
    mut stream: TcpStream,
    kept: &Mutex<Vec<String>>,
    answer: &(dyn Fn(&str) -> String + Send + Sync),
) {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4_096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                kept.lock().unwrap().push(text.clone());
                let reply = answer(&text);
                stream.write_all(reply.as_bytes()).await.unwrap();
                return;
            }
        }
        match stream.read(&mut chunk).await {
            Ok(0) | Err(_) => return,
            Ok(count) => bytes.extend_from_slice(&chunk[..count]),
        }
    }
}

fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

fn to(status: u16, location: &str) -> String {
    format!("HTTP/1.1 {status} Elsewhere\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n")
}

/// A stage on which private addresses may be reached.
async fn open_stage() -> Stage {
    let mut stage = Stage::new().await;
    stage.settings.network_private = true;
    stage
}

#[tokio::test]
async fn a_page_is_printed_or_written_to_a_file() {
    let (stage, server) = (open_stage().await, Server::start(|_| ok("hello\n")).await);
    let url = server.url("/dir/page.txt?q=1");
    assert_eq!(stage.prints(&["curl", "-s", &url]).await, "hello\n");
    let asked = server.last();
    assert!(asked.starts_with("GET /dir/page.txt?q=1 HTTP/1.1\r\n"), "{asked}");
    assert!(asked.contains(&format!("Host: {}\r\n", server.address)), "{asked}");
    assert_eq!(stage.prints(&["curl", "-so", "out", &url]).await, "");
    assert_eq!(stage.text("/home/alice/out").await, "hello\n");
    stage.prints(&["curl", "-sO", &url]).await;
    assert_eq!(stage.text("/home/alice/page.txt").await, "hello\n");
    let head = stage.prints(&["curl", "-si", &url]).await;
    assert_eq!(head, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\n\r\nhello\n");
    let format = "%{http_code} %{size_download} %{content_type} %{url_effective}\\n";
    let said = stage.prints(&["curl", "-s", "-o", "/dev/null", "-w", format, &url]).await;
    assert_eq!(said, format!("200 6 text/plain {url}\n"));
    let refused = stage.fails(&["curl", "-s", "-o", "/etc/x", &url]).await;
    assert_eq!(refused, (23, "curl: (23) Failed to write /etc/x: Permission denied\n".to_string()));
    assert_eq!(stage.fails(&["curl", "-sO", &server.url("/")]).await.0, 23);
    assert_eq!(stage.prints(&["curl", "-s", &url, &url]).await, "hello\nhello\n");
}

#[tokio::test]
async fn what_is_sent_is_what_was_asked_for() {
    let (mut stage, server) = (open_stage().await, Server::start(|_| ok("")).await);
    let url = server.url("/");
    stage.write("alice", "~/body", "a\nb\n", 0o600).await;
    stage.prints(&["curl", "-s", "-d", "x=1", "-d", "@body", &url]).await;
    let sent = server.last();
    assert!(sent.starts_with("POST / ") && sent.ends_with("\r\n\r\nx=1&ab"), "{sent}");
    assert!(sent.contains("Content-Type: application/x-www-form-urlencoded\r\n"), "{sent}");
    stage.prints(&["curl", "-s", "--data-binary", "@body", "-H", "Content-Type: text/x", &url]).await;
    let sent = server.last();
    assert!(sent.ends_with("\r\n\r\na\nb\n") && sent.contains("Content-Type: text/x\r\n"), "{sent}");
    stage.stdin = br#"{"a":1}"#.to_vec();
    stage.prints(&["curl", "-s", "-X", "PATCH", "--json", "@-", &url]).await;
    let sent = server.last();
    assert!(sent.starts_with("PATCH / ") && sent.ends_with(r#"{"a":1}"#), "{sent}");
    assert!(
        sent.contains("Accept: application/json\r\n") && sent.contains("Content-Type: application/json\r\n")
    );
    stage.prints(&["curl", "-sG", "-d", "a=1", "--data-urlencode", "q=x y&z", &server.url("/s?p=0")]).await;
    assert!(server.last().starts_with("GET /s?p=0&a=1&q=x%20y%26z HTTP/1.1\r\n"), "{}", server.last());
    stage.prints(&["curl", "-s", "-u", "me:pw", "-A", "bot", "-b", "k=v", "-H", "Accept:", &url]).await;
    let sent = server.last();
    for line in ["Authorization: Basic bWU6cHc=\r\n", "User-Agent: bot\r\n", "Cookie: k=v\r\n"] {
        assert!(sent.contains(line), "{sent}");
    }
    assert!(!sent.contains("Accept:"), "{sent}");
    stage.prints(&["curl", "-s", "-T", "body", &url]).await;
    assert!(server.last().starts_with("PUT / ") && server.last().ends_with("a\nb\n"));
    assert_eq!(stage.fails(&["curl", "-d", "@/home/bob/x", &url]).await.0, 26);
    assert_eq!(stage.fails(&["curl", "-s", "-H", "Bad\r\nX: y", &url]).await.0, 2);
}

#[tokio::test]
async fn redirects_are_followed_when_asked_and_forget_secrets_elsewhere() {
    let stage = open_stage().await;
    let there = Server::start(|_| ok("there")).await;
    let away = there.url("/end");
    let here = Server::start(move |asked| match asked.split(' ').nth(1) {
        Some("/near") => to(302, "/page"),
        Some("/far") => to(301, &away),
        Some("/kept") => to(307, "/page"),
        Some("/loop") => to(302, "/loop"),
        Some("/odd") => to(302, "ftp://example.com/"),
        _ => ok("page"),
    })
    .await;
    assert_eq!(stage.prints(&["curl", "-s", &here.url("/near")]).await, "");
    assert_eq!(stage.prints(&["curl", "-sL", &here.url("/near")]).await, "page");
    assert_eq!(stage.prints(&["curl", "-sL", "-u", "a:b", "-d", "x", &here.url("/near")]).await, "page");
    assert!(
        here.last().starts_with("GET /page ") && here.last().contains("Authorization: "),
        "{}",
        here.last()
    );
    let secrets = ["-u", "a:b", "-b", "k=v", "-H", "Authorization: Bearer t", "-H", "X-Plain: 1"];
    let far = here.url("/far");
    let line: Vec<&str> = ["curl", "-sL"].into_iter().chain(secrets).chain([far.as_str()]).collect();
    assert_eq!(stage.prints(&line).await, "there");
    assert!(here.last().contains("Authorization: Bearer t\r\n") && here.last().contains("Cookie: k=v"));
    let far = there.last();
    assert!(!far.contains("Authorization") && !far.contains("Cookie") && far.contains("X-Plain: 1"), "{far}");
    assert_eq!(stage.prints(&["curl", "-sL", "-d", "x", &here.url("/kept")]).await, "page");
    assert!(here.last().starts_with("POST /page ") && here.last().ends_with("x"), "{}", here.last());
    assert_eq!(stage.fails(&["curl", "-sL", "--max-redirs", "3", &here.url("/loop")]).await.0, 47);
    assert_eq!(stage.fails(&["curl", "-sL", &here.url("/odd")]).await.0, 1);
    let last = stage.prints(&["curl", "-sL", "-w", " %{num_redirects}", &here.url("/near")]).await;
    assert_eq!(last, "page 1");
}

#[tokio::test]
async fn errors_have_the_exit_codes_of_curl() {
    let (stage, server) = (
        open_stage().await,
        Server::start(|asked| match asked.split(' ').nth(1) {
            Some("/404") => "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\ngone".to_string(),
            Some("/cut") => "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf".to_string(),
            _ => String::new(),
        })
        .await,
    );
    assert_eq!(stage.prints(&["curl", "-s", &server.url("/404")]).await, "gone");
    let failed = stage.run("alice", &["curl", "-sf", &server.url("/404")]).await;
    assert_eq!((failed.code, text(&failed.stdout), text(&failed.stderr)), (22, String::new(), String::new()));
    let said = stage.fails(&["curl", "-sSf", &server.url("/404")]).await;
    assert_eq!(said, (22, "curl: (22) The requested URL returned error: 404\n".to_string()));
    assert!([18, 52, 56].contains(&stage.fails(&["curl", "-s", &server.url("/cut")]).await.0));
    assert!([52, 56].contains(&stage.fails(&["curl", "-s", &server.url("/empty")]).await.0));
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let nobody = stage.fails(&["curl", &format!("http://{closed}/")]).await;
    assert!(
        nobody.0 == 7 && nobody.1.starts_with("curl: (7) Failed to connect to 127.0.0.1 port"),
        "{nobody:?}"
    );
    let format =
        stage.run("alice", &["curl", "-s", "-w", "%{http_code}", &format!("http://{closed}/")]).await;
    assert_eq!((format.code, text(&format.stdout)), (7, "000".to_string()));
    assert_eq!(stage.fails(&["curl", "ftp://example.com/"]).await.0, 1);
    assert_eq!(stage.fails(&["curl", "http://"]).await.0, 3);
    assert_eq!(stage.fails(&["curl"]).await, (2, "curl: no URL specified\n".to_string()));
    assert_eq!(stage.fails(&["curl", "-k", "https://x"]).await.0, 2);
    assert_eq!(stage.fails(&["curl", "-F", "a=b", "https://x"]).await.0, 2);
}

#[tokio::test]
async fn a_server_that_says_nothing_is_given_up() {
    let stage = open_stage().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let hold = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut all = Vec::new();
        stream.read_to_end(&mut all).await.unwrap_or_default()
    });
    let (code, said) = stage.fails(&["curl", "-m", "0.2", &url]).await;
    assert_eq!((code, said.as_str()), (28, "curl: (28) Operation timed out after 200 milliseconds\n"));
    // The connection ended with the command: the server sees its end.
    hold.await.unwrap();
}

#[tokio::test]
async fn the_network_can_be_turned_off() {
    let mut stage = open_stage().await;
    stage.settings.network = false;
    let off = "curl: network access is disabled (config/shell/network_enabled)\n".to_string();
    assert_eq!(stage.fails(&["curl", "-s", "http://example.com/"]).await, (7, off));
    assert_eq!(stage.fails(&["wget", "http://example.com/"]).await.0, 4);
}

#[tokio::test]
async fn addresses_that_are_not_public_are_refused_in_every_spelling() {
    let (stage, server) = (Stage::new().await, Server::start(|_| ok("secret")).await);
    let port = server.address.port();
    let hosts = [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0x7f.0.0.1",
        "017700000001",
        "0177.0.0.1",
        "0",
        "0.0.0.0",
        "localhost",
        "LOCALHOST",
        "localhost.",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[64:ff9b::127.0.0.1]",
        "[2002:7f00:1::]",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.0.1",
        "169.254.169.254",
        "100.64.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "[fe80::1]",
        "[fd00::1]",
        "[ff02::1]",
        "１２７.0.0.1",
    ];
    for host in hosts {
        let (code, said) = stage.fails(&["curl", "-s", "-m", "5", &format!("http://{host}:{port}/")]).await;
        // A machine may not know the name `localhost.`; then there is no address to refuse.
        let unknown = code == 6 && host == "localhost.";
        assert!(code == 7 && said.contains("Refused") || unknown, "{host}: {code} {said}");
    }
    assert_eq!(server.asked(), Vec::<String>::new());
    let refused = stage.fails(&["curl", "-s", "http://169.254.169.254/latest"]).await.1;
    assert_eq!(
        refused,
        "curl: (7) Refused: 169.254.169.254 is 169.254.169.254 (link-local; config/shell/network_private)\n"
    );
}

/// As if the one server were on the public internet.
async fn curl_with_public(stage: &Stage, public: SocketAddr, line: &[&str]) -> Done {
    stage
        .with("alice", line, async |cx| {
            let options = Options::parse_words(cx.args, KNOWN).unwrap();
            perform(cx, &options, |usual| outgoing::Settings { exceptions: vec![public], ..usual }).await
        })
        .await
}

#[tokio::test]
async fn a_redirect_does_not_lead_to_a_private_address() {
    let stage = Stage::new().await;
    let inside = Server::start(|_| ok("secret")).await;
    let port = inside.address.port();
    let public = Server::start(move |asked| match asked.split(' ').nth(1) {
        Some("/ip") => to(302, &format!("http://127.0.0.1:{port}/")),
        Some("/name") => to(301, &format!("http://localhost:{port}/")),
        Some("/number") => to(307, &format!("//2130706433:{port}/")),
        Some("/mapped") => to(308, &format!("http://[::ffff:127.0.0.1]:{port}/")),
        Some("/meta") => to(302, "http://169.254.169.254/latest/meta-data/"),
        _ => ok("fine"),
    })
    .await;
    let fine = curl_with_public(&stage, public.address, &["curl", "-sL", &public.url("/")]).await;
    assert_eq!(text(&fine.stdout), "fine");
    for path in ["/ip", "/name", "/number", "/mapped", "/meta"] {
        let done = curl_with_public(&stage, public.address, &["curl", "-sL", &public.url(path)]).await;
        assert_eq!((done.code, text(&done.stdout)), (7, String::new()), "{path}");
        assert!(text(&done.stderr).contains("Refused"), "{path}");
    }
    assert_eq!(inside.asked(), Vec::<String>::new());
}

#[tokio::test]
async fn wget_saves_under_the_name_of_the_url() {
    let server = Server::start(|asked| match asked.split(' ').nth(1) {
        Some("/old") => to(302, "/a/file.bin"),
        Some("/no") => "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n".to_string(),
        _ => ok("data"),
    })
    .await;
    let stage = open_stage().await;
    let done = stage.run("alice", &["wget", &server.url("/a/file.bin?x=/y")]).await;
    assert_eq!((done.code, text(&done.stderr)), (0, "'file.bin' saved\n".to_string()));
    assert_eq!(stage.text("/home/alice/file.bin").await, "data");
    assert_eq!(stage.prints(&["wget", "-q", "-O", "-", &server.url("/old")]).await, "data");
    assert_eq!(stage.prints(&["wget", "-qO", "copy", &server.url("/")]).await, "");
    assert_eq!(stage.text("/home/alice/copy").await, "data");
    stage.prints(&["wget", "-q", &server.url("/")]).await;
    assert_eq!(stage.text("/home/alice/index.html").await, "data");
    assert_eq!(stage.fails(&["wget", &server.url("/no")]).await.0, 8);
}
