//! Virtual files `/sys/devices/<id>`: the devices the caller may use, by `sys.device.list` and `sys.device.get`; the
//! description can be written, by `sys.device.update`.

use protocol::sys::device::{Detail, Get, List, Update};

use crate::fault::{Code, Fault};
use crate::stat::Stat;
use crate::view::View;

use super::fault::{on_read, on_write};
use super::node::{self, Access, Ask, Node};

const FILES: [&str; 6] = ["description", "implements", "owner", "platform", "status", "version"];

pub(crate) async fn look(view: &View, parts: &[&str], ask: Ask) -> Result<Node, Fault> {
    let (id, file) = match parts {
        [] => return all(view, ask).await,
        [id] => (id, None),
        [id, file] => (id, Some(file)),
        [_, file, ..] => {
            let code = if FILES.contains(file) { Code::NotDirectory } else { Code::NotFound };
            return Err(node::fault(code));
        }
    };
    let device = find(view, id).await?;
    match file {
        Some(file) => Node::pick(file_of(view, &device, file)),
        None => {
            let files = FILES
                .iter()
                .filter_map(|name| file_of(view, &device, name).map(|node| (name.to_string(), node.stat())));
            Ok(Node::folder(view, 0o755, files))
        }
    }
}

pub(crate) async fn write(view: &View, id: &str, file: &str, bytes: &[u8]) -> Result<(), Fault> {
    let device = find(view, id).await?;
    match file {
        "description" => {
            let description = node::value_of(bytes)?.to_string();
            let update = Update { device_id: device.device_id.0, description };
            let done = view.calls.call(&update).await.map_err(on_write)?;
            done.device.map(|_| ()).ok_or_else(|| node::fault(Code::NotFound))
        }
        _ => Err(node::fault(Code::NotPermitted).because("read-only region of /sys/")),
    }
}

/// All of them in one call, however many.
async fn all(view: &View, ask: Ask) -> Result<Node, Fault> {
    if ask == Ask::Node {
        return Ok(Node::folder(view, 0o755, []));
    }
    let listed = view.calls.call(&List { include_offline: Some(true) }).await.map_err(on_read)?;
    let stat = node::directory(view, 0o755);
    let named = listed.devices.into_iter().map(|device| {
        let seen = Stat { modified_ms: device.last_seen_at, ..stat };
        (node::name_of(&device.device_id.0), seen)
    });
    Ok(Node::folder(view, 0o755, named))
}

async fn find(view: &View, name: &str) -> Result<Detail, Fault> {
    let missing = || node::fault(Code::NotFound);
    // The call trims ids, a path does not.
    let id = node::id_of(name).filter(|id| id.trim() == id && !id.is_empty()).ok_or_else(missing)?;
    let got = view.calls.call(&Get { device_id: id }).await.map_err(on_read)?;
    got.device.ok_or_else(missing)
}

fn file_of(view: &View, device: &Detail, name: &str) -> Option<Node> {
    let text = match name {
        "description" => node::line(&device.description),
        "implements" => device.implements.iter().flat_map(|pattern| node::line(pattern)).collect(),
        "owner" => node::line(&device.owner_uid.to_string()),
        "platform" => node::line(&device.platform),
        "status" => node::line(if device.online { "online" } else { "offline" }),
        "version" => node::line(&device.version),
        _ => return None,
    };
    let access = match name {
        "description" => Access::of(device.owner_uid, 0o644),
        _ => Access::root(0o444),
    };
    Some(Node::file(view, text, access))
}
