//! Intent log for files: archives that are being written and that nothing refers to yet, so that the next start of the
//! gateway can remove them.

use protocol::ids::Pid;

use crate::change::Change;
use crate::sql::Statement;
use crate::{Result, Store};

/// Archives that nothing refers to yet. See [`Store::loose_archives`].
#[derive(Clone, Copy)]
pub struct LooseArchives<'a>(pub(crate) &'a Store);

impl Store {
    /// Archives that nothing refers to yet.
    pub fn loose_archives(&self) -> LooseArchives<'_> {
        LooseArchives(self)
    }
}

impl LooseArchives<'_> {
    /// Notes an archive before its first byte is written. `life` names the start of the gateway.
    pub async fn begin(self, pid: &Pid, path: &str, life: &str) -> Result<()> {
        let statement = Statement::new("INSERT INTO loose_archives (path, pid, life) VALUES ($1, $2, $3)")
            .bind(path)
            .bind(pid)
            .bind(life);
        self.0.keep(Change::new(pid).step(statement)).await
    }

    /// Whether nothing refers to an archive that was noted.
    pub async fn has(self, path: &str) -> Result<bool> {
        let statement = Statement::new("SELECT path FROM loose_archives WHERE path = $1").bind(path);
        Ok(!self.0.read(statement).await?.is_empty())
    }

    /// What earlier lives of the gateway left, with the process each is of.
    pub async fn left(self, life: &str) -> Result<Vec<(Pid, String)>> {
        let statement =
            Statement::new("SELECT pid, path FROM loose_archives WHERE life <> $1 ORDER BY path").bind(life);
        self.0.read(statement).await?.into_iter().map(|mut row| Ok((Pid(row.text()?), row.text()?))).collect()
    }
}

impl Change {
    /// An archive is not loose any more: this change refers to it, or it is removed.
    pub fn loose_archive_end(self, path: &str) -> Change {
        self.step(Statement::new("DELETE FROM loose_archives WHERE path = $1").bind(path))
    }
}
