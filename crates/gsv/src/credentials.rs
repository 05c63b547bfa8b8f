//! Which gateway a command talks to, and with which credentials. Decided from flags, environment and the
//! settings file, before anything is sent.

use protocol::sys::Auth;

use crate::cli::Globals;
use crate::config_file::ConfigFile;

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

/// The name to log in with, as far as known.
pub fn username(globals: &Globals, file: &ConfigFile) -> Option<String> {
    globals.user.clone().filter(|name| !name.is_empty()).or_else(|| file.get("gateway.username"))
}

/// What a command on `url` logs in with. What was given for this command wins over what is stored.
pub fn resolve(globals: &Globals, file: &ConfigFile, url: &str, now_ms: i64) -> Credentials {
    let username = username(globals, file);
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
    let stored = StoredSession::of(file);
    let own = globals.user.is_none() || globals.user == file.get("gateway.username");
    let mut why = None;
    if let (Some(session), Some(username), true) = (stored, username.clone(), own) {
        match session.fault(file, url, now_ms) {
            None => return known(username, None, Some(session.token), true),
            fault => why = fault,
        }
    }
    let mut token = file.get("gateway.token").filter(|_| own && file.private);
    let belongs_here =
        file.get("gateway.token_url").map_or_else(|| same_gateway(file, url), |own| socket_url(&own) == url);
    if !belongs_here && token.take().is_some() {
        why = why.or(Some("the stored token belongs to another gateway"));
    }
    match (username, token) {
        (Some(username), Some(token)) => known(username, None, Some(token), false),
        (username, _) => Credentials::Missing { username, why },
    }
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
pub enum Origin {
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
) -> Result<(String, Origin), Option<&'static str>> {
    if let Some(token) = globals.token.clone() {
        return Ok((token, Origin::Flag));
    }
    let own = file.get("node.url");
    let belongs_here = own.map_or_else(|| same_gateway(file, url), |own| socket_url(&own) == url);
    let mut why = None;
    match file.get("node.token") {
        Some(_) if !file.private => {
            why =
                Some("the stored device token is ignored: others can read the settings file (chmod 600 it)");
        }
        Some(_) if !belongs_here => why = Some("the stored device token belongs to another gateway"),
        Some(token) => return Ok((token, Origin::Stored)),
        None => {}
    }
    environment.map(|token| (token, Origin::Environment)).ok_or(why)
}

/// `http://…` as a socket URL, and a bare host with the path filled in, so that a printed address can be pasted.
pub fn socket_url(url: &str) -> String {
    let url = url.trim();
    let url = match url.split_once("://") {
        Some(("http", rest)) => format!("ws://{rest}"),
        Some(("https", rest)) => format!("wss://{rest}"),
        Some(_) => url.to_string(),
        None => format!("ws://{url}"),
    };
    match url.split_once("://") {
        Some((_, rest)) if !rest.trim_end_matches('/').contains('/') => {
            format!("{}/ws", url.trim_end_matches('/'))
        }
        _ => url,
    }
}

struct StoredSession {
    token: String,
    expires_at_ms: Option<i64>,
    url: Option<String>,
}

impl StoredSession {
    fn of(file: &ConfigFile) -> Option<StoredSession> {
        Some(StoredSession {
            token: file.get("gateway.session_token")?,
            expires_at_ms: file.get("gateway.session_expires_at").and_then(|text| text.parse().ok()),
            url: file.get("gateway.session_url"),
        })
    }

    /// Why the session is not to be used here, if so.
    fn fault(&self, file: &ConfigFile, url: &str, now_ms: i64) -> Option<&'static str> {
        let belongs_here = match &self.url {
            Some(own) => own == url,
            None => same_gateway(file, url),
        };
        if !file.private {
            return Some("the saved session is ignored: others can read the settings file (chmod 600 it)");
        }
        if !belongs_here {
            return Some("the saved session belongs to another gateway");
        }
        self.expires_at_ms.is_some_and(|expires| expires <= now_ms).then_some("the saved session has expired")
    }
}

/// A stored secret is sent to the gateway it was stored for and to no other.
pub fn same_gateway(file: &ConfigFile, url: &str) -> bool {
    socket_url(&file.get("gateway.url").unwrap_or_else(|| DEFAULT_URL.to_string())) == url
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

    fn token(globals: &Globals, text: &str, url: &str) -> Result<(String, Origin), Option<&'static str>> {
        let (_directory, file) = file(text);
        device_token(globals, &file, Some("env".into()), url)
    }

    #[test]
    fn a_devices_token_stays_with_its_gateway() {
        let none = Globals::default();
        let (stored, environment) = (("dev".into(), Origin::Stored), ("env".into(), Origin::Environment));
        assert_eq!(token(&none, DEVICE, "ws://now/ws"), Ok(stored.clone()));
        assert_eq!(token(&none, DEVICE, "ws://evil/ws"), Ok(environment.clone()));
        let own = format!("{DEVICE}url = \"http://own\"\n");
        assert_eq!(token(&none, &own, "ws://own/ws"), Ok(stored));
        assert_eq!(token(&none, &own, "ws://now/ws"), Ok(environment));
        let flag = Globals { token: Some("flag".into()), ..Globals::default() };
        assert_eq!(token(&flag, DEVICE, "ws://evil/ws"), Ok(("flag".into(), Origin::Flag)));
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
