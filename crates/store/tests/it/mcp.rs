//! Tests of MCP servers' rows: whose they are, what is encrypted, and tools that become others.

use std::collections::BTreeMap;

use protocol::ids::Uid;
use protocol::sys::mcp::TransportType;
use store::Store;
use store::mcp::{Client, ServerRow, SignIn};

use crate::home::NOW_MS;

crate::home::with_a_store_on_both_engines! {
    a_server_is_kept_once_and_found_by_its_owner,
    a_user_has_only_so_many_servers,
    a_sign_in_and_a_client_are_kept_and_cleared,
    a_tool_that_becomes_another_one_is_noticed,
}

const ALICE: Uid = Uid(1000);
const BOB: Uid = Uid(1001);

fn server(id: &str, uid: Uid) -> ServerRow {
    ServerRow {
        server_id: id.to_string(),
        uid,
        name: "Linear".to_string(),
        url: "https://mcp.example/mcp".to_string(),
        transport: TransportType::Auto,
        headers: BTreeMap::from([("X-Key".to_string(), "header-secret".to_string())]),
        callback_host: None,
        sign_in: None,
        client: None,
        created_at: NOW_MS,
        updated_at: NOW_MS,
    }
}

async fn a_server_is_kept_once_and_found_by_its_owner(store: &Store) {
    let mcp = store.mcp();
    assert!(mcp.add(&server("s1", ALICE), 10).await.unwrap());
    assert!(!mcp.add(&server("s2", ALICE), 10).await.unwrap(), "the same name and URL");
    assert!(mcp.add(&server("s2", BOB), 10).await.unwrap(), "another user's");
    assert!(mcp.find("s1").await.unwrap().unwrap() == server("s1", ALICE));
    let named = mcp.named(ALICE, "Linear", "https://mcp.example/mcp").await.unwrap();
    assert_eq!(named.map(|row| row.server_id).as_deref(), Some("s1"));
    let ids = |rows: Vec<ServerRow>| rows.into_iter().map(|row| row.server_id).collect::<Vec<_>>();
    assert_eq!(ids(mcp.of(BOB).await.unwrap()), ["s2"]);
    assert!(!mcp.remove("s1", BOB).await.unwrap());
    assert!(mcp.remove("s1", ALICE).await.unwrap() && !mcp.remove("s1", ALICE).await.unwrap());
    assert_eq!(mcp.connectable().await.unwrap(), ["s2"]);
}

async fn a_user_has_only_so_many_servers(store: &Store) {
    let mcp = store.mcp();
    for number in 0..3 {
        let row = ServerRow { name: format!("n{number}"), ..server(&format!("s{number}"), ALICE) };
        assert_eq!(mcp.add(&row, 2).await.unwrap(), number < 2);
    }
    assert!(mcp.add(&server("b", BOB), 2).await.unwrap());
}

async fn a_sign_in_and_a_client_are_kept_and_cleared(store: &Store) {
    let mcp = store.mcp();
    assert!(mcp.add(&server("s1", ALICE), 10).await.unwrap());
    let sign_in = SignIn { url: "https://as.example/authorize?state=secret".to_string(), expires_at: 5 };
    assert!(mcp.set_sign_in("s1", Some(&sign_in), NOW_MS + 1).await.unwrap());
    assert_eq!(mcp.connectable().await.unwrap(), Vec::<String>::new());
    let client = Client {
        issuer: "https://as.example".to_string(),
        redirect_uri: "https://gsv.example/oauth/callback".to_string(),
        client_id: "c".to_string(),
    };
    mcp.set_client("s1", &client).await.unwrap();
    let row = mcp.find("s1").await.unwrap().unwrap();
    assert!(row.sign_in == Some(sign_in) && row.updated_at == NOW_MS + 1);
    assert_eq!(row.client, Some(client));
    assert!(mcp.set_sign_in("s1", None, NOW_MS + 2).await.unwrap());
    assert!(mcp.find("s1").await.unwrap().unwrap().sign_in.is_none());
    assert!(!mcp.set_sign_in("gone", None, NOW_MS).await.unwrap());
}

async fn a_tool_that_becomes_another_one_is_noticed(store: &Store) {
    let mcp = store.mcp();
    assert!(mcp.add(&server("s1", ALICE), 10).await.unwrap());
    let told = |print: &str| BTreeMap::from([("echo".to_string(), print.to_string())]);
    let seen = mcp.see_tools("s1", &told("a"), 1).await.unwrap();
    assert_eq!((seen["echo"].fingerprint.as_str(), seen["echo"].changed_at), ("a", None));
    assert_eq!(mcp.see_tools("s1", &told("a"), 2).await.unwrap(), seen);
    // One that is away for a while and comes back as another has changed as well.
    assert_eq!(mcp.see_tools("s1", &BTreeMap::new(), 3).await.unwrap(), seen);
    let seen = mcp.see_tools("s1", &told("b"), 4).await.unwrap();
    assert_eq!((seen["echo"].fingerprint.as_str(), seen["echo"].changed_at), ("b", Some(4)));
    assert!(mcp.see_tools("nobody's", &told("a"), 5).await.unwrap().is_empty());
    assert!(mcp.remove("s1", ALICE).await.unwrap());
    assert!(mcp.tools("s1").await.unwrap().is_empty());
}
