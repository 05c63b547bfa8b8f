//! `chgrp`: changes the group of files.

use super::chown::{self, Owners};
use super::options::Options;
use super::{Command, Cx, Done};
use crate::builtin_io::Io;

pub(super) static COMMAND: Command = Command {
    name: "chgrp",
    aliases: &[],
    about: "change the group",
    usage: "[-R] [-h] GROUP FILE...",
    manual: "\
GROUP is a name or a number. -R works on everything below.
The owner of a file may give it to a group it is in; root may set any.",
    io: Io::PLAIN,
    run: |cx| Box::pin(run(cx)),
};

async fn run(cx: &Cx<'_>) -> Done {
    let options = match Options::parse(cx, &COMMAND, chown::KNOWN, 1) {
        Ok(options) => options,
        Err(done) => return done,
    };
    let read = |text: &str, accounts: &super::accounts::Accounts| match (text, accounts.gid(text)) {
        ("", _) => Ok(Owners { uid: None, gid: None }),
        (_, Some(gid)) => Ok(Owners { uid: None, gid: Some(gid) }),
        (_, None) => Err(format!("invalid group: '{text}'")),
    };
    chown::give(cx, options, read).await
}
