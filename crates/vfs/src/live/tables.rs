//! Parser and printer of `/etc/passwd`, `/etc/group` and `/etc/shadow` in the classic formats. Nothing here knows
//! which accounts there are; `changes` does.

use std::collections::HashSet;

use protocol::ids::{Gid, Uid};

use super::hash::{self, Password};
use super::node::number;

/// A line of `/etc/passwd`: `name:x:uid:gid:gecos:home:shell`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Person {
    pub(crate) username: String,
    /// Absent when the gateway is to choose.
    pub(crate) uid: Option<Uid>,
    pub(crate) gid: Option<Gid>,
    pub(crate) gecos: String,
    /// Empty means the usual one.
    pub(crate) home: String,
    pub(crate) shell: String,
}

/// A line of `/etc/group`: `name:x:gid:member,member`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Team {
    pub(crate) name: String,
    /// Absent when the gateway is to choose.
    pub(crate) gid: Option<Gid>,
    pub(crate) members: Vec<String>,
}

/// A line of `/etc/shadow`: `name:password:changed:min:max:warn:inactive:expire:`. Passwords do not age here, so
/// that only the first three say anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Secret {
    pub(crate) username: String,
    pub(crate) password: Password,
    /// Days since 1970. The gateway keeps it; what is written there is passed over.
    pub(crate) changed_day: Option<i64>,
}

/// What is wrong with a text, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bad {
    /// Counted from 1; absent when a line is missing.
    pub(crate) line: Option<usize>,
    pub(crate) why: String,
}

impl std::fmt::Display for Bad {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.why),
            None => f.write_str(&self.why),
        }
    }
}

/// A line that was understood, and its number.
pub(crate) type Numbered<T> = (usize, T);

/// A line of one of the tables.
pub(crate) trait Line: Sized {
    /// What no two lines may share.
    fn name(&self) -> &str;
    /// The same for the number, where there is one.
    fn number(&self) -> Option<u32>;
    fn read(fields: &[&str]) -> Result<Self, String>;
    fn write(&self) -> String;
}

/// The text of a table.
pub(crate) fn print<T: Line>(lines: &[T]) -> String {
    lines.iter().map(|line| line.write() + "\n").collect()
}

/// The lines of a text. Empty ones are passed over; the first bad one is the answer.
pub(crate) fn parse<T: Line>(text: &str) -> Result<Vec<Numbered<T>>, Bad> {
    let mut lines = Vec::new();
    let (mut names, mut numbers) = (HashSet::new(), HashSet::new());
    for (at, text) in (1..).zip(text.split('\n')) {
        if text.trim().is_empty() {
            continue;
        }
        let bad = |why: String| Bad { line: Some(at), why };
        if text.contains(char::is_control) {
            return Err(bad("control characters are not allowed".to_string()));
        }
        let fields: Vec<&str> = text.split(':').collect();
        let line = T::read(&fields).map_err(bad)?;
        if !names.insert(line.name().to_string()) {
            return Err(bad(format!("{} is there twice", line.name())));
        }
        if let Some(number) = line.number().filter(|number| !numbers.insert(*number)) {
            return Err(bad(format!("the number {number} is there twice")));
        }
        lines.push((at, line));
    }
    Ok(lines)
}

impl Line for Person {
    fn name(&self) -> &str {
        &self.username
    }

    fn number(&self) -> Option<u32> {
        self.uid.map(|uid| uid.0)
    }

    fn read(fields: &[&str]) -> Result<Person, String> {
        let [username, password, uid, gid, gecos, home, shell] = fields else {
            return Err(format!(
                "7 fields are needed (name:x:uid:gid:gecos:home:shell), not {}",
                fields.len()
            ));
        };
        check_placeholder(password, "passwords are set in /etc/shadow")?;
        Ok(Person {
            username: check_name(username)?,
            uid: optional_number(uid, "uid")?.map(Uid),
            gid: optional_number(gid, "gid")?.map(Gid),
            gecos: gecos.to_string(),
            home: home.to_string(),
            shell: shell.to_string(),
        })
    }

    fn write(&self) -> String {
        let Person { username, gecos, home, shell, .. } = self;
        let (uid, gid) = (text_or_empty(self.uid), text_or_empty(self.gid));
        format!("{username}:x:{uid}:{gid}:{gecos}:{home}:{shell}")
    }
}

impl Line for Team {
    fn name(&self) -> &str {
        &self.name
    }

    fn number(&self) -> Option<u32> {
        self.gid.map(|gid| gid.0)
    }

    fn read(fields: &[&str]) -> Result<Team, String> {
        let [name, password, gid, members] = fields else {
            return Err(format!("4 fields are needed (name:x:gid:members), not {}", fields.len()));
        };
        check_placeholder(password, "groups have no passwords")?;
        let gid = optional_number(gid, "gid")?.map(Gid);
        let members = members.split(',').filter(|_| !members.is_empty());
        let members = members.map(check_name).collect::<Result<Vec<String>, String>>()?;
        Ok(Team { name: check_name(name)?, gid, members })
    }

    fn write(&self) -> String {
        format!("{}:x:{}:{}", self.name, text_or_empty(self.gid), self.members.join(","))
    }
}

impl Line for Secret {
    fn name(&self) -> &str {
        &self.username
    }

    fn number(&self) -> Option<u32> {
        None
    }

