//! Handlers of `sys.user.*`, `sys.group.*` and `sys.capability.*`, which only root may call. The table lets nobody
//! else in.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use gateway::Gone;
use protocol::capability;
use protocol::error::Error;
use protocol::identity::Role;
use protocol::ids::{Gid, Uid};
use protocol::signal::DeviceEvent;
use protocol::sys::account::{
    CapabilityList, Changed, Grant, Granted, Grants, Group, GroupCreate, GroupList, GroupRemove, GroupResult,
    Groups, Removed, Revoke, User, UserCreate, UserCreated, UserFiles, UserList, UserRemove, UserRemoved,
    UserResult, UserUpdate, Users,
};
use store::accounts::{Account, EndSessions, Group as GroupRow, NewAccount};
use store::changes::Topic;
use store::devices::Device;

use super::setup::{check_password, check_username};
use crate::calls::Cx;
use crate::connections::Login;
use crate::outbox::Close;
use crate::{homes, signals};

pub(crate) async fn user_create(cx: Cx, args: UserCreate) -> Result<UserCreated, Error> {
    let username = check_username(&args.username)?;
    let password = check_password("password", &args.password)?;
    let mut groups = gids_of(&cx, args.groups.as_deref().unwrap_or_default()).await?;
    groups.push(Gid::USERS);
    let hash = cx.kernel.authenticator.passwords().hash(password).await?;
    let now_ms = cx.kernel.clock.now_ms();
    let new = NewAccount { username: username.to_string(), hash, groups, now_ms };
    let account = cx.kernel.store.accounts().create(new).await.map_err(|error| match error {
        store::Error::Conflict(_) => Error::conflict(format!("User or group already exists: {username}")),
        other => other.into(),
    })?;
    let adopt = args.adopt_files == Some(true);
    let found_files = homes::add_home(&cx.kernel.tree, account.clone(), adopt).await;
    let UserResult { user } = user_result(&cx, account).await?;
    Ok(UserCreated { user, found_files })
}

pub(crate) async fn user_list(cx: Cx, _args: UserList) -> Result<Users, Error> {
    let names = group_names(&cx).await?;
    let accounts = cx.kernel.store.accounts().all().await?;
    let of = |account: &Account| account.gids.iter().filter_map(|gid| names.get(gid).cloned()).collect();
    let with_groups = |account: Account| {
        let groups = of(&account);
        user(account, groups)
    };
    Ok(Users { users: accounts.into_iter().map(with_groups).collect() })
}

pub(crate) async fn user_update(cx: Cx, args: UserUpdate) -> Result<UserResult, Error> {
    let account = find(&cx, &args.username).await?;
    let store = &cx.kernel.store;
    if args.locked == Some(true) && account.uid.is_root() {
        return Err(Error::forbidden("root cannot be locked"));
    }
    let groups = match &args.groups {
        Some(names) => Some(gids_of(&cx, names).await?),
        None => None,
    };
    let hash = match &args.password {
        Some(password) => {
            let password = check_password("password", password)?;
            Some(cx.kernel.authenticator.passwords().hash(password).await?)
        }
        None => None,
    };
    match hash {
        hash if !args.keep_sessions.unwrap_or(hash.is_none()) => {
            end_sessions(&cx, account.uid, hash.as_deref()).await?;
        }
        Some(hash) => {
            store.accounts().set_hash(account.uid, &hash, cx.kernel.clock.now_ms()).await?;
        }
        None => {}
    }
    if let Some(locked) = args.locked {
        store.accounts().set_locked(account.uid, locked).await?;
        if locked {
            close_all_of(&cx, account.uid);
            lost_rights(&cx, [account.uid]).await;
        }
    }
    if let Some(mut groups) = groups {
        // Users are always users; only root is not.
        if !account.uid.is_root() {
            groups.push(Gid::USERS);
        }
        store.accounts().set_groups(account.uid, &groups).await?;
    }
    let now = find(&cx, &args.username).await?;
    cx.kernel.refresh_account(&now.identity());
    let has_lost_some = account.gids.iter().any(|gid| !now.gids.contains(gid));
    lost_rights(&cx, has_lost_some.then_some(now.uid)).await;
    user_result(&cx, now).await
}

