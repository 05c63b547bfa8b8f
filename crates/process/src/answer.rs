//! Normalization of a model's answer before it is stored: its text, its thinking, and unique ids for its calls.

use std::collections::HashSet;

use base::limits;
use base::random::Random;
use model::{AssistantContent, AssistantMessage, ToolCall};
use protocol::signal::stream::ThinkingContent;

use crate::results::without_nul;

/// What an answer says, without anything between its blocks.
pub(crate) fn text(message: &AssistantMessage) -> String {
    let texts = message.content.iter().filter_map(|content| match content {
        AssistantContent::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// What the model thought.
pub(crate) fn thinking(message: &AssistantMessage) -> Vec<ThinkingContent> {
    let thoughts = message.content.iter().filter_map(|content| match content {
        AssistantContent::Thinking(thinking) => Some(thinking.clone()),
        _ => None,
    });
    thoughts.collect()
}

/// Gives every call an id that no other call of the answer has, so that results can be told apart.
pub(crate) fn assign_call_ids(message: &mut AssistantMessage, turn: u64, random: &Random) {
    let mut seen = HashSet::new();
    let calls = message.content.iter_mut().filter_map(|content| match content {
        AssistantContent::ToolCall(call) => Some(call),
        _ => None,
    });
    for (place, call) in calls.enumerate() {
        let ToolCall { id, name, .. } = call;
        *name = without_nul(name);
        let usable = !id.is_empty() && id.len() <= limits::files::NAME_MAX_BYTES && !id.contains('\0');
        if !usable || seen.contains(id.as_str()) {
            *id = format!("call_{turn}_{place}_{}", random.uuid());
        }
        seen.insert(id.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(ids: &[&str]) -> AssistantMessage {
        let calls = ids.iter().map(|id| {
            let call = model::tool_call(*id, "Read", serde_json::Map::new());
            serde_json::to_value(call).unwrap()
        });
        serde_json::from_value(serde_json::json!({
            "role": "assistant", "content": calls.collect::<Vec<_>>(), "api": "x", "provider": "x", "model": "x",
            "usage": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0,
                "cost": { "input": 0.0, "output": 0.0, "cacheRead": 0.0, "cacheWrite": 0.0, "total": 0.0 } },
            "stopReason": "toolUse", "timestamp": 0,
        }))
        .unwrap()
    }

    #[test]
    fn calls_of_one_answer_have_different_ids() {
        let mut message = answer(&["a", "a", "", "b"]);
        assign_call_ids(&mut message, 3, &Random::seeded(1));
        let ids: Vec<String> = model::tool_calls(&message).map(|call| call.id.clone()).collect();
        assert_eq!((ids[0].as_str(), ids[3].as_str()), ("a", "b"));
        assert!(ids[1].starts_with("call_3_1_") && ids[2].starts_with("call_3_2_"), "{ids:?}");
    }
}
