//! Replay of a run from the conversation's history, for what was missed.

use protocol::proc::history::{Message, MessageRole};
use serde_json::Value;

use super::View;

impl View {
    /// What the conversation says happened since the message was sent; shows what is new.
    pub fn catch_up(&mut self, messages: &[Message]) {
        let mut turns = 0;
        let complete = self.turns_complete + usize::from(self.turn.told || self.turn.streamed);
        for message in messages {
            match message.role {
                MessageRole::Assistant => {
                    turns += 1;
                    if turns > complete {
                        if self.turn.told || self.turn.streamed {
                            self.end_turn();
                        }
                        self.recorded(&message.content);
                    }
                }
                MessageRole::ToolResult => self.recorded_result(&message.content),
                MessageRole::User | MessageRole::System => {}
            }
        }
    }

    fn recorded(&mut self, content: &Value) {
        let text = content.as_str().or_else(|| content["text"].as_str()).unwrap_or_default();
        self.output(text);
        let calls = content["toolCalls"].as_array().cloned().unwrap_or_default();
        for call in calls {
            let text = |name: &str| call[name].as_str().unwrap_or_default().to_string();
            let args = call["arguments"].as_object().cloned().unwrap_or_default();
            let name = text("name");
            let spec = protocol::spec_of_tool(&name);
            let syscall = spec.map_or(name.as_str(), |spec| spec.name).to_string();
            self.call(&text("id"), &name, &syscall, &args);
        }
    }

    fn recorded_result(&mut self, content: &Value) {
        let id = content["toolCallId"].as_str().unwrap_or_default().to_string();
        let Some(call) = self.calls.get_mut(&id) else { return };
        if std::mem::replace(&mut call.finished, true) {
            return;
        }
        let (was_started, name) = (std::mem::replace(&mut call.started, true), call.name.clone());
        if !was_started || self.last_call.as_deref() != Some(&id) {
            self.show_call(&id, !was_started);
        }
        let ok = content["isError"].as_bool() != Some(true);
        let output = content["output"].clone();
        self.show_result(&name, ok, Some(&output), None);
    }
}
