//! Model-based test: random operations, compared with a plain model in memory, on both engines.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use protocol::ids::{DeviceId, Gid, Uid};
use store::accounts::NewAccount;
use store::devices::Registration;
use store::{Error, Store};

use crate::home::{Home, NOW_MS, provisioned};

#[derive(Clone, Debug)]
enum Op {
    AddUser(usize, Vec<u32>),
    RemoveUser(u32),
    SetGroups(u32, Vec<u32>),
    Lock(u32, bool),
    AddGroup(usize),
    RemoveGroup(u32),
    SetConfig(usize, String),
    RemoveConfig(usize),
    ReadBelow(usize),
    Grant(u32, usize),
    Revoke(u32, usize),
    Defaults(Vec<(u32, usize)>),
    Register(usize, u32),
    Offline(usize),
    Access(usize, u32, bool),
}

const NAMES: [&str; 5] = ["ada", "bob", "cyd", "users", "root"];
const KEYS: [&str; 10] = [
    "a",
    "a/b",
    "a/b/c",
    "a/b0",
    "a-b",
    "A/b",
    "a/b/token",
    "users/1000/x",
    "users/1001/api_key",
    "users/10010/x",
];
const CAPABILITIES: [&str; 3] = ["*", "fs.*", "Fs.read"];
const DEVICES: [&str; 3] = ["pc", "Mac", "a b"];

#[derive(Default)]
struct User {
    name: &'static str,
    locked: bool,
    groups: BTreeSet<u32>,
}

struct Device {
    owner: u32,
    online: bool,
    gids: BTreeSet<u32>,
}

