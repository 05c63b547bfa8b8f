//! Virtual files `/proc`: the processes the caller may see, and the gateway itself.

use protocol::identity::ProcessIdentity;
use protocol::ids::{Gid, Pid, RunId, Uid};
use protocol::proc::ContextFile;
use serde_json::json;
use store::processes::ProcessRow;

use crate::fault::{Code, Fault};
use crate::stat::{FileKind, Named, Stat};
use crate::view::View;

use super::fault::of_store;
use super::node::{self, Access, Node};

const FILES: [&str; 2] = ["identity", "status"];
/// The directory of the texts it was given when it was started.
const CONTEXT: &str = "context.d";

/// A process as these files show it: no word of what is said in it.
struct Process {
    row: ProcessRow,
    identity: ProcessIdentity,
}

pub(crate) async fn look(view: &View, parts: &[&str]) -> Result<Node, Fault> {
    match parts {
        [] => all(view).await,
        ["self"] => Ok(Node::Link(own_pid(view).0, link(view))),
        ["uptime"] => Ok(Node::file(view, uptime(view), Access::root(0o444))),
        ["version"] => Ok(Node::file(view, version(view), Access::root(0o444))),
        ["uptime" | "version", ..] => Err(node::fault(Code::NotDirectory)),
        ["self", rest @ ..] => {
            let pid = own_pid(view);
            within(view, &process(view, pid.as_str()).await?, rest)
        }
        [pid, rest @ ..] => within(view, &process(view, pid).await?, rest),
    }
}

/// Every process the caller may see that has not ended: its own, to root everybody's. Somebody who never talked to
/// one still has `init`.
async fn rows(view: &View) -> Result<Vec<ProcessRow>, Fault> {
    let whose = Some(view.who.uid).filter(|uid| !uid.is_root());
    let mut rows = view.tree.store.processes().of(whose).await.map_err(of_store)?;
    rows.retain(|row| row.exited_at.is_none());
    if !rows.iter().any(|row| row.pid == init_pid(view.who.uid)) {
        rows.push(init(view));
    }
    Ok(rows)
}

/// The process of that name, if the caller may see it.
async fn process(view: &View, pid: &str) -> Result<Process, Fault> {
    let pid = Pid(pid.to_string());
    let missing = || node::fault(Code::NotFound);
    let found = view.tree.store.processes().by_id(&pid).await.map_err(of_store)?;
    let row = match found.filter(|row| row.exited_at.is_none()) {
        Some(row) => Some(row),
        None => (pid == init_pid(view.who.uid)).then(|| init(view)),
    };
    let visible = |row: &ProcessRow| view.who.uid.is_root() || row.uid == view.who.uid;
    let row = row.filter(visible).ok_or_else(missing)?;
    let who = if row.uid == view.who.uid {
        ProcessIdentity::clone(&view.who)
    } else {
        let account = view.tree.store.accounts().by_uid(row.uid).await.map_err(of_store)?;
        account.ok_or_else(missing)?.identity()
    };
    let identity = ProcessIdentity { cwd: row.cwd.clone(), workspace_id: row.workspace_id.clone(), ..who };
    Ok(Process { row, identity })
}

/// The process that looks: outside of any other it is `init`.
fn own_pid(view: &View) -> Pid {
    view.pid.clone().unwrap_or_else(|| init_pid(view.who.uid))
}

fn init_pid(uid: Uid) -> Pid {
    Pid(format!("init:{uid}"))
}

/// The caller's `init` before it has done anything.
fn init(view: &View) -> ProcessRow {
    ProcessRow::idle(init_pid(view.who.uid), view.who.uid, "init", &view.who.home, 0)
}

async fn all(view: &View) -> Result<Node, Fault> {
    let named = |name: &str, stat| Named { name: name.to_string(), stat };
    let file = |text: String| node::file(view, text.len(), Access::root(0o444));
    let mut names = vec![
        named("self", link(view)),
        named("uptime", file(uptime(view))),
        named("version", file(version(view))),
    ];
    let rows = rows(view).await?;
    names.extend(rows.iter().map(|row| named(&row.pid.0, folder(view, row))));
    Ok(Node::Directory(names, node::directory(view, 0o755)))
}

