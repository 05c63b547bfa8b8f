//! Calls sent to devices on behalf of processes. They outlive the gateway; those of connections do not, and
//! have no row.

use protocol::ids::{DeviceId, Pid};

use crate::{Result, Store};

/// A call under way.
#[derive(Clone, Debug, PartialEq)]
pub struct RouteRow {
    /// The gateway's id for it.
    pub route_id: String,
    /// The syscall.
    pub call: String,
    /// Who asked.
    pub pid: Pid,
    /// The id the process gave it.
    pub request_id: String,
    /// Where it was sent.
    pub device_id: DeviceId,
    /// In milliseconds.
    pub created_at: i64,
    /// In milliseconds.
    pub expires_at: i64,
}

impl Store {
    /// Keeps a route.
    pub async fn route_open(&self, _route: RouteRow) -> Result<()> {
        unimplemented!()
    }

    /// Removes it. False when it was gone: somebody else closed it first.
    pub async fn route_close(&self, _route_id: &str) -> Result<bool> {
        unimplemented!()
    }

    /// All, oldest first.
    pub async fn routes(&self) -> Result<Vec<RouteRow>> {
        unimplemented!()
    }
}