pub(crate) async fn user_remove(cx: Cx, args: UserRemove) -> Result<UserRemoved, Error> {
    let found = cx.kernel.store.accounts().by_name(args.username.trim()).await?;
    let Some(account) = found else { return Ok(UserRemoved { removed: false, files_kept: None }) };
    if account.uid.is_root() {
        return Err(Error::forbidden("root cannot be removed"));
    }
    // The rows go first, and with them the leases of its processes: what their actors still write is refused.
    let removed = cx.kernel.store.accounts().remove(account.uid).await?;
    if removed.is_none() {
        return Ok(UserRemoved { removed: false, files_kept: None });
    }
    user_gone(&cx, &account).await;
    let delete = args.files == Some(UserFiles::Delete);
    let files_kept = homes::leave(&cx.kernel.tree, account, delete).await;
    Ok(UserRemoved { removed: true, files_kept })
}

/// A user is gone from the store: everything that runs on its behalf ends, and what is in memory of it is forgotten.
async fn user_gone(cx: &Cx, account: &Account) {
    let (kernel, uid) = (&cx.kernel, account.uid);
    kernel.grants.remove_group(account.gid);
    kernel.devices.remove_group(account.gid);
    let devices = kernel.devices.remove_of(uid);
    close_all_of(cx, uid);
    tell_gone(cx, devices);
    kernel.gateway.changes().advance(Topic::Accounts);
    kernel.gateway.forget_user(uid);
    kernel.gone(Gone::User(uid)).await;
    kernel.feeds.remove(uid);
}

pub(crate) async fn group_list(cx: Cx, _args: GroupList) -> Result<Groups, Error> {
    let groups = cx.kernel.store.groups().all().await?;
    Ok(Groups { groups: groups.into_iter().map(group).collect() })
}

pub(crate) async fn group_create(cx: Cx, args: GroupCreate) -> Result<GroupResult, Error> {
    let name =
        check_username(&args.name).map_err(|_| Error::bad("name must match ^[a-z_][a-z0-9_-]{0,31}$"))?;
    let created = cx.kernel.store.groups().create(name).await.map_err(|error| match error {
        store::Error::Conflict(_) => Error::conflict(format!("Group already exists: {name}")),
        other => other.into(),
    })?;
    Ok(GroupResult { group: group(created) })
}

pub(crate) async fn group_remove(cx: Cx, args: GroupRemove) -> Result<Removed, Error> {
    let groups = cx.kernel.store.groups().all().await?;
    let Some(row) = groups.into_iter().find(|row| row.name == args.name.trim()) else {
        return Ok(Removed { removed: false });
    };
    let private = cx.kernel.store.accounts().by_uid(Uid(row.gid.0)).await?.is_some();
    if private || [Gid::ROOT, Gid::USERS, Gid::DRIVERS, Gid::SERVICES].contains(&row.gid) {
        return Err(Error::forbidden(format!("The group {} cannot be removed", row.name)));
    }
    let members = members_of(&cx, row.gid).await?;
    let removed = cx.kernel.store.groups().remove(row.gid).await?;
    cx.kernel.grants.remove_group(row.gid);
    cx.kernel.devices.remove_group(row.gid);
    let refreshed = refresh(&cx, &members).await;
    lost_rights(&cx, members).await;
    refreshed.map(|()| Removed { removed })
}

pub(crate) async fn capability_list(cx: Cx, args: CapabilityList) -> Result<Grants, Error> {
    let rows = cx.kernel.store.grants().all().await?;
    let wanted = rows.into_iter().filter(|(gid, _)| args.gid.is_none_or(|only| only == *gid));
    Ok(Grants { capabilities: wanted.map(|(gid, capability)| Granted { gid, capability }).collect() })
}

pub(crate) async fn grant(cx: Cx, args: Grant) -> Result<Changed, Error> {
    if !capability::is_valid(&args.capability) {
        return Err(Error::bad(format!("Invalid capability format: {}", args.capability)));
    }
    let groups = cx.kernel.store.groups().all().await?;
    if !groups.iter().any(|row| row.gid == args.gid) {
        return Err(Error::not_found(format!("Unknown group: {}", args.gid)));
    }
    let changed = cx.kernel.store.grants().give(args.gid, &args.capability).await?;
    cx.kernel.grants.add(args.gid, &args.capability);
    Ok(Changed { changed })
}

pub(crate) async fn revoke(cx: Cx, args: Revoke) -> Result<Changed, Error> {
    if args.gid == Gid::ROOT && args.capability == "*" {
        return Err(Error::forbidden("root keeps its capability: nobody could give it back"));
    }
    let changed = cx.kernel.store.grants().revoke(args.gid, &args.capability).await?;
    cx.kernel.grants.remove(args.gid, &args.capability);
    if changed {
        let members = members_of(&cx, args.gid).await?;
        lost_rights(&cx, members).await;
    }
    Ok(Changed { changed })
}

