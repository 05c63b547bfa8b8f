//! Layered collection of skills, for the command `skills` and for prompts. To add a layer where they come from, such
//! as the one of packages, add it to `layers`.

use std::collections::HashMap;

use base::limits;
use protocol::ai::SkillKind;
use protocol::config;
use vfs::{FileKind, VPath, View};

use crate::text::Parsed;

/// A directory of skills.
struct Layer {
    /// As the list shows it: `home`, `workspace:<id>`, `profile:<name>`, `pkg:<name>`.
    label: String,
    /// What holds it; it comes before the colon of an id when several skills share a name.
    kind: SkillKind,
    /// Where.
    root: VPath,
    /// Whether the user may change its skills.
    writable: bool,
}

/// A skill with the layer it was found in.
pub struct Skill {
    /// What it is asked for by: its name, with its layer in front where that is not unique.
    pub id: String,
    pub name: String,
    /// What holds it.
    pub kind: SkillKind,
    /// Where it comes from: `home`, `profile:<name>` and so on.
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
}

/// All skills that a caller sees: by rank of the layer, its label, and the name. `profile` is that of the calling
/// process, if it is one.
pub async fn collect(view: &View, profile: Option<&str>) -> Vec<Skill> {
    let mut skills = Vec::new();
    for layer in layers(view, profile) {
        let mut found = skills_in(view, &layer).await;
        found.sort_by(|a, b| a.name.cmp(&b.name));
        skills.append(&mut found);
    }
    let mut times: HashMap<String, usize> = HashMap::new();
    for skill in &skills {
        *times.entry(skill.name.clone()).or_default() += 1;
    }
    for skill in &mut skills {
        let alone = times.get(&skill.name) == Some(&1);
        skill.id = if alone { skill.name.clone() } else { format!("{}:{}", prefix(skill.kind), skill.name) };
    }
    skills
}

/// The layers a caller sees, in the order of their rank.
fn layers(view: &View, profile: Option<&str>) -> Vec<Layer> {
    let who = view.who();
    let mut layers = Vec::new();
    let mut add = |kind: SkillKind, label: String, root: String, writable: bool| {
        if let Ok(root) = VPath::absolute(&root) {
            layers.push(Layer { label, kind, root, writable });
        }
    };
    let one_name = |name: &&str| !name.is_empty() && !name.contains('/') && !matches!(*name, "." | "..");
    if let Some(profile) = profile.filter(one_name) {
        let root = format!("/sys/{}", config::AI_PROFILE_SKILLS_D.with(&[profile]));
        add(SkillKind::Profile, format!("profile:{profile}"), root, who.uid.is_root());
    }
    add(SkillKind::Home, "home".to_string(), format!("{}/skills.d", who.home), true);
    if let Some(id) = &who.workspace_id {
        let root = format!("/workspaces/{id}/.gsv/skills.d");
        add(SkillKind::Workspace, format!("workspace:{id}"), root, true);
    }
    layers
}

fn prefix(kind: SkillKind) -> &'static str {
    match kind {
        SkillKind::Profile => "profile",
        SkillKind::Home => "home",
        SkillKind::Workspace => "workspace",
        SkillKind::Package => "package",
    }
}

async fn skills_in(view: &View, layer: &Layer) -> Vec<Skill> {
    let mut found = Vec::new();
    let mut todo = vec![(layer.root.clone(), 0)];
    while let Some((directory, depth)) = todo.pop() {
        let names = view.list(&directory).await.unwrap_or_default();
        if depth > 0 && names.iter().any(|named| named.name == "SKILL.md") {
            let fallback = directory.name().to_string();
            found.extend(skill(view, layer, directory.join("SKILL.md"), &fallback, Some(directory)).await);
            continue;
        }
        for named in names {
            let path = directory.join(&named.name);
            match named.stat.kind {
                FileKind::Directory if depth < limits::native_shell::SKILL_DEPTH_MAX => {
                    todo.push((path, depth + 1))
                }
                FileKind::Directory => {}
                _ => {
                    let name = named.name.strip_suffix(".md").filter(|name| !name.is_empty());
                    let flat = name.filter(|name| depth == 0 && !["SKILL", "DESCRIPTION"].contains(name));
                    if let Some(name) = flat {
                        found.extend(skill(view, layer, path, name, None).await);
                    }
                }
            }
        }
        if found.len() + todo.len() > limits::native_shell::SKILL_FILES_MAX {
            break;
        }
    }
    found
}

/// Reads one; empty and binary files are none.
async fn skill(
    view: &View,
    layer: &Layer,
    path: VPath,
    fallback: &str,
    directory: Option<VPath>,
) -> Option<Skill> {
    let bytes = view.read(&path).await.ok()?;
    let content = String::from_utf8(bytes).ok()?;
    if content.trim().is_empty() || content.contains('\0') {
        return None;
    }
    let Parsed { name, description } = Parsed::read(&content, fallback);
    Some(Skill {
        id: String::new(),
        name,
        kind: layer.kind,
        label: layer.label.clone(),
        writable: layer.writable,
        description,
        content,
        path,
        directory,
    })
}
