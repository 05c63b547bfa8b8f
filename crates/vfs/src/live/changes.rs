//! Diff of account files: what a new text of an account file asks for, compared with the accounts there are.
//! Everything that can be refused is refused here, before anything is changed.
//!
//! The order of the changes is such that whatever breaks off in the middle leaves people with fewer rights and
//! not with more: locks come before new passwords and those before unlocks, leaving groups before joining them.
//! What cannot be taken back comes last: users and groups are removed when all else is done.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use protocol::ids::{Gid, Uid};
use store::accounts::{Account, Group};

use super::hash::Password;
use super::tables::{Bad, Numbered, Person, Secret, Team};

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// A new account without a password. Its number must be the one that was asked for.
    AddUser {
        username: String,
        uid: Option<Uid>,
        gecos: String,
    },
    RemoveUser {
        username: String,
    },
    Gecos {
        username: String,
        uid: Uid,
        gecos: String,
    },
    Hash {
        username: String,
        uid: Uid,
        hash: String,
    },
    Lock {
        username: String,
        locked: bool,
    },
    AddGroup {
        name: String,
        gid: Option<Gid>,
    },
    RemoveGroup {
        name: String,
    },
    /// All the groups a user is in besides its own.
    Groups {
        username: String,
        groups: Vec<String>,
    },
}

/// The accounts and groups there are, and the last number that was given to one.
pub(crate) struct Present {
    accounts: Vec<Account>,
    groups: Vec<Group>,
    latest_number: u32,
    /// Where they are in their lists.
    accounts_by_name: HashMap<String, usize>,
    accounts_by_number: HashMap<u32, usize>,
    groups_by_name: HashMap<String, usize>,
    groups_by_number: HashMap<u32, usize>,
}

impl Present {
    pub(crate) fn new(accounts: Vec<Account>, groups: Vec<Group>, latest_number: u32) -> Present {
        Present {
            accounts_by_name: index(&accounts, |account| account.username.clone()),
            accounts_by_number: index(&accounts, |account| account.uid.0),
            groups_by_name: index(&groups, |group| group.name.clone()),
            groups_by_number: index(&groups, |group| group.gid.0),
            accounts,
            groups,
            latest_number,
        }
    }

    /// Without the accounts that an earlier text did not name, and without the groups when it was one of groups.
    /// There a user is named by its own group.
    pub(crate) fn only_named_in(self, text: &str, is_of_groups: bool) -> Present {
        let named: HashSet<&str> = text.lines().filter_map(|line| line.split(':').next()).collect();
        let Present { mut accounts, mut groups, latest_number, .. } = self;
        accounts.retain(|account| named.contains(account.username.as_str()));
        if is_of_groups {
            groups.retain(|group| named.contains(group.name.as_str()));
            for group in &mut groups {
                group.members.retain(|member| named.contains(member.as_str()));
            }
        }
        Present::new(accounts, groups, latest_number)
    }

    pub(crate) fn people(&self) -> Vec<Person> {
        self.accounts.iter().map(person).collect()
    }

    pub(crate) fn teams(&self) -> Vec<Team> {
        let team = |group: &Group| Team {
            name: group.name.clone(),
            gid: Some(group.gid),
            members: group.members.clone(),
        };
        self.groups.iter().map(team).collect()
    }

    pub(crate) fn secrets(&self) -> Vec<Secret> {
        let secret = |account: &Account| Secret {
            username: account.username.clone(),
            password: Password::of(&account.hash, account.locked),
            changed_day: Some(account.changed_at.div_euclid(86_400_000)),
        };
        self.accounts.iter().map(secret).collect()
    }

    fn account(&self, username: &str) -> Option<&Account> {
        self.accounts_by_name.get(username).map(|at| &self.accounts[*at])
    }

    fn group(&self, name: &str) -> Option<&Group> {
        self.groups_by_name.get(name).map(|at| &self.groups[*at])
    }

    /// Whose number it is. A user's own group has the same one.
    fn account_numbered(&self, number: u32) -> Option<&Account> {
        self.accounts_by_number.get(&number).map(|at| &self.accounts[*at])
    }

    fn group_numbered(&self, gid: Gid) -> Option<&Group> {
        self.groups_by_number.get(&gid.0).map(|at| &self.groups[*at])
    }

    /// Refuses a number for something new that is not the next one: numbers are never given twice.
    fn check_number(&self, given: Option<u32>, added: usize) -> Result<(), String> {
        let next = self.latest_number.saturating_add(1).saturating_add(added as u32);
        match given {
            Some(number) if number != next => {
                Err(format!("the number must be empty or {next}, the next free one"))
            }
            _ => Ok(()),
        }
    }
}

