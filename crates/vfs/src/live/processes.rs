//! `/proc`: the processes the caller may see, and the gateway itself.

use protocol::identity::ProcessIdentity;
use protocol::ids::{Gid, Pid, Uid};
use serde_json::json;
use store::accounts::Account;

use crate::fault::{Code, Fault};
use crate::stat::{Kind, Named, Stat};
use crate::view::View;

use super::fault::of_store;
use super::node::{self, Access, Node};

const FILES: [&str; 2] = ["identity", "status"];

/// A process as these files show it.
struct Process {
    pid: Pid,
    parent: Option<Pid>,
    name: String,
    profile: String,
    state: &'static str,
    identity: ProcessIdentity,
}

pub(crate) async fn look(view: &View, parts: &[&str]) -> Result<Node, Fault> {
    match parts {
        [] => all(view).await,
        ["self"] => Ok(Node::Link(own(view).pid.0, link(view))),
        ["uptime"] => Ok(Node::file(view, uptime(view), Access::root(0o444))),
        ["version"] => Ok(Node::file(view, version(view), Access::root(0o444))),
        ["uptime" | "version", ..] => Err(node::fault(Code::NotDirectory)),
        ["self", rest @ ..] => within(view, &own(view), rest),
        [pid, rest @ ..] => {
            let found = process(view, pid).await?;
            within(view, &found.ok_or_else(|| node::fault(Code::NotFound))?, rest)
        }
    }
}

/// Every process the caller may see: its own, to root everybody's. Nobody has one besides `init`.
async fn processes(view: &View) -> Result<Vec<Process>, Fault> {
    if !view.who.uid.is_root() {
        return Ok(vec![own(view)]);
    }
    let accounts = view.tree.store.accounts().await.map_err(of_store)?;
    Ok(accounts.into_iter().map(|account| init(identity_of(account))).collect())
}

/// The process of that name, if the caller may see it.
async fn process(view: &View, pid: &str) -> Result<Option<Process>, Fault> {
    let Some(uid) = pid.strip_prefix("init:").and_then(node::number).map(Uid) else { return Ok(None) };
    if !view.who.uid.is_root() {
        return Ok((uid == view.who.uid).then(|| own(view)));
    }
    let account = view.tree.store.account_by_uid(uid).await.map_err(of_store)?;
    Ok(account.map(|account| init(identity_of(account))))
}

/// The caller's own process: outside of any other it is `init`.
fn own(view: &View) -> Process {
    init((*view.who).clone())
}

fn init(identity: ProcessIdentity) -> Process {
    Process {
        pid: Pid(format!("init:{}", identity.uid)),
        parent: None,
        name: "init".to_string(),
        profile: "init".to_string(),
        state: "idle",
        identity,
    }
}

fn identity_of(account: Account) -> ProcessIdentity {
    ProcessIdentity {
        uid: account.uid,
        gid: account.gid,
        gids: account.gids,
        username: account.username,
        cwd: account.home.clone(),
        home: account.home,
        workspace_id: None,
    }
}

async fn all(view: &View) -> Result<Node, Fault> {
    let named = |name: &str, stat| Named { name: name.to_string(), stat };
    let file = |text: String| node::file(view, text.len(), Access::root(0o444));
    let mut names = vec![
        named("self", link(view)),
        named("uptime", file(uptime(view))),
        named("version", file(version(view))),
    ];
    let processes = processes(view).await?;
    names.extend(processes.iter().map(|process| named(&process.pid.0, folder(view, process))));
    Ok(Node::Directory(names, node::directory(view, 0o755)))
}

fn within(view: &View, process: &Process, rest: &[&str]) -> Result<Node, Fault> {
    match rest {
        [] => {
            let files = FILES.iter().filter_map(|name| {
                let stat = file(view, process, name)?.stat();
                Some(Named { name: name.to_string(), stat })
            });
            Ok(Node::Directory(files.collect(), folder(view, process)))
        }
        [name] => Node::pick(file(view, process, name)),
        [name, ..] if FILES.contains(name) => Err(node::fault(Code::NotDirectory)),
        _ => Err(node::fault(Code::NotFound)),
    }
}

fn file(view: &View, process: &Process, name: &str) -> Option<Node> {
    let text = match name {
        "status" => status(process),
        "identity" => identity(process),
        _ => return None,
    };
    Some(Node::file(view, text, Access::of(process.identity.uid, 0o444)))
}

fn status(process: &Process) -> String {
    let Process { pid, parent, name, profile, state, identity } = process;
    let parent = parent.as_ref().map_or("0", Pid::as_str);
    let groups: Vec<String> = identity.gids.iter().map(Gid::to_string).collect();
    let (Uid(uid), Gid(gid), groups) = (identity.uid, identity.gid, groups.join(" "));
    format!(
        "Name:\t{name}\nPid:\t{pid}\nPPid:\t{parent}\nProfile:\t{profile}\nState:\t{state}\nUid:\t{uid}\n\
         Gid:\t{gid}\nGroups:\t{groups}\n"
    )
}

fn identity(process: &Process) -> String {
    let ProcessIdentity { uid, gid, gids, username, home, cwd, workspace_id } = &process.identity;
    let value = json!({
        "uid": uid, "gid": gid, "gids": gids, "username": username, "home": home, "cwd": cwd,
        "profile": process.profile, "workspaceId": workspace_id,
    });
    format!("{value:#}\n")
}

fn uptime(view: &View) -> String {
    let ms = view.facts.uptime_ms();
    format!("{}.{:02}\n", ms / 1_000, ms % 1_000 / 10)
}

fn version(view: &View) -> String {
    format!("GSV {} {}\n", view.who.username, view.facts.version())
}

fn folder(view: &View, process: &Process) -> Stat {
    node::directory_of(view, Access::of(process.identity.uid, 0o555))
}

fn link(view: &View) -> Stat {
    let stat = node::file(view, own(view).pid.0.len(), Access::of(view.who.uid, 0o777));
    Stat { kind: Kind::Link, ..stat }
}
