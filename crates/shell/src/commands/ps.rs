//! `ps`: the agents that are processes here.

use protocol::ids::Uid;
use protocol::proc::List;
use vfs::VPath;

use super::{Command, Cx, Done, row};

pub(super) static COMMAND: Command = Command {
    name: "ps",
    aliases: &[],
    about: "list your processes",
    usage: "[-A]",
    manual: "\
A process is a long-lived agent. One line each: its id, its state, its label. Root sees those of everybody with -A.
Commands of the shell are not processes; those that go on running are listed in /sys/sessions.",
    run: |cx| Box::pin(run(cx)),
};

async fn run(cx: &Cx<'_>) -> Done {
    let everybody =
        cx.args.iter().any(|word| ["-A", "-e", "-ef", "-aux", "aux", "ax"].contains(&word.as_str()));
    let uid = if everybody && cx.view.who().uid == Uid::ROOT { None } else { Some(cx.view.who().uid) };
    let mut out = row(["PID", "STATE", "LABEL"]);
    match cx.calls.call(&List { uid }).await {
        Ok(listed) => {
            for process in listed.processes {
                out += &row([process.pid.as_str(), &process.state, process.label.as_deref().unwrap_or("-")]);
            }
        }
        // A gateway that can not list its processes still shows them as files.
        Err(error) if error.code == 501 => {
            for (pid, state, name) in from_files(cx).await {
                out += &row([&pid, &state, &name]);
            }
        }
        Err(error) => return cx.refused(&error),
    }
    Done::printed(out)
}

/// Process id, state and name from `/proc/<pid>/status`; the tree shows only those the caller may see.
async fn from_files(cx: &Cx<'_>) -> Vec<(String, String, String)> {
    let Ok(root) = VPath::absolute("/proc") else { return Vec::new() };
    let mut found = Vec::new();
    for named in cx.view.list(&root).await.unwrap_or_default() {
        // `self` is another name for one that is listed already.
        if named.name == "self" {
            continue;
        }
        let Ok(bytes) = cx.view.read(&root.join(&named.name).join("status")).await else { continue };
        let text = String::from_utf8_lossy(&bytes);
        let field = |key: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
            line.map_or_else(|| "-".to_string(), |value| value.trim().to_string())
        };
        found.push((named.name, field("State"), field("Name")));
    }
    found
}
