//! Repository of workspaces' rows: whose each is, what it is for, whether it is in use, and which processes are in it.
//! Their files are in the tree, their versions in a repository.

use protocol::ids::{Pid, Uid};
use protocol::proc::WorkspaceKind;
use protocol::sys::workspace::WorkspaceState;

use crate::change::{Change, storable};
use crate::sql::{Row, Statement, unexpected};
use crate::{Result, Store};

/// The branch that every workspace begins with.
pub const DEFAULT_BRANCH: &str = "main";

/// A workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspaceRow {
    /// `ws_<uuid>`.
    pub workspace_id: String,
    /// Whose it is.
    pub owner_uid: Uid,
    /// The name of that account.
    pub owner_username: String,
    /// A note for people.
    pub label: Option<String>,
    /// What it is for.
    pub kind: WorkspaceKind,
    /// Whether it is in use.
    pub state: WorkspaceState,
    /// In milliseconds.
    pub created_at: i64,
    /// When it was last used, in milliseconds.
    pub updated_at: i64,
    pub default_branch: String,
}

/// A process in a workspace that has not exited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occupant {
    pub workspace_id: String,
    pub pid: Pid,
    /// A note for people.
    pub label: Option<String>,
    /// Where its relative paths start.
    pub cwd: String,
    /// In milliseconds.
    pub created_at: i64,
}

/// Which workspaces are listed; what is not said does not matter.
#[derive(Clone, Copy, Debug, Default)]
pub struct Filter {
    /// Whose.
    pub uid: Option<Uid>,
    pub kind: Option<WorkspaceKind>,
    pub state: Option<WorkspaceState>,
    /// At most so many.
    pub limit: Option<u64>,
}

/// Workspaces. See [`Store::workspaces`].
#[derive(Clone, Copy)]
pub struct Workspaces<'a>(pub(crate) &'a Store);

impl Store {
    /// Workspaces.
    pub fn workspaces(&self) -> Workspaces<'_> {
        Workspaces(self)
    }
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT workspace_id, owner_uid, owner_username, label, kind, state, created_at, updated_at, \
             default_branch FROM workspaces ",
            $rest
        )
    };
}

impl Workspaces<'_> {
    /// A workspace by its id.
    pub async fn by_id(self, id: &str) -> Result<Option<WorkspaceRow>> {
        let statement = Statement::new(select!("WHERE workspace_id = $1")).bind(id);
        self.0.read(statement).await?.pop().map(workspace_from).transpose()
    }

    /// Keeps a new one. False when there is one of that id, when its user was just removed, or when the user has as
    /// many active ones as `most`.
    pub async fn create(self, row: &WorkspaceRow, most: u64) -> Result<bool> {
        let statement = Statement::new(
            "INSERT INTO workspaces (workspace_id, owner_uid, owner_username, label, kind, state, created_at, \
             updated_at, default_branch) SELECT $1, uid, $3, $4, $5, $6, $7, $8, $9 FROM accounts WHERE uid = $2 \
             AND $10 > (SELECT count(*) FROM workspaces WHERE owner_uid = $2 AND state = 'active') \
             ON CONFLICT (workspace_id) DO NOTHING RETURNING workspace_id",
        )
        .bind(row.workspace_id.as_str())
        .bind(row.owner_uid)
        .bind(row.owner_username.as_str())
        .bind(row.label.as_deref().map(storable))
        .bind(kind_text(row.kind))
        .bind(state_text(row.state))
        .bind(row.created_at)
        .bind(row.updated_at)
        .bind(row.default_branch.as_str())
        .bind(i64::try_from(most).unwrap_or(i64::MAX));
        Ok(!self.0.change(statement).await?.is_empty())
    }

    /// Takes a row away that nothing was made of yet.
    pub async fn remove(self, id: &str) -> Result<()> {
        let statement = Statement::new("DELETE FROM workspaces WHERE workspace_id = $1").bind(id);
        self.0.change(statement).await.map(|_| ())
    }

    /// Those that fit, last used first.
    pub async fn list(self, filter: Filter) -> Result<Vec<WorkspaceRow>> {
        let (from, to) = range(filter.uid);
        let statement = Statement::new(select!(
            "WHERE owner_uid >= $1 AND owner_uid <= $2 AND ($3 = '' OR kind = $3) AND ($4 = '' OR state = $4) \
             ORDER BY updated_at DESC, workspace_id LIMIT $5"
        ))
        .bind(from)
        .bind(to)
        .bind(filter.kind.map_or("", kind_text))
        .bind(filter.state.map_or("", state_text))
        .bind(filter.limit.map_or(i64::from(u32::MAX), |limit| limit.min(u32::MAX.into()) as i64));
        self.0.read(statement).await?.into_iter().map(workspace_from).collect()
    }

    /// The processes that are in workspaces of a user, or of everybody, newest first.
    pub async fn occupants(self, of: Option<Uid>) -> Result<Vec<Occupant>> {
        let (from, to) = range(of);
        let statement = Statement::new(
            "SELECT p.workspace_id, p.pid, p.label, p.cwd, p.created_at FROM processes p \
             JOIN workspaces w ON w.workspace_id = p.workspace_id \
             WHERE w.owner_uid >= $1 AND w.owner_uid <= $2 AND p.exited_at IS NULL \
             ORDER BY p.created_at DESC, p.pid",
        );
        self.0.read(statement.bind(from).bind(to)).await?.into_iter().map(occupant_from).collect()
    }

    /// The processes that are in one, newest first.
    pub async fn occupants_of(self, id: &str) -> Result<Vec<Occupant>> {
        let statement = Statement::new(
            "SELECT workspace_id, pid, label, cwd, created_at FROM processes \
             WHERE workspace_id = $1 AND exited_at IS NULL ORDER BY created_at DESC, pid",
        );
        self.0.read(statement.bind(id)).await?.into_iter().map(occupant_from).collect()
    }

    /// A process in it that has something to do.
    pub async fn busy(self, id: &str) -> Result<Option<Pid>> {
        let statement = Statement::new(
            "SELECT pid FROM processes WHERE workspace_id = $1 AND state NOT IN ('idle', 'exited') \
             ORDER BY created_at, pid LIMIT 1",
        );
        self.0.read(statement.bind(id)).await?.pop().map(|mut row| row.text().map(Pid)).transpose()
    }

    /// Puts an active one away, unless a process in it has something to do. False when it was not.
    pub async fn archive(self, id: &str, now_ms: i64) -> Result<bool> {
        let statement = Statement::new(
            "UPDATE workspaces SET state = 'archived', updated_at = $2 WHERE workspace_id = $1 \
             AND state = 'active' AND NOT EXISTS (SELECT pid FROM processes WHERE workspace_id = $1 \
             AND state NOT IN ('idle', 'exited')) RETURNING workspace_id",
        );
        Ok(!self.0.change(statement.bind(id).bind(now_ms)).await?.is_empty())
    }

    /// Takes an archived one into use again. False when it was not.
    pub async fn restore(self, id: &str, now_ms: i64) -> Result<bool> {
        let statement = Statement::new(
            "UPDATE workspaces SET state = 'active', updated_at = $2 WHERE workspace_id = $1 \
             AND state = 'archived' RETURNING workspace_id",
        );
        Ok(!self.0.change(statement.bind(id).bind(now_ms)).await?.is_empty())
    }

    /// Notes that one is used. False when it is not there, or archived. The clock may jump; the time never goes back.
    pub async fn touch(self, id: &str, now_ms: i64) -> Result<bool> {
        let statement = Statement::new(
            "UPDATE workspaces SET updated_at = CASE WHEN updated_at > $2 THEN updated_at ELSE $2 END \
             WHERE workspace_id = $1 AND state = 'active' RETURNING workspace_id",
        );
        Ok(!self.0.change(statement.bind(id).bind(now_ms)).await?.is_empty())
    }
}

