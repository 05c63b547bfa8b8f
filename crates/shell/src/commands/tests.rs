//! Tests of every command over a real tree, the way people type it.

mod archives;
mod files;
mod processes;
mod system;
mod texts;
mod trees;

use super::stage::{Stage, text};
use super::{ALL, find};

#[test]
fn the_table_of_commands_is_in_order_and_every_name_is_one_command() {
    let names: Vec<&str> = ALL.iter().map(|command| command.name).collect();
    assert!(names.is_sorted(), "{names:?}");
    let mut all: Vec<&str> = ALL
        .iter()
        .flat_map(|command| std::iter::once(command.name).chain(command.aliases.iter().copied()))
        .collect();
    for name in &all {
        assert!(find(name).is_some(), "{name}");
    }
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), count, "a name is taken twice");
    for command in ALL {
        assert!(!command.about.is_empty() && !command.about.ends_with('.'), "{}", command.name);
    }
}

#[tokio::test]
async fn every_command_says_what_it_is_for() {
    let stage = Stage::new().await;
    for command in ALL {
        let page = stage.prints(&["man", command.name]).await;
        assert!(page.contains(command.about) && page.contains(command.usage), "{page}");
    }
    // Those with options do so themselves too; `test` takes `--help` for a word that is not empty.
    for name in
        ["ls", "stat", "chmod", "chown", "chgrp", "cp", "curl", "wget", "devices", "id", "notify", "uname"]
    {
        let help = stage.prints(&[name, "--help"]).await;
        assert!(help.starts_with(&format!("usage: {name}")), "{help}");
    }
    assert_eq!(text(&stage.run("alice", &["config", "--help"]).await.stderr), "");
}
