//! `devices`, also called `targets`: lists the targets where calls can run.

use base::limits;
use protocol::sys::device::{Detail, Get, List};
use serde_json::{Value, json};

use super::options::{Opt, Options, flag, valued};
use super::{Command, Cx, Done, flat, row, times};
use crate::builtin_io::Io;

pub(super) static COMMAND: Command = Command {
    name: "devices",
    aliases: &["targets"],
    about: "list the machines that calls can run on",
    usage: "[list [--all] [--kind K] [--search Q] [--limit N] [--offset N] [--json] | search Q | show ID [--json]]",
    manual: "\
The first column is what `target` takes in fs.* and shell.exec. `gsv` is this gateway and always there.
Devices that are not connected are listed with --all. The same is in files under /sys/devices.",
    io: Io::PLAIN,
    run: |cx| Box::pin(run(cx)),
};

const KNOWN: &[Opt] = &[
    flag('a', "all"),
    valued('\0', "kind"),
    valued('\0', "search"),
    valued('\0', "limit"),
    valued('\0', "offset"),
    flag('\0', "json"),
];

/// The kinds of targets there are.
const KINDS: [&str; 4] = ["gsv", "native-device", "browser", "adapter"];

async fn run(cx: &Cx<'_>) -> Done {
    let options = match Options::parse(cx, &COMMAND, KNOWN, 1) {
        Ok(options) => options,
        Err(done) => return done,
    };
    let words: Vec<&str> = options.operands.iter().map(String::as_str).collect();
    flat(match words.as_slice() {
        [] | ["list" | "ls"] => list(cx, &options, options.value("search").unwrap_or_default()).await,
        ["search", query @ ..] if !query.is_empty() => list(cx, &options, &query.join(" ")).await,
        ["search"] => Err(cx.misused("what to search for is required")),
        ["show", id] => show(cx, id, options.has("json")).await,
        ["show"] => Err(cx.misused("target id is required")),
        _ => Err(Done { stderr: COMMAND.usage_line().into_bytes(), code: 1, ..Done::default() }),
    })
}

/// A place where calls can run.
struct Target {
    id: String,
    kind: &'static str,
    online: bool,
    platform: String,
    implements: Vec<String>,
    label: String,
    device: Option<Detail>,
}

impl Target {
    fn gateway(cx: &Cx<'_>) -> Target {
        Target {
            id: "gsv".to_string(),
            kind: "gsv",
            online: true,
            platform: "gsv".to_string(),
            implements: vec!["fs.*".to_string(), "shell.exec".to_string()],
            label: cx.settings.hostname.clone(),
            device: None,
        }
    }

    fn device(device: Detail) -> Target {
        Target {
            id: device.device_id.to_string(),
            kind: "native-device",
            online: device.online,
            platform: device.platform.clone(),
            implements: device.implements.clone(),
            label: device.description.clone(),
            device: Some(device),
        }
    }

    fn state(&self) -> &'static str {
        if self.online { "online" } else { "offline" }
    }

    fn matches(&self, query: &str) -> bool {
        let query = query.to_lowercase();
        let has = |text: &str| text.to_lowercase().contains(&query);
        has(&self.id) || has(&self.label) || has(&self.platform)
    }

    fn line(&self) -> String {
        let or_dash = |text: &str| if text.is_empty() { "-".to_string() } else { text.to_string() };
        let (platform, label) = (or_dash(&self.platform), or_dash(&self.label));
        let caps = or_dash(&self.implements.join(","));
        row([&self.id, self.kind, self.state(), "persistent", &platform, &caps, &label])
    }

    fn json(&self) -> Value {
        let mut value = json!({
            "target": self.id,
            "kind": self.kind,
            "state": self.state(),
            "lifetime": "persistent",
            "platform": self.platform,
            "implements": self.implements,
            "label": self.label,
        });
        if let Some(device) = &self.device {
            value["device"] = serde_json::to_value(device).unwrap_or_default();
        }
        value
    }
}

async fn list(cx: &Cx<'_>, options: &Options, query: &str) -> Result<Done, Done> {
    let number = |name| options.number(name).map_err(|why| cx.misused(why));
    let (limit, offset) = (number("limit")?, number("offset")?.unwrap_or(0) as usize);
    let limit = limit
        .unwrap_or(limits::native_shell::TARGETS_LISTED)
        .clamp(1, limits::native_shell::TARGETS_LISTED_MAX) as usize;
    let kind = options.value("kind");
    if let Some(odd) = kind.filter(|kind| !KINDS.contains(kind)) {
        return Err(cx.misused(format!("unknown kind '{odd}': one of {}", KINDS.join(", "))));
    }
    let listed = cx.call(&List { include_offline: Some(options.has("all")) }).await?.devices;
    let mut targets = vec![Target::gateway(cx)];
    for summary in listed {
        let id = summary.device_id.to_string();
        if let Some(device) = cx.call(&Get { device_id: id }).await?.device {
            targets.push(Target::device(device));
        }
    }
    targets.retain(|target| kind.is_none_or(|kind| target.kind == kind) && target.matches(query));
    let total = targets.len();
    let page: Vec<Target> = targets.into_iter().skip(offset).take(limit).collect();
    if options.has("json") {
        let targets: Vec<Value> = page.iter().map(Target::json).collect();
        return Ok(Done::printed(pretty(&json!({ "targets": targets, "total": total }))));
    }
    let mut done = Done::printed(row(["TARGET", "KIND", "STATE", "LIFE", "PLATFORM", "CAPS", "LABEL"]));
    page.iter().for_each(|target| done.print(target.line()));
    let display = offset.saturating_add(page.len());
    if display < total {
        done.complain(cx.name, format!("{} more: --offset {display}", total - display), 0);
    }
    Ok(done)
}

async fn show(cx: &Cx<'_>, id: &str, as_json: bool) -> Result<Done, Done> {
    let target = match id {
        "gsv" => Target::gateway(cx),
        id => match cx.call(&Get { device_id: id.to_string() }).await?.device {
            Some(device) => Target::device(device),
            None => return Err(cx.misused(format!("target '{id}' not found"))),
        },
    };
    if as_json {
        return Ok(Done::printed(pretty(&target.json())));
    }
    let mut out = format!(
        "target: {}\nkind: {}\nstate: {}\nplatform: {}\nimplements: {}\nlabel: {}\n",
        target.id,
        target.kind,
        target.state(),
        target.platform,
        target.implements.join(" "),
        target.label,
    );
    if let Some(device) = &target.device {
        let moment = |ms: Option<i64>| ms.map_or_else(|| "-".to_string(), times::iso);
        out += &format!("version: {}\nowner: {}\n", device.version, device.owner_uid);
        out += &format!(
            "first seen: {}\nlast seen: {}\n",
            times::iso(device.first_seen_at),
            times::iso(device.last_seen_at)
        );
        out += &format!(
            "connected: {}\ndisconnected: {}\n",
            moment(device.connected_at),
            moment(device.disconnected_at)
        );
    }
    Ok(Done::printed(out))
}

/// JSON for people, with a line break at the end.
pub(super) fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}
