//! Lookup in the table of settings: which row a key of a client belongs to, and which one it may have meant.

use super::{ROWS, Row, SYSTEM, Writer, stem};
use crate::ids::Uid;
use crate::spec::By;

/// A key that is in the table.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// What the table says of it: type, default, who may write it.
    pub row: &'static Row,
    /// Whose it is; `None` for everybody's.
    pub uid: Option<Uid>,
}

/// Finds the row of `config/…` or, for keys that users can have themselves, of `users/<uid>/…`.
pub fn find(key: &str) -> Option<Known> {
    let (rest, uid) = match owner(key) {
        Some((uid, rest)) => (rest, Some(uid)),
        None => (key.strip_prefix(SYSTEM)?, None),
    };
    let allows = |row: &Row| uid.is_none() || matches!(row.writer, Writer::User | Writer::RootForUser);
    let row = ROWS
        .iter()
        .find(|row| allows(row) && row.name.strip_prefix(SYSTEM).is_some_and(|name| fits(name, rest)))?;
    Some(Known { row, uid })
}

/// The key in the table that is spelled most like this one; `None` when none is near. What differs is counted without
/// the beginning: a user's own key may have to be everybody's.
pub fn nearest(key: &str) -> Option<String> {
    let (uid, rest) = owner(key).map_or((None, stem(key)), |(uid, rest)| (Some(uid), rest));
    let writable = ROWS.iter().filter(|row| row.writer != Writer::Nobody);
    let scored = writable.map(|row| (strsim::damerau_levenshtein(rest, stem(row.name)), row));
    let (distance, row) = scored.min_by_key(|(distance, _)| *distance)?;
    let name = match (uid, row.writer) {
        (Some(uid), Writer::User | Writer::RootForUser) => format!("users/{uid}/{}", stem(row.name)),
        _ => row.name.to_string(),
    };
    (distance * 2 <= rest.len()).then_some(name)
}

/// Whether a key holds a secret: its row says so, or the name of its last segment does. The name counts also for keys
/// that are in no row, such as those that were set when any could be.
pub fn is_sensitive(key: &str) -> bool {
    const NAMES: [&str; 7] =
        ["api_key", "secret", "token", "password", "access_token", "refresh_token", "client_secret"];
    const ENDINGS: [&str; 4] = ["_api_key", "_secret", "_token", "_password"];
    let last = key.rsplit('/').next().unwrap_or(key).to_ascii_lowercase();
    let by_name = NAMES.contains(&last.as_str()) || ENDINGS.iter().any(|ending| last.ends_with(ending));
    by_name || find(key).is_some_and(|known| known.row.is_secret)
}

/// Who may set a key besides what its row says of root and users. What is in no row is not for agents.
pub fn set_by(key: &str) -> By {
    find(key).map_or(By::Person, |known| known.row.by)
}

/// The user a `users/<uid>/…` key belongs to, and the rest of it.
fn owner(key: &str) -> Option<(Uid, &str)> {
    let (uid, rest) = key.strip_prefix("users/")?.split_once('/')?;
    Some((Uid(uid.parse().ok()?), rest))
}

/// Whether a key is the one of a row, or one of its family.
fn fits(name: &str, key: &str) -> bool {
    let mut given = key.split('/');
    for segment in name.split('/') {
        let Some(part) = given.next() else { return false };
        if segment.ends_with("…>") {
            return !part.is_empty() && given.all(|part| !part.is_empty());
        }
        let is_it = if segment.starts_with('<') { !part.is_empty() } else { part == segment };
        if !is_it {
            return false;
        }
    }
    given.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_users_key_has_the_row_of_everybodys() {
        for name in ["ai/max_tokens", "ai/generation/timeout_ms", "files/quota_bytes", "ai/tools/approval"] {
            let known = find(&format!("users/1000/{name}")).unwrap();
            assert_eq!((known.row.name.strip_prefix(SYSTEM), known.uid), (Some(name), Some(Uid(1000))));
            assert_eq!(find(&format!("config/{name}")).unwrap().uid, None);
        }
    }

    #[test]
    fn a_users_key_is_for_whom_everybodys_is() {
        for (name, by) in [
            ("ai/tools/approval", By::Approver),
            ("ai/model", By::Anybody),
            ("ai/base_url", By::Person),
            ("ai/no_such_key", By::Person),
        ] {
            assert_eq!(set_by(&format!("users/1000/{name}")), by, "{name}");
            assert_eq!(set_by(&format!("config/{name}")), by, "{name}");
        }
        assert_eq!(set_by("config/ai/profile/task/tools/approval"), By::Approver);
    }

    #[test]
    fn what_is_in_no_row_is_not_known() {
        let names =
            ["users/1000/shell/wait_ms", "users/ai/max_tokens", "users/1000/ai", "config/ai", "", "config/"];
        let more = ["users/1000/ai/private_endpoints", "config/ai/modle", "ai/model", "config/ai/model/x"];
        for name in names.into_iter().chain(more) {
            assert!(find(name).is_none(), "{name}");
        }
    }

    #[test]
    fn families_have_one_row() {
        let families = [
            "config/ai/context.d/00-gsv.md",
            "config/ai/profile/task/context.d/a.md",
            "config/ai/profile/task/skills.d/brew/SKILL.md",
            "config/ai/profile/task/skills.d/pour.md",
            "config/ai/profile/task/tools/approval",
        ];
        for name in families {
            assert!(find(name).unwrap().row.is_family(), "{name}");
        }
        for name in [
            "config/ai/context.d",
            "config/ai/context.d/a/b",
            "config/ai/profile/task/skills.d",
            "config/ai/profile//tools/approval",
        ] {
            assert!(find(name).is_none(), "{name}");
        }
    }

    #[test]
    fn the_nearest_name_is_found() {
        let near = nearest;
        assert_eq!(near("config/ai/modle").as_deref(), Some("config/ai/model"));
        assert_eq!(near("config/routing/timeout").as_deref(), Some("config/routing/timeout_ms"));
        assert_eq!(near("users/1000/ai/max_token").as_deref(), Some("users/1000/ai/max_tokens"));
        assert_eq!(near("users/1000/ai/private_endpoint").as_deref(), Some("config/ai/private_endpoints"));
        assert_eq!(near("ai/model").as_deref(), Some("config/ai/model"));
        assert_eq!(near("nothing at all like this"), None);
    }

    #[test]
    fn secrets_are_known_by_their_row_and_by_their_last_segment() {
        for key in ["config/ai/api_key", "users/1/ai/API_KEY", "x/openai_api_key", "a/b_token", "secret"] {
            assert!(is_sensitive(key), "{key}");
        }
        for key in ["config/ai/model", "config/ai/api_key/note", "config/tokens", "config/ai/max_tokens"] {
            assert!(!is_sensitive(key), "{key}");
        }
        for row in ROWS {
            assert_eq!(is_sensitive(row.name), row.is_secret, "{}: the name says it too", row.name);
        }
    }
}
