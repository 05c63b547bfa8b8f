//! Tests of logins against a real store: throttling, tokens, and that a stranger learns nothing.

use std::net::Ipv4Addr;

use protocol::ids::TokenId;
use protocol::sys::token::TokenKind;
use store::accounts::NewAccount;
use store::tokens::NewToken;

use super::*;

const PEER: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

struct Bench {
    authenticator: Authenticator,
    store: Store,
    ann: Account,
    _data: tempfile::TempDir,
}

impl Bench {
    async fn new() -> Bench {
        let data = tempfile::tempdir().unwrap();
        let options = store::Options { data: data.path().to_path_buf(), url: None };
        let store = Store::open(&options).await.unwrap();
        store.provision(1).await.unwrap();
        let authenticator = Authenticator::new(store.clone(), Clock::system(), Random::system());
        let hash = authenticator.passwords().hash("correct horse").await.unwrap();
        let new = NewAccount { username: "ann".to_string(), hash, groups: Vec::new(), now_ms: 1 };
        let ann = store.accounts().create(new).await.unwrap();
        Bench { authenticator, store, ann, _data: data }
    }

    async fn token(&self, kind: TokenKind, device: Option<&str>, expires_at: Option<i64>) -> (String, Token) {
        let raw = tokens::new(kind, &Random::system());
        let row = NewToken {
            token_id: TokenId(Random::system().uuid()),
            uid: self.ann.uid,
            kind,
            label: None,
            hash: tokens::hash(&raw),
            prefix: tokens::prefix(&raw),
            allowed_device_id: device.map(str::to_string),
            created_at: 1,
            expires_at,
            approve: true,
            parent_id: None,
        };
        (raw, self.store.tokens().create(row).await.unwrap().unwrap())
    }

    async fn login(&self, username: Option<&str>, secret: Secret<'_>) -> Result<Authenticated, i32> {
        let credentials = Credentials { username, secret, role: Role::User, device_id: "", peer: PEER };
        self.authenticator.authenticate(&credentials).await.map_err(|error| error.code)
    }

    async fn drive(&self, raw: &str, device_id: &str) -> Result<Authenticated, Error> {
        let (username, secret) = (Some("ann"), Secret::Token(raw));
        let credentials = Credentials { username, secret, role: Role::Driver, device_id, peer: PEER };
        self.authenticator.authenticate(&credentials).await
    }
}

#[tokio::test]
async fn a_password_or_a_token_gives_the_account() {
    let bench = Bench::new().await;
    let (raw, token) = bench.token(TokenKind::User, None, None).await;
    let by_password = bench.login(Some("ann"), Secret::Password("correct horse")).await.unwrap();
    assert_eq!((by_password.account.uid, by_password.token), (bench.ann.uid, None));
    for username in [Some("ann"), None] {
        let by_token = bench.login(username, Secret::Token(&raw)).await.unwrap();
        assert_eq!(by_token.account.uid, bench.ann.uid);
        assert_eq!(by_token.token.unwrap().token_id, token.token_id);
    }
    assert_eq!(bench.login(Some("root"), Secret::Token(&raw)).await.unwrap_err(), 401);
    assert_eq!(bench.login(None, Secret::Password("correct horse")).await.unwrap_err(), 401);
    bench.store.accounts().set_locked(bench.ann.uid, true).await.unwrap();
    for (username, secret) in [
        (Some("ann"), Secret::Password("correct horse")),
        (Some("ann"), Secret::Token(&raw)),
        (None, Secret::Token(&raw)),
    ] {
        assert_eq!(bench.login(username, secret).await.unwrap_err(), 401, "locked");
    }
}

