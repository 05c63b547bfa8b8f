//! Handler of `ai.tools`: the calls and devices that a process may offer its model.

use std::sync::LazyLock;

use protocol::ai::{Tool, ToolDevice, Tools, ToolsResult};
use protocol::error::Error;
use protocol::spec::{ModelTool, Route, Spec};
use serde_json::{Map, Value, json};
use store::devices::Device;

use crate::calls::Cx;
use gateway::Capabilities;

pub(crate) async fn tools(cx: Cx, _: Tools) -> Result<ToolsResult, Error> {
    let visible = cx.kernel.devices.visible_to(&cx.caller.identity);
    let online = visible.iter().filter(|device| device.online).map(|device| to_tool_device(device)).collect();
    Ok(offered(&cx.caller.capabilities, online))
}

fn offered(capabilities: &Capabilities, devices: Vec<ToolDevice>) -> ToolsResult {
    let targets = targets(&devices);
    let allowed = MADE.iter().filter(|(name, _)| capabilities.cover(name));
    let tools = allowed.map(|(_, tool)| {
        let mut tool = tool.clone();
        if let Some(target) = tool.input_schema.get_mut("properties").and_then(|all| all.get_mut("target")) {
            target["description"] = json!(targets);
        }
        tool
    });
    ToolsResult { tools: tools.collect(), devices, mcp_servers: Vec::new() }
}

fn to_tool_device(device: &Device) -> ToolDevice {
    let said = |text: &str| Some(text.trim().to_string()).filter(|text| !text.is_empty());
    ToolDevice {
        id: device.device_id.clone(),
        implements: device.implements.clone(),
        description: said(&device.description),
        platform: said(&device.platform),
    }
}

/// The tools of the tables, in their order, without the place where they run; schemas take a while to make, and every
/// run asks for them. What runs blocks over the other tools comes after them.
static MADE: LazyLock<Vec<(&str, Tool)>> = LazyLock::new(|| {
    let mut specs: Vec<&Spec> = protocol::calls().collect();
    specs.sort_by_key(|spec| spec.route == Route::Local);
    specs.into_iter().filter_map(|spec| Some((spec.name, tool(spec)?))).collect()
});

/// A call as a tool: its schema with only the arguments that models see, and a place for where it runs.
fn tool(spec: &Spec) -> Option<Tool> {
    let ModelTool { name: tool_name, arguments } = spec.tool?;
    let schema = protocol::schema::args_of(spec);
    let mut properties = Map::new();
    for name in arguments {
        properties.insert(name.to_string(), schema["properties"].get(name)?.clone());
    }
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut required: Vec<&str> = required.filter(|name| arguments.contains(name)).collect();
    required.sort_by_key(|name| arguments.iter().position(|argument| argument == name));
    if spec.route == Route::Target {
        properties.insert("target".to_string(), json!({ "type": "string", "description": "" }));
        // A session knows where it runs.
        if !arguments.contains(&"sessionId") {
            required.push("target");
        }
    }
    let input_schema = Map::from_iter([
        ("type".to_string(), json!("object")),
        ("properties".to_string(), Value::Object(properties)),
        ("required".to_string(), json!(required)),
    ]);
    Some(Tool { name: tool_name.to_string(), description: spec.text(), input_schema })
}

