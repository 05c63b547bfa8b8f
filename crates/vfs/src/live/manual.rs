//! Generated manual in `/usr/share/man`: a page for every call in `man2`, from the tables of `protocol`, and a few
//! topics in `man7`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::LazyLock;

use protocol::schema::{self, Bundle};
use protocol::spec::{Access, Route, Spec};
use protocol::typescript::{self, References};
use serde_json::Value;

use crate::fault::{Code, Fault};
use crate::stat::Stat;
use crate::view::View;

use super::node::{self, Access as FileAccess, Node};

/// The topics; an alias has the text of the page it stands for.
const TOPICS: [(&str, &str); 9] = [
    ("config", include_str!("man/config.7")),
    ("context", include_str!("man/context.7")),
    ("devices", include_str!("man/devices.7")),
    ("files", include_str!("man/files.7")),
    ("gsv", include_str!("man/gsv.7")),
    ("limits", include_str!("man/limits.7")),
    ("shell", include_str!("man/shell.7")),
    ("skills", include_str!("man/skills.7")),
    ("targets", include_str!("man/devices.7")),
];

/// `parts` are those below `/usr/share`.
pub(crate) fn look(view: &View, parts: &[&str]) -> Result<Node, Fault> {
    let folders = |names: &[&str]| {
        let stat = node::directory(view, 0o755);
        let named: Vec<(String, Stat)> = names.iter().map(|name| (name.to_string(), stat)).collect();
        Ok(Node::folder(view, 0o755, named))
    };
    match parts {
        [] => folders(&["man"]),
        ["man"] => folders(&["man2", "man7"]),
        ["man", section @ ("man2" | "man7")] => {
            let pages = pages(section).into_iter();
            let stat = |text: &str| node::file(view, text.len(), FileAccess::root(0o444));
            Ok(Node::folder(view, 0o755, pages.map(|(name, text)| (name.to_string(), stat(text)))))
        }
        ["man", section @ ("man2" | "man7"), name] => {
            let text = pages(section).remove(name);
            Node::pick(text.map(|text| Node::file(view, text, FileAccess::root(0o444))))
        }
        ["man", "man2" | "man7", name, ..] if pages("man2").contains_key(name) => {
            Err(node::fault(Code::NotDirectory))
        }
        _ => Err(node::fault(Code::NotFound)),
    }
}

fn pages(section: &str) -> BTreeMap<&'static str, &'static str> {
    if section == "man7" {
        return TOPICS.into_iter().collect();
    }
    CALLS.iter().map(|(name, text)| (*name, text.as_str())).collect()
}

/// The pages of all calls, written when the first is looked at.
static CALLS: LazyLock<BTreeMap<&'static str, String>> = LazyLock::new(|| {
    let bundle = Bundle::all();
    let document = bundle.document();
    bundle.calls.iter().map(|(spec, _, result)| (spec.name, page(spec, result, &document))).collect()
});

fn page(spec: &Spec, result: &Value, document: &Value) -> String {
    let mut out = String::new();
    section(&mut out, "NAME", &format!("{} - {}", spec.name, first_sentence(&spec.text())));
    section(&mut out, "DESCRIPTION", &spec.text());
    section(&mut out, "ACCESS", access(spec.access));
    section(&mut out, "ROUTE", route(spec.route));
    section(&mut out, "ARGUMENTS", &arguments(spec));
    section(&mut out, "RESULT", &typescript::print(result, References::Inline(document)));
    section(&mut out, "SEE ALSO", "man gsv, gsv call --help");
    format!("{}(2)\n\n{}\n", spec.name, out.trim_end())
}

fn section(out: &mut String, title: &str, body: &str) {
    push_line(out, title);
    body.lines().for_each(|line| push_line(out, &format!("    {line}")));
    out.push('\n');
}

fn push_line(out: &mut String, line: &str) {
    out.push_str(line.trim_end());
    out.push('\n');
}

fn first_sentence(text: &str) -> &str {
    text.split_once(". ").map_or(text, |(first, _)| first).trim_end_matches('.')
}

fn arguments(spec: &Spec) -> String {
    let schema = schema::args_of(spec);
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut out = String::new();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let kind = typescript::print(property, References::Inline(&schema));
        let needed = if required.contains(&name.as_str()) { "" } else { ", optional" };
        argument(&mut out, name, &format!("{kind}{needed}"), property["description"].as_str());
    }
    if spec.route == Route::Target {
        let doc = "`gsv`, or the device to run on; `gsv` when absent.";
        argument(&mut out, "target", "string, optional", Some(doc));
    }
    if out.is_empty() {
        out = match schema.get("anyOf").or_else(|| schema.get("oneOf")) {
            Some(_) => typescript::print(&schema, References::Inline(&schema)),
            None => "none".to_string(),
        };
    }
    out
}

fn argument(out: &mut String, name: &str, kind: &str, doc: Option<&str>) {
    // Writing to a String cannot fail.
    let written = writeln!(out, "{name}: {kind}");
    debug_assert!(written.is_ok());
    for line in doc.unwrap_or_default().lines() {
        push_line(out, &format!("    {}", line.trim()));
    }
}

fn access(access: Access) -> &'static str {
    match access {
        Access::Open => "Anybody, before logging in.",
        Access::Granted => "Whoever holds a capability that covers the name.",
        Access::User => "User connections that hold a capability that covers the name.",
        Access::Service => "Service connections that hold a capability that covers the name.",
        Access::Root => "Root only.",
        Access::Program => "Processes and apps only, never a connection.",
        Access::Kernel => "The gateway itself only.",
    }
}

fn route(route: Route) -> &'static str {
    match route {
        Route::Kernel => "The gateway answers.",
        Route::Target => "The gateway answers, or the device that `target` names.",
        Route::Process => "The process that `pid` names answers.",
        Route::Local => "Runs inside the calling process.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_has_a_page() {
        assert_eq!(CALLS.len(), protocol::calls().count());
        for (name, text) in CALLS.iter() {
            assert!(text.starts_with(&format!("{name}(2)\n")) && text.ends_with('\n'), "{name}");
            for title in ["NAME\n", "DESCRIPTION\n", "ACCESS\n", "ROUTE\n", "ARGUMENTS\n", "RESULT\n"] {
                assert!(text.contains(title), "{name}: {title}");
            }
            assert!(text.lines().all(|line| line.trim_end() == line), "{name}");
        }
        let read = &CALLS["fs.read"];
        assert!(read.contains("path: string\n") && read.contains("offset: number, optional\n"), "{read}");
        assert!(read.contains("target: string, optional\n"), "{read}");
    }

    #[test]
    fn every_topic_says_its_name_and_fits_a_screen() {
        for (name, text) in TOPICS {
            let title = if name == "targets" { "devices" } else { name };
            assert!(text.starts_with(&format!("{title}(7)\n")) && text.ends_with('\n'), "{name}");
            assert!(text.lines().all(|line| line.chars().count() <= 80), "{name}");
        }
    }
}
