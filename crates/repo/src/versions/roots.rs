//! Rule of what is versioned: which path of the file tree is which path of which repository.

use base::limits;
use protocol::repo::RepoKind;

use crate::git::paths::TreePath;
use crate::slug::Slug;

/// The directories of a home that are versioned.
pub(crate) const HOME_DIRECTORIES: &[&str] = &["context.d", "skills.d", "knowledge"];

/// What names of workspaces begin with.
const WORKSPACE: &str = "ws_";

/// A directory of the file tree that a repository follows.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Root {
    /// The home of a user, by name; only some of its directories are versioned.
    Home(String),
    /// A workspace, by its id; all of it is versioned.
    Workspace(String),
}

impl Root {
    /// The root that a path is in, and the path within it; nothing for what is not versioned.
    pub(crate) fn of(path: &str) -> Option<(Root, &str)> {
        let (root, inner) = if let Some(inner) = path.strip_prefix("/root/") {
            (Root::Home("root".to_string()), inner)
        } else if let Some(rest) = path.strip_prefix("/home/") {
            let (user, inner) = rest.split_once('/')?;
            (Root::Home(user.to_string()), inner)
        } else {
            let (id, inner) = path.strip_prefix("/workspaces/")?.split_once('/')?;
            id.starts_with(WORKSPACE).then_some(())?;
            (Root::Workspace(id.to_string()), inner)
        };
        (root.holds(inner) && !inner.is_empty()).then_some((root, inner))
    }

    /// The root that a repository follows; nothing for repositories that follow none.
    pub(crate) fn followed_by(slug: &Slug) -> Option<Root> {
        match slug.kind() {
            RepoKind::Home => Some(Root::Home(slug.owner().to_string())),
            RepoKind::Workspace => Some(Root::Workspace(slug.name().to_string())),
            RepoKind::Package | RepoKind::User => None,
        }
    }

    /// A workspace, if that is the name of one.
    pub(crate) fn workspace(name: &str) -> Option<Root> {
        name.starts_with(WORKSPACE).then(|| Root::Workspace(name.to_string()))
    }

    /// The repository that follows it, when it is that user's.
    pub(crate) fn slug(&self, owner: &str) -> Option<Slug> {
        match self {
            Root::Home(user) if user == owner => Slug::new(owner, "home").ok(),
            Root::Home(_) => None,
            Root::Workspace(id) => Slug::new(owner, id).ok(),
        }
    }

    /// Its path in the file tree.
    pub(crate) fn path(&self) -> String {
        match self {
            Root::Home(user) if user == "root" => "/root".to_string(),
            Root::Home(user) => format!("/home/{user}"),
            Root::Workspace(id) => format!("/workspaces/{id}"),
        }
    }

    /// The directories in it that are versioned, from the root; the empty one is all of it.
    pub(crate) fn tops(&self) -> &'static [&'static str] {
        match self {
            Root::Home(_) => HOME_DIRECTORIES,
            Root::Workspace(_) => &[""],
        }
    }

    /// Whether a path within it is versioned.
    fn holds(&self, inner: &str) -> bool {
        let first = inner.split('/').next().unwrap_or_default();
        self.tops().iter().any(|top| top.is_empty() || *top == first)
    }

    /// Whether a file of the repository has a place in the file tree. What has none stays in the repository alone.
    pub(crate) fn has_place_for(&self, inner: &str) -> bool {
        // A file where a directory of every home is would be in its way.
        let is_top = matches!(self, Root::Home(_)) && self.tops().contains(&inner);
        self.holds(inner)
            && !is_top
            && TreePath::to_write(inner).is_ok()
            && inner.split('/').all(|name| has_place(name) && name.len() <= limits::files::NAME_MAX_BYTES)
    }
}

/// Whether a name can stand in the file tree and in a repository: what is the gateway's own, or git's, can not.
pub(crate) fn has_place(name: &str) -> bool {
    let begins = |with: &str| {
        name.as_bytes().get(..with.len()).is_some_and(|head| head.eq_ignore_ascii_case(with.as_bytes()))
    };
    !begins(".gsv-tmp-")
        && !begins(".gsv-part-")
        && crate::git::paths::check_name(name.as_bytes(), false).is_ok()
}

/// Whether a link leads to somewhere within its root, by the text of it.
pub(crate) fn leads_inside(path: &str, target: &str) -> bool {
    if target.is_empty() || target.starts_with('/') || target.contains('\0') {
        return false;
    }
    let mut depth = path.split('/').count() as i64 - 1;
    for name in target.split('/') {
        match name {
            "" | "." => {}
            ".." => depth -= 1,
            _ => depth += 1,
        }
        if depth < 0 {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn homes_and_workspaces_are_versioned_and_nothing_else() {
        let of = |path: &str| Root::of(path).map(|(root, inner)| (root.path(), inner.to_string()));
        let is = |root: &str, inner: &str| Some((root.to_string(), inner.to_string()));
        assert_eq!(of("/home/sam/context.d/a.md"), is("/home/sam", "context.d/a.md"));
        assert_eq!(of("/home/sam/knowledge"), is("/home/sam", "knowledge"));
        assert_eq!(of("/root/skills.d/x/SKILL.md"), is("/root", "skills.d/x/SKILL.md"));
        assert_eq!(of("/workspaces/ws_1/a"), is("/workspaces/ws_1", "a"));
        for none in [
            "/home/sam",
            "/home/sam/notes.md",
            "/home/sam/knowledge.md",
            "/home/sam/x/knowledge/a",
            "/workspaces/ws_1",
            "/workspaces/other/a",
            "/tmp/context.d/a",
            "/",
            "",
        ] {
            assert_eq!(of(none), None, "{none}");
        }
    }

    #[test]
    fn names_that_are_somebody_s_own_have_no_place() {
        let (home, space) = (Root::Home("sam".into()), Root::Workspace("ws_1".into()));
        for good in ["knowledge/a", "context.d/ä b", "skills.d/x/.gitignore"] {
            assert!(home.has_place_for(good) && space.has_place_for(good), "{good}");
        }
        for bad in
            ["knowledge/.git/config", "knowledge/.GSV-tmp-1", "knowledge/x/.gsv-part-2", "knowledge/../a"]
        {
            assert!(!home.has_place_for(bad) && !space.has_place_for(bad), "{bad}");
        }
        for outside in ["README.md", "knowledge", ".bashrc"] {
            assert!(!home.has_place_for(outside) && space.has_place_for(outside), "{outside}");
        }
        assert!(!space.has_place_for(&"x".repeat(300)));
    }

    #[test]
    fn links_lead_inside_or_have_no_place() {
        for good in ["b", "../b", "./c/d", "c/../../b"] {
            assert!(leads_inside("knowledge/a", good), "{good}");
        }
        for bad in ["", "/etc/passwd", "../../b", "c/../../../b", "../../../home/sam"] {
            assert!(!leads_inside("knowledge/a", bad), "{bad}");
        }
    }
}
