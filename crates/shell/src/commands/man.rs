//! `man`: the manual. Commands of this system come from [`ALL`], topics and calls from `/usr/share/man`.

use vfs::{FileKind, VPath};

use super::{ALL, Command, Cx, Done, find, flat};
use crate::builtin_io::Io;

pub(super) static COMMAND: Command = Command {
    name: "man",
    aliases: &[],
    about: "read the manual",
    usage: "[[SECTION] TOPIC | -k WORD]",
    manual: "\
Section 1 has the commands of this system, 2 the calls, 7 everything else. `man` alone lists what there is,
`man -k WORD` searches the names and first lines. Other commands explain themselves with --help.",
    io: Io::PLAIN,
    run: |cx| Box::pin(run(cx)),
};

/// Sections that are files.
const SECTIONS: [&str; 2] = ["7", "2"];

async fn run(cx: &Cx<'_>) -> Done {
    let words: Vec<&str> = cx.args.iter().map(String::as_str).collect();
    flat(match words.as_slice() {
        [] | ["help"] => index(cx, None).await,
        ["-k" | "--apropos", word] => index(cx, Some(word)).await,
        ["-k" | "--apropos"] => Err(cx.misused("what to search for is required")),
        ["--help"] => Ok(Done::printed(page(&COMMAND))),
        [section, topic] if section.len() == 1 && section.starts_with(|c: char| c.is_ascii_digit()) => {
            topic_in(cx, Some(section), topic).await
        }
        topics => {
            let mut all = Done::default();
            for topic in topics {
                let done = topic_in(cx, None, topic).await.unwrap_or_else(|done| done);
                all.print(done.stdout);
                all.stderr.extend(done.stderr);
                all.code = all.code.max(done.code);
            }
            Ok(all)
        }
    })
}

async fn topic_in(cx: &Cx<'_>, section: Option<&str>, topic: &str) -> Result<Done, Done> {
    if section.is_none_or(|section| section == "1")
        && let Some(command) = find(topic)
    {
        return Ok(Done::printed(page(command)));
    }
    for number in SECTIONS.iter().filter(|number| section.is_none_or(|section| section == **number)) {
        if let Some(text) = read(cx, number, topic).await {
            return Ok(Done::printed(text));
        }
    }
    Err(cx.misused(format!("no manual entry for {topic}")))
}

/// The manual page of a command.
fn page(command: &Command) -> String {
    let mut out = format!("NAME\n    {} - {}\n\nSYNOPSIS\n", command.name, command.about);
    for name in std::iter::once(&command.name).chain(command.aliases) {
        out += format!("    {name} {}", command.usage).trim_end();
        out.push('\n');
    }
    if !command.manual.is_empty() {
        out += "\nDESCRIPTION\n";
        command.manual.lines().for_each(|line| out += &format!("    {line}\n"));
    }
    out
}

async fn read(cx: &Cx<'_>, section: &str, topic: &str) -> Option<Vec<u8>> {
    if topic.is_empty() || topic.contains('/') || topic.starts_with('.') {
        return None;
    }
    let directory = VPath::absolute(&format!("/usr/share/man/man{section}")).ok()?;
    for name in [topic.to_string(), format!("{topic}.{section}"), format!("{topic}.md")] {
        if let Ok(bytes) = cx.view.read(&directory.join(&name)).await {
            return Some(bytes);
        }
    }
    None
}

/// What there is, one line each; only what has the word in it, if there is one.
async fn index(cx: &Cx<'_>, word: Option<&str>) -> Result<Done, Done> {
    let mut lines: Vec<String> =
        ALL.iter().map(|command| format!("{} (1) - {}", command.name, command.about)).collect();
    for section in SECTIONS {
        for topic in topics(cx, section).await {
            let about = match section {
                "2" => protocol::spec(&topic).map(|spec| first_sentence(&spec.text())),
                _ => read(cx, section, &topic).await.map(|bytes| title(&bytes)),
            };
            lines.push(match about.filter(|about| !about.is_empty()) {
                Some(about) => format!("{topic} ({section}) - {about}"),
                None => format!("{topic} ({section})"),
            });
        }
    }
    if let Some(word) = word {
        let wanted = word.to_lowercase();
        lines.retain(|line| line.to_lowercase().contains(&wanted));
        if lines.is_empty() {
            return Err(cx.misused(format!("nothing about {word}")));
        }
    }
    lines.push(String::new());
    Ok(Done::printed(lines.join("\n")))
}

/// The names of a section, without the endings of its files.
async fn topics(cx: &Cx<'_>, section: &str) -> Vec<String> {
    let Ok(directory) = VPath::absolute(&format!("/usr/share/man/man{section}")) else { return Vec::new() };
    let names = cx.view.list(&directory).await.unwrap_or_default();
    let plain = |name: &str| {
        let name = name.strip_suffix(".md").unwrap_or(name);
        name.strip_suffix(&format!(".{section}")).unwrap_or(name).to_string()
    };
    names
        .iter()
        .filter(|named| named.stat.kind != FileKind::Directory)
        .map(|named| plain(&named.name))
        .collect()
}

fn first_sentence(text: &str) -> String {
    text.split_once(". ").map_or(text, |(first, _)| first).trim_end_matches('.').to_string()
}

/// What a page is about: the rest of its first line after ` - `, or that line without its `#`.
fn title(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let about = lines().take(4).find_map(|line| line.split_once(" - ").map(|(_, about)| about.to_string()));
    about.unwrap_or_else(|| lines().next().unwrap_or_default().trim_start_matches('#').trim().to_string())
}