fn targets(devices: &[ToolDevice]) -> String {
    let ids: Vec<&str> = devices.iter().map(|device| device.id.0.as_str()).collect();
    let online = if ids.is_empty() { "none".to_string() } else { ids.join(", ") };
    format!("Where to run: \"gsv\" for the gateway itself, or one of the devices that are online: {online}.")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use base::clock::Clock;
    use gateway::{Caller, Origin};
    use protocol::ai::ConfigResult;
    use protocol::identity::Role;
    use protocol::ids::Gid;
    use store::accounts::NewAccount;
    use store::processes::ProcessRow;

    use super::*;
    use crate::Kernel;

    fn capabilities(patterns: &[&str]) -> Capabilities {
        Capabilities::new(patterns.iter().map(|pattern| pattern.to_string()))
    }

    fn device(id: &str) -> ToolDevice {
        ToolDevice { id: id.to_string().into(), implements: Vec::new(), description: None, platform: None }
    }

    fn names(result: &ToolsResult) -> Vec<&str> {
        result.tools.iter().map(|tool| tool.name.as_str()).collect()
    }

    #[test]
    fn tools_have_their_order_and_follow_the_capabilities() {
        let all = offered(&capabilities(&["*"]), Vec::new());
        assert_eq!(names(&all), ["Read", "Write", "Edit", "Delete", "Search", "Shell", "CodeMode"]);
        assert_eq!(names(&offered(&capabilities(&["fs.read", "shell.*"]), Vec::new())), ["Read", "Shell"]);
        assert!(offered(&capabilities(&["proc.*"]), Vec::new()).tools.is_empty());
        let marked = protocol::calls().filter(|spec| spec.tool.is_some()).count();
        assert_eq!(marked, all.tools.len(), "every tool of the tables is offered");
    }

    #[test]
    fn a_tool_shows_exactly_its_arguments() {
        let all = offered(&capabilities(&["*"]), vec![device("mac"), device("pi")]);
        let expected: [(&str, &[&str], &[&str]); 6] = [
            ("Read", &["limit", "offset", "path", "target"], &["path", "target"]),
            ("Write", &["content", "path", "target"], &["path", "content", "target"]),
            (
                "Edit",
                &["newString", "oldString", "path", "replaceAll", "target"],
                &["path", "oldString", "newString", "target"],
            ),
            ("Delete", &["path", "target"], &["path", "target"]),
            ("Search", &["include", "path", "query", "target"], &["query", "target"]),
            ("Shell", &["cwd", "input", "sessionId", "target"], &["input"]),
        ];
        for (tool, (name, properties, required)) in all.tools.iter().zip(expected) {
            assert_eq!(tool.name, name);
            let mut shown: Vec<&str> =
                tool.input_schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
            shown.sort_unstable();
            assert_eq!(shown, properties, "{name}");
            assert_eq!(tool.input_schema["required"], json!(required), "{name}");
            assert!(!tool.description.is_empty());
            let target = &tool.input_schema["properties"]["target"];
            assert!(target["description"].as_str().unwrap().ends_with("online: mac, pi."));
            for (property, schema) in tool.input_schema["properties"].as_object().unwrap() {
                assert!(schema["type"].is_string() && schema["description"].is_string(), "{name} {property}");
            }
        }
        let none = offered(&capabilities(&["fs.read"]), Vec::new());
        assert!(
            none.tools[0].input_schema["properties"]["target"]["description"]
                .as_str()
                .unwrap()
                .ends_with("none.")
        );
    }

    const KEY: &str = "sk-kernel-secret-42";

    /// A kernel with an account, a process of it, and the process as a caller.
    async fn kernel_with_process(data: &tempfile::TempDir) -> (Arc<Kernel>, Caller) {
        let options = store::Options { data: data.path().to_path_buf(), url: None };
        let store = store::Store::open(&options).await.unwrap();
        let files = data.path().join("files");
        let kernel = Kernel::start(store, &files, Clock::system(), "test").await.unwrap();
        let new = NewAccount {
            username: "ann".to_string(),
            hash: "!".to_string(),
            groups: vec![Gid::USERS],
            now_ms: 1,
        };
        let account = kernel.store.accounts().create(new).await.unwrap();
        let row = ProcessRow::idle("p1".into(), account.uid, "task", &account.home, 1);
        kernel.store.processes().create(&row).await.unwrap();
        let caller = Caller {
            identity: Arc::new(account.identity()),
            role: Role::User,
            capabilities: kernel.grants.of(&account.gids),
            as_of: kernel.gateway.standing_generation(),
            may_approve: false,
            origin: Origin::Process(row.pid),
            permit: None,
            door: None,
        };
        (kernel, caller)
    }

    #[tokio::test]
    async fn a_process_learns_what_it_works_with_and_nobody_sees_a_key() {
        let data = tempfile::tempdir().unwrap();
        let (kernel, caller) = kernel_with_process(&data).await;
        let user = format!("users/{}/ai", caller.uid());
        for (name, value) in [("provider", "anthropic"), ("model", "claude-opus-4-6"), ("api_key", KEY)] {
            kernel.store.config().set(&format!("{user}/{name}"), value).await.unwrap();
        }
        let call = async |caller: &Caller, name: &str, args: &str| {
            kernel.call(caller.clone(), "1", name, args).await
        };
        let text = call(&caller, "ai.config", r#"{"profile":"init"}"#).await.unwrap();
        let shown: ConfigResult = serde_json::from_str(&text).unwrap();
        assert_eq!((shown.api_key.as_str(), shown.model.as_str()), ("", "claude-opus-4-6"));
        assert_eq!(shown.profile.map(|profile| profile.0).as_deref(), Some("init"));
        assert!(!text.contains(KEY));
        let tools: ToolsResult =
            serde_json::from_str(&call(&caller, "ai.tools", "{}").await.unwrap()).unwrap();
        assert_eq!(names(&tools), ["Read", "Write", "Edit", "Delete", "Search", "Shell", "CodeMode"]);

        kernel.store.config().set(&format!("{user}/provider"), "skynet").await.unwrap();
        let error = call(&caller, "ai.config", "{}").await.unwrap_err();
        assert!(
            error.message.contains(&format!("{user}/provider")) && !error.message.contains(KEY),
            "{error}"
        );

        let person = Caller { origin: Origin::Inside, ..caller };
        for name in ["ai.config", "ai.tools"] {
            assert_eq!(call(&person, name, "{}").await.unwrap_err().code, 403, "{name} is for processes");
        }
        let error = call(&person, "ai.speech.create", r#"{"text":"hi"}"#).await.unwrap_err();
        assert!(error.code == 503 && error.message.contains("config/ai/speech/model"), "{error}");
        let error = call(&person, "ai.transcription.create", "{}").await.unwrap_err();
        assert!(error.code == 400 && error.message.contains("audio"), "{error}");
    }
}
