//! Built-in prompt texts, and their overrides from config.

use std::collections::BTreeMap;

use protocol::proc::ContextFile;

/// A name and a text.
type Text = (&'static str, &'static str);

/// What every process is told: the files of `config/ai/context.d`.
pub(super) const SYSTEM: &[Text] = &[
    ("00-gsv.md", include_str!("texts/gsv.md")),
    ("05-targets.md", include_str!("texts/targets.md")),
    ("10-runtime.md", include_str!("texts/runtime.md")),
    ("20-discovery.md", include_str!("texts/discovery.md")),
    ("30-processes.md", include_str!("texts/processes.md")),
];

/// What a profile adds: the files of `config/ai/profile/<profile>/context.d`.
pub(super) fn of_profile(profile: &str) -> &'static [Text] {
    match profile {
        "init" => &[("00-role.md", include_str!("texts/init.md"))],
        "task" => &[("00-role.md", include_str!("texts/task.md"))],
        "review" => &[("00-role.md", include_str!("texts/review.md"))],
        "cron" => &[("00-role.md", include_str!("texts/cron.md"))],
        "mcp" => &[("00-role.md", include_str!("texts/mcp.md"))],
        "app" => &[("00-role.md", include_str!("texts/app.md"))],
        _ => &[],
    }
}

/// The built-in texts with those of config in their place, by name; one that config leaves empty is gone.
pub(super) fn merged<'a>(
    built_in: &[Text],
    config: impl Iterator<Item = (&'a str, &'a str)>,
) -> Vec<ContextFile> {
    let mut texts: BTreeMap<&str, &str> = built_in.iter().copied().collect();
    texts.extend(config.filter(|(name, _)| name.ends_with(".md") && !name.contains('/')));
    let texts =
        texts.into_iter().map(|(name, text)| (name, text.trim())).filter(|(_, text)| !text.is_empty());
    texts.map(|(name, text)| ContextFile { name: name.to_string(), text: text.to_string() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_profile_says_something() {
        for profile in protocol::proc::profile::Profile::SYSTEM {
            assert!(!merged(of_profile(profile), std::iter::empty()).is_empty(), "{profile}");
        }
        assert_eq!(merged(SYSTEM, std::iter::empty()).len(), SYSTEM.len());
    }
}
