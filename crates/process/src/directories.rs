//! Private directories of processes in the file tree: `/var/media/<uid>/<pid>/` and
//! `/var/sessions/<username>/<pid>/`.
//! They are their owner's, and nobody else (but root) can look into them.

use std::sync::Arc;

use protocol::identity::ProcessIdentity;
use protocol::ids::{Gid, Uid};
use store::processes::ProcessRow;
use vfs::{Code, Fault, FileKind, Follow, VPath, View};

use crate::world::World;

/// What is kept there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DirectoryKind {
    /// What came with messages.
    Media,
    /// Archives.
    Sessions,
}

/// The directory of one process on a shelf, as its owner sees it.
#[derive(Clone)]
pub(crate) struct ProcessDirectory {
    /// The tree as the owner sees it.
    pub(crate) view: View,
    /// Who that is.
    pub(crate) owner: Arc<ProcessIdentity>,
    pub(crate) directory: VPath,
    shelf: VPath,
}

impl ProcessDirectory {
    /// Where the files of a process are; nothing is made yet. A locked account still has its files.
    pub(crate) async fn of(
        world: &World,
        process: &ProcessRow,
        shelf: DirectoryKind,
    ) -> Result<ProcessDirectory, String> {
        let account = world.store.accounts().by_uid(process.uid).await;
        let account = account.map_err(|error| format!("the account could not be read: {error}"))?;
        let account = account.ok_or_else(|| format!("there is no account with uid {}", process.uid))?;
        let owner = Arc::new(account.identity());
        let (shelf, name) = match shelf {
            DirectoryKind::Media => ("/var/media", owner.uid.to_string()),
            DirectoryKind::Sessions => ("/var/sessions", owner.username.clone()),
        };
        let shelf = VPath::absolute(shelf).map_err(|fault| fault.to_string())?;
        let directory = shelf.join(&name).join(process.pid.as_str());
        let view = world.gateway.view(process, owner.clone());
        Ok(ProcessDirectory { view, owner, directory, shelf })
    }

    /// Makes what is missing of it.
    pub(crate) async fn ready(&self, world: &World, process: &ProcessRow) -> Result<(), String> {
        let ready = async {
            if self.is_there().await {
                return Ok(());
            }
            self.make_shelf(&world.gateway.view(process, Arc::new(root()))).await?;
            self.view.mkdir(&self.directory, true, 0o700).await
        };
        ready.await.map_err(|fault: Fault| format!("{} could not be made: {fault}", self.directory.as_str()))
    }

    /// Makes a directory in it, and those on the way.
    pub(crate) async fn make(&self, names: &[&str]) -> Result<VPath, String> {
        let mut path = self.directory.clone();
        for name in names {
            path = path.join(name);
            let made = self.view.mkdir(&path, true, 0o700).await;
            made.map_err(|fault| format!("{} could not be made: {fault}", path.as_str()))?;
        }
        Ok(path)
    }

    async fn is_there(&self) -> bool {
        let stat = self.view.stat(&self.directory, Follow::Yes).await;
        stat.is_ok_and(|stat| stat.kind == FileKind::Directory && stat.uid == self.owner.uid)
    }

    /// `/var` is root's: the user's directory in it is made by root and given to the user.
    async fn make_shelf(&self, root: &View) -> Result<(), Fault> {
        root.mkdir(&self.shelf, true, 0o755).await?;
        let Some(own) = self.directory.parent() else { return Ok(()) };
        match root.mkdir(&own, false, 0o700).await {
            Err(fault) if fault.code == Code::Exists => {}
            made => made?,
        }
        if root.stat(&own, Follow::No).await?.uid != self.owner.uid {
            root.chown(&own, Some(self.owner.uid), Some(self.owner.gid)).await?;
        }
        Ok(())
    }
}

/// Who makes directories in `/var`.
fn root() -> ProcessIdentity {
    ProcessIdentity {
        uid: Uid::ROOT,
        gid: Gid::ROOT,
        gids: vec![Gid::ROOT],
        username: "root".to_string(),
        home: "/root".to_string(),
        cwd: "/root".to_string(),
        workspace_id: None,
    }
}
