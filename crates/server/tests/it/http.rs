//! Tests of the plain HTTP routes, and of who may open a WebSocket.

use base64::Engine;
use testkit::Gateway;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

async fn raw(gateway: &Gateway, request: &str) -> String {
    let mut stream = TcpStream::connect(gateway.address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut out = Vec::new();
    let mut part = [0; 4096];
    loop {
        let count = stream.read(&mut part).await.unwrap();
        out.extend_from_slice(&part[..count]);
        let text = String::from_utf8_lossy(&out);
        if count == 0 || text.starts_with("HTTP/1.1 101") {
            return text.into_owned();
        }
    }
}

async fn get(gateway: &Gateway, path: &str, headers: &str) -> String {
    raw(gateway, &format!("GET {path} HTTP/1.1\r\nHost: gsv.test\r\nConnection: close\r\n{headers}\r\n"))
        .await
}

fn upgrade(headers: &str) -> String {
    format!(
        "GET /ws HTTP/1.1\r\nX-Forwarded-For: 10.0.0.9\r\nHost: gsv.test:8787\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{headers}\r\n"
    )
}

#[tokio::test]
async fn health_home_and_unknown_pages() {
    let gateway = Gateway::fresh().await;
    let health = get(&gateway, "/health", "").await;
    assert!(health.starts_with("HTTP/1.1 200") && health.ends_with(r#"{"status":"healthy"}"#), "{health}");
    assert!(get(&gateway, "/", "").await.contains("gsv auth setup"));
    let mut gateway = gateway;
    gateway.setup().await;
    assert!(get(&gateway, "/", "").await.contains("gsv device run"));
    for path in ["/nope", "/ws", "/ws/"] {
        let answer = get(&gateway, path, "").await;
        assert!(answer.starts_with("HTTP/1.1 404") && answer.ends_with("Not Found"), "{path}: {answer}");
    }
}

#[tokio::test]
async fn sockets_are_opened_by_programs_and_by_pages_of_this_host_only() {
    let gateway = Gateway::fresh().await;
    let answer = raw(&gateway, &upgrade("")).await;
    assert!(answer.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), "{answer}");
    for good in ["Origin: http://gsv.test:8787\r\n", "Origin: https://gsv.test:8787\r\n"] {
        assert!(raw(&gateway, &upgrade(good)).await.starts_with("HTTP/1.1 101"), "{good}");
    }
    for bad in ["http://evil.test", "http://gsv.test", "null", "http://gsv.test:8787.evil.test"] {
        let request = upgrade(&format!("Origin: {bad}\r\n"))
            .replace("Connection: Upgrade", "Connection: Upgrade, close");
        assert!(raw_once(&gateway, &request).await.starts_with("HTTP/1.1 403"), "{bad}");
    }
}

#[tokio::test]
async fn a_page_whose_name_was_made_to_point_here_is_refused() {
    let gateway = Gateway::fresh().await;
    for (host, status) in
        [("evil.test:8787", "403"), ("localhost:8787", "101"), ("127.0.0.1:8787", "101"), ("[::1]:1", "101")]
    {
        let request = upgrade(&format!("Origin: http://{host}\r\n"))
            .replace("gsv.test:8787", host)
            .replace("X-Forwarded-For: 10.0.0.9\r\n", "");
        let answer = raw_once(&gateway, &request).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{host}: {answer}");
    }
}

async fn raw_once(gateway: &Gateway, request: &str) -> String {
    let mut stream = TcpStream::connect(gateway.address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut part = [0; 4096];
    let count = stream.read(&mut part).await.unwrap();
    String::from_utf8_lossy(&part[..count]).into_owned()
}

#[tokio::test]
async fn metrics_are_for_this_machine_or_for_root() {
    let gateway = Gateway::set_up().await;
    let mut user = gateway.user().await;
    user.call("sys.device.list", serde_json::json!({})).await.unwrap();
    user.call("sys.no.such", serde_json::json!({})).await.unwrap_err();
    assert!(get(&gateway, "/metrics", "").await.starts_with("HTTP/1.1 403"), "under a foreign name");
    let own = "GET /metrics HTTP/1.1\r\nHost: localhost:8787\r\nConnection: close\r\n\r\n";
    let page = raw(&gateway, own).await;
    for line in [
        "gsv_connections{role=\"user\"} 1",
        "gsv_calls_total{call=\"sys.device.list\",outcome=\"ok\"} 1",
        "gsv_calls_total{call=\"unknown\",outcome=\"403\"} 1",
        "gsv_call_seconds_count{call=\"sys.device.list\"} 1",
        "gsv_routes 0",
        "gsv_store_",
    ] {
        assert!(page.contains(line), "{line} is not in {page}");
    }
    let proxied = "X-Forwarded-For: 10.0.0.1\r\n";
    assert!(get(&gateway, "/metrics", proxied).await.starts_with("HTTP/1.1 403"));
    let mut tokens = Vec::new();
    for mut peer in [gateway.root().await, user] {
        let made = peer.call("sys.token.create", serde_json::json!({ "kind": "user" })).await.unwrap();
        tokens.push(made["token"]["token"].as_str().unwrap().to_string());
    }
    let with = |token: &str| format!("{proxied}Authorization: Bearer {token}\r\n");
    assert!(get(&gateway, "/metrics", &with(&tokens[0])).await.starts_with("HTTP/1.1 200"));
    assert!(get(&gateway, "/metrics", &with(&tokens[1])).await.starts_with("HTTP/1.1 403"));
    // With a name and a password, or with a token in the place of the password.
    let basic = |name: &str, secret: &str| {
        let text = base64::engine::general_purpose::STANDARD.encode(format!("{name}:{secret}"));
        format!("{proxied}Authorization: Basic {text}\r\n")
    };
    for secret in [testkit::gateway::ROOT_PASSWORD, &tokens[0]] {
        assert!(get(&gateway, "/metrics", &basic("root", secret)).await.starts_with("HTTP/1.1 200"));
    }
    let own = basic(testkit::gateway::USER, testkit::gateway::PASSWORD);
    assert!(get(&gateway, "/metrics", &own).await.starts_with("HTTP/1.1 403"));
    let stolen = get(&gateway, "/metrics", &basic(testkit::gateway::USER, &tokens[0])).await;
    assert!(stolen.starts_with("HTTP/1.1 401"), "{stolen}");
    // Wrong ones are counted as those of `sys.connect` are.
    for n in 0..10 {
        let refused = get(&gateway, "/metrics", &with("gsv_user_wrong")).await;
        assert!(refused.starts_with("HTTP/1.1 401") && refused.contains("Bearer"), "{n}: {refused}");
    }
    assert!(get(&gateway, "/metrics", &with("gsv_user_wrong")).await.starts_with("HTTP/1.1 429"));
    assert!(get(&gateway, "/metrics", &with(&tokens[0])).await.starts_with("HTTP/1.1 200"));
}
