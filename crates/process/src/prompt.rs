//! Assembly of the system prompt: what every process is told, what its profile adds, and what home, workspace,
//! skills and the starter of the process say.

mod files;
mod template;
mod texts;

use protocol::ai::ToolDevice;
use protocol::config;
use protocol::identity::ProcessIdentity;
use protocol::proc::ContextFile;
use vfs::View;

use crate::config::Config;
use crate::skills;

/// What a prompt is made of, besides files.
pub(crate) struct Parts<'a> {
    /// The profile whose texts are used.
    pub(crate) profile: &'a str,
    /// Who the process acts as.
    pub(crate) identity: &'a ProcessIdentity,
    /// Config of its user.
    pub(crate) config: &'a Config,
    /// The devices it can use.
    pub(crate) devices: &'a [ToolDevice],
    /// The tool servers that are ready.
    pub(crate) mcp_servers: &'a [String],
    /// JSON: what it was told when it started.
    pub(crate) process_files: &'a str,
}

/// One part of a prompt.
struct Section {
    name: String,
    text: String,
}

/// Puts a system prompt together. Files that cannot be read are left out: an agent without them is better than none.
pub(crate) async fn assemble(parts: &Parts<'_>, view: &View) -> String {
    let values = template::Values::new(parts);
    let budget_bytes = parts.config.number(config::AI_MAX_CONTEXT_BYTES);
    let expanded = |files: Vec<ContextFile>| {
        let expand = |file: ContextFile| ContextFile { text: template::expand(&file.text, &values), ..file };
        files.into_iter().map(expand).collect()
    };
    let mut sections = named("system", expanded(system_files(parts.config)));
    sections.extend(named("profile", expanded(profile_files(parts.config, parts.profile))));
    sections.extend(named("home", files::of_home(view, budget_bytes).await));
    sections.extend(named("workspace", files::of_workspace(view, budget_bytes).await));
    let index = skills::index(view, parts.profile).await;
    sections.push(Section { name: "available.skills".to_string(), text: skills::text(&index) });
    sections.extend(named("process", process_files(parts.process_files)));
    render(sections)
}

/// The directories and files that a prompt is made of, skills included.
pub(crate) fn places(view: &View) -> Vec<String> {
    let who = view.who();
    let mut roots = vec![who.home.clone()];
    roots.extend(who.workspace_id.as_ref().map(|id| files::workspace(id)));
    let mut places: Vec<String> = roots
        .iter()
        .flat_map(|root| ["context.d", "skills.d"].map(|name| format!("{root}/{name}")))
        .collect();
    places.extend(roots.get(1).map(|workspace| format!("{workspace}/summary.md")));
    places
}

fn named(provider: &str, files: Vec<ContextFile>) -> Vec<Section> {
    let section =
        |file: ContextFile| Section { name: format!("{provider}.context:{}", file.name), text: file.text };
    files.into_iter().map(section).collect()
}

/// What every process is told, templates not filled in.
pub(crate) fn system_files(config: &Config) -> Vec<ContextFile> {
    texts::merged(texts::SYSTEM, config.system_below(config::AI_CONTEXT_D, &[]))
}

/// What a profile adds, templates not filled in.
pub(crate) fn profile_files(config: &Config, profile: &str) -> Vec<ContextFile> {
    let told = config.system_below(config::AI_PROFILE_CONTEXT_D, &[profile]);
    texts::merged(texts::of_profile(profile), told)
}

/// What the process was told when it started.
fn process_files(json: &str) -> Vec<ContextFile> {
    if json.trim().is_empty() {
        return Vec::new();
    }
    let mut files: Vec<ContextFile> = serde_json::from_str(json).unwrap_or_else(|error| {
        tracing::warn!(%error, "what a process was told at its start is unreadable and left out");
        Vec::new()
    });
    files.sort_by(|a, b| a.name.cmp(&b.name));
    files
}

/// `[name]` and the text of each section that has one, with a line of dashes between two of them.
fn render(sections: Vec<Section>) -> String {
    let written = sections.into_iter().filter_map(|section| {
        let text = section.text.trim();
        (!text.is_empty()).then(|| format!("[{}]\n{text}", one_line(&section.name)))
    });
    written.collect::<Vec<_>>().join("\n\n---\n\n")
}

/// A text that must stay within its line.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use protocol::ids::Uid;

    use super::*;

    fn section(name: &str, text: &str) -> Section {
        Section { name: name.to_string(), text: text.to_string() }
    }

    #[test]
    fn sections_are_named_and_parted_and_empty_ones_left_out() {
        let sections = vec![section("a.context:1.md", " one \n"), section("b", " \n"), section("c", "three")];
        assert_eq!(render(sections), "[a.context:1.md]\none\n\n---\n\n[c]\nthree");
        assert_eq!(render(Vec::new()), "");
    }

    #[test]
    fn config_replaces_adds_and_removes_texts() {
        let rows = [
            ("ai/context.d/00-gsv.md", "mine"),
            ("ai/context.d/20-discovery.md", ""),
            ("ai/context.d/99-more.md", "more"),
            ("ai/context.d/notes.txt", "not a text of the prompt"),
            ("ai/profile/task/context.d/00-role.md", "a role"),
        ];
        let config = Config::of(Uid(1000), &[], &rows);
        let files = system_files(&config);
        let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
        assert!(names.is_sorted() && !names.contains(&"20-discovery.md") && !names.contains(&"notes.txt"));
        assert_eq!((files[0].text.as_str(), *names.last().unwrap()), ("mine", "99-more.md"));
        assert_eq!(profile_files(&config, "task")[0].text, "a role");
        assert_ne!(profile_files(&config, "init")[0].text, "a role");
    }

    #[test]
    fn what_a_process_was_told_is_sorted_and_nonsense_is_left_out() {
        let json = r#"[{"name":"b","text":"2"},{"name":"a","text":"1"}]"#;
        let names: Vec<String> = process_files(json).into_iter().map(|file| file.name).collect();
        assert_eq!(names, ["a", "b"]);
        assert!(process_files("{").is_empty() && process_files("").is_empty());
    }
}