fn within(view: &View, process: &Process, rest: &[&str]) -> Result<Node, Fault> {
    match rest {
        [] => {
            let files = FILES.iter().filter_map(|name| {
                let stat = file(view, process, name)?.stat();
                Some(Named { name: name.to_string(), stat })
            });
            let context = Named { name: CONTEXT.to_string(), stat: folder(view, &process.row) };
            Ok(Node::Directory(files.chain([context]).collect(), folder(view, &process.row)))
        }
        [CONTEXT, rest @ ..] => context(view, process, rest),
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

/// The texts of its assignment, each a file of its name; of two with one name the first.
fn context(view: &View, process: &Process, rest: &[&str]) -> Result<Node, Fault> {
    // What is no JSON, because somebody changed the database, is no file.
    let texts: Vec<ContextFile> = serde_json::from_str(&process.row.context_files).unwrap_or_default();
    let file = |text: &ContextFile| Node::file(view, text.text.as_str(), Access::of(process.row.uid, 0o444));
    let named = |name: &str| texts.iter().find(|text| node::name_of(&text.name) == name);
    match rest {
        [] => {
            let mut names: Vec<Named> = Vec::new();
            for text in &texts {
                let name = node::name_of(&text.name);
                if !names.iter().any(|known| known.name == name) {
                    names.push(Named { name, stat: file(text).stat() });
                }
            }
            Ok(Node::Directory(names, folder(view, &process.row)))
        }
        [name] => Node::pick(named(name).map(file)),
        [name, ..] if named(name).is_some() => Err(node::fault(Code::NotDirectory)),
        _ => Err(node::fault(Code::NotFound)),
    }
}

fn status(process: &Process) -> String {
    let Process { row, identity } = process;
    let ProcessRow { pid, profile, .. } = row;
    let parent = row.parent_pid.as_ref().map_or("0", Pid::as_str);
    let state = row.state.as_str();
    let run = row.active_run_id.as_ref().map_or("-", RunId::as_str);
    let groups: Vec<String> = identity.gids.iter().map(Gid::to_string).collect();
    let (Uid(uid), Gid(gid), groups) = (identity.uid, identity.gid, groups.join(" "));
    let label = row.label.as_deref().unwrap_or("-").replace(['\t', '\n', '\r'], " ");
    format!(
        "Name:\t{profile}\nPid:\t{pid}\nPPid:\t{parent}\nProfile:\t{profile}\nState:\t{state}\nUid:\t{uid}\n\
         Gid:\t{gid}\nGroups:\t{groups}\nRun:\t{run}\nLabel:\t{label}\n"
    )
}

fn identity(process: &Process) -> String {
    let ProcessIdentity { uid, gid, gids, username, home, cwd, workspace_id } = &process.identity;
    let value = json!({
        "uid": uid, "gid": gid, "gids": gids, "username": username, "home": home, "cwd": cwd,
        "profile": process.row.profile, "workspaceId": workspace_id,
    });
    format!("{value:#}\n")
}

fn uptime(view: &View) -> String {
    let ms = view.tree.sources.uptime_ms(view.tree.clock.now_ms());
    format!("{}.{:02}\n", ms / 1_000, ms % 1_000 / 10)
}

fn version(view: &View) -> String {
    format!("GSV {} {}\n", view.who.username, view.tree.sources.version())
}

fn folder(view: &View, row: &ProcessRow) -> Stat {
    node::directory_of(view, Access::of(row.uid, 0o555))
}

fn link(view: &View) -> Stat {
    let stat = node::file(view, own_pid(view).0.len(), Access::of(view.who.uid, 0o777));
    Stat { kind: FileKind::Link, ..stat }
}
