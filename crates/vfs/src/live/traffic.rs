//! Virtual files `/sys/routes` and `/sys/sessions`: the caller's calls under way on devices and its shell sessions; to
//! root everybody's.

use std::collections::BTreeMap;

use protocol::ids::{SessionId, Uid};
use protocol::shell::Status;
use store::sessions::ShellSession;

use crate::fault::{Code, Fault};
use crate::tree::{RouteInfo, SessionInfo};
use crate::view::View;

use super::fault::of_store;
use super::node::{self, Access, Node};

pub(crate) fn look_at_routes(view: &View, parts: &[&str]) -> Result<Node, Fault> {
    match parts {
        [] => {
            let routes = view.tree.sources.routes(None).into_iter().filter(|route| sees(view, route.uid));
            let texts = routes.map(|route| (route.id.clone(), (route.uid, route_text(&route))));
            Ok(folder(view, texts.collect()))
        }
        [name] => {
            let route = node::id_of(name).and_then(|id| view.tree.sources.routes(Some(&id)).pop());
            let route = route.filter(|route| sees(view, route.uid));
            Node::pick(route.map(|route| file(view, route.uid, route_text(&route))))
        }
        [_, _, ..] => Err(node::fault(Code::NotFound)),
    }
}

pub(crate) async fn look_at_sessions(view: &View, parts: &[&str]) -> Result<Node, Fault> {
    match parts {
        [] => all_sessions(view).await,
        [name] => {
            let id = node::id_of(name).ok_or_else(|| node::fault(Code::NotFound))?;
            let native = view.tree.sources.sessions(Some(&id)).pop();
            let native = native.map(|session| (session.uid, session_text(&session)));
            let found = match native {
                Some(native) => Some(native),
                None => {
                    let now_ms = view.tree.clock.now_ms();
                    let row =
                        view.tree.store.sessions().by_id(&SessionId(id), now_ms).await.map_err(of_store)?;
                    row.map(|row| (row.uid, row_text(&row)))
                }
            };
            Node::pick(found.filter(|(uid, _)| sees(view, *uid)).map(|(uid, text)| file(view, uid, text)))
        }
        [_, _, ..] => Err(node::fault(Code::NotFound)),
    }
}

async fn all_sessions(view: &View) -> Result<Node, Fault> {
    let of = (!view.who.uid.is_root()).then_some(view.who.uid);
    let rows = view.tree.store.sessions().of(of, view.tree.clock.now_ms()).await.map_err(of_store)?;
    let mut texts: Texts =
        rows.iter().map(|row| (row.session_id.0.clone(), (row.uid, row_text(row)))).collect();
    let native = view.tree.sources.sessions(None).into_iter().filter(|session| sees(view, session.uid));
    texts.extend(native.map(|session| (session.id.clone(), (session.uid, session_text(&session)))));
    Ok(folder(view, texts))
}

/// Texts and their owners by id.
type Texts = BTreeMap<String, (Uid, String)>;

fn sees(view: &View, uid: Uid) -> bool {
    view.who.uid.is_root() || view.who.uid == uid
}

fn folder(view: &View, texts: Texts) -> Node {
    let named = texts
        .iter()
        .map(|(id, (uid, text))| (node::name_of(id), node::file(view, text.len(), Access::of(*uid, 0o400))));
    Node::folder(view, 0o755, named)
}

fn file(view: &View, uid: Uid, text: String) -> Node {
    Node::file(view, text, Access::of(uid, 0o400))
}

fn route_text(route: &RouteInfo) -> String {
    node::record(&[
        ("id", route.id.clone()),
        ("call", route.call.clone()),
        ("device", route.device_id.clone()),
        ("uid", route.uid.to_string()),
        ("started_at_ms", route.started_at.to_string()),
    ])
}

fn session_text(session: &SessionInfo) -> String {
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
