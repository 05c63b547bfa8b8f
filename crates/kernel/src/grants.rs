//! Access-control table: the capabilities of a fresh system, and what each group holds now.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, LazyLock, Mutex, RwLock};

use base::sync::{lock, read, write};
use gateway::Capabilities;
use protocol::ids::Gid;
use protocol::spec::{Group, Route};
use store::changes::{Changes, Topic};

type Table = BTreeMap<Gid, BTreeSet<String>>;

/// What each group holds; the store's table, in memory.
pub(crate) struct Grants {
    by_group: RwLock<Table>,
    changes: Changes,
    /// By groups, as they are in the table now: thousands of sockets share a handful of these.
    shared: Mutex<HashMap<Vec<Gid>, Arc<Capabilities>>>,
}

/// Combinations of groups that are kept ready.
const SHARED_MAX: usize = 1_024;

impl Grants {
    pub(crate) fn new(rows: Vec<(Gid, String)>, changes: Changes) -> Grants {
        Grants { by_group: RwLock::new(table(rows)), changes, shared: Mutex::default() }
    }

    /// What the groups hold together.
    pub(crate) fn of(&self, gids: &[Gid]) -> Arc<Capabilities> {
        let by_group = read(&self.by_group);
        let mut shared = lock(&self.shared);
        if let Some(known) = shared.get(gids) {
            return known.clone();
        }
        let held = gids.iter().filter_map(|gid| by_group.get(gid)).flatten().cloned();
        let capabilities = Arc::new(Capabilities::new(held));
        if shared.len() >= SHARED_MAX {
            shared.clear();
        }
        shared.insert(gids.to_vec(), capabilities.clone());
        capabilities
    }

    pub(crate) fn add(&self, gid: Gid, capability: &str) {
        self.change(|groups| groups.entry(gid).or_default().insert(capability.to_string()));
    }

    pub(crate) fn remove(&self, gid: Gid, capability: &str) {
        self.change(|groups| groups.get_mut(&gid).is_some_and(|held| held.remove(capability)));
    }

    pub(crate) fn remove_group(&self, gid: Gid) {
        self.change(|groups| groups.remove(&gid).is_some());
    }

    /// Takes over the whole table as it was read at a generation, and returns the groups that have lost something;
    /// `None` when there is a newer generation, so that it has to be read again.
    pub(crate) fn replace(&self, rows: Vec<(Gid, String)>, as_of: u64) -> Option<BTreeSet<Gid>> {
        let now = table(rows);
        self.change(|groups| {
            // Under the lock: who writes the store says so before it changes the map.
            if self.changes.generation(Topic::Grants) != as_of {
                return None;
            }
            let before = std::mem::replace(groups, now);
            let has_lost = |(gid, held): &(&Gid, &BTreeSet<String>)| {
                groups.get(gid).is_none_or(|now| !held.is_subset(now)) && !held.is_empty()
            };
            Some(before.iter().filter(has_lost).map(|(gid, _)| *gid).collect())
        })
    }

    /// The map changes first and then the number, so whoever sees the new number reads the new map. The store's own
    /// number, after the commit, came before the map: what was kept in between is stale now.
    fn change<T>(&self, change: impl FnOnce(&mut Table) -> T) -> T {
        let mut by_group = write(&self.by_group);
        let changed = change(&mut by_group);
        lock(&self.shared).clear();
        self.changes.advance(Topic::Grants);
        changed
    }
}

fn table(rows: Vec<(Gid, String)>) -> Table {
    let mut groups = Table::new();
    for (gid, capability) in rows {
        groups.entry(gid).or_default().insert(capability);
    }
    groups
}

/// What clients of the described generation are told that users hold, though the call is not in our tables yet. Its row
/// takes its place.
const AHEAD_OF_THEIR_ROWS: &[(Gid, &str)] = &[(Gid::USERS, "pkg.create")];

