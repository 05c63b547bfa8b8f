//! Keeps homes in step with accounts: each has one, and the tree knows whose it is.

use std::sync::Arc;

use base::limits;
use store::Store;
use store::accounts::Account;
use vfs::Tree;
use vfs::home::Home;

/// Sees to everybody's home, at start: what failed when an account was made is tried again.
pub(crate) async fn settle_all(tree: &Arc<Tree>, store: &Store) -> Result<(), store::Error> {
    learn(tree, store).await?;
    lay_out(tree, store.accounts().await?).await;
    Ok(())
}

/// Sees to the home of a new account, which is good without one: a failure is for the log.
pub(crate) async fn settle(tree: &Arc<Tree>, store: &Store, new: Account) {
    if let Err(error) = learn(tree, store).await {
        tracing::warn!(%error, "the tree could not be told about a new account");
    }
    lay_out(tree, vec![new]).await;
}

/// Tells the tree whose homes are whose.
pub(crate) async fn learn(tree: &Tree, store: &Store) -> Result<(), store::Error> {
    let mut latest = store.latest_number().await?;
    for _ in 0..limits::FILE_RACES_MAX {
        tree.learn_homes().await?;
        // Whoever added an account meanwhile may have told the tree before us.
        let now = store.latest_number().await?;
        if now == latest {
            break;
        }
        latest = now;
    }
    Ok(())
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
        Ok(Home::LaidOut) => tracing::info!(username, "a home was laid out"),
        Ok(Home::Foreign) => {
            let home = &account.home;
            tracing::warn!(username, home, "the home belongs to somebody else and was left alone");
        }
        Err(error) => {
            tracing::warn!(username, %error, "the home could not be laid out; the next start tries again")
        }
    }
}
