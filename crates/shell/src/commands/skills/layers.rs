//! Where skills come from. To add a layer, such as the one of packages, add it to [`layers`].

use std::collections::HashMap;

use base::limits;
use vfs::{Kind, VPath};

use super::text::Parsed;
use crate::commands::Cx;

/// A directory of skills.
struct Layer {
    /// As the list shows it: `home`, `workspace:<id>`, `profile:<name>`, `pkg:<name>`.
    label: String,
    /// What comes before the colon of an id when several skills share a name.
    prefix: String,
    /// Where.
    root: VPath,
    /// Whether the user may change its skills.
    writable: bool,
}

/// One skill.
pub(super) struct Skill {
    /// What it is asked for by: its name, with its layer in front where that is not unique.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Where it comes from.
    pub label: String,
    /// Whether the user may change it.
    pub writable: bool,
    /// One line about it.
    pub description: String,
    /// Its text, as it is.
    pub content: String,
    /// The file.
    pub path: VPath,
    /// Its directory, when it has one of its own.
    pub directory: Option<VPath>,
    prefix: String,
}

/// The layers the caller sees, in the order of their rank.
async fn layers(cx: &Cx<'_>) -> Vec<Layer> {
    let who = cx.view.who();
    let mut layers = Vec::new();
    let mut add = |label: String, prefix: &str, root: String, writable: bool| {
        if let Ok(root) = VPath::absolute(&root) {
            layers.push(Layer { label, prefix: prefix.to_string(), root, writable });
        }
    };
    if let Some(profile) = profile_of(cx).await {
        let root = format!("/sys/config/ai/profile/{profile}/skills.d");
        add(format!("profile:{profile}"), "profile", root, who.uid.is_root());
    }
    add("home".to_string(), "home", format!("{}/skills.d", who.home), true);
    if let Some(id) = &who.workspace_id {
        let root = format!("/workspaces/{id}/.gsv/skills.d");
        add(format!("workspace:{id}"), "workspace", root, true);
    }
    layers
}

/// The profile of the calling process.
async fn profile_of(cx: &Cx<'_>) -> Option<String> {
    let status = VPath::absolute("/proc/self/status").ok()?;
    let bytes = cx.view.read(&status).await.ok()?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let profile = text.lines().find_map(|line| line.strip_prefix("Profile:"))?.trim().to_string();
    let one_name = !profile.is_empty() && !profile.contains('/') && profile != "." && profile != "..";
    one_name.then_some(profile)
}

/// All skills of all layers: by rank of the layer, its label, and the name.
pub(super) async fn collect(cx: &Cx<'_>) -> Vec<Skill> {
    let mut skills = Vec::new();
    for layer in layers(cx).await {
        let mut found = skills_in(cx, &layer).await;
        found.sort_by(|a, b| a.name.cmp(&b.name));
        skills.append(&mut found);
    }
    let mut times: HashMap<String, usize> = HashMap::new();
    for skill in &skills {
        *times.entry(skill.name.clone()).or_default() += 1;
    }
    for skill in &mut skills {
        let alone = times.get(&skill.name) == Some(&1);
        skill.id = if alone { skill.name.clone() } else { format!("{}:{}", skill.prefix, skill.name) };
    }
    skills
}

async fn skills_in(cx: &Cx<'_>, layer: &Layer) -> Vec<Skill> {
    let mut found = Vec::new();
    let mut todo = vec![(layer.root.clone(), 0)];
    while let Some((directory, depth)) = todo.pop() {
        let names = cx.view.list(&directory).await.unwrap_or_default();
        if depth > 0 && names.iter().any(|named| named.name == "SKILL.md") {
            let fallback = directory.name().to_string();
            found.extend(skill(cx, layer, directory.join("SKILL.md"), &fallback, Some(directory)).await);
            continue;
        }
        for named in names {
            let path = directory.join(&named.name);
            match named.stat.kind {
                Kind::Directory if depth < limits::SKILL_DEPTH_MAX => todo.push((path, depth + 1)),
                Kind::Directory => {}
                _ => {
                    let name = named.name.strip_suffix(".md").filter(|name| !name.is_empty());
                    let flat = name.filter(|name| depth == 0 && !["SKILL", "DESCRIPTION"].contains(name));
                    if let Some(name) = flat {
                        found.extend(skill(cx, layer, path, name, None).await);
                    }
                }
            }
        }
        if found.len() + todo.len() > limits::SKILL_FILES_MAX {
            break;
        }
    }
    found
}

/// Reads one; empty and binary files are none.
async fn skill(
    cx: &Cx<'_>,
    layer: &Layer,
    path: VPath,
    fallback: &str,
    directory: Option<VPath>,
) -> Option<Skill> {
    let bytes = cx.view.read(&path).await.ok()?;
    let content = String::from_utf8(bytes).ok()?;
    if content.trim().is_empty() || content.contains('\0') {
        return None;
    }
    let Parsed { name, description } = Parsed::read(&content, fallback);
    Some(Skill {
        id: String::new(),
        name,
        label: layer.label.clone(),
        writable: layer.writable,
        description,
        content,
        path,
        directory,
        prefix: layer.prefix.clone(),
    })
}
