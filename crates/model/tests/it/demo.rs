//! Tests of the demo provider.

use std::time::Duration;

use base::clock::Clock;
use model::{Demo, Message, Model, ProviderKind, Request};
use serde_json::json;

use crate::hearing::{hear, tool};

fn demo() -> Demo {
    Demo::with_pace(Clock::manual(0), Duration::ZERO)
}

fn ask(messages: Vec<Message>) -> Request {
    let tools = ["Read", "Shell", "Delete"].map(tool).to_vec();
    Request {
        tools: std::sync::Arc::new(tools.into()),
        ..Request::new(Model::find(ProviderKind::Demo, "demo"), messages)
    }
}

#[tokio::test]
async fn a_plain_request_becomes_a_call_and_its_result_a_summary() {
    let asked = Message::user("run uname -a on laptop");
    let heard = hear(&demo(), ask(vec![asked.clone()])).await;
    let message = heard.message();
    assert_eq!(message["stopReason"], "toolUse");
    assert_eq!(message["content"][0]["text"], "I will run `uname -a` on `laptop`.");
    let call = &message["content"][1];
    assert_eq!(
        (&call["name"], &call["arguments"]),
        (&json!("Shell"), &json!({"input": "uname -a", "target": "laptop"}))
    );
    assert!(heard.events.iter().filter(|event| event["type"] == "text_delta").count() > 3);
    let id = call["id"].as_str().expect("an id").to_owned();
    let said = serde_json::from_value(message.clone()).expect("a message");
    let output = r#"{"status":"completed","exitCode":0,"output":"Linux\n"}"#;
    let history = vec![asked, Message::Assistant(said), Message::tool_result(id, "Shell", output, false)];
    let heard = hear(&demo(), ask(history)).await;
    assert_eq!(heard.message()["stopReason"], "stop");
    assert_eq!(
        heard.message()["content"][0]["text"],
        "`Shell` is done. This is what it brought:\n\n```\nLinux\n```"
    );
    assert!(heard.message()["usage"]["input"].as_u64() > Some(0));
}

#[tokio::test]
async fn anything_else_says_how_to_get_a_model() {
    let heard = hear(&demo(), ask(vec![Message::user("What is love?")])).await;
    let text = heard.message()["content"][0]["text"].as_str().expect("text");
    assert!(text.contains("not an AI") && text.contains("gsv config set config/ai/provider"));
    assert_eq!(heard.message()["provider"], "demo");
    let heard = hear(&demo(), ask(vec![Message::user("write x to y")])).await;
    assert_eq!(
        heard.message()["content"][0]["text"],
        "That needs the tool `Write`, which this process may not use."
    );
}
