//! Authorization request with PKCE: the URL that a person opens, and the secrets that stay here.

use std::collections::BTreeMap;

use base::random::Random;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use protocol::sys::oauth::Flow;
use sha2::{Digest as _, Sha256};
use url::Url;

/// What only the gateway knows of a flow.
pub(crate) struct Secrets {
    /// Comes back with the person; only its hash is kept.
    pub(crate) state: String,
    /// Proves to the token endpoint that it was we who asked (RFC 7636).
    pub(crate) verifier: String,
}

impl Secrets {
    pub(crate) fn new(random: &Random) -> Secrets {
        Secrets {
            state: URL_SAFE_NO_PAD.encode(random.bytes::<32>()),
            verifier: URL_SAFE_NO_PAD.encode(random.bytes::<48>()),
        }
    }
}

/// What is kept of a state.
pub(crate) fn state_hash(state: &str) -> String {
    Sha256::digest(state.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The URL for the person. What the endpoint has in its own query stays, unless it would say what is ours to say.
pub(crate) fn authorization_url(
    endpoint: &Url,
    flow: &Flow,
    secrets: &Secrets,
    extra: &BTreeMap<String, String>,
) -> String {
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(secrets.verifier.as_bytes()));
    let mut ours = vec![
        ("response_type", "code"),
        ("client_id", &flow.client_id),
        ("redirect_uri", &flow.redirect_uri),
        ("state", &secrets.state),
        ("code_challenge", &challenge),
        ("code_challenge_method", "S256"),
    ];
    ours.extend(flow.scope.as_deref().map(|scope| ("scope", scope)));
    let resource = flow.resource.as_deref().filter(|_| !extra.contains_key("resource"));
    ours.extend(resource.map(|resource| ("resource", resource)));
    ours.extend(extra.iter().map(|(key, value)| (key.as_str(), value.as_str())));
    let is_ours = |key: &str| ours.iter().any(|(ours, _)| *ours == key);
    let theirs: Vec<(String, String)> =
        endpoint.query_pairs().into_owned().filter(|(key, _)| !is_ours(key)).collect();
    let mut url = endpoint.clone();
    url.query_pairs_mut().clear().extend_pairs(theirs).extend_pairs(ours);
    url.into()
}

#[cfg(test)]
mod tests {
    use protocol::ids::Uid;
    use protocol::sys::oauth::ConnectionKind;

    use super::*;

    fn flow() -> Flow {
        Flow {
            flow_id: "f".into(),
            uid: Uid(1000),
            kind: ConnectionKind::Generic,
            provider: "example".into(),
            account_key: "default".into(),
            label: None,
            authorization_endpoint: String::new(),
            token_endpoint: String::new(),
            client_id: "me & you".into(),
            redirect_uri: "https://gsv.example/oauth/callback".into(),
            scope: Some("read write".into()),
            resource: Some("https://api.example".into()),
            created_at: 0,
            expires_at: 1,
            issuer: None,
        }
    }

    #[test]
    fn the_challenge_of_the_rfc_comes_out() {
        // RFC 7636, appendix B.
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk".to_string();
        let secrets = Secrets { state: "s".into(), verifier };
        let endpoint = Url::parse("https://as.example/authorize").unwrap();
        let url = authorization_url(&endpoint, &flow(), &secrets, &BTreeMap::new());
        assert!(url.contains("code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&"), "{url}");
        assert!(url.contains("client_id=me+%26+you"), "{url}");
    }

    #[test]
    fn the_endpoint_keeps_its_query_but_can_not_say_what_is_ours() {
        let secrets = Secrets::new(&Random::seeded(7));
        let endpoint = Url::parse("https://as.example/authorize?tenant=7&state=theirs&scope=all").unwrap();
        let extra = BTreeMap::from([("resource".to_string(), "https://other.example".to_string())]);
        let url = Url::parse(&authorization_url(&endpoint, &flow(), &secrets, &extra)).unwrap();
        let values = |key: &str| -> Vec<String> {
            url.query_pairs().filter(|(name, _)| name == key).map(|(_, value)| value.into_owned()).collect()
        };
        assert_eq!(values("tenant"), ["7"]);
        assert_eq!(values("state"), [secrets.state.as_str()]);
        assert_eq!(values("scope"), ["read write"]);
        assert_eq!(values("resource"), ["https://other.example"]);
        assert_eq!((secrets.state.len(), secrets.verifier.len()), (43, 64));
    }
}
