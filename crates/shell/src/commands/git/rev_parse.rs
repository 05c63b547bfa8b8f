//! `git rev-parse`: hashes, and where one is.

use super::super::{Cx, Done};
use super::patch::short;
use super::place::Place;
use super::{revisions, usage};

pub(super) async fn run(cx: &Cx<'_>) -> Result<Done, Done> {
    let place = Place::here(cx).await?;
    let mut done = Done::default();
    let (mut is_short, mut is_name, mut is_quiet) = (false, false, false);
    for word in cx.args {
        match word.as_str() {
            "--show-toplevel" => done.print(format!("{}\n", place.root.as_str())),
            "--show-prefix" => match place.prefix(cx) {
                prefix if prefix.is_empty() => done.print("\n"),
                prefix => done.print(format!("{prefix}/\n")),
            },
            "--show-cdup" => {
                let depth = place.prefix(cx).split('/').filter(|part| !part.is_empty()).count();
                done.print(format!("{}\n", "../".repeat(depth)));
            }
            "--is-inside-work-tree" => done.print("true\n"),
            "--is-inside-git-dir" | "--is-bare-repository" | "--is-shallow-repository" => {
                done.print("false\n")
            }
            "--abbrev-ref" => is_name = true,
            "--short" => is_short = true,
            "--verify" => {}
            "-q" | "--quiet" => is_quiet = true,
            option if option.starts_with('-') => {
                return Err(usage(format!("git rev-parse {option} is not available here")));
            }
            "HEAD" | "@" if is_name => {
                place.head()?;
                done.print(format!("{}\n", place.branch));
            }
            name if is_name && place.refs.heads.contains_key(name) => done.print(format!("{name}\n")),
            revision => {
                let found = revisions::wanted(cx, &place, revision).await;
                let commit = found.map_err(|why| match is_quiet {
                    true => Done { code: 1, ..Done::default() },
                    false => why,
                })?;
                let hash = if is_short { short(&commit.hash) } else { &commit.hash };
                done.print(format!("{hash}\n"));
            }
        }
    }
    Ok(done)
}
