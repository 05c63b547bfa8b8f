//! `ps`: lists the agents that are processes here.

use protocol::ids::Uid;
use protocol::proc::List;

use super::{Command, Cx, Done, row};
use crate::builtin_io::Io;

pub(super) static COMMAND: Command = Command {
    name: "ps",
    aliases: &[],
    about: "list your processes",
    usage: "[-A]",
    manual: "\
A process is a long-lived agent. One line each: its id, its state, its label. Root sees those of everybody with -A.
Those that have ended are in `proc list`.
Commands of the shell are not processes; those that go on running are listed in /sys/sessions.",
    io: Io::PLAIN,
    run: |cx| Box::pin(run(cx)),
};

async fn run(cx: &Cx<'_>) -> Done {
    let everybody =
        cx.args.iter().any(|word| ["-A", "-e", "-ef", "-aux", "aux", "ax"].contains(&word.as_str()));
    let uid = if everybody && cx.view.who().uid == Uid::ROOT { None } else { Some(cx.view.who().uid) };
    let mut out = row(["PID", "STATE", "LABEL"]);
    match cx.calls.call(&List { uid }).await {
        Ok(listed) => {
            for process in listed.processes.iter().filter(|process| process.state != "exited") {
                out += &row([process.pid.as_str(), &process.state, process.label.as_deref().unwrap_or("-")]);
            }
        }
        Err(error) => return cx.refused(&error),
    }
    Done::printed(out)
}
