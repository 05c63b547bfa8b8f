//! `groups`: the groups of a user.

use super::accounts::Accounts;
use super::{Command, Cx, Done};
use crate::builtin_io::Io;

pub(super) static COMMAND: Command = Command {
    name: "groups",
    aliases: &[],
    about: "print the groups you are in",
    usage: "",
    manual: "",
    io: Io::PLAIN,
    run: |cx| Box::pin(run(cx)),
};

async fn run(cx: &Cx<'_>) -> Done {
    if let Some(other) = cx.args.first().filter(|name| **name != cx.view.who().username) {
        return cx.misused(format!("only your own groups are known here, not those of '{other}'"));
    }
    let accounts = Accounts::read(cx.view).await;
    let names: Vec<String> = super::id::groups_of(cx).into_iter().map(|gid| accounts.group(gid)).collect();
    Done::printed(names.join(" ") + "\n")
}
