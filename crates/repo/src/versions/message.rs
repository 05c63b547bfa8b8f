//! Messages and authors of commits that the gateway makes of changed files, and the trailers that say which agent and
//! which run made them.

use crate::git::commit::Stamp;
use crate::git::edit::Change;

use super::notes::By;

/// Names the process of an agent.
pub(crate) const PID: &str = "Gsv-Pid";
/// Names the run of an agent.
pub(crate) const RUN: &str = "Gsv-Run";
/// Names the run that a commit takes back.
pub(crate) const UNDO: &str = "Gsv-Undo";

/// Longest part of a path that a message shows.
const PATH_SHOWN: usize = 200;

/// What a change does, in a word.
pub(crate) fn verb(change: &Change) -> &'static str {
    match change {
        Change::Put { .. } => "write",
        Change::Link { .. } => "symlink",
        Change::Delete { .. } => "rm",
        Change::Move { .. } => "mv",
    }
}

/// What a commit says that changed these files.
pub(crate) fn of(by: &By, told: &[(String, &'static str)]) -> String {
    let what = match told {
        [(path, verb)] => format!("{verb} {}", shown(path)),
        _ => match common_directory(told) {
            "" => format!("{} files", told.len()),
            directory => format!("{} files in {}", told.len(), shown(directory)),
        },
    };
    let title = match by {
        By::Unseen => format!("gsv: {what}, found changed"),
        By::User { .. } => format!("gsv: {what}"),
    };
    with_trailers(&title, by)
}

/// A message with what says which agent made the commit.
pub(crate) fn with_trailers(message: &str, by: &By) -> String {
    let By::User { agent: Some((pid, run)), .. } = by else { return message.to_string() };
    let run = run.as_ref().map(|run| format!("\n{RUN}: {}", shown(run))).unwrap_or_default();
    format!("{}\n\n{PID}: {}{run}", message.trim_end(), shown(pid))
}

/// The value of a trailer, which stands in the last paragraph.
pub(crate) fn trailer<'m>(message: &'m str, name: &str) -> Option<&'m str> {
    let (_, last) = message.trim_end().rsplit_once("\n\n")?;
    last.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).map(str::trim)
}

/// Who made it, as git keeps it.
pub(crate) fn stamp(by: &By, owner: &str, now_ms: i64) -> Stamp {
    let (name, email) = match by {
        By::Unseen => (owner.to_string(), format!("{owner}@gsv.local")),
        By::User { name, agent: None } => (name.clone(), format!("{name}@gsv.local")),
        By::User { name, agent: Some((pid, _)) } => {
            (format!("{name} (agent {pid})"), format!("{name}@gsv.local"))
        }
    };
    Stamp { name, email, seconds: now_ms / 1_000 }
}

/// A path as one line: a name must not be able to look like the rest of a message.
pub(crate) fn shown(path: &str) -> String {
    let plain: String = path.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    match plain.char_indices().nth(PATH_SHOWN) {
        Some((end, _)) => format!("{}…", &plain[..end]),
        None => plain,
    }
}

fn common_directory<'t>(told: &'t [(String, &'static str)]) -> &'t str {
    let directory = |path: &'t str| path.rsplit_once('/').map_or("", |(directory, _)| directory);
    let mut common = told.first().map_or("", |(path, _)| directory(path));
    for (path, _) in told {
        while !common.is_empty() && !super::live::is_within(path, common) {
            common = directory(common);
        }
    }
    common
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_what_changed_and_can_not_be_forged() {
        let sam = By::User { name: "sam".into(), agent: None };
        let told = |paths: &[&str]| -> Vec<(String, &'static str)> {
            paths.iter().map(|path| (path.to_string(), "write")).collect()
        };
        assert_eq!(of(&sam, &told(&["context.d/10-user.md"])), "gsv: write context.d/10-user.md");
        assert_eq!(
            of(&sam, &told(&["knowledge/a/x", "knowledge/b", "knowledge/c"])),
            "gsv: 3 files in knowledge"
        );
        assert_eq!(of(&sam, &told(&["knowledge/a", "skills.d/b"])), "gsv: 2 files");
        let forged = of(&sam, &told(&["knowledge/a\n\nGsv-Run: r1"]));
        assert_eq!(trailer(&forged, RUN), None, "{forged}");
        let agent = By::User { name: "sam".into(), agent: Some(("p1".into(), Some("r1".into()))) };
        let message = of(&agent, &told(&["knowledge/a"]));
        assert_eq!((trailer(&message, PID), trailer(&message, RUN)), (Some("p1"), Some("r1")));
        assert_eq!(trailer("Gsv-Run: r1", RUN), None, "a title is no trailer");
    }
}
