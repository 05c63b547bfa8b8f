//! Credential resolution: which gateway a command talks to, and with which credentials. Decided from flags, environment
//! and the settings file, before anything is sent.

use std::net::{Ipv4Addr, Ipv6Addr};

use protocol::sys::Auth;

use crate::config_file::{ConfigFile, StoredSession};
use crate::globals::Globals;

/// Where the gateway is when nobody says.
pub const DEFAULT_URL: &str = "ws://localhost:8787/ws";

/// How a command logs in.
#[derive(Clone, Debug, PartialEq)]
pub enum Credentials {
    /// With these. `cached` means they are the session of `gsv auth login`, which may have been revoked.
    Known {
        /// What `sys.connect` gets.
        auth: Auth,
        /// Whether they may be forgotten and asked for anew.
        cached: bool,
    },
    /// Nothing usable is known; a person may be asked.
    Missing {
        /// As far as known.
        username: Option<String>,
        /// What there was but cannot be used, for a warning.
        why: Option<&'static str>,
    },
}

/// The gateway's URL: flag or environment, then the settings, then the default.
pub fn url(globals: &Globals, file: &ConfigFile) -> String {
    let given = globals.url.clone().filter(|url| !url.is_empty());
    socket_url(&given.or_else(|| file.get("gateway.url")).unwrap_or_else(|| DEFAULT_URL.to_string()))
}

/// The name to log in with at a gateway, as far as known: the one that was given, else of the gateway that commands talk
/// to the one that is set, else of the newest session there.
pub fn username(globals: &Globals, file: &ConfigFile, url: &str) -> Option<String> {
    let given = globals.user.clone().filter(|name| !name.is_empty());
    let set = file.get("gateway.username");
    let own = set.clone().filter(|_| same_gateway(file, url));
    let of_session = || {
        let here = |session: &StoredSession| is_same_gateway(&session.url, url);
        file.sessions().into_iter().rev().find(here).map(|session| session.username)
    };
    given.or(own).or_else(of_session).or(set)
}

/// What a command on `url` logs in with. What was given for this command wins over what is stored.
pub fn resolve(globals: &Globals, file: &ConfigFile, url: &str, now_ms: i64) -> Credentials {
    let username = username(globals, file, url);
    let known = |username: String, password: Option<String>, token: Option<String>, cached: bool| {
        Credentials::Known { auth: Auth { username, password, token }, cached }
    };
    let given_password = globals.password.clone();
    // A password on the command line is nearer than a token in the environment.
    let given_token =
        globals.token.clone().or_else(|| given_password.is_none().then(token_of_environment).flatten());
    if given_token.is_some() || given_password.is_some() {
        return match username {
            Some(username) => known(username, given_password, given_token, false),
            None => Credentials::Missing { username: None, why: Some("a password or token needs --user") },
        };
    }
    let mut why = None;
    if let Some(username) = username.clone() {
        match session(file, url, &username, now_ms) {
            Ok(Some(session)) => return known(username, None, Some(session.token), true),
            Ok(None) => {}
            Err(fault) => why = Some(fault),
        }
    }
    match stored_token(file, url) {
        Ok(Some((owner, token))) if globals.user.is_none() || globals.user.as_ref() == Some(&owner) => {
            known(owner, None, Some(token), false)
        }
        Ok(_) => Credentials::Missing { username, why },
        Err(fault) => Credentials::Missing { username, why: why.or(Some(fault)) },
    }
}

/// The saved session of a gateway and user, or why what there is cannot be used.
fn session(
    file: &ConfigFile,
    url: &str,
    username: &str,
    now_ms: i64,
) -> Result<Option<StoredSession>, &'static str> {
    let sessions = file.sessions();
    let Some(session) = sessions.iter().rev().find(|session| session.is_of(url, username)) else {
        let elsewhere = sessions.iter().any(|session| session.username == username);
        return if elsewhere { Err("the saved session belongs to another gateway") } else { Ok(None) };
    };
    if !file.private {
        return Err("the saved session is ignored: others can read the settings file (chmod 600 it)");
    }
    if session.expires_at_ms.is_some_and(|expires| expires <= now_ms) {
        return Err("the saved session has expired");
    }
    Ok(Some(session.clone()))
}

