//! Durable in-flight requests: calls sent to devices on behalf of processes. They outlive the gateway; those of
//! connections do not, and have no row.

use protocol::ids::{DeviceId, Pid};

use crate::sql::{Row, Statement};
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
    /// The id of the request on the wire, by which the driver knows the call.
    pub wire_id: Option<String>,
    /// The running program of the driver it was sent to.
    pub instance: Option<String>,
    /// JSON: the arguments as they were sent.
    pub args: Option<String>,
}

/// Calls of processes that are under way on devices. See [`Store::routes`].
#[derive(Clone, Copy)]
pub struct Routes<'a>(pub(crate) &'a Store);

impl Store {
    /// Calls of processes that are under way on devices.
    pub fn routes(&self) -> Routes<'_> {
        Routes(self)
    }
}

impl Routes<'_> {
    /// Keeps a route.
    pub async fn open(self, route: RouteRow) -> Result<()> {
        let statement = Statement::new(
            "INSERT INTO routes (route_id, call, pid, request_id, device_id, created_at, expires_at, wire_id, \
             instance, args) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        )
        .bind(route.route_id.as_str())
        .bind(route.call)
        .bind(&route.pid)
        .bind(route.request_id)
        .bind(&route.device_id)
        .bind(route.created_at)
        .bind(route.expires_at)
        .bind(route.wire_id)
        .bind(route.instance)
        .bind(route.args);
        self.0.change(statement).await.map_err(|error| error.named(&route.route_id))?;
        Ok(())
    }

    /// Removes it. False when it was gone: somebody else closed it first.
    pub async fn close(self, route_id: &str) -> Result<bool> {
        let statement = Statement::new("DELETE FROM routes WHERE route_id = $1 RETURNING route_id");
        Ok(!self.0.change(statement.bind(route_id)).await?.is_empty())
    }

    /// All, oldest first.
    pub async fn all(self) -> Result<Vec<RouteRow>> {
        let statement = Statement::new(
            "SELECT route_id, call, pid, request_id, device_id, created_at, expires_at, wire_id, instance, args \
             FROM routes ORDER BY created_at, route_id",
        );
        self.0.read(statement).await?.into_iter().map(route_from).collect()
    }

    /// The route of a call of a process, if it was sent and its outcome is not kept yet.
    pub async fn of(self, pid: &Pid, request_id: &str) -> Result<Option<RouteRow>> {
        let statement = Statement::new(
            "SELECT route_id, call, pid, request_id, device_id, created_at, expires_at, wire_id, instance, args \
             FROM routes WHERE pid = $1 AND request_id = $2",
        );
        self.0.read(statement.bind(pid).bind(request_id)).await?.pop().map(route_from).transpose()
    }
}

fn route_from(mut row: Row) -> Result<RouteRow> {
    Ok(RouteRow {
        route_id: row.text()?,
        call: row.text()?,
        pid: Pid(row.text()?),
        request_id: row.text()?,
        device_id: DeviceId(row.text()?),
        created_at: row.int()?,
        expires_at: row.int()?,
        wire_id: row.text_or_null()?,
        instance: row.text_or_null()?,
        args: row.text_or_null()?,
    })
}
