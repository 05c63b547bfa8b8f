//! `gsv device check`: what the sandbox does on this machine, found by trying it.

use std::path::Path;

use sandbox::{Sandbox, Strength};
use serde_json::json;
use terminal::failure::Result;
use terminal::output::{Table, clean};

use crate::context::Context;

/// Exit code where commands of agents cannot be confined.
const NOT_CONFINED: u8 = 1;

/// Tries everything and tells what happened.
pub fn run(context: &Context, state: &Path) -> Result<u8> {
    std::fs::create_dir_all(state)?;
    let found = Sandbox::this_program().probe(state);
    let trials: Vec<_> = found
        .trials
        .iter()
        .map(|trial| {
            json!({
                "word": trial.word, "tried": trial.what, "shouldWork": trial.should_work,
                "happened": trial.happened, "passed": trial.passed,
            })
        })
        .collect();
    let raw = json!({
        "confine": found.words, "full": found.is_full(), "cause": found.cause, "trials": trials,
    });
    context.output.answer(&raw.to_string(), || report(&found))?;
    Ok(if found.is_full() { 0 } else { NOT_CONFINED })
}

fn report(found: &Strength) -> String {
    let mut table =
        Table::new(&["", "WHAT WAS TRIED", "EXPECTED", "WHAT HAPPENED"], "nothing could be tried");
    for trial in &found.trials {
        table.row([
            if trial.passed { "ok" } else { "NO" }.to_string(),
            clean(&trial.what),
            if trial.should_work { "works" } else { "fails" }.to_string(),
            clean(&trial.happened),
        ]);
    }
    let mut text = table.render(false);
    text.truncate(text.trim_end().len());
    text += "\n\n";
    text += &match found.is_full() {
        true => format!("commands of agents are confined here: {}", found.words.join(", ")),
        false => "commands of agents are not confined here: what is not proved only to read asks".to_string(),
    };
    if let Some(cause) = &found.cause {
        text += &format!("\n{cause}");
    }
    text
}
