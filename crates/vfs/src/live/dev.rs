//! Virtual files `/dev`: the small devices that scripts expect. Reading one gives a fixed amount: a text that never
//! ends could not be handed over.

use crate::fault::{Code, Fault};
use crate::path::VPath;
use crate::view::View;

use super::fault::refusal;
use super::node::{self, Access, Node};

/// How much one reading of an endless device gives.
const READ_BYTES: usize = 256;

const NAMES: [&str; 5] = ["full", "null", "random", "urandom", "zero"];

pub(crate) fn look(view: &View, parts: &[&str]) -> Result<Node, Fault> {
    match parts {
        [] => {
            let devices = NAMES.map(|name| (name.to_string(), node::file(view, size(name), access())));
            Ok(Node::folder(view, 0o755, devices))
        }
        ["null"] => Ok(Node::file(view, Vec::new(), access())),
        ["full" | "zero"] => Ok(Node::file(view, vec![0; READ_BYTES], access())),
        ["random" | "urandom"] => {
            Ok(Node::file(view, base::random::bytes::<READ_BYTES>().to_vec(), access()))
        }
        [name, ..] if NAMES.contains(name) => Err(node::fault(Code::NotDirectory)),
        _ => Err(node::fault(Code::NotFound)),
    }
}

pub(crate) fn write(parts: &[&str], path: &VPath) -> Result<(), Fault> {
    match parts {
        ["null"] => Ok(()),
        ["full"] => Err(node::fault(Code::NoSpace)),
        _ => Err(refusal("write", path)),
    }
}

fn access() -> Access {
    Access::root(0o666)
}

fn size(name: &str) -> usize {
    if name == "null" { 0 } else { READ_BYTES }
}
