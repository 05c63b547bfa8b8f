//! Test fixture: a tree in a fresh directory, and the people who use it.

use std::path::PathBuf;
use std::sync::Arc;

use base::clock::Clock;
use protocol::calls::Calls;
use protocol::error::Error;
use protocol::identity::ProcessIdentity;
use protocol::ids::{Gid, Uid};
use store::{Options, Store};
use tempfile::TempDir;
use vfs::tree::GatewayInfo;
use vfs::view::Work;
use vfs::{Code, Fault, Tree, VPath, View};

/// The group that ann and cat share.
pub const TEAM: u32 = 2_000;

/// Who acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    Root,
    Ann,
    Bob,
    Cat,
}

impl Who {
    pub fn uid(self) -> u32 {
        match self {
            Who::Root => 0,
            Who::Ann => 1_000,
            Who::Bob => 1_001,
            Who::Cat => 1_002,
        }
    }

    pub fn gids(self) -> Vec<u32> {
        match self {
            Who::Root => vec![0],
            Who::Bob => vec![100, 1_001],
            Who::Ann | Who::Cat => vec![100, self.uid(), TEAM],
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Who::Root => "root",
            Who::Ann => "ann",
            Who::Bob => "bob",
            Who::Cat => "cat",
        }
    }
}

/// A data directory with a tree in it.
pub struct World {
    pub data: TempDir,
    pub store: Store,
    pub tree: Arc<Tree>,
}

impl World {
    /// A tree with a home for each user.
    pub async fn new() -> World {
        let data = tempfile::tempdir().unwrap();
        let store = Store::open(&Options { data: data.path().to_path_buf(), url: None }).await.unwrap();
        let tree = Arc::new(Tree::open(&data.path().join("files"), store.clone(), Clock::system()).unwrap());
        let info =
            GatewayInfo { version: "test".to_string(), started_at: 0, routes: Box::new(|_| Vec::new()) };
        tree.show_gateway(info);
        let world = World { data, store, tree };
        for who in [Who::Ann, Who::Bob, Who::Cat] {
            world.home(who).await;
        }
        world
    }

    async fn home(&self, who: Who) {
        let (root, home) = (self.as_(Who::Root), at(&format!("/home/{}", who.name())));
        root.mkdir(&home, false, 0o750).await.unwrap();
        root.chown(&home, Some(Uid(who.uid())), Some(Gid(who.uid()))).await.unwrap();
    }

    /// The tree as somebody sees it, working on the thread that asks.
    pub fn as_(&self, who: Who) -> View {
        view(self.tree.clone(), who, Work::Here)
    }

    /// The same, working on threads for work that waits.
    pub fn aside(&self, who: Who) -> View {
        view(self.tree.clone(), who, Work::Aside)
    }

    /// Where a path of the tree is on the host.
    pub fn host(&self, path: &str) -> PathBuf {
        self.data.path().join("files").join(path.trim_start_matches('/'))
    }

    /// Where the files are.
    pub fn files(&self) -> PathBuf {
        self.data.path().join("files")
    }
}

/// A view of a tree.
pub fn view(tree: Arc<Tree>, who: Who, work: Work) -> View {
    let home = if who == Who::Root { "/root".to_string() } else { format!("/home/{}", who.name()) };
    let identity = ProcessIdentity {
        uid: Uid(who.uid()),
        gid: Gid(who.uid()),
        gids: who.gids().into_iter().map(Gid).collect(),
        username: who.name().into(),
        cwd: home.clone(),
        home,
        workspace_id: None,
    };
    let calls = Calls::new(|_, _| Box::pin(async { Err(Error::forbidden("no calls here")) }));
    View::new(tree, Arc::new(identity), calls, work)
}

/// A path.
pub fn at(path: &str) -> VPath {
    VPath::absolute(path).unwrap()
}

/// The code of a failure.
pub fn code<T>(result: Result<T, Fault>) -> Option<Code> {
    result.err().map(|fault| fault.code)
}
