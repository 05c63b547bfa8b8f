//! Cache invalidation between gateways: follows the change stream, and reads again what the kernel keeps in memory of a
//! table that another gateway has changed.
//!
//! What this gateway changes itself is brought into memory by the call that changes it. Whoever only compares numbers
//! needs nothing of this: the number is another one as soon as the change is fed in, and once more when memory has
//! followed.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Weak};

use base::clock::Clock;
use base::limits;
use gateway::Gone;
use protocol::config;
use protocol::identity::ProcessIdentity;
use protocol::ids::Uid;
use store::accounts::Account;
use store::changes::{Notice, Subscription, Topic};

use crate::Kernel;
use crate::connections::Login;
use crate::outbox::Close;

/// Reads again what others have changed, until the kernel is gone.
pub(crate) async fn follow(kernel: Weak<Kernel>, mut changes: Subscription, clock: Clock) {
    // The generations that memory is as new as: a burst of changes is read once.
    let mut as_of: HashMap<Topic, u64> = HashMap::new();
    while let Some(notice) = changes.next().await {
        let changed = match notice {
            Notice::Changed(event) if event.is_ours => continue,
            Notice::Changed(event) => {
                let is_known = as_of.get(&event.topic).is_some_and(|known| *known >= event.generation);
                if is_known { Vec::new() } else { vec![event.topic] }
            }
            Notice::Missed => Topic::ALL.to_vec(),
        };
        for topic in changed {
            // The kernel is not held while this waits: it may stop meanwhile.
            loop {
                let Some(kernel) = kernel.upgrade() else { return };
                match reload(&kernel, topic).await {
                    Ok(generation) => {
                        as_of.insert(topic, generation);
                        break;
                    }
                    Err(error) => {
                        tracing::warn!(?topic, %error, "what another gateway changed cannot be read")
                    }
                }
                drop(kernel);
                clock.sleep(limits::store::RELOAD_RETRY).await;
            }
        }
    }
}

/// Reads a table again, until nothing has changed while it was read. Returns the generation it is of.
///
/// A call of this gateway first commits, then the number changes, and then memory. So when the number is still the one
/// from before the reading, no such call can have changed memory to something newer than what was read.
async fn reload(kernel: &Arc<Kernel>, topic: Topic) -> Result<u64, store::Error> {
    loop {
        let as_of = kernel.store.changes().generation(topic);
        let is_newest = match topic {
            Topic::Config => config(kernel, as_of).await?,
            Topic::Accounts => accounts(kernel, as_of).await?,
            Topic::Grants => grants(kernel, as_of).await?,
            Topic::Devices => devices(kernel, as_of).await?,
            // Files are looked at on disk.
            Topic::Files => true,
            Topic::Tokens => tokens(kernel, as_of).await?,
        };
        if is_newest {
            return Ok(as_of);
        }
        tokio::task::yield_now().await;
    }
}

/// Settings of the kernel and of the areas. Secrets, and keys with variable parts that were removed, are nobody's to
/// keep: they are read when they are used.
async fn config(kernel: &Kernel, as_of: u64) -> Result<bool, store::Error> {
    let set = kernel.store.config().matching("config", |key| !config::is_sensitive(key)).await?;
    let set: HashMap<String, String> = set.into_iter().collect();
    let rows = config::ROWS.iter().filter(|row| !row.is_family() && !config::is_sensitive(row.name));
    for row in rows.filter(|row| !set.contains_key(row.name)) {
        kernel.config_changed(row.name, None);
    }
    for (key, value) in &set {
        kernel.config_changed(key, Some(value));
    }
    Ok(kernel.store.changes().generation(Topic::Config) == as_of)
}

