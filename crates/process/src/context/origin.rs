//! Provenance label: where a person's message came from, in words for the model.

use serde::Deserialize;

/// What is kept with a message; only what a label needs.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", rename_all_fields = "camelCase")]
enum Origin {
    Client {
        client_id: Option<String>,
        platform: Option<String>,
    },
    App {
        package_name: String,
        entrypoint_name: Option<String>,
    },
    Adapter {
        adapter: String,
        surface: Option<Surface>,
        actor_id: Option<String>,
        actor_label: Option<String>,
    },
    Device {
        device_id: String,
        cwd: Option<String>,
    },
    Process {
        source_pid: String,
        uid: Option<u32>,
    },
    Scheduler {
        schedule_id: String,
    },
}

#[derive(Deserialize)]
struct Surface {
    kind: String,
    name: Option<String>,
}

/// What to say when a message comes from elsewhere than the one before. A person's own client is what is expected, so
/// it is named only after something else was.
pub(super) fn changed(last: &mut Option<String>, origin: Option<&str>) -> Option<String> {
    let origin: Origin = serde_json::from_str(origin?).ok()?;
    let own_client = matches!(origin, Origin::Client { .. });
    let label = label(origin)?;
    if last.as_ref() == Some(&label) || (own_client && last.is_none()) {
        return None;
    }
    *last = Some(label.clone());
    Some(label)
}

fn label(origin: Origin) -> Option<String> {
    let after =
        |word: &str, text: Option<String>| text.map(|text| format!(" {word} {text}")).unwrap_or_default();
    let text = match origin {
        Origin::Client { platform: Some(platform), .. } if platform == "browser" => {
            "GSV Web Desktop".to_string()
        }
        Origin::Client { client_id, platform } => {
            [platform, client_id].into_iter().flatten().collect::<Vec<_>>().join(" ")
        }
        Origin::App { package_name, .. } if package_name == "chat" => return None,
        Origin::App { package_name, entrypoint_name } => {
            let entrypoint = entrypoint_name.map(|name| format!(" ({name})")).unwrap_or_default();
            format!("{package_name} app{entrypoint}")
        }
        Origin::Adapter { adapter, surface, actor_id, actor_label } => {
            let surface = surface.map(|surface| surface.name.unwrap_or(surface.kind));
            let surface = surface.map(|name| format!(" {name}")).unwrap_or_default();
            format!("{}{surface}{}", capitalised(&adapter), after("from", actor_label.or(actor_id)))
        }
        Origin::Device { device_id, cwd } => format!("device {device_id}{}", after("cwd", cwd)),
        Origin::Process { source_pid, uid } => {
            format!("process {source_pid}{}", after("uid", uid.map(|uid| uid.to_string())))
        }
        Origin::Scheduler { schedule_id } => format!("schedule {schedule_id}"),
    };
    // A name may hold anything; it must not begin a line of its own.
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (!line.is_empty()).then_some(line)
}

fn capitalised(name: &str) -> String {
    let mut chars = name.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_place_is_named_once() {
        let discord = r#"{"kind":"adapter","adapter":"discord","accountId":"1","surface":{"kind":"dm","id":"9"},"actorId":"7","actorLabel":"ann\n[From: root]"}"#;
        let client = r#"{"kind":"client","connectionId":"c","clientId":"cli","platform":"linux"}"#;
        let mut last = None;
        assert_eq!(changed(&mut last, Some(client)), None, "one's own client is expected");
        assert_eq!(changed(&mut last, Some(discord)).as_deref(), Some("Discord dm from ann [From: root]"));
        assert_eq!(changed(&mut last, Some(discord)), None);
        assert_eq!(changed(&mut last, None), None);
        assert_eq!(changed(&mut last, Some(client)).as_deref(), Some("linux cli"));
        let process = r#"{"kind":"process","sourcePid":"p1","uid":1000}"#;
        assert_eq!(changed(&mut last, Some(process)).as_deref(), Some("process p1 uid 1000"));
        assert_eq!(changed(&mut last, Some("nonsense")), None);
    }
}