fn index<T, K: std::hash::Hash + Eq>(rows: &[T], key: impl Fn(&T) -> K) -> HashMap<K, usize> {
    rows.iter().enumerate().map(|(at, row)| (key(row), at)).collect()
}

fn person(account: &Account) -> Person {
    Person {
        username: account.username.clone(),
        uid: Some(account.uid),
        gid: Some(account.gid),
        gecos: account.gecos.clone(),
        home: account.home.clone(),
        shell: account.shell.clone(),
    }
}

/// What a new `/etc/passwd` asks for.
pub(crate) fn of_people(present: &Present, wanted: &[Numbered<Person>]) -> Result<Vec<Change>, Bad> {
    let mut changes = Vec::new();
    let mut added = 0;
    for (line, person) in wanted {
        let bad = |why: String| Bad { line: Some(*line), why };
        match present.account(&person.username) {
            Some(account) => changes.extend(of_person(account, person).map_err(bad)?),
            None => {
                changes.push(new_person(present, person, added).map_err(bad)?);
                added += 1;
            }
        }
    }
    let kept: BTreeSet<&str> = wanted.iter().map(|(_, person)| person.username.as_str()).collect();
    for account in present.accounts.iter().filter(|account| !kept.contains(account.username.as_str())) {
        if account.uid.is_root() {
            return Err(Bad {
                line: None,
                why: "root's line is missing: root cannot be removed".to_string(),
            });
        }
        changes.push(Change::RemoveUser { username: account.username.clone() });
    }
    Ok(changes)
}

fn of_person(account: &Account, wanted: &Person) -> Result<Option<Change>, String> {
    let username = &account.username;
    if wanted.uid.is_some_and(|uid| uid != account.uid) || wanted.gid.is_some_and(|gid| gid != account.gid) {
        return Err(format!("the numbers of {username} cannot be changed: they are {}", account.uid));
    }
    if !wanted.home.is_empty() && wanted.home != account.home {
        return Err(format!("the home of {username} cannot be changed: it is {}", account.home));
    }
    if !wanted.shell.is_empty() && wanted.shell != account.shell {
        return Err(format!("the shell of {username} cannot be changed: it is {}", account.shell));
    }
    let gecos = wanted.gecos.clone();
    let change = Change::Gecos { username: username.clone(), uid: account.uid, gecos };
    Ok((wanted.gecos != account.gecos).then_some(change))
}

fn new_person(present: &Present, wanted: &Person, added: usize) -> Result<Change, String> {
    let username = &wanted.username;
    if let Some(account) = wanted.uid.and_then(|uid| present.account_numbered(uid.0)) {
        return Err(format!(
            "{} is the number of {}: a user cannot be renamed",
            account.uid, account.username
        ));
    }
    if present.group(username).is_some() {
        return Err(format!("there is a group called {username}: a user needs the name for its own group"));
    }
    present.check_number(wanted.uid.map(|uid| uid.0), added)?;
    present.check_number(wanted.gid.map(|gid| gid.0), added)?;
    let home = format!("/home/{username}");
    if !wanted.home.is_empty() && wanted.home != home {
        return Err(format!("the home must be empty or {home}"));
    }
    if !matches!(wanted.shell.as_str(), "" | "/bin/init") {
        return Err("the shell must be empty or /bin/init".to_string());
    }
    let gecos = if wanted.gecos.is_empty() { username } else { &wanted.gecos };
    Ok(Change::AddUser { username: username.clone(), uid: wanted.uid, gecos: gecos.clone() })
}

/// What a new `/etc/shadow` asks for.
pub(crate) fn of_secrets(present: &Present, wanted: &[Numbered<Secret>]) -> Result<Vec<Change>, Bad> {
    let (mut locks, mut hashes, mut unlocks) = (Vec::new(), Vec::new(), Vec::new());
    for (line, secret) in wanted {
        let bad = |why: String| Bad { line: Some(*line), why };
        let account = present.account(&secret.username);
        let account = account.ok_or_else(|| bad(format!("there is no user {}", secret.username)))?;
        let (now, wanted) = (Password::of(&account.hash, account.locked), &secret.password);
        if now == *wanted {
            continue;
        }
        if account.uid.is_root() && (wanted.locked || wanted.hash.is_none()) {
            return Err(bad("root cannot be locked".to_string()));
        }
        let username = account.username.clone();
        if now.hash != wanted.hash {
            let hash = wanted.hash.clone().unwrap_or_else(|| "!".to_string());
            hashes.push(Change::Hash { username: username.clone(), uid: account.uid, hash });
        }
        // Without a password there is nothing to unlock; the account's own lock is left as it is.
        if wanted.hash.is_some() && account.locked != wanted.locked {
            let list = if wanted.locked { &mut locks } else { &mut unlocks };
            list.push(Change::Lock { username, locked: wanted.locked });
        }
    }
    let named: BTreeSet<&str> = wanted.iter().map(|(_, secret)| secret.username.as_str()).collect();
    match present.accounts.iter().find(|account| !named.contains(account.username.as_str())) {
        Some(account) => {
            let why =
                format!("the line of {} is missing: users are removed in /etc/passwd", account.username);
            Err(Bad { line: None, why })
        }
        None => Ok([locks, hashes, unlocks].concat()),
    }
}

