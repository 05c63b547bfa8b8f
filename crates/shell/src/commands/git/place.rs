//! Which repository a directory belongs to: a home, a workspace, or what `git clone` made.

use base::limits::native_shell as limits;
use protocol::repo::{List, Refs, RefsResult, Repo, RepoKind};
use serde::{Deserialize, Serialize};
use vfs::{Follow, VPath};

use super::super::{Cx, Done, operand_path, words};
use super::pathspec::{Pathspec, is_within};
use super::{fatal, refused};

/// What of a home is versioned.
pub(super) const OF_A_HOME: [&str; 3] = ["context.d", "knowledge", "skills.d"];
/// The branch that the live files of a home or a workspace are.
pub(super) const MAIN: &str = "main";
/// The file that a clone is known by.
pub(super) const MARKER: &str = ".gsv-clone";

/// What a clone remembers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Marker {
    /// `owner/name`.
    pub(super) repo: String,
    pub(super) branch: String,
    pub(super) commit: String,
}

/// What kind of directory it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Home,
    Workspace,
    Clone,
}

/// The repository of a directory.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) repo: String,
    pub(super) kind: Kind,
    /// Its top directory.
    pub(super) root: VPath,
    pub(super) branch: String,
    /// The commit that its files are compared with; none before the first.
    pub(super) head: Option<String>,
    pub(super) refs: RefsResult,
}

impl Place {
    /// The repository of the current directory.
    pub(super) async fn here(cx: &Cx<'_>) -> Result<Place, Done> {
        let here = VPath::absolute(&cx.view.who().cwd).map_err(|fault| fatal(words(&fault)))?;
        match at(cx, &here).await? {
            Some(found) => open(cx, found).await,
            None => Err(Done {
                stderr: b"fatal: not a git repository (or any of the parent directories): .git\n\
                    hint: here homes (context.d, skills.d, knowledge), workspaces and clones of them are repositories\n"
                    .to_vec(),
                code: 128,
                ..Done::default()
            }),
        }
    }

    /// The commit it is at; there is no history without one.
    pub(super) fn head(&self) -> Result<&str, Done> {
        self.head.as_deref().ok_or_else(|| {
            fatal(format!("your current branch '{}' does not have any commits yet", self.branch))
        })
    }

    /// An operand as a path from the top; empty for the top itself.
    pub(super) fn path(&self, cx: &Cx<'_>, operand: &str) -> Result<String, Done> {
        let path = operand_path::literal(cx.view, operand).map_err(|fault| fatal(words(&fault)))?;
        self.below_root(&path).ok_or_else(|| {
            fatal(format!("{operand}: '{operand}' is outside repository at '{}'", self.root.as_str()))
        })
    }

    /// Several operands.
    pub(super) fn paths(&self, cx: &Cx<'_>, operands: &[String]) -> Result<Pathspec, Done> {
        let paths: Result<Vec<String>, Done> =
            operands.iter().map(|operand| self.path(cx, operand)).collect();
        Ok(Pathspec::new(paths?))
    }

    fn below_root(&self, path: &VPath) -> Option<String> {
        let root = self.root.as_str().trim_end_matches('/');
        is_within(path.as_str(), root).then(|| path.as_str()[root.len()..].trim_matches('/').to_string())
    }

    /// The current directory as a path from the top.
    pub(super) fn prefix(&self, cx: &Cx<'_>) -> String {
        VPath::absolute(&cx.view.who().cwd).ok().and_then(|here| self.below_root(&here)).unwrap_or_default()
    }

    /// A path from the top, in the tree.
    pub(super) fn full(&self, path: &str) -> VPath {
        path.split('/').filter(|part| !part.is_empty()).fold(self.root.clone(), |at, part| at.join(part))
    }
}

/// A directory's repository before its refs are known.
pub(super) struct Found {
    root: VPath,
    what: What,
}

enum What {
    Live(Kind, Box<Repo>),
    Clone(Marker),
}

