//! `id`: user and group ids.

use protocol::ids::Gid;

use super::accounts::Accounts;
use super::options::{Opt, Options, flag};
use super::{Command, Cx, Done};
use crate::builtin_io::Io;

pub(super) static COMMAND: Command = Command {
    name: "id",
    aliases: &[],
    about: "print your user and group numbers",
    usage: "[-u | -g | -G] [-n]",
    manual: "\
-u prints the user only, -g the group only, -G all groups; -n prints names instead of numbers.",
    io: Io::PLAIN,
    run: |cx| Box::pin(run(cx)),
};

const KNOWN: &[Opt] =
    &[flag('u', "user"), flag('g', "group"), flag('G', "groups"), flag('n', "name"), flag('r', "real")];

async fn run(cx: &Cx<'_>) -> Done {
    let options = match Options::parse(cx, &COMMAND, KNOWN, 1) {
        Ok(options) => options,
        Err(done) => return done,
    };
    let who = cx.view.who();
    if let Some(other) = options.operands.first().filter(|name| **name != who.username) {
        return cx.misused(format!("'{other}': no such user, or not you"));
    }
    let accounts = Accounts::read(cx.view).await;
    let names = options.has("name");
    let group = |gid: Gid| if names { accounts.group(gid) } else { gid.to_string() };
    let chosen = [options.has("user"), options.has("group"), options.has("groups")];
    Done::printed(match chosen {
        [false, false, false] if names => {
            return cx.misused("printing only names or real IDs requires -u, -g, or -G");
        }
        [false, false, false] => whole(cx, &accounts),
        [true, false, false] if names => format!("{}\n", who.username),
        [true, false, false] => format!("{}\n", who.uid),
        [false, true, false] => format!("{}\n", group(who.gid)),
        [false, false, true] => groups_of(cx).into_iter().map(group).collect::<Vec<_>>().join(" ") + "\n",
        _ => return cx.misused("cannot print more than one choice"),
    })
}

/// `uid=1000(alice) gid=1000(alice) groups=1000(alice),100(users)`
fn whole(cx: &Cx<'_>, accounts: &Accounts) -> String {
    let who = cx.view.who();
    let group = |gid: Gid| match accounts.group_name(gid) {
        Some(name) => format!("{gid}({name})"),
        None => gid.to_string(),
    };
    let groups: Vec<String> = groups_of(cx).into_iter().map(group).collect();
    format!("uid={}({}) gid={} groups={}\n", who.uid, who.username, group(who.gid), groups.join(","))
}

/// The caller's groups, its own one first.
pub(super) fn groups_of(cx: &Cx<'_>) -> Vec<Gid> {
    let who = cx.view.who();
    let others = who.gids.iter().copied().filter(|gid| *gid != who.gid);
    std::iter::once(who.gid).chain(others).collect()
}
