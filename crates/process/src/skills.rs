//! Index of the skills a process can look up, as its prompt names them.

use base::limits;
use protocol::ai::{Skill, SkillSource};
use vfs::View;

/// The skills that a process of a profile sees.
pub(crate) async fn index(view: &View, profile: &str) -> Vec<Skill> {
    let skills = ::skills::collect(view, Some(profile)).await;
    let on_wire = |skill: ::skills::Skill| Skill {
        id: skill.id,
        name: skill.name,
        description: skill.description,
        source: SkillSource { kind: skill.kind, label: skill.label, writable: skill.writable },
    };
    skills.into_iter().map(on_wire).collect()
}

const COMMANDS: &str = "\
Skills are written-down ways of doing things. Look before you begin something that one may cover:
- `skills list`: all of them
- `skills search QUERY`: those whose text has these words
- `skills show SKILL`: what one says
- `skills files SKILL` and `skills read SKILL FILE`: what comes with it
These are commands of the shell of the target gsv.";

/// The section of a prompt: the commands, and a line for each skill.
pub(crate) fn text(index: &[Skill]) -> String {
    let mut text = COMMANDS.to_string();
    if index.is_empty() {
        return text;
    }
    text += "\n\nAvailable skills:";
    for skill in index.iter().take(limits::process::SKILLS_NAMED_MAX) {
        let description = if skill.description.is_empty() { "No description." } else { &skill.description };
        text += &format!("\n- {}: {description}", skill.id);
    }
    let more = index.len().saturating_sub(limits::process::SKILLS_NAMED_MAX);
    if more > 0 {
        text += &format!("\n- and {more} more: `skills list`");
    }
    text
}

#[cfg(test)]
mod tests {
    use protocol::ai::SkillKind;

    use super::*;

    fn skill(id: &str, description: &str) -> Skill {
        let source = SkillSource { kind: SkillKind::Home, label: "home".to_string(), writable: true };
        Skill { id: id.to_string(), name: id.to_string(), description: description.to_string(), source }
    }

    #[test]
    fn each_skill_has_a_line_and_none_only_the_commands() {
        let text = text(&[skill("deploy", "How to deploy."), skill("home:x", "")]);
        assert!(text.starts_with(COMMANDS));
        assert!(text.ends_with("\n- deploy: How to deploy.\n- home:x: No description."));
        assert_eq!(super::text(&[]), COMMANDS);
    }

    #[test]
    fn a_prompt_names_a_bounded_number_of_skills() {
        let many: Vec<Skill> =
            (0..limits::process::SKILLS_NAMED_MAX + 5).map(|n| skill(&n.to_string(), "x")).collect();
        assert!(text(&many).ends_with("- and 5 more: `skills list`"));
    }
}
