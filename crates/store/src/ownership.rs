//! Data ownership catalogue: for each table, which of its rows are a user's.
//!
//! A table that is not declared here fails a test. Removing a user removes its rows in the order of this list; what
//! exports or saves a user's things walks the same list. Numbers of users are never given twice, so what is left by
//! mistake falls to nobody; a row is left on purpose only where it is another user's.

use protocol::ids::{Pid, Uid};

use crate::Result;
use crate::accounts::Accounts;
use crate::changes::Topic;
use crate::sql::{Batch, Statement, Written};

/// A table and whose its rows are.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    pub name: &'static str,
    /// Whose its rows are.
    pub owner: Owner,
}

/// Whose the rows of a table are.
#[derive(Clone, Copy, Debug)]
pub enum Owner {
    /// Nobody's: they are about the system itself.
    System,
    /// Those that fit a condition are a user's; the others, if any, are the system's.
    User {
        /// The condition, in which `$1` is the user's number.
        rows: &'static str,
        /// The statement that removes them.
        remove: &'static str,
    },
}

macro_rules! users {
    ($name:literal, $rows:expr) => {
        Table {
            name: $name,
            owner: Owner::User { rows: $rows, remove: concat!("DELETE FROM ", $name, " WHERE ", $rows) },
        }
    };
}

const fn system(name: &'static str) -> Table {
    Table { name, owner: Owner::System }
}

macro_rules! of_processes {
    () => {
        "pid IN (SELECT pid FROM processes WHERE uid = $1)"
    };
}

macro_rules! of_devices {
    () => {
        "device_id IN (SELECT device_id FROM devices WHERE owner_uid = $1)"
    };
}

/// Every table. What is found by way of another table stands above it.
pub const TABLES: &[Table] = &[
    system("meta"),
    system("numbers"),
    system("grants_given"),
    users!("leases", "name IN (SELECT 'process:' || pid FROM processes WHERE uid = $1)"),
    users!("routes", of_processes!()),
    users!("messages", of_processes!()),
    users!("conversations", of_processes!()),
    users!("queue", of_processes!()),
    users!("segments", of_processes!()),
    users!("loose_archives", of_processes!()),
    users!("approval_rules", of_processes!()),
    users!("approvals", "uid = $1"),
    // A process of somebody else that waits for an answer goes on waiting: its time will be up.
    users!("ipc_calls", "source_pid IN (SELECT pid FROM processes WHERE uid = $1)"),
    users!("steps", "run_id IN (SELECT run_id FROM runs WHERE uid = $1)"),
    users!("runs", "uid = $1"),
    users!("processes", "uid = $1"),
    users!("shell_sessions", concat!("uid = $1 OR ", of_devices!())),
    users!("device_access", concat!("gid = $1 OR ", of_devices!())),
    users!("devices", "owner_uid = $1"),
    // `0` is the character after `/`, and keys are compared by their bytes.
    users!("config", "key >= 'users/' || $1 || '/' AND key < 'users/' || $1 || '0'"),
    users!("repos", "owner_uid = $1"),
    users!("workspaces", "owner_uid = $1"),
    users!("mcp_tools", "server_id IN (SELECT server_id FROM mcp_servers WHERE uid = $1)"),
    users!("mcp_servers", "uid = $1"),
    users!("oauth_flows", "uid = $1"),
    users!("oauth_accounts", "uid = $1"),
    users!("tokens", "uid = $1"),
    users!("grants", "gid = $1"),
    users!("members", "uid = $1 OR gid = $1"),
    users!("accounts", "uid = $1"),
    users!("user_groups", "gid = $1"),
];

impl Accounts<'_> {
    /// Removes a user and every row that is its own, and ends the leases of its processes, so that their actors write
    /// nothing any more. Its number is not given to anybody else. Returns its processes; `None` when there is no such
    /// user.
    pub async fn remove(self, uid: Uid) -> Result<Option<Vec<Pid>>> {
        let of = |sql| Statement::new(sql).bind(uid);
        let rows = TABLES.iter().filter_map(|table| match table.owner {
            Owner::System => None,
            Owner::User { remove, .. } => Some(of(remove)),
        });
        let batch = Batch::new()
            .guard(of("SELECT uid FROM accounts WHERE uid = $1"))
            .step(of("SELECT pid FROM processes WHERE uid = $1 ORDER BY pid"))
            .end_leases(of("SELECT 'process:' || pid FROM processes WHERE uid = $1"))
            .steps(rows)
            .changing(Topic::Accounts)
            .changing(Topic::Config)
            .changing(Topic::Grants)
            .changing(Topic::Devices);
        match self.0.write(batch).await? {
            Written::Stopped(_) => Ok(None),
            Written::Done(mut rows) => {
                let pids = rows.swap_remove(1).into_iter().map(|mut row| row.text().map(Pid));
                pids.collect::<Result<Vec<_>>>().map(Some)
            }
        }
    }
}
