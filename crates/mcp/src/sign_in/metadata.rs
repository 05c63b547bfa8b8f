//! Metadata documents of a sign-in (RFC 9728, RFC 8414, OpenID Connect Discovery): where they are, and what is believed of
//! them.

use serde_json::Value;
use url::Url;

use crate::failure::Failure;

/// A protected resource.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Resource {
    /// What tokens are asked for.
    pub(crate) resource: Option<String>,
    /// Who gives them.
    pub(crate) issuer: Option<String>,
    pub(crate) scope: Option<String>,
}

impl Resource {
    /// Reads a description; one of another resource is refused, for its tokens would be for somebody else.
    pub(crate) fn read(json: &Value, server: &Url) -> Result<Resource, Failure> {
        let resource = json["resource"].as_str().map(str::to_string);
        if !resource.as_deref().is_none_or(|resource| covers(resource, server.as_str())) {
            return Err(Failure::Unexpected(
                "the server describes its sign-in as that of another resource".to_string(),
            ));
        }
        let servers = json["authorization_servers"].as_array();
        let issuer = servers.and_then(|servers| servers.first()).and_then(Value::as_str);
        Ok(Resource { resource, issuer: issuer.map(str::to_string), scope: words(&json["scopes_supported"]) })
    }
}

/// An authorization server.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct AuthorizationServer {
    /// Who must answer.
    pub(crate) issuer: Option<String>,
    pub(crate) authorization_endpoint: String,
    pub(crate) token_endpoint: String,
    pub(crate) registration_endpoint: Option<String>,
    /// Whether a URL with a document is a client's name there.
    pub(crate) takes_documents: bool,
    /// Whether tokens that last are asked for by a scope of their own.
    offers_offline: bool,
}

impl AuthorizationServer {
    /// Reads a description. `issuer` is who it must be of.
    pub(crate) fn read(json: &Value, issuer: Option<&str>) -> Result<AuthorizationServer, Failure> {
        let text = |name: &str| json[name].as_str().map(str::to_string);
        let bad = |why: &str| Failure::Unexpected(format!("the authorization server {why}"));
        let own = text("issuer");
        if let (Some(wanted), Some(own)) = (issuer, &own)
            && wanted.trim_end_matches('/') != own.trim_end_matches('/')
        {
            return Err(bad("says that it is another one"));
        }
        if issuer.is_some() && own.is_none() {
            return Err(bad("does not say who it is"));
        }
        let methods = json["code_challenge_methods_supported"].as_array();
        if !methods.is_some_and(|methods| methods.iter().any(|method| method == "S256")) {
            return Err(bad("does not protect codes (PKCE with S256), so that no sign-in there is safe"));
        }
        let scopes = json["scopes_supported"].as_array();
        Ok(AuthorizationServer {
            issuer: own,
            authorization_endpoint: text("authorization_endpoint")
                .ok_or_else(|| bad("has no place where people sign in"))?,
            token_endpoint: text("token_endpoint").ok_or_else(|| bad("has no place that gives tokens"))?,
            registration_endpoint: text("registration_endpoint"),
            takes_documents: json["client_id_metadata_document_supported"] == true,
            offers_offline: scopes.is_some_and(|all| all.iter().any(|scope| scope == "offline_access")),
        })
    }

    /// One that does not describe itself.
    pub(crate) fn usual(origin: &Url) -> AuthorizationServer {
        let at = |path: &str| format!("{}{path}", origin.origin().ascii_serialization());
        AuthorizationServer {
            issuer: None,
            authorization_endpoint: at("/authorize"),
            token_endpoint: at("/token"),
            registration_endpoint: Some(at("/register")),
            takes_documents: false,
            offers_offline: false,
        }
    }

    /// What is asked for.
    pub(crate) fn scope(&self, wanted: Option<&str>) -> Option<String> {
        let mut scopes: Vec<&str> = wanted.unwrap_or_default().split_whitespace().collect();
        if self.offers_offline && !scopes.is_empty() && !scopes.contains(&"offline_access") {
            scopes.push("offline_access");
        }
        (!scopes.is_empty()).then(|| scopes.join(" "))
    }
}

/// Where a resource may be described: where it says, else where it must be.
pub(crate) fn resource_places(server: &Url, named: Option<&str>) -> Vec<Url> {
    const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";
    // A server that says where is believed only about its own origin: the address goes nowhere else.
    let named = named.and_then(|named| server.join(named).ok());
    if let Some(named) = named.filter(|named| named.origin() == server.origin()) {
        return vec![named];
    }
    let mut places = Vec::new();
    if server.path() != "/" {
        places.extend(server.join(&format!("{WELL_KNOWN}{}", server.path())).ok());
    }
    places.extend(server.join(WELL_KNOWN).ok());
    places
}

