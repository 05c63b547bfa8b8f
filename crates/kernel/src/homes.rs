//! Keeps homes in step with accounts: each has one, and the tree knows whose it is.

use std::sync::Arc;

use store::Store;
use store::accounts::Account;
use vfs::Tree;
use vfs::home::Home;

/// Sees to everybody's home, at start: what failed when an account was made is tried again.
pub(crate) async fn settle_all(tree: &Arc<Tree>, store: &Store) -> Result<(), store::Error> {
    tree.learn_homes().await?;
    lay_out(tree, store.accounts().await?).await;
    Ok(())
}

/// Sees to the home of a new account, which is good without one: a failure is for the log.
pub(crate) async fn settle(tree: &Arc<Tree>, new: Account) {
    tree.add_home(&new.username, new.uid, new.gid);
    lay_out(tree, vec![new]).await;
}

async fn lay_out(tree: &Arc<Tree>, accounts: Vec<Account>) {
    let tree = tree.clone();
    let work = move || accounts.iter().for_each(|account| lay_out_one(&tree, account));
    if let Err(error) = tokio::task::spawn_blocking(work).await {
        tracing::error!(%error, "homes could not be laid out");
    }
}

fn lay_out_one(tree: &Tree, account: &Account) {
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
