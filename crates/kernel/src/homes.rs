//! Lifecycle of homes: each account has one, the tree knows whose it is, and what a removed account leaves is kept or not.

use std::sync::Arc;

use store::Store;
use store::accounts::Account;
use vfs::Tree;
use vfs::home::Home;

/// Makes sure at start that everybody has a home: what failed when an account was made is tried again.
pub(crate) async fn provision_all(tree: &Arc<Tree>, store: &Store) -> Result<(), store::Error> {
    tree.learn_homes().await?;
    let accounts = store.accounts().all().await?;
    aside(tree, move |tree| accounts.iter().for_each(|account| lay_out(tree, account))).await;
    Ok(())
}

/// Sees to the home of a new account, which is good without one: a failure is for the log. Returns the home if there
/// were files in it already; they become the account's own only if it is to adopt them.
pub(crate) async fn add_home(tree: &Arc<Tree>, new: Account, adopt: bool) -> Option<String> {
    let found = aside(tree, move |tree| {
        let found = tree.has_home_files(&new);
        tree.add_home(&new.username, new.uid, new.gid);
        if found
            && adopt
            && let Err(error) = tree.adopt_home(&new)
        {
            let (username, home) = (&new.username, &new.home);
            tracing::error!(username, home, %error, "the files could not be adopted; those that were not are root's");
        }
        lay_out(tree, &new);
        found.then_some(new.home)
    });
    found.await.flatten()
}

/// What a removed account leaves is deleted, or kept for root alone. Returns where it is kept.
pub(crate) async fn leave(tree: &Arc<Tree>, gone: Account, delete: bool) -> Option<String> {
    let left = aside(tree, move |tree| {
        let left = if delete { tree.delete_home(&gone) } else { tree.keep_home(&gone) };
        tree.remove_home(&gone.username, gone.uid);
        left.unwrap_or_else(|error| {
            let (username, home) = (&gone.username, &gone.home);
            tracing::error!(username, home, %error, "some files of a removed user are still in its name");
            true
        })
        .then_some(gone.home)
    });
    left.await.flatten()
}

/// Runs something that waits for the disk.
async fn aside<T: Send + 'static>(
    tree: &Arc<Tree>,
    work: impl FnOnce(&Tree) -> T + Send + 'static,
) -> Option<T> {
    let tree = tree.clone();
    match tokio::task::spawn_blocking(move || work(&tree)).await {
        Ok(done) => Some(done),
        Err(error) => {
            tracing::error!(%error, "work on homes broke off");
            None
        }
    }
}

fn lay_out(tree: &Tree, account: &Account) {
    let username = &account.username;
    match tree.lay_out_home(account) {
        Ok(Home::Kept) => {}
        Ok(Home::LaidOut) => tracing::debug!(username, "a home was laid out"),
        Ok(Home::Foreign) => {
            let home = &account.home;
            tracing::warn!(username, home, "the home belongs to somebody else and was left alone");
        }
        Err(error) => {
            tracing::warn!(username, %error, "the home could not be laid out; the next start tries again")
        }
    }
}
