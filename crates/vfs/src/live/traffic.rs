//! `/sys/routes` and `/sys/sessions`: the caller's calls under way on devices and its shell sessions; to root
//! everybody's.

use std::collections::BTreeMap;

use protocol::ids::Uid;
use protocol::shell::Status;
use store::sessions::ShellSession;

use crate::fault::{Code, Fault};
use crate::tree::{RouteFact, SessionFact};
use crate::view::View;

use super::fault::of_store;
use super::node::{self, Access, Node};

pub(crate) fn look_at_routes(view: &View, parts: &[&str]) -> Result<Node, Fault> {
    let routes = view.facts.routes().into_iter().filter(|route| sees(view, route.uid));
    pick(view, parts, routes.map(|route| (route.id.clone(), (route.uid, route_text(&route)))).collect())
}

pub(crate) async fn look_at_sessions(view: &View, parts: &[&str]) -> Result<Node, Fault> {
    let of = (!view.who.uid.is_root()).then_some(view.who.uid);
    let rows = view.tree.store.sessions(of, view.tree.clock.now_ms()).await.map_err(of_store)?;
    let mut files: Files =
        rows.iter().map(|row| (row.session_id.0.clone(), (row.uid, row_text(row)))).collect();
    let native = view.facts.shell_sessions().into_iter().filter(|session| sees(view, session.uid));
    files.extend(native.map(|session| (session.id.clone(), (session.uid, session_text(&session)))));
    pick(view, parts, files)
}

/// Texts and their owners by id.
type Files = BTreeMap<String, (Uid, String)>;

fn sees(view: &View, uid: Uid) -> bool {
    view.who.uid.is_root() || view.who.uid == uid
}

fn pick(view: &View, parts: &[&str], mut files: Files) -> Result<Node, Fault> {
    match parts {
        [] => {
            let named = files.iter().map(|(id, (uid, text))| {
                (node::name_of(id), node::file(view, text.len(), Access::of(*uid, 0o400)))
            });
            Ok(Node::folder(view, 0o755, named))
        }
        [name] => {
            let found = node::id_of(name).and_then(|id| files.remove(&id));
            Node::pick(found.map(|(uid, text)| Node::file(view, text, Access::of(uid, 0o400))))
        }
        [_, _, ..] => Err(node::fault(Code::NotFound)),
    }
}

fn route_text(route: &RouteFact) -> String {
    node::record(&[
        ("id", route.id.clone()),
        ("call", route.call.clone()),
        ("device", route.device_id.clone()),
        ("uid", route.uid.to_string()),
        ("started_at_ms", route.started_at.to_string()),
    ])
}

fn session_text(session: &SessionFact) -> String {
    node::record(&[
        ("id", session.id.clone()),
        ("target", "gsv".to_string()),
        ("status", "running".to_string()),
        ("uid", session.uid.to_string()),
        ("input", session.input.clone()),
        ("started_at_ms", session.started_at.to_string()),
    ])
}

fn row_text(row: &ShellSession) -> String {
    let status = match row.status {
        Status::Running => "running",
        Status::Completed => "completed",
        Status::Failed => "failed",
    };
    let mut fields = vec![
        ("id", row.session_id.0.clone()),
        ("target", row.device_id.0.clone()),
        ("status", status.to_string()),
        ("uid", row.uid.to_string()),
    ];
    fields.extend(row.exit_code.map(|code| ("exit_code", code.to_string())));
    fields.extend(row.error.clone().map(|error| ("error", error)));
    fields.push(("started_at_ms", row.created_at.to_string()));
    fields.push(("updated_at_ms", row.updated_at.to_string()));
    fields.push(("expires_at_ms", row.expires_at.to_string()));
    node::record(&fields)
}
