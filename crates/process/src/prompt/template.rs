//! Single-pass template substitution of `{{ name }}` in texts that root has written: a value never becomes a
//! template.

use std::collections::HashMap;

use protocol::ai::ToolDevice;

use super::{Parts, one_line};

/// What names stand for.
pub(super) struct Values(HashMap<&'static str, String>);

impl Values {
    pub(super) fn new(parts: &Parts<'_>) -> Values {
        let who = parts.identity;
        let workspace = who.workspace_id.as_ref();
        Values(HashMap::from([
            ("profile", parts.profile.to_string()),
            ("identity.uid", who.uid.to_string()),
            ("identity.gid", who.gid.to_string()),
            ("identity.username", who.username.clone()),
            ("identity.home", who.home.clone()),
            ("identity.cwd", who.cwd.clone()),
            ("identity.workspaceId", workspace.cloned().unwrap_or_default()),
            ("workspace", workspace.map_or("(none)".to_string(), |id| format!("/workspaces/{id}"))),
            ("devices", devices(parts.devices)),
            ("mcpServers", servers(parts.mcp_servers)),
            ("known_paths", KNOWN_PATHS.to_string()),
        ]))
    }
}

const KNOWN_PATHS: &str = "\
- ~ (the home): what the user keeps, with context.d, skills.d and knowledge
- /workspaces: workspaces of tasks and what was made in them
- /var: archives of conversations and media
- /etc: accounts, groups and manuals
- /sys: live config, devices, users and capabilities
- /proc: processes
- /dev: devices such as null and random";

/// The text with its names replaced; one that stands for nothing becomes nothing.
pub(super) fn expand(text: &str, values: &Values) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("{{") {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let inner = from[2..].split_once("}}").map(|(inner, after)| (inner.trim(), after));
        match inner {
            Some((name, after)) if is_name(name) => {
                out.push_str(values.0.get(name).map_or("", String::as_str));
                rest = after;
            }
            _ => {
                out.push_str("{{");
                rest = &from[2..];
            }
        }
    }
    out.push_str(rest);
    out
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.'))
}

/// `- gsv`, then the devices by id with what is known of them.
fn devices(devices: &[ToolDevice]) -> String {
    let mut devices: Vec<&ToolDevice> = devices.iter().collect();
    devices.sort_by(|a, b| a.id.0.cmp(&b.id.0));
    let known = |text: &Option<String>| text.as_deref().map(one_line).filter(|text| !text.is_empty());
    let line = |device: &&ToolDevice| {
        let id = one_line(&device.id.0);
        match (known(&device.description), known(&device.platform)) {
            (Some(description), Some(platform)) => format!("- {id}: {description} ({platform})"),
            (Some(text), None) | (None, Some(text)) => format!("- {id}: {text}"),
            (None, None) => format!("- {id}"),
        }
    };
    std::iter::once("- gsv".to_string()).chain(devices.iter().map(line)).collect::<Vec<_>>().join("\n")
}

fn servers(names: &[String]) -> String {
    let mut names: Vec<String> = names.iter().map(|name| one_line(name)).collect();
    names.sort();
    names.dedup();
    if names.is_empty() {
        return "- (none)".to_string();
    }
    names.iter().map(|name| format!("- {name}")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values() -> Values {
        Values(HashMap::from([("profile", "task".to_string()), ("devices", "{{ profile }}".to_string())]))
    }

    #[test]
    fn names_are_replaced_once() {
        for (text, expected) in [
            ("a {{ profile }} b", "a task b"),
            ("{{profile}}{{  profile  }}", "tasktask"),
            ("{{ unknown.thing }}|", "|"),
            ("{{ devices }}", "{{ profile }}"),
            ("{{ not a name }} {{profile}}", "{{ not a name }} task"),
            ("{{ {{ profile }}", "{{ task"),
            ("open {{ profile", "open {{ profile"),
            ("{{}}", "{{}}"),
            ("ü {{ profile }} €", "ü task €"),
        ] {
            assert_eq!(expand(text, &values()), expected, "{text}");
        }
    }

    fn device(id: &str, description: Option<&str>, platform: Option<&str>) -> ToolDevice {
        ToolDevice {
            id: id.to_string().into(),
            implements: Vec::new(),
            description: description.map(str::to_string),
            platform: platform.map(str::to_string),
        }
    }

    #[test]
    fn devices_are_listed_by_id_each_on_its_line() {
        let list = [
            device("pi", None, None),
            device("mac", Some("My Mac\n- evil: line"), Some("darwin")),
            device("box", Some(" "), Some("linux")),
            device("tv", Some("The TV"), None),
        ];
        assert_eq!(
            devices(&list),
            "- gsv\n- box: linux\n- mac: My Mac - evil: line (darwin)\n- pi\n- tv: The TV"
        );
        assert_eq!(devices(&[]), "- gsv");
    }

    #[test]
    fn servers_are_sorted_and_named_once() {
        let names = ["b", "a", "b"].map(str::to_string);
        assert_eq!(servers(&names), "- a\n- b");
        assert_eq!(servers(&[]), "- (none)");
        assert_eq!(KNOWN_PATHS.lines().count(), 7);
    }
}