/// What the built-in groups hold on a fresh system, from the rows of the calls. A default that root revoked stays
/// revoked.
pub(crate) fn defaults() -> Vec<(Gid, &'static str)> {
    static PATTERNS: LazyLock<BTreeSet<(Gid, String)>> = LazyLock::new(|| {
        let mut patterns = BTreeSet::from([(Gid::ROOT, "*".to_string())]);
        for spec in protocol::calls() {
            let whole_domain = || format!("{}.*", spec.domain());
            if spec.route == Route::Target {
                patterns.insert((Gid::DRIVERS, whole_domain()));
            }
            for grant in spec.grants {
                let gid = match grant.group {
                    Group::Root => continue,
                    Group::Users => Gid::USERS,
                    Group::Services => Gid::SERVICES,
                };
                let pattern = if grant.is_whole_domain { whole_domain() } else { spec.name.to_string() };
                patterns.insert((gid, pattern));
            }
        }
        patterns
    });
    let of_rows = PATTERNS.iter().map(|(gid, pattern)| (*gid, pattern.as_str()));
    of_rows.chain(AHEAD_OF_THEIR_ROWS.iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use protocol::capability;

    use super::*;

    /// What a fresh system of the described generation holds, as its clients are told in `sys.connect`; and the two
    /// calls for speech.
    const DESCRIBED: &[(Gid, &str)] = &[
        (Gid::ROOT, "*"),
        (Gid::DRIVERS, "fs.* shell.*"),
        (Gid::SERVICES, "adapter.*"),
        (
            Gid::USERS,
            "codemode.* fs.* shell.* notification.* proc.* signal.* sched.* \
             pkg.create pkg.list pkg.checkout pkg.install pkg.remove pkg.remote.list pkg.remote.add \
             pkg.remote.remove pkg.public.list pkg.public.set \
             repo.apply repo.compare repo.create repo.diff repo.import repo.list repo.log repo.read repo.refs \
             repo.search adapter.connect adapter.disconnect adapter.status \
             ai.transcription.create ai.speech.create sys.config.get sys.config.set sys.bootstrap \
             sys.device.get sys.device.list sys.device.update sys.oauth.forget sys.oauth.list sys.oauth.start \
             sys.oauth.refresh \
             sys.mcp.add sys.mcp.call sys.mcp.list sys.mcp.refresh sys.mcp.remove \
             sys.link sys.link.list sys.link.consume sys.unlink \
             sys.token.create sys.token.list sys.token.revoke sys.workspace.list sys.workspace.create \
             sys.workspace.archive sys.workspace.restore",
        ),
    ];

    #[test]
    fn the_rows_grant_what_the_described_generation_does() {
        let described: BTreeSet<(Gid, &str)> = DESCRIBED
            .iter()
            .flat_map(|(gid, patterns)| patterns.split_whitespace().map(|pattern| (*gid, pattern)))
            .collect();
        assert_eq!(defaults().into_iter().collect::<BTreeSet<_>>(), described);
        assert_eq!(defaults().len(), described.len(), "a default is given twice");
    }

    #[test]
    fn a_group_holds_exactly_the_calls_whose_rows_say_so() {
        let grants = granted_by_default(Changes::default());
        for (gid, group) in
            [(Gid::ROOT, Group::Root), (Gid::USERS, Group::Users), (Gid::SERVICES, Group::Services)]
        {
            let held = grants.of(&[gid]);
            for spec in protocol::calls() {
                assert_eq!(held.cover(spec.name), spec.is_granted_to(group), "{group:?} {}", spec.name);
            }
        }
        for (_, name) in AHEAD_OF_THEIR_ROWS {
            assert!(protocol::spec(name).is_none(), "{name} has a row now, which says who holds it");
        }
    }

    #[test]
    fn every_default_is_a_valid_pattern() {
        for (_, pattern) in defaults() {
            assert!(capability::is_valid(pattern), "{pattern}");
        }
    }

    #[test]
    fn users_may_not_manage_accounts_and_root_may_do_all() {
        let grants = granted_by_default(Changes::default());
        let user = grants.of(&[Gid::USERS, Gid(1000)]);
        assert!(user.cover("fs.read") && user.cover("proc.no.such.call"));
        assert!(!user.cover("sys.user.create") && !user.cover("pkg.add") && !user.cover("nonsense.call"));
        let root = grants.of(&[Gid::ROOT]);
        assert!(root.cover("sys.user.create") && root.cover("nonsense.call"));
    }

    fn granted_by_default(changes: Changes) -> Grants {
        Grants::new(defaults().into_iter().map(|(gid, name)| (gid, name.to_string())).collect(), changes)
    }

    #[test]
    fn every_change_has_another_number_and_a_table_that_was_read_before_it_is_not_taken_over() {
        let changes = Changes::default();
        let grants = granted_by_default(changes.clone());
        let before = changes.generation(Topic::Grants);
        grants.remove(Gid::USERS, "fs.*");
        let now = changes.generation(Topic::Grants);
        assert!(now > before && !grants.of(&[Gid::USERS]).cover("fs.read"));
        let read = vec![(Gid::USERS, "fs.*".to_string())];
        assert_eq!(grants.replace(read.clone(), before), None);
        assert!(!grants.of(&[Gid::USERS]).cover("fs.read"));
        let now = changes.generation(Topic::Grants);
        let lost = BTreeSet::from([Gid::ROOT, Gid::DRIVERS, Gid::SERVICES, Gid::USERS]);
        assert_eq!(grants.replace(read, now), Some(lost));
        assert!(grants.of(&[Gid::USERS]).cover("fs.read") && changes.generation(Topic::Grants) > now);
    }
}
