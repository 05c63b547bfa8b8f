//! `whoami`

use super::{Command, Cx, Done};

pub(super) static COMMAND: Command = Command {
    name: "whoami",
    aliases: &[],
    about: "print your user name",
    usage: "",
    manual: "",
    run: |cx| Box::pin(run(cx)),
};

async fn run(cx: &Cx<'_>) -> Done {
    Done::printed(format!("{}\n", cx.view.who().username))
}