async fn find(cx: &Cx, username: &str) -> Result<Account, Error> {
    let username = username.trim();
    let found = cx.kernel.store.accounts().by_name(username).await?;
    found.ok_or_else(|| Error::not_found(format!("Unknown user: {username}")))
}

/// Tells those who could use devices that they are gone.
fn tell_gone(cx: &Cx, devices: Vec<Arc<Device>>) {
    let now_ms = cx.kernel.clock.now_ms();
    for mut device in devices.into_iter().filter(|device| device.online) {
        let gone = Arc::make_mut(&mut device);
        (gone.online, gone.disconnected_at, gone.last_seen_at) = (false, Some(now_ms), now_ms);
        signals::device_status(&cx.kernel, DeviceEvent::Disconnected, &device);
    }
}

/// Ends the sessions of a person: its `user` tokens are revoked and its connections closed, but for the one that asks and
/// its token. Devices and services keep tokens of their own. A new password is set in the same step.
async fn end_sessions(cx: &Cx, uid: Uid, hash: Option<&str>) -> Result<(), Error> {
    let own = cx.kernel.connections.behind(&cx.caller.origin);
    let own_login = own.as_ref().and_then(|own| own.login());
    let but = own_login.and_then(|login| login.token.as_ref()).map(|token| &token.token_id);
    let now_ms = cx.kernel.clock.now_ms();
    let ending = EndSessions { uid, hash, but, reason: "password changed", now_ms };
    let ended = cx.kernel.store.accounts().end_sessions(ending).await?;
    if let (Some(login), Some(ended)) = (own_login.filter(|login| login.identity().uid == uid), ended) {
        login.outlasts(ended);
    }
    let of_person = |login: &Login| login.role == Role::User && login.identity().uid == uid;
    for connection in cx.kernel.connections.select(of_person) {
        if own.as_ref().is_none_or(|own| own.number != connection.number) {
            connection.close(Close::PASSWORD_CHANGED);
        }
    }
    Ok(())
}

fn close_all_of(cx: &Cx, uid: Uid) {
    cx.kernel.connections.close_where(Close::REVOKED, |login| login.identity().uid == uid);
}

/// Accounts have changed, and their sockets know: what runs with rights that some of them have lost ends.
async fn lost_rights(cx: &Cx, uids: impl IntoIterator<Item = Uid>) {
    // After the sockets, and not only when the rows changed: rights of older groups may have been kept meanwhile.
    cx.kernel.gateway.changes().advance(Topic::Accounts);
    let uids: Vec<Uid> = uids.into_iter().collect();
    if !uids.is_empty() {
        cx.kernel.gone(Gone::Rights(uids)).await;
    }
}

/// Everybody in a group, the user whose own it is included.
async fn members_of(cx: &Cx, gid: Gid) -> Result<HashSet<Uid>, Error> {
    let accounts = cx.kernel.store.accounts().all().await?;
    Ok(accounts.iter().filter(|account| account.gids.contains(&gid)).map(|account| account.uid).collect())
}

/// Gives the sockets of users their accounts as they are now.
async fn refresh(cx: &Cx, uids: &HashSet<Uid>) -> Result<(), Error> {
    for uid in uids {
        if let Some(account) = cx.kernel.store.accounts().by_uid(*uid).await? {
            cx.kernel.refresh_account(&account.identity());
        }
    }
    Ok(())
}

/// Looked for one by one: there may be as many groups as users.
async fn gids_of(cx: &Cx, names: &[String]) -> Result<Vec<Gid>, Error> {
    let mut gids = Vec::with_capacity(names.len());
    for name in names {
        let gid = cx.kernel.store.groups().named(name).await?;
        gids.push(gid.ok_or_else(|| Error::not_found(format!("Unknown group: {name}")))?);
    }
    Ok(gids)
}

async fn group_names(cx: &Cx) -> Result<BTreeMap<Gid, String>, Error> {
    let groups = cx.kernel.store.groups().all().await?;
    Ok(groups.into_iter().map(|row| (row.gid, row.name)).collect())
}

async fn user_result(cx: &Cx, account: Account) -> Result<UserResult, Error> {
    let groups = cx.kernel.store.groups().names_of(account.uid).await?;
    Ok(UserResult { user: user(account, groups) })
}

fn user(account: Account, groups: Vec<String>) -> User {
    User { groups, locked: account.locked || auth::is_unset(&account.hash), identity: account.identity() }
}

fn group(row: GroupRow) -> Group {
    Group { gid: row.gid, name: row.name, members: row.members }
}
