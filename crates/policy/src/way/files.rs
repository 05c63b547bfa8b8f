//! The ways of `fs.*` calls: inside the workspace unasked, elsewhere, in sensitive places and over unread files asked.

use places::{classify, may_hold};

use super::{Course, Known, Setting, Way};
use crate::call_analysis::CallAnalysis;
use crate::tags::Tags;
use protocol::confine::AgentMode;

/// Hidden names that every project has and that nothing runs.
const PLAIN_HIDDEN: &[&str] = &[
    ".gitignore",
    ".gitattributes",
    ".gitkeep",
    ".keep",
    ".editorconfig",
    ".dockerignore",
    ".npmignore",
    ".prettierrc*",
    ".prettierignore",
    ".eslintrc*",
    ".eslintignore",
    ".stylelintrc*",
    ".babelrc*",
    ".browserslistrc",
    ".nvmrc",
    ".node-version",
    ".python-version",
    ".ruby-version",
    ".tool-versions",
    ".rustfmt.toml",
    ".clang-format",
    ".clang-tidy",
    ".flake8",
    ".pylintrc",
    ".coveragerc",
    ".rubocop.yml",
    ".rspec",
    ".yamllint*",
    ".markdownlint*",
    ".swiftlint.yml",
    ".golangci.yml",
    ".env.example",
    ".env.sample",
    ".env.template",
    ".github",
    ".gitlab-ci.yml",
    ".circleci",
    ".storybook",
    ".changeset",
    ".pre-commit-config.yaml",
    ".helmignore",
    ".terraform.lock.hcl",
    ".config",
    ".cargo",
    ".well-known",
    ".nojekyll",
    ".ignore",
    ".rgignore",
];

/// Chooses for a call about a file.
pub(super) fn choose(syscall: &str, analysis: &CallAnalysis, setting: &Setting<'_>) -> Course {
    let Some(path) = analysis.path.as_deref() else { return Course::asked("has a path that is not text") };
    if analysis.is_lost {
        return Course::asked("leads out of a home that is not known");
    }
    if analysis.tags.intersects(Tags::MUTATING | Tags::OPAQUE) {
        return writing(syscall, path, analysis, setting);
    }
    reading(syscall, path, analysis, setting)
}

fn reading(syscall: &str, path: &str, analysis: &CallAnalysis, setting: &Setting<'_>) -> Course {
    let roots = setting.paths.roots();
    if let Some(place) = classify(path, &roots).filter(|place| place.kind.is_secret()) {
        return Course::asked(format!("reads {}: {path}", place.words));
    }
    // A driver that hides secrets leaves them out of what it searches.
    let hides =
        setting.target.confine.as_ref().is_some_and(|words| words.iter().any(|word| word == "secrets"));
    if let Some(place) =
        may_hold(path, &roots).filter(|_| syscall == "fs.search" && !hides && !analysis.is_native())
    {
        return Course::asked(format!("may read {} below {path}", place.words));
    }
    Course::new(Way::Proved, vec!["only reads".to_string()])
}

fn writing(syscall: &str, path: &str, analysis: &CallAnalysis, setting: &Setting<'_>) -> Course {
    let known = || (setting.known)(path);
    let reason = match destination(path, analysis, setting) {
        Some(reason) => Some(reason),
        None => match syscall {
            "fs.write" | "fs.push" => match known() {
                Known::Unread => Some(format!("writes over {path}, which was not read in this conversation")),
                Known::Unknown if !analysis.is_native() => {
                    Some(format!("may write over {path}, which was not read in this conversation"))
                }
                _ => None,
            },
            // It has to know the text that it replaces.
            "fs.edit" => None,
            "fs.delete" => Some(format!("deletes {path} for good")),
            _ => Some(format!("does something that is not known: {syscall}")),
        },
    };
    match reason {
        Some(reason) => Course::asked(reason),
        None => Course {
            is_confinable: true,
            ..Course::new(Way::Confined, vec!["writes inside the workspace".to_string()])
        },
    }
}

/// What is wrong with the place that is written to.
fn destination(path: &str, analysis: &CallAnalysis, setting: &Setting<'_>) -> Option<String> {
    let place = classify(path, &setting.paths.roots());
    if analysis.is_native() {
        // Nothing of the native tree is run by anybody but the gateway, and its own directories have their tag.
        let place = place.filter(|place| place.kind.is_secret());
        return match place {
            Some(place) => Some(format!("writes to {}: {path}", place.words)),
            None => analysis
                .tags
                .intersects(Tags::PRIVILEGED)
                .then(|| format!("changes the gateway itself: {path}")),
        };
    }
    if setting.target.mode() == AgentMode::Proved {
        return Some("writes on a machine whose owner lets agents only read unasked".to_string());
    }
    if let Some(place) = place {
        return Some(format!("writes to {}: {path}", place.words));
    }
    if !setting.paths.is_in_workspace(path) {
        return Some(format!("writes outside the workspace: {path}"));
    }
    is_hidden(path, setting).then(|| format!("writes to a hidden path: {path}"))
}

/// Whether a name below the workspace begins with a dot and is none that every project has.
fn is_hidden(path: &str, setting: &Setting<'_>) -> bool {
    let workspace = setting.target.workspace.as_deref().unwrap_or_default().trim_end_matches('/');
    let is_plain = |name: &str| {
        PLAIN_HIDDEN.iter().any(|known| match known.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == *known,
        })
    };
    let below = path.strip_prefix(workspace).unwrap_or(path);
    below.split('/').any(|name| name.starts_with('.') && !is_plain(name))
}
