//! Tests of `sys.oauth.*` over real sockets against a token endpoint on this machine, which speaks the wire format: the
//! whole sign-in, renewal with rotation, and everything a hostile service or stranger can try.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use testkit::fake_model::{self, Turn, chat_reply};
use testkit::{Gateway, Peer, http_get};
use url::Url;

use crate::agents::chat;

/// A service that gives tokens.
#[derive(Clone, Default)]
struct Service(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    /// The challenge that each code was asked with.
    codes: HashMap<String, String>,
    /// The one refresh token that is good.
    refresh: Option<String>,
    issued: u64,
    /// What is answered in place of tokens.
    instead: Option<(u16, String)>,
    expires_in: Value,
    forms: Vec<BTreeMap<String, String>>,
    /// Whether it stops answering until this is dropped.
    held: Option<Arc<tokio::sync::Semaphore>>,
}

impl Service {
    async fn start() -> (Service, String) {
        let service = Service::default();
        service.0.lock().unwrap().expires_in = json!(3600);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let router = axum::Router::new().route("/token", post(token)).with_state(service.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        (service, base)
    }

    fn with<T>(&self, work: impl FnOnce(&mut Inner) -> T) -> T {
        work(&mut self.0.lock().unwrap())
    }
}

async fn token(State(service): State<Service>, request: Request) -> Response {
    let held = service.with(|inner| inner.held.clone());
    if let Some(held) = held {
        let _turn = held.acquire().await;
    }
    let body = axum::body::to_bytes(request.into_body(), 1 << 20).await.unwrap();
    let form: BTreeMap<String, String> = url::form_urlencoded::parse(&body).into_owned().collect();
    service.with(|inner| {
        inner.forms.push(form.clone());
        if let Some((status, text)) = &inner.instead {
            let status = http::StatusCode::from_u16(*status).unwrap();
            return (status, text.clone()).into_response();
        }
        let refused = |error: &str| {
            (http::StatusCode::BAD_REQUEST, json!({ "error": error }).to_string()).into_response()
        };
        match form["grant_type"].as_str() {
            "authorization_code" => {
                let Some(challenge) = inner.codes.remove(&form["code"]) else {
                    return refused("invalid_grant");
                };
                let proof = URL_SAFE_NO_PAD.encode(Sha256::digest(form["code_verifier"].as_bytes()));
                if proof != challenge {
                    return refused("invalid_grant");
                }
            }
            "refresh_token" if inner.refresh.as_ref() == Some(&form["refresh_token"]) => {}
            // A refresh token that was used before ends the whole family, as services with rotation do.
            _ => {
                inner.refresh = None;
                return refused("invalid_grant");
            }
        }
        inner.issued += 1;
        let refresh = format!("refresh-secret-{}", inner.issued);
        inner.refresh = Some(refresh.clone());
        let access = format!("access-secret-{}", inner.issued);
        let tokens = json!({
            "access_token": access, "token_type": "Bearer", "expires_in": inner.expires_in,
            "refresh_token": refresh, "scope": "read",
        });
        tokens.to_string().into_response()
    })
}

fn start_args(base: &str) -> Value {
    json!({
        "kind": "generic", "provider": "example", "label": "Example <b>", "clientId": "client",
        "authorizationEndpoint": format!("{base}/authorize?tenant=1"), "tokenEndpoint": format!("{base}/token"),
        "redirectUri": "http://localhost:8787/oauth/callback", "scope": "read write", "resource": "https://api.example",
    })
}

/// The parameters of the URL that a person is sent to.
fn sent_along(started: &Value) -> HashMap<String, String> {
    let url = Url::parse(started["authorizationUrl"].as_str().unwrap()).unwrap();
    url.query_pairs().into_owned().collect()
}

/// Comes back from the service as a browser does.
async fn come_back(gateway: &Gateway, query: &str) -> (u16, String) {
    let answer = http_get(gateway.address, &format!("/oauth/callback?{query}")).await;
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (status, answer)
}

/// Goes through a whole sign-in; returns the account's id.
async fn sign_in(gateway: &Gateway, user: &mut Peer, service: &Service, args: Value) -> String {
    let started = user.call("sys.oauth.start", args).await.unwrap();
    let along = sent_along(&started);
    service.with(|inner| inner.codes.insert("code-1".into(), along["code_challenge"].clone()));
    let (status, page) = come_back(gateway, &format!("code=code-1&state={}", along["state"])).await;
    assert_eq!(status, 200, "{page}");
    let listed = user.call("sys.oauth.list", json!({})).await.unwrap();
    listed["accounts"][0]["accountId"].as_str().unwrap().to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_signs_in_and_the_tokens_stay_inside() {
    let gateway = Gateway::set_up().await;
    let (service, base) = Service::start().await;
    let mut alice = gateway.user().await;
    let started = alice.call("sys.oauth.start", start_args(&base)).await.unwrap();
    let along = sent_along(&started);
    assert_eq!((along["tenant"].as_str(), along["response_type"].as_str()), ("1", "code"));
    assert_eq!(along["code_challenge_method"], "S256");
    let pending = alice.call("sys.oauth.list", json!({ "includePending": true })).await.unwrap();
    assert_eq!(pending["flows"][0]["flowId"], started["flow"]["flowId"]);

    service.with(|inner| inner.codes.insert("c".into(), along["code_challenge"].clone()));
    let (status, page) = come_back(&gateway, &format!("code=c&state={}", along["state"])).await;
    assert_eq!(status, 200);
    assert!(
        page.contains("OAuth connection complete") && page.contains("Example &lt;b&gt; is connected"),
        "{page}"
    );
    assert!(page.to_ascii_lowercase().contains("cache-control: no-store"), "{page}");
    let form = service.with(|inner| inner.forms[0].clone());
    assert_eq!((form["client_id"].as_str(), form["resource"].as_str()), ("client", "https://api.example"));

    let listed = alice.call("sys.oauth.list", json!({ "includePending": true })).await.unwrap();
    let account = &listed["accounts"][0];
    assert_eq!((&account["scope"], &account["provider"]), (&json!("read"), &json!("example")));
    assert_eq!(listed["flows"], json!([]));
    // Neither what is answered nor what is on disk has a token in clear.
    assert!(!listed.to_string().contains("secret-1"), "{listed}");
    for name in ["gsv.db", "gsv.db-wal"] {
        let bytes = std::fs::read(gateway.data().join(name)).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&bytes).contains("secret-1"), "{name}");
    }
    // The same answer a second time finds nothing.
    let (status, page) = come_back(&gateway, &format!("code=c&state={}", along["state"])).await;
    assert!(status == 400 && page.contains("OAuth flow not found or expired"), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_comes_back_wrong_connects_nothing() {
    let gateway = Gateway::set_up().await;
    let (service, base) = Service::start().await;
    let mut alice = gateway.user().await;
    let says = |query: String| {
        let gateway = &gateway;
        async move {
            let (status, page) = come_back(gateway, &query).await;
            (status, page.split("<p>").nth(1).unwrap_or(&page).split("</p>").next().unwrap().to_string())
        }
    };
    assert_eq!(says("code=x".into()).await, (400, "Missing OAuth state".into()));
    assert_eq!(says("code=x&state=guess".into()).await, (400, "OAuth flow not found or expired".into()));

    let started = alice.call("sys.oauth.start", start_args(&base)).await.unwrap();
    let state = sent_along(&started)["state"].clone();
    assert_eq!(says(format!("state={state}")).await, (400, "Missing OAuth authorization code".into()));
    assert_eq!(says(format!("state={state}&state={state}&code=1")).await.0, 400);
    // A code that the service does not know, bad JSON, no token, its own trouble, a redirect: the flow waits on.
    assert_eq!(
        says(format!("state={state}&code=unknown")).await,
        (502, "OAuth token endpoint returned 400".into())
    );
    for (status, text, says_so) in [
        (200, "no json", "OAuth token endpoint returned invalid JSON"),
        (200, "{}", "OAuth token endpoint did not return an access token"),
        (500, "", "OAuth token endpoint returned 500"),
        (302, "", "OAuth token endpoint returned 302"),
    ] {
        service.with(|inner| inner.instead = Some((status, text.into())));
        assert_eq!(says(format!("state={state}&code=c")).await, (502, says_so.to_string()));
    }
    // Another service's answer in its place, and a refusal: the flow is over.
    service.with(|inner| inner.instead = None);
    let mixed_up = says(format!("state={state}&code=c&iss=https%3A%2F%2Fevil.example")).await;
    assert_eq!(mixed_up.0, 400);
    assert_eq!(says(format!("state={state}&code=c")).await.1, "OAuth flow not found or expired");
    let started = alice.call("sys.oauth.start", start_args(&base)).await.unwrap();
    let state = sent_along(&started)["state"].clone();
    let refused = says(format!("state={state}&error=access_denied&error_description=%3Cno%3E")).await;
    let words = "OAuth provider rejected authorization: access_denied (&lt;no&gt;)";
    assert_eq!(refused, (400, words.to_string()));
    assert_eq!(alice.call("sys.oauth.list", json!({})).await.unwrap()["accounts"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_are_checked_and_others_are_out_of_reach() {
    let gateway = Gateway::set_up().await;
    let (service, base) = Service::start().await;
    let mut alice = gateway.user().await;
    let mut bob = gateway.add_user("bob").await;
    for (field, value) in [
        ("provider", json!(" ")),
        ("provider", json!("x".repeat(201))),
        ("label", json!("a\u{7}b")),
        ("clientId", json!("x".repeat(513))),
        ("tokenEndpoint", json!("http://example.com/token")),
        ("authorizationEndpoint", json!("https://me:pw@example.com/")),
        ("redirectUri", json!("https://gsv.example/elsewhere")),
        ("extraAuthParams", json!({ "State": "mine" })),
        ("extraAuthParams", json!({ "a b": "1" })),
        ("issuer", json!("not a url")),
    ] {
        let mut args = start_args(&base);
        args[field] = value;
        let refused = alice.call("sys.oauth.start", args).await.unwrap_err();
        assert!(refused.code == 400 && refused.message.contains(field), "{refused:?}");
    }
    let mut for_bob = start_args(&base);
    for_bob["uid"] = json!(1001);
    let refused = alice.call("sys.oauth.start", for_bob).await.unwrap_err();
    assert_eq!(refused.pair(), (403, "Permission denied: cannot start OAuth for another user"));

    let id = sign_in(&gateway, &mut alice, &service, start_args(&base)).await;
    assert_eq!(bob.call("sys.oauth.list", json!({})).await.unwrap()["accounts"], json!([]));
    assert_eq!(bob.call("sys.oauth.list", json!({ "uid": 1000 })).await.unwrap_err().code, 403);
    for args in [json!({ "accountId": id }), json!({ "accountId": id, "uid": 1000 })] {
        assert_eq!(bob.call("sys.oauth.forget", args.clone()).await.unwrap()["forgotten"], false);
        assert_eq!(bob.call("sys.oauth.refresh", args).await.unwrap()["account"], Value::Null);
    }
    let mut root = gateway.root().await;
    let all = root.call("sys.oauth.list", json!({})).await.unwrap();
    assert_eq!(all["accounts"][0]["accountId"], json!(id));
    assert_eq!(alice.call("sys.oauth.forget", json!({ "accountId": id })).await.unwrap()["forgotten"], true);
    assert_eq!(alice.call("sys.oauth.forget", json!({ "accountId": id })).await.unwrap()["forgotten"], false);
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_are_renewed_once_however_many_ask() {
    let gateway = Gateway::set_up().await;
    let (service, base) = Service::start().await;
    let mut alice = gateway.user().await;
    let id = sign_in(&gateway, &mut alice, &service, start_args(&base)).await;
    let args = json!({ "accountId": id });

    // Many at once: the service takes each refresh token once, and ends the family when one comes twice.
    let held = Arc::new(tokio::sync::Semaphore::new(0));
    service.with(|inner| inner.held = Some(held.clone()));
    let mut peers = Vec::new();
    for _ in 0..5 {
        let mut peer = gateway.user().await;
        let request = peer.send_call("sys.oauth.refresh", args.clone()).await;
        peers.push((peer, request));
    }
    held.add_permits(1);
    service.with(|inner| inner.held = None);
    for (peer, request) in &mut peers {
        let renewed = peer.answer(request).await.unwrap();
        assert_eq!(renewed["account"]["accountId"], json!(id));
    }
    let forms = service.with(|inner| inner.forms.clone());
    // Whoever came late may have renewed again, but never with a token that was used before.
    let used: Vec<String> = forms.iter().filter_map(|form| form.get("refresh_token").cloned()).collect();
    let expected: Vec<String> = (1..=used.len()).map(|number| format!("refresh-secret-{number}")).collect();
    assert_eq!(used, expected);

    // The next renewal uses the token that came with the last one, also after a restart.
    let gateway = gateway.restart().await;
    let mut alice = gateway.user().await;
    alice.call("sys.oauth.refresh", args.clone()).await.unwrap();
    let last = service.with(|inner| inner.forms.last().cloned().unwrap());
    assert_eq!(last["refresh_token"], format!("refresh-secret-{}", used.len() + 1));

    // A service in trouble is asked again later; one that has revoked the grant is not.
    service.with(|inner| inner.instead = Some((503, String::new())));
    let refused = alice.call("sys.oauth.refresh", args.clone()).await.unwrap_err();
    assert_eq!(refused.code, 503);
    service.with(|inner| (inner.instead, inner.refresh) = (None, None));
    let refused = alice.call("sys.oauth.refresh", args.clone()).await.unwrap_err();
    assert!(refused.code == 409 && refused.message.contains("new sign-in (invalid_grant)"), "{refused:?}");
    let asked = service.with(|inner| inner.forms.len());
    assert_eq!(alice.call("sys.oauth.refresh", args).await.unwrap_err().code, 409);
    assert_eq!(service.with(|inner| inner.forms.len()), asked);
    let listed = alice.call("sys.oauth.list", json!({})).await.unwrap();
    assert_eq!(listed["accounts"][0]["metadata"]["refreshError"], "invalid_grant");
}

#[tokio::test(flavor = "multi_thread")]
async fn private_endpoints_can_be_closed_and_the_client_is_described() {
    let gateway = Gateway::set_up().await;
    let (_service, base) = Service::start().await;
    let mut root = gateway.root().await;
    root.call("sys.config.set", json!({ "key": "config/oauth/private_endpoints", "value": "deny" }))
        .await
        .unwrap();
    let mut alice = gateway.user().await;
    let started = alice.call("sys.oauth.start", start_args(&base)).await.unwrap();
    let (status, page) =
        come_back(&gateway, &format!("code=c&state={}", sent_along(&started)["state"])).await;
    assert!(status == 502 && page.contains("OAuth token endpoint refused"), "{page}");

    let document =
        |answer: String| -> Value { serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap() };
    let path = "/.well-known/oauth-client/gsv.json";
    let described = document(http_get(gateway.address, path).await);
    let client_id = described["client_id"].as_str().unwrap().to_string();
    assert!(client_id.starts_with("http://") && client_id.ends_with(path), "{client_id}");
    let set = json!({ "key": "config/server/public_url", "value": "https://gsv.example/" });
    root.call("sys.config.set", set).await.unwrap();
    let described = document(http_get(gateway.address, path).await);
    assert_eq!(described["redirect_uris"], json!(["https://gsv.example/oauth/callback"]));
    // From now on only that address is a way back.
    let refused = alice.call("sys.oauth.start", start_args(&base)).await.unwrap_err();
    assert!(refused.message.contains("https://gsv.example"), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_is_asked_with_the_token_of_an_account_which_is_renewed_when_it_ends() {
    let gateway = Gateway::set_up().await;
    let (service, base) = Service::start().await;
    let model = fake_model::Server::start(|_| chat_reply(&Turn::text("here"))).await.unwrap();
    let mut alice = gateway.user().await;
    for (key, value) in [
        ("provider", "openai-chat"),
        ("model", "m"),
        ("base_url", &model.base_url()),
        ("oauth_account", "example"),
    ] {
        let set = json!({ "key": format!("users/1000/ai/{key}"), "value": value });
        alice.call("sys.config.set", set).await.unwrap();
    }
    let done = chat(&mut alice, json!({ "message": "hello" })).await;
    assert!(done["error"].as_str().unwrap().contains("no such account is connected"), "{done}");

    // The token is over at once: each run renews it first.
    service.with(|inner| inner.expires_in = json!(1));
    let mut args = start_args(&base);
    args["kind"] = json!("ai-provider");
    sign_in(&gateway, &mut alice, &service, args).await;
    for number in 2..4 {
        let done = chat(&mut alice, json!({ "message": "hello" })).await;
        assert_eq!(done["text"], "here", "{done}");
        let received = model.received();
        assert_eq!(
            received.last().unwrap().header("authorization"),
            format!("Bearer access-secret-{number}")
        );
    }
    // One that lasts is used as it is, and no token is in the conversation.
    service.with(|inner| inner.expires_in = json!(3600));
    for _ in 0..2 {
        assert_eq!(chat(&mut alice, json!({ "message": "hello" })).await["text"], "here");
        assert_eq!(model.received().last().unwrap().header("authorization"), "Bearer access-secret-4");
    }
    let history = alice.call("proc.history", json!({})).await.unwrap();
    assert!(!history.to_string().contains("access-secret"), "{history}");
}
