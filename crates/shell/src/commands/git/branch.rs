//! `git branch`: the branches of a repository.

use super::super::options::flag;
use super::super::{Cx, Done};
use super::formats::subject;
use super::history::commit_at;
use super::patch::short;
use super::place::Place;
use super::{elsewhere, words};

pub(super) async fn run(cx: &Cx<'_>) -> Result<Done, Done> {
    let own = vec![
        flag('a', "all"),
        flag('r', "remotes"),
        flag('l', "list"),
        flag('v', "verbose"),
        flag('\0', "show-current"),
        flag('\0', "no-color"),
        flag('\0', "no-column"),
        flag('d', "delete"),
        flag('D', "delete-forced"),
        flag('m', "move"),
        flag('M', "move-forced"),
        flag('c', "copy"),
        flag('f', "force"),
    ];
    let given = words::read(cx.args, own, &[])?;
    let changes = ["delete", "delete-forced", "move", "move-forced", "copy", "force"];
    if changes.iter().any(|name| given.options.has(name)) || !given.options.operands.is_empty() {
        return Err(elsewhere("branch (other than to list branches)"));
    }
    let place = Place::here(cx).await?;
    if given.options.has("show-current") {
        return Ok(Done::printed(format!("{}\n", place.branch)));
    }
    let mut done = Done::default();
    if given.options.has("remotes") {
        return Ok(done);
    }
    let widest = place.refs.heads.keys().map(|name| name.chars().count()).max().unwrap_or(0);
    for (name, hash) in &place.refs.heads {
        let is_current = *name == place.branch;
        let mark = if is_current { "* " } else { "  " };
        if !given.options.has("verbose") {
            done.print(format!("{mark}{name}\n"));
            continue;
        }
        let hash = place.head.as_ref().filter(|_| is_current).unwrap_or(hash);
        let commit = commit_at(cx, &place.repo, hash, 0).await?;
        let said = commit.map(|commit| subject(&commit.message)).unwrap_or_default();
        done.print(format!("{mark}{name:<widest$} {} {said}\n", short(hash)));
    }
    Ok(done)
}