#[tokio::test]
async fn failures_of_tokens_and_of_passwords_are_counted_apart() {
    let bench = Bench::new().await;
    let (raw, _) = bench.token(TokenKind::User, None, None).await;
    for _ in 0..limits::login::FAILURES_MAX {
        assert_eq!(bench.login(Some("ann"), Secret::Token("gsv_user_wrong")).await.unwrap_err(), 401);
    }
    assert_eq!(bench.login(Some("ann"), Secret::Token("gsv_user_wrong")).await.unwrap_err(), 429);
    assert!(bench.login(Some("ann"), Secret::Password("correct horse")).await.is_ok());
    assert!(bench.login(Some("ann"), Secret::Token(&raw)).await.is_ok());
}

#[tokio::test]
async fn only_a_token_that_is_alive_says_for_which_device_it_is() {
    let bench = Bench::new().await;
    let (raw, token) = bench.token(TokenKind::Node, Some("Laptop"), None).await;
    assert!(bench.drive(&raw, "laptop").await.is_ok(), "case does not matter");
    let told = |error: Error| error.details.map(|details| details["deviceId"].clone());
    let refused = bench.drive(&raw, "desk").await.unwrap_err();
    assert_eq!((refused.code, told(refused)), (401, Some("Laptop".into())));
    assert_eq!(bench.login(Some("ann"), Secret::Token(&raw)).await.unwrap_err(), 401, "it is for drivers");
    bench.store.tokens().revoke(&token.token_id, None, None, 2).await.unwrap();
    assert_eq!(told(bench.drive(&raw, "desk").await.unwrap_err()), None);
    let (expired, _) = bench.token(TokenKind::Node, Some("laptop"), Some(2)).await;
    assert_eq!(told(bench.drive(&expired, "desk").await.unwrap_err()), None);
}

#[tokio::test]
async fn services_log_in_as_root_or_a_member_of_the_group() {
    let bench = Bench::new().await;
    let (raw, _) = bench.token(TokenKind::Service, None, None).await;
    let login = async || {
        let (username, secret) = (Some("ann"), Secret::Token(&raw));
        let credentials = Credentials { username, secret, role: Role::Service, device_id: "", peer: PEER };
        bench.authenticator.authenticate(&credentials).await.map_err(|error| error.code)
    };
    assert_eq!(login().await.unwrap_err(), 403);
    bench.store.accounts().set_groups(bench.ann.uid, &[Gid::SERVICES]).await.unwrap();
    assert!(login().await.is_ok());
}

#[tokio::test]
async fn a_token_login_asks_the_store_as_much_whoever_is_named() {
    let bench = Bench::new().await;
    let reads = || {
        let text = bench.store.metrics();
        let line = text.lines().find_map(|line| line.strip_prefix("gsv_store_reads_total "));
        line.unwrap().parse::<u64>().unwrap()
    };
    let mut costs = Vec::new();
    for username in ["ann", "nobody", "root", "ann"] {
        if costs.len() == 3 {
            bench.store.accounts().set_locked(bench.ann.uid, true).await.unwrap();
        }
        let before = reads();
        assert_eq!(bench.login(Some(username), Secret::Token("gsv_user_wrong")).await.unwrap_err(), 401);
        costs.push(reads() - before);
    }
    assert!(
        costs.iter().all(|cost| *cost == costs[0] && *cost > 0),
        "known, unknown, root, locked: {costs:?}"
    );
}

#[tokio::test]
async fn guesses_of_the_setup_code_are_throttled_by_address() {
    let bench = Bench::new().await;
    let code = SetupCode::new(&Random::system());
    let check = |given: Option<&str>, peer: IpAddr| {
        bench.authenticator.check_setup_code(&code, given, peer).map_err(|error| error.code)
    };
    let elsewhere = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
    for nothing in [None, Some(""), Some("  ")] {
        assert_eq!(check(nothing, elsewhere), Err(403), "not a guess");
    }
    for _ in 0..limits::login::FAILURES_MAX {
        assert_eq!(check(Some("guess"), elsewhere), Err(403));
    }
    assert_eq!(check(Some(&code.grouped()), elsewhere), Err(429));
    assert_eq!(check(Some(&code.grouped()), PEER), Ok(()));
}