    fn read(fields: &[&str]) -> Result<Secret, String> {
        let [username, password, rest @ ..] = fields else {
            return Err("at least 2 fields are needed (name:hash)".to_string());
        };
        let changed = rest.first().copied().unwrap_or_default();
        let changed_day = match changed {
            "" => None,
            text => Some(text.parse().map_err(|_| format!("{text} is not a day"))?),
        };
        // What `write` shows, or nothing.
        let ageing = rest.iter().skip(1).zip(AGEING.split(':'));
        if rest.len() > 7 || ageing.clone().any(|(given, usual)| !given.is_empty() && *given != usual) {
            return Err(format!("passwords do not age here: leave the last fields as {AGEING}"));
        }
        Ok(Secret { username: check_name(username)?, password: hash::parse(password)?, changed_day })
    }

    fn write(&self) -> String {
        let Secret { username, password, changed_day } = self;
        let changed = changed_day.map(|day| day.to_string()).unwrap_or_default();
        format!("{username}:{password}:{changed}:{AGEING}")
    }
}

const AGEING: &str = "0:99999:7:::";

fn check_placeholder(field: &str, why: &str) -> Result<(), String> {
    if field == "x" { Ok(()) } else { Err(format!("the second field must be x: {why}")) }
}

/// `^[a-z_][a-z0-9_-]{0,31}$`, the rule of `sys.user.create`.
fn check_name(name: &str) -> Result<String, String> {
    let first = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
    let rest = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-');
    if first && rest && name.len() <= 32 {
        Ok(name.to_string())
    } else {
        Err(format!("{name:?} is not a name: it must match ^[a-z_][a-z0-9_-]{{0,31}}$"))
    }
}

fn optional_number(field: &str, what: &str) -> Result<Option<u32>, String> {
    match field {
        "" => Ok(None),
        text => number(text).map(Some).ok_or_else(|| format!("{text} is not a {what}")),
    }
}

fn text_or_empty(number: Option<impl ToString>) -> String {
    number.map(|number| number.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bad<T: Line + std::fmt::Debug>(text: &str) -> String {
        parse::<T>(text).unwrap_err().to_string()
    }

    #[test]
    fn the_first_bad_line_is_named() {
        let good = "root:x:0:0:root:/root:/bin/init\n";
        let cases = [
            ("ann:x:1000:1000:a:/home/ann", "line 2: 7 fields are needed"),
            ("# note", "line 2: 7 fields are needed"),
            ("ann:secret:1000:1000::/home/ann:/bin/init", "line 2: the second field must be x"),
            ("Ann:x:1000:1000::/home/ann:/bin/init", "line 2: \"Ann\" is not a name"),
            ("ann:x:-1:1000::/home/ann:/bin/init", "line 2: -1 is not a uid"),
            ("ann:x:01000:1000::/home/ann:/bin/init", "line 2: 01000 is not a uid"),
            ("ann:x:4294967296:1000::/home/ann:/bin/init", "line 2: 4294967296 is not a uid"),
            ("root:x:1:1:::", "line 2: root is there twice"),
            ("ann:x:0:0:::", "line 2: the number 0 is there twice"),
            ("ann:x:1000:1000:\u{7}::", "line 2: control characters"),
            ("ann:x:1000:1000:::/bin/init\r", "line 2: control characters"),
        ];
        for (line, words) in cases {
            let found = bad::<Person>(&format!("{good}{line}\n"));
            assert!(found.starts_with(words), "{line}: {found}");
        }
        assert!(bad::<Team>("users:x:100:ann,,bob").starts_with("line 1: \"\" is not a name"));
        assert!(bad::<Team>("users:!:100:").starts_with("line 1: the second field"));
        assert!(bad::<Secret>("ann:password1").starts_with("line 1: "));
        assert!(bad::<Secret>("ann:!:1:5:99999:7:::").contains("do not age"));
        assert!(bad::<Secret>("ann:!:x").contains("is not a day"));
        assert!(parse::<Secret>("ann:!").is_ok() && parse::<Secret>("ann::19000:0:99999:7:::").is_ok());
    }

    fn name() -> impl Strategy<Value = String> {
        "[a-z_][a-z0-9_-]{0,31}"
    }

    fn field() -> impl Strategy<Value = String> {
        "[^:\\p{C}]{0,20}"
    }

    prop_compose! {
        fn person()(username in name(), uid: Option<u32>, gid: Option<u32>, gecos in field(), home in field(),
            shell in field()) -> Person {
            Person { username, uid: uid.map(Uid), gid: gid.map(Gid), gecos, home, shell }
        }
    }

    prop_compose! {
        fn team()(name in name(), gid: Option<u32>, members in prop::collection::vec(name(), 0..4)) -> Team {
            Team { name, gid: gid.map(Gid), members }
        }
    }

    prop_compose! {
        fn secret()(username in name(), locked: bool, set: bool, salt in "[A-Za-z0-9+/]{22}",
            body in "[A-Za-z0-9+/]{43}", changed_day: Option<i64>) -> Secret {
            let hash = format!("$argon2id$v=19$m=19456,t=2,p=1${salt}${body}");
            let password = if set { Password { hash: Some(hash), locked } } else { Password::default() };
            Secret { username, password, changed_day }
        }
    }

    fn read_back<T: Line + Clone + PartialEq + std::fmt::Debug>(line: &T) {
        let lines = parse::<T>(&print(std::slice::from_ref(line))).unwrap();
        assert_eq!(lines, [(1, line.clone())]);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(person in person(), team in team(), secret in secret()) {
            read_back(&person);
            read_back(&team);
            read_back(&secret);
        }

        #[test]
        fn garbage_never_panics(text in ".{0,200}", lines in "([a-z:$!*0-9,]{0,40}\n){0,5}") {
            for text in [text, lines] {
                drop((parse::<Person>(&text), parse::<Team>(&text), parse::<Secret>(&text)));
            }
        }
    }
}
