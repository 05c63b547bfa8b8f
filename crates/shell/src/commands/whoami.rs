//! `whoami`: the name of the user.

use super::{Command, Cx, Done};
use crate::builtin_io::Io;

pub(super) static COMMAND: Command = Command {
    name: "whoami",
    aliases: &[],
    about: "print your user name",
    usage: "",
    manual: "",
    io: Io::PLAIN,
    run: |cx| Box::pin(run(cx)),
};

async fn run(cx: &Cx<'_>) -> Done {
    Done::printed(format!("{}\n", cx.view.who().username))
}
