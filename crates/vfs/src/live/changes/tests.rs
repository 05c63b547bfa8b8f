//! Tests of what may be asked of the account files, without any accounts being changed.

use super::*;
use crate::live::tables::{self, Line};

const HASH: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$Z3N2LW5vYm9keS1zYWx0$3pYTSnlJbWzMZ5t1ZGW6yLnmWHjXN4zg5m4bL4C3Qj4";

/// What somebody makes of a text, and how the refusal begins.
type Case = (fn(String) -> String, &'static str);

fn account(uid: u32, username: &str) -> Account {
    Account {
        uid: Uid(uid),
        gid: Gid(uid),
        gids: vec![Gid(uid)],
        username: username.to_string(),
        gecos: username.to_string(),
        home: if uid == 0 { "/root".to_string() } else { format!("/home/{username}") },
        shell: "/bin/init".to_string(),
        hash: HASH.to_string(),
        locked: false,
        changed_at: 86_400_000,
        sessions_ended: 0,
    }
}

fn group(gid: u32, name: &str, members: &[&str]) -> Group {
    Group { gid: Gid(gid), name: name.to_string(), members: members.iter().map(|m| m.to_string()).collect() }
}

fn present() -> Present {
    let groups = vec![
        group(0, "root", &[]),
        group(100, "users", &["ann", "bob"]),
        group(101, "drivers", &[]),
        group(102, "services", &[]),
        group(1000, "ann", &["bob"]),
        group(1001, "bob", &[]),
        group(1002, "makers", &["ann"]),
    ];
    Present::new(vec![account(0, "root"), account(1000, "ann"), account(1001, "bob")], groups, 1002)
}

fn people(edit: impl Fn(String) -> String) -> Result<Vec<Change>, String> {
    changes(edit(tables::print(&present().people())), of_people)
}

fn secrets(edit: impl Fn(String) -> String) -> Result<Vec<Change>, String> {
    changes(edit(tables::print(&present().secrets())), of_secrets)
}

fn teams(edit: impl Fn(String) -> String) -> Result<Vec<Change>, String> {
    changes(edit(tables::print(&present().teams())), of_teams)
}

type Compare<T> = fn(&Present, &[Numbered<T>]) -> Result<Vec<Change>, Bad>;

fn changes<T: Line>(text: String, of: Compare<T>) -> Result<Vec<Change>, String> {
    let lines = tables::parse(&text).map_err(|bad| bad.to_string())?;
    of(&present(), &lines).map_err(|bad| bad.to_string())
}

fn without(text: &str, name: &str) -> String {
    text.lines()
        .filter(|line| !line.starts_with(&format!("{name}:")))
        .map(|line| format!("{line}\n"))
        .collect()
}

#[test]
fn the_text_that_is_shown_changes_nothing() {
    assert_eq!(people(|text| text), Ok(vec![]));
    assert_eq!(secrets(|text| text), Ok(vec![]));
    assert_eq!(teams(|text| text), Ok(vec![]));
}

#[test]
fn users_are_added_named_and_removed() {
    let added = |uid| Change::AddUser { username: "eve".to_string(), uid, gecos: "Eve".to_string() };
    assert_eq!(people(|text| text + "eve:x:::Eve::\n"), Ok(vec![added(None)]));
    let line = "eve:x:1003:1003:Eve:/home/eve:/bin/init\n";
    assert_eq!(people(|text| text + line), Ok(vec![added(Some(Uid(1003)))]));
    let named = Change::Gecos { username: "ann".to_string(), uid: Uid(1000), gecos: "Ann B.".to_string() };
    assert_eq!(people(|text| text.replace(":ann:/home", ":Ann B.:/home")), Ok(vec![named]));
    let removed = Change::RemoveUser { username: "bob".to_string() };
    assert_eq!(people(|text| without(&text, "bob")), Ok(vec![removed]));
}

#[test]
fn what_cannot_be_done_to_users_is_refused() {
    let cases: [Case; 11] = [
        (|_| String::new(), "root's line is missing"),
        (|text| without(&text, "root"), "root's line is missing"),
        (|text| text.replace("root:x:0:0", "root:x:5:0"), "line 1: the numbers of root cannot be changed"),
        (|text| text.replace("root:x:0", "toor:x:0"), "line 1: 0 is the number of root"),
        (|text| text.replace("ann:x:1000:1000", "ann:x:1000:100"), "line 2: the numbers of ann"),
        (|text| text.replace("/home/ann", "/home/bob"), "line 2: the home of ann cannot be changed"),
        (|text| text.replace("/home/bob:/bin/init", "/home/bob:/bin/sh"), "line 3: the shell of bob"),
        (|text| text + "eve:x:0:0:::\n", "line 4: the number 0 is there twice"),
        (|text| text + "eve:x:1009:1009:::\n", "line 4: the number must be empty or 1003"),
        (|text| text + "makers:x:::::\n", "line 4: there is a group called makers"),
        (|text| text + "eve:x::::/root:\n", "line 4: the home must be empty or /home/eve"),
    ];
    for (edit, words) in cases {
        let refused = people(edit).unwrap_err();
        assert!(refused.starts_with(words), "{refused}");
    }
}

#[test]
fn hashes_and_locks_are_set_and_root_keeps_its_own() {
    let lock = |locked| Change::Lock { username: "ann".to_string(), locked };
    let hash =
        |hash: &str| Change::Hash { username: "ann".to_string(), uid: Uid(1000), hash: hash.to_string() };
    let other = HASH.replace("3pYT", "AAAA");
    assert_eq!(secrets(|text| text.replace("ann:$", "ann:!$")), Ok(vec![lock(true)]));
    let replace = |text: String, by: &str| text.replace(&format!("ann:{HASH}"), &format!("ann:{by}"));
    assert_eq!(secrets(|text| replace(text, "*")), Ok(vec![hash("!")]));
    assert_eq!(secrets(|text| replace(text, "")), Ok(vec![hash("!")]));
    assert_eq!(secrets(|text| replace(text, &other)), Ok(vec![hash(&other)]));
    assert_eq!(secrets(|text| replace(text, &format!("!{other}"))), Ok(vec![lock(true), hash(&other)]));
    for (from, to) in [("root:$", "root:!$"), (&format!("root:{HASH}"), "root:*")] {
        assert_eq!(secrets(|text| text.replace(from, to)).unwrap_err(), "line 1: root cannot be locked");
    }
    assert!(secrets(|text| replace(text, "hunter22")).unwrap_err().starts_with("line 2: the second field"));
    assert!(secrets(|text| without(&text, "bob")).unwrap_err().starts_with("the line of bob is missing"));
    assert_eq!(secrets(|text| text + "eve:!\n").unwrap_err(), "line 4: there is no user eve");
}

#[test]
fn groups_and_their_members_change() {
    let groups = |username: &str, groups: &[&str]| Change::Groups {
        username: username.to_string(),
        groups: groups.iter().map(|name| name.to_string()).collect(),
    };
    let added = Change::AddGroup { name: "ops".to_string(), gid: Some(Gid(1003)) };
    assert_eq!(
        teams(|text| text + "ops:x:1003:bob\n"),
        Ok(vec![added, groups("bob", &["ann", "ops", "users"])])
    );
    let removed = Change::RemoveGroup { name: "makers".to_string() };
    assert_eq!(teams(|text| without(&text, "makers")), Ok(vec![groups("ann", &["users"]), removed]));
    assert_eq!(
        teams(|text| text.replace("makers:x:1002:ann", "makers:x:1002:bob")),
        Ok(vec![groups("ann", &["users"]), groups("bob", &["ann", "makers", "users"])])
    );
    // Everybody is in the own group anyway.
    assert_eq!(teams(|text| text.replace("ann:x:1000:bob", "ann:x:1000:ann,bob")), Ok(vec![]));
    let cases: [Case; 7] = [
        (|_| String::new(), "the line of root is missing: that group cannot be removed"),
        (|text| without(&text, "ann"), "the line of ann is missing: that group cannot be removed"),
        (|text| text.replace("100:ann,bob", "100:bob"), "line 2: ann is missing: every user is in users"),
        (|text| text.replace("makers:x:1002", "makers:x:1003"), "line 7: the number of makers cannot be"),
        (|text| text.replace("makers:x:1002", "ops:x:1002"), "line 7: 1002 is the number of makers"),
        (|text| text + "ops:x:1009:\n", "line 8: the number must be empty or 1003"),
        (|text| text + "ops:x::eve\n", "line 8: there is no user eve"),
    ];
    for (edit, words) in cases {
        let refused = teams(edit).unwrap_err();
        assert!(refused.starts_with(words), "{refused}");
    }
}

#[test]
fn what_breaks_off_leaves_fewer_rights() {
    let lock = |name: &str, locked| Change::Lock { username: name.to_string(), locked };
    let hash = |uid, username: &str, hash: &str| Change::Hash {
        username: username.to_string(),
        uid: Uid(uid),
        hash: hash.to_string(),
    };
    let mut accounts = present().accounts;
    accounts[1].locked = true;
    let before = Present::new(accounts, present().groups, 1002);
    let other = HASH.replace("3pYT", "AAAA");
    let text = format!("root:{HASH}\nann:{other}\nbob:!{other}\n");
    let changes = of_secrets(&before, &tables::parse(&text).unwrap()).unwrap();
    let expected =
        [lock("bob", true), hash(1000, "ann", &other), hash(1001, "bob", &other), lock("ann", false)];
    assert_eq!(
        changes, expected,
        "nobody may log in with a new password before the lock, or with an old one"
    );

    let text = tables::print(&present().teams());
    let text = without(&text, "makers").replace("ann:x:1000:bob", "ann:x:1000:") + "ops:x:1003:ann\n";
    let name = |name: &str| name.to_string();
    let expected = [
        Change::AddGroup { name: name("ops"), gid: Some(Gid(1003)) },
        Change::Groups { username: name("ann"), groups: vec![name("ops"), name("users")] },
        Change::Groups { username: name("bob"), groups: vec![name("users")] },
        Change::RemoveGroup { name: name("makers") },
    ];
    assert_eq!(changes_of_teams(text), expected);
    let joins = tables::print(&present().teams()).replace("drivers:x:101:", "drivers:x:101:ann");
    let joins = joins.replace("ann:x:1000:bob", "ann:x:1000:");
    let order: Vec<String> = changes_of_teams(joins).iter().map(whose).collect();
    assert_eq!(order, ["bob", "ann"], "who leaves a group comes before who joins one");
}

fn changes_of_teams(text: String) -> Vec<Change> {
    changes(text, of_teams).unwrap()
}

fn whose(change: &Change) -> String {
    match change {
        Change::Groups { username, .. } => username.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn whoever_was_added_since_a_text_was_read_is_left_alone() {
    let without_bob =
        |text: String| without(&text, "bob").replace("ann,bob", "ann").replace("1000:bob", "1000:");
    let people = without_bob(tables::print(&present().people()));
    let then = present().only_named_in(&people, false);
    let lines = tables::parse(&(people.clone() + "eve:x:::::\n")).unwrap();
    let added = Change::AddUser { username: "eve".to_string(), uid: None, gecos: "eve".to_string() };
    assert_eq!(of_people(&then, &lines).unwrap(), [added]);
    let taken = tables::parse(&(people.clone() + "makers:x:::::\n")).unwrap();
    assert!(of_people(&then, &taken).unwrap_err().to_string().contains("there is a group called makers"));

    let secrets = without_bob(tables::print(&present().secrets()));
    let lines = tables::parse(&secrets.replace("ann:$", "ann:!$")).unwrap();
    let locked = Change::Lock { username: "ann".to_string(), locked: true };
    assert_eq!(of_secrets(&present().only_named_in(&secrets, false), &lines).unwrap(), [locked]);

    let teams = without(&without_bob(tables::print(&present().teams())), "makers");
    let lines = tables::parse(&(teams.clone() + "ops:x::\n")).unwrap();
    let added = Change::AddGroup { name: "ops".to_string(), gid: None };
    assert_eq!(of_teams(&present().only_named_in(&teams, true), &lines).unwrap(), [added]);
}