impl Found {
    /// `owner/name`
    pub(super) fn repo(&self) -> &str {
        match &self.what {
            What::Live(_, repo) => &repo.repo,
            What::Clone(marker) => &marker.repo,
        }
    }
}

/// The nearest repository at or above a directory.
pub(super) async fn at(cx: &Cx<'_>, directory: &VPath) -> Result<Option<Found>, Done> {
    let mut next = Some(directory.clone());
    while let Some(root) = next {
        if let Some(marker) = marker(cx, &root).await? {
            return Ok(Some(Found { root, what: What::Clone(marker) }));
        }
        if let Some((kind, repo)) = live(cx, &root).await? {
            let inside = directory.as_str()[root.as_str().len()..].trim_start_matches('/');
            let top = inside.split('/').next().unwrap_or_default();
            let is_versioned = kind != Kind::Home || top.is_empty() || OF_A_HOME.contains(&top);
            let what = What::Live(kind, Box::new(repo));
            return Ok(is_versioned.then_some(Found { root, what }));
        }
        next = root.parent();
    }
    Ok(None)
}

async fn marker(cx: &Cx<'_>, root: &VPath) -> Result<Option<Marker>, Done> {
    let path = root.join(MARKER);
    let Ok(stat) = cx.view.stat(&path, Follow::Yes).await else { return Ok(None) };
    let damaged = || fatal(format!("{} does not say of which repository this is a clone", path.as_str()));
    if stat.size > limits::GIT_MARKER_MAX_BYTES {
        return Err(damaged());
    }
    let bytes = cx.view.read(&path).await.map_err(|fault| fatal(words(&fault)))?;
    let marker: Marker = serde_json::from_slice(&bytes).map_err(|_| damaged())?;
    let is_hash = marker.commit.len() == 40 && marker.commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hash { Ok(Some(marker)) } else { Err(damaged()) }
}

/// The repository whose live files a directory is, if it is the top of one: the list of repositories decides.
async fn live(cx: &Cx<'_>, root: &VPath) -> Result<Option<(Kind, Repo)>, Done> {
    let who = cx.view.who();
    let parent = root.parent();
    let is_in = |directory: &str| parent.as_ref().is_some_and(|parent| parent.as_str() == directory);
    let (kind, owner) = if is_in("/workspaces") {
        (Kind::Workspace, None)
    } else if root.as_str() == who.home {
        (Kind::Home, Some(who.username.as_str()))
    } else if is_in("/home") || root.as_str() == "/root" {
        (Kind::Home, Some(root.name()))
    } else {
        return Ok(None);
    };
    let listed = cx.calls.call(&List { owner: owner.map(str::to_string) }).await;
    let repos = listed.map_err(|error| refused(&error))?.repos;
    let is_it = |repo: &Repo| match kind {
        Kind::Workspace => repo.kind == RepoKind::Workspace && repo.name == root.name(),
        _ => repo.kind == RepoKind::Home,
    };
    Ok(repos.into_iter().find(is_it).map(|repo| (kind, repo)))
}

async fn open(cx: &Cx<'_>, found: Found) -> Result<Place, Done> {
    let (repo, kind, fixed) = match found.what {
        What::Live(kind, repo) => (repo.repo.clone(), kind, None),
        What::Clone(marker) => (marker.repo.clone(), Kind::Clone, Some(marker)),
    };
    let refs = match cx.calls.call(&Refs { repo: repo.clone() }).await {
        // A home has no repository before something was committed to it.
        Err(error) if error.code == 404 && kind == Kind::Home => {
            RefsResult { repo: repo.clone(), heads: Default::default(), tags: Default::default() }
        }
        refs => refs.map_err(|error| refused(&error))?,
    };
    let (branch, head) = match fixed {
        Some(marker) => (marker.branch, Some(marker.commit)),
        None => (MAIN.to_string(), refs.heads.get(MAIN).cloned()),
    };
    Ok(Place { repo, kind, root: found.root, branch, head, refs })
}
