//! Access control of repositories: write is the owner's, root's and that of whoever may make every call; read is that,
//! and everybody's where the repository is public.

use gateway::Caller;
use store::repos::RepoRow;

/// Whether somebody may commit to a repository.
pub(crate) fn may_write(caller: &Caller, repo: &RepoRow) -> bool {
    is_superior(caller) || caller.uid() == repo.owner_uid
}

/// Whether somebody may read a repository; nobody in particular is `None`.
pub(crate) fn may_read(caller: Option<&Caller>, repo: &RepoRow) -> bool {
    repo.public || caller.is_some_and(|caller| may_write(caller, repo))
}

/// Root, and whoever holds the wildcard.
pub(crate) fn is_superior(caller: &Caller) -> bool {
    caller.is_root() || caller.capabilities.patterns.iter().any(|pattern| pattern == "*")
}