impl Change {
    /// The transcript of the workspace has the conversation `default` up to and with that message.
    pub fn checkpointed(self, newest_id: i64) -> Change {
        let statement = Statement::new("UPDATE processes SET checkpointed_id = $2 WHERE pid = $1")
            .bind(&self.pid)
            .bind(newest_id);
        self.step(statement)
    }
}

fn range(of: Option<Uid>) -> (Uid, Uid) {
    of.map_or((Uid(0), Uid(u32::MAX)), |uid| (uid, uid))
}

fn workspace_from(mut row: Row) -> Result<WorkspaceRow> {
    Ok(WorkspaceRow {
        workspace_id: row.text()?,
        owner_uid: row.uid()?,
        owner_username: row.text()?,
        label: row.text_or_null()?,
        kind: kind_from(&row.text()?)?,
        state: state_from(&row.text()?)?,
        created_at: row.int()?,
        updated_at: row.int()?,
        default_branch: row.text()?,
    })
}

fn occupant_from(mut row: Row) -> Result<Occupant> {
    Ok(Occupant {
        workspace_id: row.text()?,
        pid: Pid(row.text()?),
        label: row.text_or_null()?,
        cwd: row.text()?,
        created_at: row.int()?,
    })
}

fn kind_text(kind: WorkspaceKind) -> &'static str {
    match kind {
        WorkspaceKind::Thread => "thread",
        WorkspaceKind::App => "app",
        WorkspaceKind::Shared => "shared",
    }
}

fn kind_from(text: &str) -> Result<WorkspaceKind> {
    match text {
        "thread" => Ok(WorkspaceKind::Thread),
        "app" => Ok(WorkspaceKind::App),
        "shared" => Ok(WorkspaceKind::Shared),
        other => Err(unexpected("a kind of workspace", other)),
    }
}

fn state_text(state: WorkspaceState) -> &'static str {
    match state {
        WorkspaceState::Active => "active",
        WorkspaceState::Archived => "archived",
    }
}

fn state_from(text: &str) -> Result<WorkspaceState> {
    match text {
        "active" => Ok(WorkspaceState::Active),
        "archived" => Ok(WorkspaceState::Archived),
        other => Err(unexpected("a state of a workspace", other)),
    }
}