#[derive(Default)]
struct Model {
    latest: u32,
    users: BTreeMap<u32, User>,
    groups: BTreeMap<u32, &'static str>,
    config: BTreeMap<&'static str, String>,
    grants: BTreeSet<(u32, &'static str)>,
    given: BTreeSet<(u32, &'static str)>,
    devices: BTreeMap<&'static str, Device>,
}

fn id() -> impl Strategy<Value = u32> {
    prop_oneof![Just(0u32), Just(100), 1000u32..1006]
}

fn op() -> impl Strategy<Value = Op> {
    let ids = || prop::collection::vec(id(), 0..3);
    let pairs = prop::collection::vec((id(), 0..CAPABILITIES.len()), 0..4);
    prop_oneof![
        3 => (0..NAMES.len(), ids()).prop_map(|(name, groups)| Op::AddUser(name, groups)),
        1 => (1000u32..1006).prop_map(Op::RemoveUser),
        2 => (id(), ids()).prop_map(|(uid, groups)| Op::SetGroups(uid, groups)),
        1 => (id(), any::<bool>()).prop_map(|(uid, locked)| Op::Lock(uid, locked)),
        1 => (0..NAMES.len()).prop_map(Op::AddGroup),
        1 => id().prop_map(Op::RemoveGroup),
        3 => (0..KEYS.len(), "[^\\x00]{0,8}").prop_map(|(key, value)| Op::SetConfig(key, value)),
        1 => (0..KEYS.len()).prop_map(Op::RemoveConfig),
        1 => (0..KEYS.len()).prop_map(Op::ReadBelow),
        2 => (id(), 0..CAPABILITIES.len()).prop_map(|(gid, name)| Op::Grant(gid, name)),
        1 => (id(), 0..CAPABILITIES.len()).prop_map(|(gid, name)| Op::Revoke(gid, name)),
        1 => pairs.prop_map(Op::Defaults),
        2 => (0..DEVICES.len(), 1000u32..1003).prop_map(|(device, owner)| Op::Register(device, owner)),
        1 => (0..DEVICES.len()).prop_map(Op::Offline),
        1 => (0..DEVICES.len(), id(), any::<bool>()).prop_map(|(device, gid, allow)| Op::Access(device, gid, allow)),
    ]
}

impl Model {
    fn new() -> Model {
        let mut model = Model { latest: 999, ..Model::default() };
        model.users.insert(0, User { name: "root", ..User::default() });
        model.groups = BTreeMap::from([(0, "root"), (100, "users"), (101, "drivers"), (102, "services")]);
        model
    }

    /// Those of the groups that exist, without the private one.
    fn joinable(&self, uid: u32, groups: &[u32]) -> BTreeSet<u32> {
        groups.iter().copied().filter(|gid| *gid != uid && self.groups.contains_key(gid)).collect()
    }

    fn next(&mut self, name: &'static str) -> Option<u32> {
        if self.groups.values().any(|taken| *taken == name) {
            return None;
        }
        self.latest += 1;
        self.groups.insert(self.latest, name);
        Some(self.latest)
    }

    fn forget_group(&mut self, gid: u32) {
        self.groups.remove(&gid);
        self.grants.retain(|(of, _)| *of != gid);
        self.devices.values_mut().for_each(|device| {
            device.gids.remove(&gid);
        });
        self.users.values_mut().for_each(|user| {
            user.groups.remove(&gid);
        });
    }

    fn config_below(&self, prefix: &str) -> Vec<(String, String)> {
        let below = |key: &str| key.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('/'));
        self.config
            .iter()
            .filter(|(key, _)| below(key))
            .map(|(key, value)| (key.to_string(), value.clone()))
            .collect()
    }
}

/// Does it to both and compares what they say.
async fn apply(store: &Store, model: &mut Model, op: &Op) {
    match op {
        Op::AddUser(name, groups) => {
            let name = NAMES[*name];
            let groups_given = groups.iter().copied().map(Gid).collect();
            let new =
                NewAccount { username: name.into(), hash: "h".into(), groups: groups_given, now_ms: NOW_MS };
            match (store.accounts().create(new).await, model.next(name)) {
                (Ok(account), Some(uid)) => {
                    assert_eq!(account.uid, Uid(uid));
                    let user = User { name, locked: false, groups: model.joinable(uid, groups) };
                    model.users.insert(uid, user);
                }
                (Err(Error::Conflict(_)), None) => {}
                (real, expected) => panic!("{real:?} instead of {expected:?}"),
            }
        }
        Op::RemoveUser(uid) => {
            let known = model.users.remove(uid).is_some();
            assert_eq!(store.accounts().remove(Uid(*uid)).await.unwrap().is_some(), known);
            if known {
                model.forget_group(*uid);
                model.devices.retain(|_, device| device.owner != *uid);
                for (key, _) in model.config_below(&format!("users/{uid}")) {
                    model.config.remove(key.as_str());
                }
            }
        }
        Op::SetGroups(uid, groups) => {
            let gids: Vec<Gid> = groups.iter().copied().map(Gid).collect();
            store.accounts().set_groups(Uid(*uid), &gids).await.unwrap();
            let joinable = model.joinable(*uid, groups);
            if let Some(user) = model.users.get_mut(uid) {
                user.groups = joinable;
            }
        }
        Op::Lock(uid, locked) => {
            let known = store.accounts().set_locked(Uid(*uid), *locked).await.unwrap();
            assert_eq!(known, model.users.contains_key(uid));
            if let Some(user) = model.users.get_mut(uid) {
                user.locked = *locked;
            }
        }
        Op::AddGroup(name) => match (store.groups().create(NAMES[*name]).await, model.next(NAMES[*name])) {
            (Ok(group), Some(gid)) => assert_eq!(group.gid, Gid(gid)),
            (Err(Error::Conflict(_)), None) => {}
            (real, expected) => panic!("{real:?} instead of {expected:?}"),
        },
        Op::RemoveGroup(gid) => {
            let removable = model.groups.contains_key(gid) && !model.users.contains_key(gid);
            assert_eq!(store.groups().remove(Gid(*gid)).await.unwrap(), removable);
            if removable {
                model.forget_group(*gid);
            }
        }
        other => apply_rest(store, model, other).await,
    }
}

async fn apply_rest(store: &Store, model: &mut Model, op: &Op) {
    match op {
        Op::SetConfig(key, value) => {
            store.config().set(KEYS[*key], value).await.unwrap();
            model.config.insert(KEYS[*key], value.clone());
        }
        Op::RemoveConfig(key) => {
            let known = model.config.remove(KEYS[*key]).is_some();
            assert_eq!(store.config().remove(KEYS[*key]).await.unwrap(), known);
        }
        Op::ReadBelow(key) => {
            let below = store.config().below(KEYS[*key]).await.unwrap();
            assert_eq!(below, model.config_below(KEYS[*key]));
        }
        Op::Grant(gid, name) => {
            let new = model.grants.insert((*gid, CAPABILITIES[*name]));
            assert_eq!(store.grants().give(Gid(*gid), CAPABILITIES[*name]).await.unwrap(), new);
        }
        Op::Revoke(gid, name) => {
            let known = model.grants.remove(&(*gid, CAPABILITIES[*name]));
            assert_eq!(store.grants().revoke(Gid(*gid), CAPABILITIES[*name]).await.unwrap(), known);
        }
        Op::Defaults(pairs) => {
            let defaults: Vec<(Gid, &str)> =
                pairs.iter().map(|(gid, name)| (Gid(*gid), CAPABILITIES[*name])).collect();
            store.grants().give_defaults(&defaults).await.unwrap();
            for (gid, name) in defaults {
                if model.given.insert((gid.0, name)) {
                    model.grants.insert((gid.0, name));
                }
            }
        }
        Op::Register(device, owner) => {
            let registration = Registration {
                device_id: DEVICES[*device].into(),
                owner_uid: Uid(*owner),
                owner_gid: Gid(*owner),
                implements: vec![],
                platform: String::new(),
                version: String::new(),
                now_ms: NOW_MS,
            };
            let mut allowed = model.users.contains_key(owner);
            if allowed {
                let new = Device { owner: *owner, online: true, gids: BTreeSet::from([*owner]) };
                let entry = model.devices.entry(DEVICES[*device]).or_insert(new);
                allowed = entry.owner == *owner;
                entry.online |= allowed;
            }
            assert_eq!(store.devices().register(registration).await.unwrap().is_some(), allowed);
        }
        Op::Offline(device) => {
            store.devices().set_offline(&DEVICES[*device].into(), NOW_MS).await.unwrap();
            if let Some(device) = model.devices.get_mut(DEVICES[*device]) {
                device.online = false;
            }
        }
        Op::Access(device, gid, allow) => {
            store.devices().set_access(&DEVICES[*device].into(), Gid(*gid), *allow).await.unwrap();
            if let Some(device) = model.devices.get_mut(DEVICES[*device]) {
                if *allow {
                    device.gids.insert(*gid)
                } else {
                    device.gids.remove(gid)
                };
            }
        }
        other => unreachable!("{other:?}"),
    }
}

async fn compare(store: &Store, model: &Model) {
    let accounts = store.accounts().all().await.unwrap();
    let real: Vec<_> =
        accounts.iter().map(|a| (a.uid.0, a.username.as_str(), a.locked, a.gids.clone())).collect();
    let gids =
        |uid: u32, user: &User| user.groups.iter().chain([&uid]).copied().map(Gid).collect::<BTreeSet<_>>();
    let expected = model.users.iter().map(|(uid, u)| (*uid, u.name, u.locked, Vec::from_iter(gids(*uid, u))));
    assert_eq!(real, expected.collect::<Vec<_>>());

    let groups = store.groups().all().await.unwrap();
    let real: Vec<_> = groups.iter().map(|g| (g.gid.0, g.name.as_str(), g.members.clone())).collect();
    let members = |gid: u32| {
        let inside = model.users.values().filter(|user| user.groups.contains(&gid));
        inside.map(|user| user.name.to_string()).collect::<Vec<_>>()
    };
    let expected: Vec<_> = model.groups.iter().map(|(gid, name)| (*gid, *name, members(*gid))).collect();
    assert_eq!(real, expected);

    let all = model.config.iter().map(|(key, value)| (key.to_string(), value.clone())).collect::<Vec<_>>();
    assert_eq!(store.config().below("").await.unwrap(), all);
    let grants = model.grants.iter().map(|(gid, name)| (Gid(*gid), name.to_string())).collect::<Vec<_>>();
    assert_eq!(store.grants().all().await.unwrap(), grants);

    let devices = store.devices().all().await.unwrap();
    let real: Vec<_> =
        devices.iter().map(|d| (&d.device_id, d.owner_uid.0, d.online, d.gids.clone())).collect();
    let ids: Vec<DeviceId> = model.devices.keys().map(|name| DeviceId::from(*name)).collect();
    let expected: Vec<_> = model
        .devices
        .values()
        .zip(&ids)
        .map(|(d, id)| (id, d.owner, d.online, d.gids.iter().copied().map(Gid).collect()))
        .collect();
    assert_eq!(real, expected);
}

fn check(cases: u32, home: impl AsyncFn() -> Home) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let result = TestRunner::new(config).run(&prop::collection::vec(op(), 1..60), |ops| {
        runtime.block_on(async {
            let home = home().await;
            let store = provisioned(&home).await;
            let mut model = Model::new();
            for op in &ops {
                apply(&store, &mut model, op).await;
            }
            compare(&store, &model).await;
        });
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

#[test]
fn sqlite_does_what_the_model_does() {
    check(48, async || Home::sqlite());
}

#[test]
fn postgres_does_what_the_model_does() {
    check(10, Home::postgres);
}
