//! Composition root: every feature area of the gateway, one line each.

use std::sync::Arc;

use gateway::{Gateway, Subsystem};

use crate::NewArea;

/// An area: the calls it answers, and how it is made.
struct Area {
    calls: fn() -> Vec<&'static str>,
    new: NewArea,
}

/// All areas, in the order they start.
const AREAS: &[Area] = &[
    Area { calls: files::Files::calls, new: |gateway| files::Files::new(gateway.clone()) },
    Area { calls: shell::ShellArea::calls, new: |gateway| shell::ShellArea::new(gateway.clone()) },
    Area { calls: process::Processes::calls, new: |gateway| process::Processes::new(gateway.clone()) },
    Area { calls: codemode::CodeMode::calls, new: |gateway| codemode::CodeMode::new(gateway.clone()) },
    Area { calls: repo::Repos::calls, new: |gateway| repo::Repos::new(gateway.clone()) },
    Area { calls: oauth::OAuth::calls, new: |gateway| oauth::OAuth::new(gateway.clone()) },
    Area { calls: mcp::Mcp::calls, new: |gateway| mcp::Mcp::new(gateway.clone()) },
];

/// Makes them.
pub(crate) fn all(gateway: &Gateway) -> Vec<Arc<dyn Subsystem>> {
    AREAS.iter().map(|area| (area.new)(gateway)).collect()
}

/// The calls that areas answer.
pub(crate) fn calls() -> Vec<&'static str> {
    AREAS.iter().flat_map(|area| (area.calls)()).collect()
}