/// What a new `/etc/group` asks for.
pub(crate) fn of_teams(present: &Present, wanted: &[Numbered<Team>]) -> Result<Vec<Change>, Bad> {
    let (mut changes, mut removals) = (Vec::new(), Vec::new());
    let mut memberships: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let mut added = 0;
    for (line, team) in wanted {
        let bad = |why: String| Bad { line: Some(*line), why };
        if check_team(present, team, added).map_err(bad)? {
            changes.push(Change::AddGroup { name: team.name.clone(), gid: team.gid });
            added += 1;
        }
        for member in &team.members {
            let account = present.account(member).ok_or_else(|| bad(format!("there is no user {member}")))?;
            if present.group(&team.name).is_none_or(|group| group.gid != account.gid) {
                memberships.entry(member).or_default().insert(team.name.clone());
            }
        }
    }
    let kept: BTreeSet<&str> = wanted.iter().map(|(_, team)| team.name.as_str()).collect();
    for group in present.groups.iter().filter(|group| !kept.contains(group.name.as_str())) {
        if is_fixed(present, group) {
            let why = format!("the line of {} is missing: that group cannot be removed", group.name);
            return Err(Bad { line: None, why });
        }
        removals.push(Change::RemoveGroup { name: group.name.clone() });
    }
    changes.extend(of_memberships(present, &memberships));
    changes.extend(removals);
    Ok(changes)
}

/// Whether a group is new; refuses what cannot be.
fn check_team(present: &Present, team: &Team, added: usize) -> Result<bool, String> {
    let Some(group) = present.group(&team.name) else {
        if let Some(group) = team.gid.and_then(|gid| present.group_numbered(gid)) {
            return Err(format!("{} is the number of {}: a group cannot be renamed", group.gid, group.name));
        }
        present.check_number(team.gid.map(|gid| gid.0), added)?;
        return Ok(true);
    };
    if team.gid.is_some_and(|gid| gid != group.gid) {
        return Err(format!("the number of {} cannot be changed: it is {}", group.name, group.gid));
    }
    if group.gid == Gid::USERS {
        let named: HashSet<&String> = team.members.iter().collect();
        let is_missing = |account: &&Account| !account.uid.is_root() && !named.contains(&account.username);
        if let Some(missing) = present.accounts.iter().find(is_missing) {
            return Err(format!("{} is missing: every user is in {}", missing.username, group.name));
        }
    }
    Ok(false)
}

/// Groups that stay: the built-in ones, and those of single users.
fn is_fixed(present: &Present, group: &Group) -> bool {
    [Gid::ROOT, Gid::USERS, Gid::DRIVERS, Gid::SERVICES].contains(&group.gid)
        || present.account_numbered(group.gid.0).is_some()
}

fn of_memberships(present: &Present, wanted: &BTreeMap<&str, BTreeSet<String>>) -> Vec<Change> {
    let mut held: HashMap<&str, BTreeSet<&str>> = HashMap::new();
    for group in &present.groups {
        for member in &group.members {
            held.entry(member).or_default().insert(&group.name);
        }
    }
    let (mut leaving, mut joining) = (Vec::new(), Vec::new());
    for account in &present.accounts {
        let now = held.remove(account.username.as_str()).unwrap_or_default();
        let then: BTreeSet<&str> =
            wanted.get(account.username.as_str()).into_iter().flatten().map(String::as_str).collect();
        if now == then {
            continue;
        }
        let list = if now.is_subset(&then) { &mut joining } else { &mut leaving };
        let groups = then.into_iter().map(str::to_string).collect();
        list.push(Change::Groups { username: account.username.clone(), groups });
    }
    [leaving, joining].concat()
}

#[cfg(test)]
mod tests;