/// The sockets' accounts: those of users that were removed or locked are closed, and the sessions of people who got a
/// new password; the others get the groups of now.
async fn accounts(kernel: &Arc<Kernel>, as_of: u64) -> Result<bool, store::Error> {
    // Looked at before the accounts: a user who was added since then is not taken for one who was removed.
    let connected: HashMap<Uid, Arc<ProcessIdentity>> = {
        let sockets = kernel.connections.all();
        let identities = sockets.iter().filter_map(|socket| socket.login()).map(|login| login.identity());
        identities.map(|identity| (identity.uid, identity)).collect()
    };
    let now = kernel.store.accounts().all().await?;
    let now: HashMap<Uid, Account> = now.into_iter().map(|account| (account.uid, account)).collect();
    if kernel.in_setup_mode() && !kernel.store.in_setup_mode().await? {
        kernel.leave_setup_mode();
    }
    kernel.tree.learn_homes().await?;
    let (mut removed, mut poorer) = (Vec::new(), Vec::new());
    for (uid, before) in connected {
        let account = now.get(&uid);
        match account {
            None => removed.push(uid),
            Some(account) if account.locked => poorer.push(uid),
            Some(account) => {
                if before.gids != account.gids {
                    kernel.refresh_account(&account.identity());
                }
                if before.gids.iter().any(|gid| !account.gids.contains(gid)) {
                    poorer.push(uid);
                }
                continue;
            }
        }
        kernel.connections.close_where(Close::REVOKED, |login| login.identity().uid == uid);
    }
    let is_ended =
        |login: &Login| now.get(&login.identity().uid).is_some_and(|account| login.is_ended(account));
    kernel.connections.close_where(Close::PASSWORD_CHANGED, is_ended);
    let is_newest = kernel.store.changes().generation(Topic::Accounts) == as_of;
    // Rights of the older groups may have been kept since the change was fed in.
    kernel.store.changes().advance(Topic::Accounts);
    if !poorer.is_empty() {
        kernel.gone(Gone::Rights(poorer)).await;
    }
    for uid in removed {
        kernel.gateway.forget_user(uid);
        kernel.gone(Gone::User(uid)).await;
        kernel.feeds.remove(uid);
    }
    Ok(is_newest)
}

/// What groups hold. What runs with rights that a group has lost ends.
async fn grants(kernel: &Kernel, as_of: u64) -> Result<bool, store::Error> {
    let rows = kernel.store.grants().all().await?;
    let Some(poorer) = kernel.grants.replace(rows, as_of) else { return Ok(false) };
    if !poorer.is_empty() {
        let accounts = kernel.store.accounts().all().await?;
        let has_lost = |account: &&Account| account.gids.iter().any(|gid| poorer.contains(gid));
        let members: BTreeSet<Uid> = accounts.iter().filter(has_lost).map(|account| account.uid).collect();
        kernel.gone(Gone::Rights(members.into_iter().collect())).await;
    }
    Ok(true)
}

/// The sockets' tokens: those of revoked ones are closed. They end by themselves when they expire.
async fn tokens(kernel: &Kernel, as_of: u64) -> Result<bool, store::Error> {
    // Looked at before the tokens: one that was made since then is not taken for one that is gone.
    let sockets = kernel.connections.select(|login| login.token.is_some());
    if !sockets.is_empty() {
        let good = kernel.store.tokens().not_revoked().await?;
        for socket in sockets {
            let token = socket.login().and_then(|login| login.token.as_ref());
            if token.is_some_and(|token| !good.contains(&token.token_id)) {
                socket.close(Close::REVOKED);
            }
        }
    }
    Ok(kernel.store.changes().generation(Topic::Tokens) == as_of)
}

/// The devices. Sockets that spoke for one that is no more are closed.
async fn devices(kernel: &Kernel, as_of: u64) -> Result<bool, store::Error> {
    let rows = kernel.store.devices().all().await?;
    let Some(orphans) = kernel.devices.replace(rows, as_of) else { return Ok(false) };
    orphans.iter().for_each(|driver| driver.close(Close::REVOKED));
    Ok(true)
}
