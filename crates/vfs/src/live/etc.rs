//! Virtual files `/etc/passwd`, `/etc/group` and `/etc/shadow`: the accounts as text. A written text is understood as
//! a whole and compared with the accounts; then the calls are made that lead from one to the other, in an order that
//! is safe to break off (see `changes`).
//!
//! Each call is all or nothing, but not all of them together: when the store fails, or the writer is ended, in
//! the middle, the calls before it have been made. The fault says how many; writing the same text again makes
//! the rest of them.

use protocol::config::MASKED;
use protocol::error::Error;
use protocol::sys::account::{GroupCreate, GroupRemove, UserCreate, UserFiles, UserRemove, UserUpdate};

use crate::fault::{Code, Fault};
use crate::view::View;

use super::changes::{self, Change, Present};
use super::fault::{of_store, on_write};
use super::node::{self, Access, Node};
use super::tables::{self, Bad, Secret};

pub(crate) async fn look(view: &View, parts: &[&str]) -> Result<Node, Fault> {
    let [table] = parts else { return Err(node::fault(Code::NotDirectory)) };
    let present = present(view).await?;
    let (text, mode) = match *table {
        "passwd" => (tables::print(&present.people()), 0o644),
        "group" => (tables::print(&present.teams()), 0o644),
        _ => (tables::print(&secrets(view, &present)), 0o640),
    };
    Ok(Node::file(view, text, Access::root(mode)))
}

/// The lines of `/etc/shadow`. A program, whoever it acts for, sees who has a password and no hash.
fn secrets(view: &View, present: &Present) -> Vec<Secret> {
    let mut secrets = present.secrets();
    if view.is_program {
        for hash in secrets.iter_mut().filter_map(|secret| secret.password.hash.as_mut()) {
            *hash = MASKED.to_string();
        }
    }
    secrets
}

/// Makes the accounts what a text says. When it was made from an earlier text, accounts that the earlier one did
/// not show yet have been added meanwhile, and stay as they are.
pub(crate) async fn write(
    view: &View,
    table: &str,
    before: Option<&[u8]>,
    bytes: &[u8],
) -> Result<(), Fault> {
    if !view.who.uid.is_root() {
        return Err(node::fault(Code::Denied));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| invalid("the text is not UTF-8"))?;
    let mut present = present(view).await?;
    if let Some(before) = before {
        present = present.only_named_in(&String::from_utf8_lossy(before), table == "group");
    }
    let wanted = match table {
        "passwd" => tables::parse(text).and_then(|lines| changes::of_people(&present, &lines)),
        "group" => tables::parse(text).and_then(|lines| changes::of_teams(&present, &lines)),
        _ => tables::parse(text).and_then(|lines| changes::of_secrets(&present, &lines)),
    };
    let wanted = wanted.map_err(|bad: Bad| invalid(&format!("{bad}; nothing was changed")))?;
    for (done, change) in wanted.iter().enumerate() {
        apply(view, change).await.map_err(|fault| partly(fault, done, wanted.len()))?;
    }
    Ok(())
}

async fn present(view: &View) -> Result<Present, Fault> {
    let store = &view.tree.store;
    let accounts = store.accounts().all().await.map_err(of_store)?;
    let groups = store.groups().all().await.map_err(of_store)?;
    Ok(Present::new(accounts, groups, store.accounts().latest_number().await.map_err(of_store)?))
}

fn invalid(why: &str) -> Fault {
    node::fault(Code::Invalid).because(why)
}

/// Everything was checked before, so that only a failing store or somebody else's change leads here.
fn partly(fault: Fault, done: usize, all: usize) -> Fault {
    let why = fault.note.clone().unwrap_or_else(|| fault.code.words().to_string());
    if done == 0 { fault } else { fault.because(format!("{why}; {done} of {all} changes were made before")) }
}

async fn apply(view: &View, change: &Change) -> Result<(), Fault> {
    let store = &view.tree.store;
    match change {
        Change::AddUser { username, uid, gecos } => {
            let uid = add_user(view, username, *uid).await?;
            store.accounts().set_gecos(uid, gecos).await.map_err(of_store)?;
        }
        Change::RemoveUser { username } => {
            let args = UserRemove { username: username.clone(), files: None };
            view.calls.call(&args).await.map_err(on_write)?;
        }
        Change::Gecos { username, uid, gecos } => {
            update(view, same(username)).await?;
            store.accounts().set_gecos(*uid, gecos).await.map_err(of_store)?;
        }
        Change::Hash { username, uid, hash } => {
            update(view, same(username)).await?;
            store.accounts().set_hash(*uid, hash, view.tree.clock.now_ms()).await.map_err(of_store)?;
            update(view, UserUpdate { keep_sessions: Some(false), ..same(username) }).await?;
        }
        Change::Lock { username, locked } => {
            update(view, UserUpdate { locked: Some(*locked), ..same(username) }).await?;
        }
        Change::Groups { username, groups } => {
            update(view, UserUpdate { groups: Some(groups.clone()), ..same(username) }).await?;
        }
        Change::AddGroup { name, gid } => {
            let made = view.calls.call(&GroupCreate { name: name.clone() }).await.map_err(on_write)?;
            if gid.is_some_and(|gid| gid != made.group.gid) {
                view.calls.call(&GroupRemove { name: name.clone() }).await.map_err(on_write)?;
                return Err(on_write(raced(name)));
            }
        }
        Change::RemoveGroup { name } => {
            view.calls.call(&GroupRemove { name: name.clone() }).await.map_err(on_write)?;
        }
    }
    Ok(())
}

/// The call needs a password: the account gets one that nobody knows, and then none.
async fn add_user(
    view: &View,
    username: &str,
    wanted: Option<protocol::ids::Uid>,
) -> Result<protocol::ids::Uid, Fault> {
    let password = base::random::tagged("") + &base::random::tagged("");
    let args = UserCreate { username: username.to_string(), password, groups: None, adopt_files: None };
    let uid = view.calls.call(&args).await.map_err(on_write)?.user.identity.uid;
    if wanted.is_some_and(|wanted| wanted != uid) {
        let args = UserRemove { username: username.to_string(), files: Some(UserFiles::Delete) };
        view.calls.call(&args).await.map_err(on_write)?;
        return Err(on_write(raced(username)));
    }
    view.tree.store.accounts().set_hash(uid, "!", view.tree.clock.now_ms()).await.map_err(of_store)?;
    Ok(uid)
}

fn raced(name: &str) -> Error {
    Error::conflict(format!("{name}: somebody else took the number meanwhile; try again"))
}

async fn update(view: &View, args: UserUpdate) -> Result<(), Fault> {
    view.calls.call(&args).await.map(|_| ()).map_err(on_write)
}

/// Changes nothing, but is refused where a change would be.
fn same(username: &str) -> UserUpdate {
    UserUpdate {
        username: username.to_string(),
        password: None,
        locked: None,
        groups: None,
        keep_sessions: None,
    }
}