/// The token of `gateway.token` and whose it is, if it is for this gateway.
pub fn stored_token(file: &ConfigFile, url: &str) -> Result<Option<(String, String)>, &'static str> {
    let owner = file.get("gateway.token_username").or_else(|| file.get("gateway.username"));
    let (Some(owner), Some(token), true) = (owner, file.get("gateway.token"), file.private) else {
        return Ok(None);
    };
    let belongs_here = file
        .get("gateway.token_url")
        .map_or_else(|| same_gateway(file, url), |own| is_same_gateway(&own, url));
    if belongs_here { Ok(Some((owner, token))) } else { Err("the stored token belongs to another gateway") }
}

/// Whether a login that was asked for in passing may become the saved one. A login as somebody else, or
/// elsewhere, serves the one command it was given for.
pub fn may_keep(globals: &Globals, file: &ConfigFile, username: &str, url: &str) -> bool {
    let same_user = globals.user.is_none() || file.get("gateway.username").as_deref() == Some(username);
    same_user && (file.get("gateway.url").is_none() || same_gateway(file, url))
}

/// Which gateway this machine is a device of: flag or environment, then the device's own, then the login's.
pub fn device_url(globals: &Globals, file: &ConfigFile) -> String {
    match file.get("node.url") {
        Some(own) if globals.url.as_ref().is_none_or(|url| url.is_empty()) => socket_url(&own),
        _ => url(globals, file),
    }
}

/// Where a device's token comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TokenSource {
    /// `--token`.
    Flag,
    /// The settings file.
    Stored,
    /// `GSV_TOKEN`, which is a person's more often than a device's.
    Environment,
}

/// What the device at `url` logs in with: what was given with a flag, then what is stored for it, then what
/// the environment has. If there is nothing, perhaps why.
pub fn device_token(
    globals: &Globals,
    file: &ConfigFile,
    environment: Option<String>,
    url: &str,
) -> Result<(String, TokenSource), Option<&'static str>> {
    if let Some(token) = globals.token.clone() {
        return Ok((token, TokenSource::Flag));
    }
    let own = file.get("node.url");
    let belongs_here = own.map_or_else(|| same_gateway(file, url), |own| is_same_gateway(&own, url));
    let mut why = None;
    match file.get("node.token") {
        Some(_) if !file.private => {
            why =
                Some("the stored device token is ignored: others can read the settings file (chmod 600 it)");
        }
        Some(_) if !belongs_here => why = Some("the stored device token belongs to another gateway"),
        Some(token) => return Ok((token, TokenSource::Stored)),
        None => {}
    }
    environment.map(|token| (token, TokenSource::Environment)).ok_or(why)
}

/// `http://…` as a socket URL, and a bare host with the path filled in, so that a printed address can be pasted.
pub fn socket_url(url: &str) -> String {
    let url = url.trim();
    let url = match url.split_once("://").map(|(scheme, rest)| (scheme.to_ascii_lowercase(), rest)) {
        Some((scheme, rest)) if scheme == "http" => format!("ws://{rest}"),
        Some((scheme, rest)) if scheme == "https" => format!("wss://{rest}"),
        Some((scheme, rest)) => format!("{scheme}://{rest}"),
        None => format!("ws://{url}"),
    };
    match url.split_once("://") {
        Some((_, rest)) if !rest.trim_end_matches('/').contains('/') => {
            format!("{}/ws", url.trim_end_matches('/'))
        }
        _ => url,
    }
}

/// A stored secret is sent to the gateway it was stored for and to no other.
pub fn same_gateway(file: &ConfigFile, url: &str) -> bool {
    is_same_gateway(&file.get("gateway.url").unwrap_or_else(|| DEFAULT_URL.to_string()), url)
}

/// Whether two addresses are of one gateway, however they are written: with or without the usual port, in upper or
/// lower case, and the machine's own names for itself.
pub fn is_same_gateway(one: &str, other: &str) -> bool {
    match (canonical(one), canonical(other)) {
        (Some(one), Some(other)) => one == other,
        _ => socket_url(one) == socket_url(other),
    }
}

