//! `skills`: texts that tell an agent how to do something, from all layers that the user sees.

use ::skills::{Skill, normal_name};
use base::limits;
use vfs::{FileKind, VPath};

use super::{Command, Cx, Done, flat, row, words};
use crate::builtin_io::Io;

pub(super) static COMMAND: Command = Command {
    name: "skills",
    aliases: &[],
    about: "list and read skills",
    usage: "[list | search QUERY | show SKILL | files SKILL | read SKILL FILE]",
    manual: "\
A skill is a file ~/skills.d/NAME.md, or a directory below ~/skills.d with a SKILL.md and files beside it.
It may begin with a block of `name:` and `description:` between lines of ---. Skills of the process's profile and of
its workspace are listed too. When two share a name, their ids are home:NAME, workspace:NAME and so on.",
    io: Io::PLAIN,
    run: |cx| Box::pin(run(cx)),
};

async fn run(cx: &Cx<'_>) -> Done {
    let words: Vec<&str> = cx.args.iter().map(String::as_str).collect();
    flat(match words.as_slice() {
        [] | ["list" | "ls"] => list(collect(cx).await),
        ["search", query @ ..] => search(cx, &query.join(" ")).await,
        ["show" | "files" | "read"] => Err(cx.misused("skill name is required")),
        ["show", name] => show(cx, name).await,
        ["files", name] => files(cx, name).await,
        ["read", _] => Err(cx.misused("file name is required")),
        ["read", name, file] => read(cx, name, file).await,
        ["--help" | "-h" | "help"] => {
            Ok(Done::printed(format!("{}{}\n", COMMAND.usage_line(), COMMAND.manual)))
        }
        _ => Err(Done { stderr: COMMAND.usage_line().into_bytes(), code: 1, ..Done::default() }),
    })
}

async fn collect(cx: &Cx<'_>) -> Vec<Skill> {
    ::skills::collect(cx.view, profile_of(cx).await.as_deref()).await
}

/// The profile of the calling process.
async fn profile_of(cx: &Cx<'_>) -> Option<String> {
    let status = VPath::absolute("/proc/self/status").ok()?;
    let bytes = cx.view.read(&status).await.ok()?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Some(text.lines().find_map(|line| line.strip_prefix("Profile:"))?.trim().to_string())
}

fn list(skills: Vec<Skill>) -> Result<Done, Done> {
    if skills.is_empty() {
        return Ok(Done::printed("No skills available.\n"));
    }
    let mut out = row(["NAME", "SOURCE", "WRITABLE", "DESCRIPTION"]);
    for skill in &skills {
        out += &row([&skill.id, &skill.label, yes_no(skill.writable), &skill.description]);
    }
    Ok(Done::printed(out))
}

async fn search(cx: &Cx<'_>, query: &str) -> Result<Done, Done> {
    let query = query.trim().to_lowercase();
    if query.is_empty() {
        return Err(cx.misused("search query is required"));
    }
    let mut skills = collect(cx).await;
    skills.retain(|skill| {
        [&skill.id, &skill.name, &skill.description, &skill.content]
            .iter()
            .any(|text| text.to_lowercase().contains(&query))
    });
    list(skills)
}

async fn show(cx: &Cx<'_>, name: &str) -> Result<Done, Done> {
    let skill = pick(cx, name).await?;
    let mut out = format!("path: {}\nwritable: {}\n\n{}", skill.path, yes_no(skill.writable), skill.content);
    if !out.ends_with('\n') {
        out.push('\n');
    }
    Ok(Done::printed(out))
}

async fn files(cx: &Cx<'_>, name: &str) -> Result<Done, Done> {
    let skill = pick(cx, name).await?;
    let mut out = String::new();
    if let Some(directory) = &skill.directory {
        for file in below(cx, directory).await {
            let relative = file.as_str()[directory.as_str().len()..].trim_start_matches('/').to_string();
            if file != skill.path {
                out += &format!("{}\t{relative}\n", skill.id);
            }
        }
    }
    match out.is_empty() {
        true => Ok(Done::printed(format!("No supporting files for {}.\n", skill.id))),
        false => Ok(Done::printed(out)),
    }
}

async fn read(cx: &Cx<'_>, name: &str, file: &str) -> Result<Done, Done> {
    let skill = pick(cx, name).await?;
    if file.starts_with(['/', '~']) || file.split('/').any(|part| part == "..") {
        return Err(cx.misused(format!("'{file}' must be a path within the skill")));
    }
    let Some(directory) = &skill.directory else {
        return Err(cx.misused(format!("No supporting files for {}.", skill.id)));
    };
    let path = VPath::resolve(file, directory.as_str(), directory.as_str());
    let bytes = match path {
        Ok(path) => cx.view.read(&path).await,
        Err(fault) => Err(fault),
    };
    bytes.map(Done::printed).map_err(|fault| cx.misused(format!("{file}: {}", words(&fault))))
}

/// The skill of an id, or of a name that only one has.
async fn pick(cx: &Cx<'_>, name: &str) -> Result<Skill, Done> {
    let wanted = normal_name(name);
    let skills = collect(cx).await;
    let (exact, named): (Vec<Skill>, Vec<Skill>) = skills
        .into_iter()
        .filter(|skill| skill.id == wanted || skill.name == wanted)
        .partition(|skill| skill.id == wanted);
    let mut found = if exact.is_empty() { named } else { exact };
    match found.len() {
        0 => Err(cx.misused(format!("skill '{name}' not found"))),
        1 => Ok(found.remove(0)),
        _ => {
            let ids: Vec<&str> = found.iter().map(|skill| skill.id.as_str()).collect();
            Err(cx.misused(format!("ambiguous skill '{name}'. Use one of: {}", ids.join(", "))))
        }
    }
}

/// Every file below a skill's directory, sorted.
async fn below(cx: &Cx<'_>, directory: &VPath) -> Vec<VPath> {
    let (mut todo, mut found) = (vec![directory.clone()], Vec::new());
    while let Some(next) = todo.pop() {
        for named in cx.view.list(&next).await.unwrap_or_default() {
            let path = next.join(&named.name);
            match named.stat.kind {
                FileKind::Directory => todo.push(path),
                _ => found.push(path),
            }
        }
        if found.len() + todo.len() > limits::native_shell::SKILL_FILES_MAX {
            break;
        }
    }
    found.sort();
    found
}

fn yes_no(flag: bool) -> &'static str {
    if flag { "yes" } else { "no" }
}
