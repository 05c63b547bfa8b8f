//! `chown`: changes owner and group.

use protocol::ids::{Gid, Uid};
use vfs::{Code, FileKind, Follow};

use super::accounts::Accounts;
use super::operand_path::resolve;
use super::options::{Opt, Options, flag, valued};
use super::walk::walk_from;
use super::{Command, Cx, Done, words};
use crate::builtin_io::Io;

pub(super) static COMMAND: Command = Command {
    name: "chown",
    aliases: &[],
    about: "change owner and group",
    usage: "[-R] [-h] [OWNER][:[GROUP]] FILE...",
    manual: "\
OWNER and GROUP are names or numbers; `OWNER:` means that user's own group. -R works on everything below,
-h on a link itself. Root may set any owner; the owner of a file may give it to a group it is in.",
    io: Io::PLAIN,
    run: |cx| Box::pin(run(cx)),
};

pub(super) const KNOWN: &[Opt] = &[
    flag('R', "recursive"),
    flag('h', "no-dereference"),
    flag('v', "verbose"),
    flag('c', "changes"),
    flag('f', "silent"),
    valued('\0', "reference"),
];

/// Who is to have a file; what is `None` stays.
pub(super) struct Owners {
    pub uid: Option<Uid>,
    pub gid: Option<Gid>,
}

async fn run(cx: &Cx<'_>) -> Done {
    let options = match Options::parse(cx, &COMMAND, KNOWN, 1) {
        Ok(options) => options,
        Err(done) => return done,
    };
    give(cx, options, parse).await
}

/// The part `chown` and `chgrp` share: `read` says whom the first operand names.
pub(super) async fn give(
    cx: &Cx<'_>,
    mut options: Options,
    read: impl Fn(&str, &Accounts) -> Result<Owners, String>,
) -> Done {
    let owners = if let Some(like) = options.value("reference") {
        match reference(cx, like).await {
            Ok(stat) => Owners { uid: Some(stat.uid).filter(|_| cx.name != "chgrp"), gid: Some(stat.gid) },
            Err(fault) => {
                return cx.misused(format!("failed to get attributes of '{like}': {}", words(&fault)));
            }
        }
    } else {
        if options.operands.is_empty() {
            return cx.misused("missing operand");
        }
        let text = options.operands.remove(0);
        if options.operands.is_empty() {
            return cx.misused(format!("missing operand after '{text}'"));
        }
        match read(&text, &Accounts::read(cx.view).await) {
            Ok(owners) => owners,
            Err(why) => return cx.misused(why),
        }
    };
    let mut done = Done::default();
    for operand in &options.operands {
        apply(cx, operand, &owners, &options, &mut done).await;
    }
    if options.has("silent") {
        done.stderr.clear();
    }
    done
}

async fn reference(cx: &Cx<'_>, like: &str) -> Result<vfs::Stat, vfs::Fault> {
    cx.view.stat(&cx.view.path(like)?, Follow::Yes).await
}

/// `alice`, `alice:users`, `alice:`, `:users`, `1000.1000` is not one.
fn parse(text: &str, accounts: &Accounts) -> Result<Owners, String> {
    let (owner, group) = match text.split_once(':') {
        Some((owner, group)) => (owner, Some(group)),
        None => (text, None),
    };
    let uid = match owner {
        "" => None,
        owner => Some(accounts.uid(owner).ok_or_else(|| format!("invalid user: '{text}'"))?),
    };
    let gid = match (group, uid) {
        (None, _) => None,
        (Some(""), None) => None,
        (Some(""), Some(uid)) => Some(
            accounts
                .user_name(uid)
                .and_then(|name| accounts.primary_gid(name))
                .ok_or_else(|| format!("invalid spec: '{text}'"))?,
        ),
        (Some(group), _) => Some(accounts.gid(group).ok_or_else(|| format!("invalid group: '{text}'"))?),
    };
    Ok(Owners { uid, gid })
}

async fn apply(cx: &Cx<'_>, operand: &str, owners: &Owners, options: &Options, done: &mut Done) {
    let follow = if options.has("no-dereference") { Follow::No } else { Follow::Yes };
    let met = match resolve(cx.view, operand, follow).await {
        Ok(path) => walk_from(cx.view, path, operand, options.has("recursive"), follow).await,
        Err(fault) => Err(fault),
    };
    let (met, unread) = match met {
        Ok(both) => both,
        Err(fault) => {
            return done.complain(cx.name, format!("cannot access '{operand}': {}", words(&fault)), 1);
        }
    };
    let what = if cx.name == "chgrp" { "group" } else { "ownership" };
    for file in met {
        let changed = owners.uid.is_some_and(|uid| uid != file.stat.uid)
            || owners.gid.is_some_and(|gid| gid != file.stat.gid);
        // A link has no owner of its own, and where one that is met below leads was not meant.
        if file.stat.kind == FileKind::Link {
            if follow == Follow::No && file.display == operand {
                let why = Code::Unsupported.shell_words();
                done.complain(cx.name, format!("changing {what} of '{operand}': {why}"), 1);
            }
            continue;
        }
        if let Err(fault) = cx.view.chown_met(&file.path, owners.uid, owners.gid).await {
            done.complain(cx.name, format!("changing {what} of '{}': {}", file.display, words(&fault)), 1);
        } else if options.has("verbose") || (options.has("changes") && changed) {
            let how = if changed { "changed" } else { "retained" };
            done.print(format!("{what} of '{}' {how}\n", file.display));
        }
    }
    for directory in unread {
        let what = format!("cannot read directory '{}'", directory.display);
        done.complain(cx.name, format!("{what}: {}", words(&directory.fault)), 1);
    }
}