/// Scheme, host, port and path; `None` when it is no address.
fn canonical(address: &str) -> Option<(String, String, Option<u16>, String)> {
    let url = url::Url::parse(&socket_url(address)).ok()?;
    let host = match url.host()? {
        url::Host::Domain("localhost") => "localhost".to_string(),
        url::Host::Ipv4(Ipv4Addr::LOCALHOST) | url::Host::Ipv6(Ipv6Addr::LOCALHOST) => {
            "localhost".to_string()
        }
        host => host.to_string(),
    };
    Some((url.scheme().to_string(), host, url.port_or_known_default(), url.path().to_string()))
}

/// `GSV_TOKEN`.
pub fn token_of_environment() -> Option<String> {
    std::env::var("GSV_TOKEN").ok().filter(|token| !token.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: &str = "[gateway]\nusername = \"alice\"\nsession_token = \"sess\"\n\
        session_expires_at = 1000\nsession_url = \"ws://localhost:8787/ws\"\n";

    fn file(text: &str) -> (tempfile::TempDir, ConfigFile) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("config.toml");
        let mut file = tempfile::NamedTempFile::new_in(directory.path()).unwrap();
        std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
        file.persist(&path).unwrap();
        let file = ConfigFile::load_from(&path).unwrap();
        (directory, file)
    }

    fn resolved(globals: &Globals, text: &str, url: &str) -> Credentials {
        let (_directory, file) = file(text);
        resolve(globals, &file, url, 500)
    }

    fn auth(credentials: Credentials) -> (String, Option<String>, Option<String>, bool) {
        match credentials {
            Credentials::Known { auth, cached } => (auth.username, auth.password, auth.token, cached),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_given_wins_over_what_is_stored() {
        let globals = Globals { token: Some("t".into()), ..Globals::default() };
        assert_eq!(
            auth(resolved(&globals, SESSION, DEFAULT_URL)),
            ("alice".into(), None, Some("t".into()), false)
        );
        let globals = Globals { user: Some("bob".into()), password: Some("p".into()), ..Globals::default() };
        assert_eq!(
            auth(resolved(&globals, SESSION, DEFAULT_URL)),
            ("bob".into(), Some("p".into()), None, false)
        );
    }

    #[test]
    fn the_session_serves_its_user_and_its_gateway_until_it_ends() {
        let globals = Globals::default();
        let found = auth(resolved(&globals, SESSION, DEFAULT_URL));
        assert_eq!(found, ("alice".into(), None, Some("sess".into()), true));
        let elsewhere = resolved(&globals, SESSION, "ws://other/ws");
        assert!(
            matches!(elsewhere, Credentials::Missing { why: Some(why), .. } if why.contains("another gateway"))
        );
        let late = resolved(&globals, &SESSION.replace("1000", "500"), DEFAULT_URL);
        assert!(matches!(late, Credentials::Missing { why: Some(why), .. } if why.contains("expired")));
        let bob = Globals { user: Some("bob".into()), ..Globals::default() };
        let other = resolved(&bob, SESSION, DEFAULT_URL);
        assert_eq!(other, Credentials::Missing { username: Some("bob".into()), why: None });
    }

    #[test]
    fn each_gateway_and_user_has_a_session_of_its_own() {
        let text = "[gateway]\nurl = \"ws://b/ws\"\nusername = \"bob\"\n\
            [[session]]\nurl = \"ws://localhost:8787/ws\"\nusername = \"alice\"\ntoken = \"a\"\n\
            [[session]]\nurl = \"ws://localhost:8787/ws\"\nusername = \"root\"\ntoken = \"r\"\nexpires_at = 500\n\
            [[session]]\nurl = \"ws://b/ws\"\nusername = \"bob\"\ntoken = \"b\"\n";
        let found = |user: Option<&str>, url: &str| {
            let globals = Globals { user: user.map(str::to_string), ..Globals::default() };
            resolved(&globals, text, url)
        };
        let is = |username: &str, token: &str| (username.to_string(), None, Some(token.to_string()), true);
        assert_eq!(auth(found(None, "ws://b/ws")), is("bob", "b"));
        for same in ["ws://127.0.0.1:8787/ws", "ws://[::1]:8787/ws", "WS://LOCALHOST:8787/ws"] {
            assert_eq!(auth(found(Some("alice"), &socket_url(same))), is("alice", "a"), "{same}");
        }
        assert!(
            matches!(found(Some("root"), DEFAULT_URL), Credentials::Missing { why: Some(why), .. } if why.contains("expired"))
        );
        assert!(matches!(found(Some("alice"), "ws://b/ws"), Credentials::Missing { why: Some(_), .. }));
        // Who is not named is whoever logged in there last.
        assert_eq!(username(&Globals::default(), &file(text).1, DEFAULT_URL).as_deref(), Some("root"));
    }

    #[test]
    fn one_gateway_has_many_spellings() {
        for (one, other) in [
            ("ws://localhost:8787/ws", "http://127.0.0.1:8787"),
            ("LOCALHOST:8787", "ws://[::1]:8787/ws"),
            ("wss://GSV.example/ws", "https://gsv.example:443"),
            ("HTTP://Host", "ws://host:80/ws"),
        ] {
            assert!(is_same_gateway(one, other), "{one} {other}");
        }
        for (one, other) in [
            ("ws://localhost:8787/ws", "ws://localhost:8788/ws"),
            ("ws://host/ws", "wss://host/ws"),
            ("ws://a/ws", "ws://b/ws"),
            ("ws://a/one", "ws://a/two"),
            ("ws://127.0.0.2:1/ws", "ws://localhost:1/ws"),
        ] {
            assert!(!is_same_gateway(one, other), "{one} {other}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_session_that_others_can_read_is_not_used() {
        use std::os::unix::fs::PermissionsExt;
        let (directory, _) = file(SESSION);
        let path = directory.path().join("config.toml");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        let file = ConfigFile::load_from(&path).unwrap();
        let found = resolve(&Globals::default(), &file, DEFAULT_URL, 500);
        assert!(
            matches!(found, Credentials::Missing { why: Some(why), .. } if why.contains("others can read"))
        );
    }

    #[test]
    fn a_stored_token_stays_with_its_gateway() {
        let text = "[gateway]\nusername = \"alice\"\ntoken = \"long\"\n";
        let found = auth(resolved(&Globals::default(), text, DEFAULT_URL));
        assert_eq!(found, ("alice".into(), None, Some("long".into()), false));
        assert!(matches!(resolved(&Globals::default(), text, "ws://evil/ws"), Credentials::Missing { .. }));
    }

    #[test]
    fn a_stored_token_does_not_follow_the_url() {
        for first in ["url = \"ws://first/ws\"\n", ""] {
            let text = format!(
                "[gateway]\n{first}username = \"alice\"\ntoken = \"long\"\n[node]\ntoken = \"dev\"\n"
            );
            let (_directory, mut file) = file(&text);
            let before = url(&Globals::default(), &file);
            file.set("gateway.url", "https://second").unwrap();
            let now = url(&Globals::default(), &file);
            let there = resolve(&Globals::default(), &file, &now, 500);
            assert!(
                matches!(there, Credentials::Missing { why: Some(why), .. } if why.contains("another gateway"))
            );
            assert!(device_token(&Globals::default(), &file, None, &now).is_err());
            let here = auth(resolve(&Globals::default(), &file, &before, 500));
            assert_eq!(here, ("alice".into(), None, Some("long".into()), false));
            // Written another way, it is the same gateway still.
            file.set("gateway.url", "wss://second/ws").unwrap();
            assert_eq!(file.get("gateway.token_url").map(|own| socket_url(&own)), Some(before));
        }
    }

    #[test]
    fn a_login_as_somebody_else_is_not_kept() {
        let (_directory, file) = file(SESSION);
        let user = |name: &str| Globals { user: Some(name.into()), ..Globals::default() };
        let keeps = |globals: &Globals, username: &str| may_keep(globals, &file, username, "ws://any/ws");
        assert!(keeps(&Globals::default(), "alice") && keeps(&user("alice"), "alice"));
        assert!(!keeps(&user("root"), "root") && !keeps(&user("alice"), "root"));
        let (_directory, file) = self::file("[gateway]\nurl = \"ws://home/ws\"\n");
        assert!(may_keep(&Globals::default(), &file, "alice", "ws://home/ws"));
        assert!(!may_keep(&Globals::default(), &file, "alice", "ws://away/ws"));
    }

    const DEVICE: &str = "[gateway]\nurl = \"ws://now/ws\"\n[node]\ntoken = \"dev\"\n";

    fn token(
        globals: &Globals,
        text: &str,
        url: &str,
    ) -> Result<(String, TokenSource), Option<&'static str>> {
        let (_directory, file) = file(text);
        device_token(globals, &file, Some("env".into()), url)
    }

    #[test]
    fn a_devices_token_stays_with_its_gateway() {
        let none = Globals::default();
        let (stored, environment) =
            (("dev".into(), TokenSource::Stored), ("env".into(), TokenSource::Environment));
        assert_eq!(token(&none, DEVICE, "ws://now/ws"), Ok(stored.clone()));
        assert_eq!(token(&none, DEVICE, "ws://evil/ws"), Ok(environment.clone()));
        let own = format!("{DEVICE}url = \"http://own\"\n");
        assert_eq!(token(&none, &own, "ws://own/ws"), Ok(stored));
        assert_eq!(token(&none, &own, "ws://now/ws"), Ok(environment));
        let flag = Globals { token: Some("flag".into()), ..Globals::default() };
        assert_eq!(token(&flag, DEVICE, "ws://evil/ws"), Ok(("flag".into(), TokenSource::Flag)));
        let (_directory, file) = file(DEVICE);
        let refused = device_token(&none, &file, None, "ws://evil/ws").unwrap_err();
        assert!(refused.unwrap().contains("another gateway"));
    }

    #[cfg(unix)]
    #[test]
    fn a_devices_token_that_others_can_read_is_not_used() {
        use std::os::unix::fs::PermissionsExt;
        let (directory, _) = file(DEVICE);
        let path = directory.path().join("config.toml");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        let file = ConfigFile::load_from(&path).unwrap();
        let refused = device_token(&Globals::default(), &file, None, "ws://now/ws").unwrap_err();
        assert!(refused.unwrap().contains("others can read"));
    }

    #[test]
    fn a_device_goes_where_it_belongs() {
        let (_directory, own) = file("[gateway]\nurl = \"ws://a/ws\"\n[node]\nurl = \"ws://b/ws\"\n");
        assert_eq!(device_url(&Globals::default(), &own), "ws://b/ws");
        let flag = Globals { url: Some("ws://c/ws".into()), ..Globals::default() };
        assert_eq!(device_url(&flag, &own), "ws://c/ws");
        let (_directory, login) = file("[gateway]\nurl = \"ws://a/ws\"\n");
        assert_eq!(device_url(&Globals::default(), &login), "ws://a/ws");
    }

    #[test]
    fn with_nothing_there_is_nothing() {
        let nothing = Credentials::Missing { username: None, why: None };
        assert_eq!(resolved(&Globals::default(), "", DEFAULT_URL), nothing);
        let nameless = Globals { password: Some("p".into()), ..Globals::default() };
        assert!(matches!(resolved(&nameless, "", DEFAULT_URL), Credentials::Missing { why: Some(_), .. }));
    }

    #[test]
    fn printed_addresses_can_be_pasted() {
        for (given, meant) in [
            ("http://127.0.0.1:8787", "ws://127.0.0.1:8787/ws"),
            ("https://gsv.example/", "wss://gsv.example/ws"),
            ("localhost:8787", "ws://localhost:8787/ws"),
            ("ws://host/ws", "ws://host/ws"),
            ("ws://host/other/path", "ws://host/other/path"),
        ] {
            assert_eq!(socket_url(given), meant);
        }
    }
}