/// Where an authorization server may be described.
pub(crate) fn server_places(issuer: &Url) -> Vec<Url> {
    let path = issuer.path().trim_end_matches('/');
    let mut paths = vec![format!("/.well-known/oauth-authorization-server{path}")];
    paths.push(format!("/.well-known/openid-configuration{path}"));
    if !path.is_empty() {
        paths.push(format!("{path}/.well-known/openid-configuration"));
    }
    paths.iter().filter_map(|path| issuer.join(path).ok()).collect()
}

/// Whether a resource is a server, or what a server stands below.
pub(crate) fn covers(resource: &str, server: &str) -> bool {
    let (Ok(resource), Ok(server)) = (Url::parse(resource), Url::parse(server)) else { return false };
    let path = resource.path().trim_end_matches('/');
    let below = server.path().strip_prefix(path);
    resource.origin() == server.origin() && below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A server's URL as the name of a resource (RFC 8707).
pub(crate) fn canonical(server: &Url) -> String {
    let mut url = server.clone();
    url.set_query(None);
    let text = url.to_string();
    if url.path() == "/" { text.trim_end_matches('/').to_string() } else { text }
}

fn words(list: &Value) -> Option<String> {
    let words: Vec<&str> = list.as_array()?.iter().filter_map(Value::as_str).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn documents_are_looked_for_where_they_must_be() {
        let texts = |places: Vec<Url>| places.iter().map(Url::to_string).collect::<Vec<_>>();
        let server = url("https://mcp.example/v1/mcp?x=1");
        assert_eq!(
            texts(resource_places(&server, None)),
            [
                "https://mcp.example/.well-known/oauth-protected-resource/v1/mcp",
                "https://mcp.example/.well-known/oauth-protected-resource",
            ]
        );
        assert_eq!(texts(resource_places(&server, Some("/meta"))), ["https://mcp.example/meta"]);
        assert_eq!(resource_places(&server, Some("https://evil.example/meta")).len(), 2);
        assert_eq!(
            texts(server_places(&url("https://as.example/tenant/"))),
            [
                "https://as.example/.well-known/oauth-authorization-server/tenant",
                "https://as.example/.well-known/openid-configuration/tenant",
                "https://as.example/tenant/.well-known/openid-configuration",
            ]
        );
        assert_eq!(server_places(&url("https://as.example")).len(), 2);
    }

    #[test]
    fn a_description_of_another_resource_is_refused() {
        let server = url("https://mcp.example/v1/mcp");
        let read = |resource: &str| {
            let json = json!({ "resource": resource, "authorization_servers": ["https://as.example"] });
            Resource::read(&json, &server)
        };
        for good in ["https://mcp.example/v1/mcp", "https://mcp.example", "https://mcp.example/v1/"] {
            assert_eq!(read(good).unwrap().issuer.as_deref(), Some("https://as.example"), "{good}");
        }
        for bad in
            ["https://other.example/v1/mcp", "https://mcp.example/v1/mc", "https://mcp.example/v1/mcp/x", "x"]
        {
            assert!(read(bad).is_err(), "{bad}");
        }
        assert_eq!(canonical(&url("https://mcp.example/?x")), "https://mcp.example");
    }

    #[test]
    fn an_authorization_server_must_be_itself_and_protect_codes() {
        let good = json!({
            "issuer": "https://as.example", "authorization_endpoint": "https://as.example/a",
            "token_endpoint": "https://as.example/t", "code_challenge_methods_supported": ["S256"],
            "scopes_supported": ["offline_access", "read"],
        });
        let read = |change: fn(&mut Value)| {
            let mut json = good.clone();
            change(&mut json);
            AuthorizationServer::read(&json, Some("https://as.example"))
        };
        let known = read(|_| {}).unwrap();
        assert_eq!(known.scope(Some("read")).as_deref(), Some("read offline_access"));
        assert_eq!(known.scope(None), None);
        assert!(read(|json| json["issuer"] = json!("https://evil.example")).is_err());
        assert!(read(|json| json["issuer"] = json!(null)).is_err());
        assert!(read(|json| json["code_challenge_methods_supported"] = json!(["plain"])).is_err());
        assert!(read(|json| json["token_endpoint"] = json!(null)).is_err());
    }
}
