//! Property tests of all decoders: events in any order, any number of times; nothing breaks, and there is at most one
//! end.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::draft::{Draft, Step};
use crate::event::EventKind;
use crate::models::Model;
use crate::provider::ProviderKind;

fn anthropic() -> Vec<Value> {
    let start = |index: u64, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let delta =
        |index: u64, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    vec![
        json!({"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 3}}}),
        start(0, json!({"type": "text", "text": "a"})),
        start(1, json!({"type": "tool_use", "id": "t", "name": "Read", "input": {"a": 1}})),
        start(2, json!({"type": "redacted_thinking", "data": "x"})),
        start(3, json!({"type": "server_tool_use"})),
        delta(0, json!({"type": "text_delta", "text": "b"})),
        delta(1, json!({"type": "input_json_delta", "partial_json": "{\"a\":"})),
        delta(2, json!({"type": "signature_delta", "signature": "s"})),
        delta(7, json!({"type": "thinking_delta"})),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "content_block_stop", "index": 1}),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": -4.5}}),
        json!({"type": "message_stop"}),
        json!({"type": "error", "error": 7}),
    ]
}

fn chat() -> Vec<Value> {
    let chunk = |delta: Value| json!({"choices": [{"delta": delta}]});
    vec![
        chunk(json!({"content": "a", "refusal": "b", "reasoning": "c"})),
        chunk(json!({"tool_calls": [{"index": 0, "id": "x", "function": {"name": "R", "arguments": "{"}}]})),
        chunk(json!({"tool_calls": [{"id": "x", "function": {"arguments": {"a": 1}}}, {}, 7]})),
        chunk(json!({"reasoning_details": [{"type": "reasoning.text", "text": "t"}, {"signature": "s"}, 3]})),
        json!({"choices": [{"finish_reason": "stop", "usage": {"prompt_tokens": 1}}]}),
        json!({"choices": [], "usage": {"prompt_tokens": "x", "prompt_tokens_details": {"cached_tokens": 99}}}),
        json!({"error": "text"}),
    ]
}

fn responses() -> Vec<Value> {
    let item = |kind: &str| json!({"type": kind, "id": "i", "call_id": "c", "name": "R", "arguments": "{}"});
    vec![
        json!({"type": "response.created", "response": {}}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": item("message")}),
        json!({"type": "response.output_item.added", "output_index": 1, "item": item("function_call")}),
        json!({"type": "response.output_item.added", "output_index": 1, "item": item("reasoning")}),
        json!({"type": "response.output_text.delta", "output_index": 0, "delta": "x"}),
        json!({"type": "response.function_call_arguments.delta", "output_index": 1, "delta": "{"}),
        json!({"type": "response.reasoning_summary_part.added", "output_index": 1}),
        json!({"type": "response.output_item.done", "output_index": 1, "item": item("reasoning")}),
        json!({"type": "response.output_item.done", "output_index": 2, "item": item("function_call")}),
        json!({"type": "response.output_item.done", "output_index": 3, "item": item("web_search_call")}),
        json!({"type": "response.completed", "response": {"status": "completed", "usage": {}}}),
        json!({"type": "error"}),
    ]
}

fn gemini() -> Vec<Value> {
    let parts = |parts: Value| json!({"candidates": [{"content": {"parts": parts}}]});
    vec![
        parts(json!([{"text": "a", "thought": true}, {"text": "b"}, {"text": ""}])),
        parts(json!([{"thoughtSignature": "s"}, {"functionCall": {"name": "R", "args": [1]}}, 7])),
        json!({"candidates": [{"finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 1}}),
        json!({"promptFeedback": {"blockReason": "SAFETY"}}),
        json!({"error": {"status": "UNAVAILABLE"}}),
    ]
}

fn ollama() -> Vec<Value> {
    vec![
        json!({"message": {"content": "a", "thinking": "b"}}),
        json!({"message": {"tool_calls": [{"function": {"name": "R", "arguments": "{"}}, {}]}}),
        json!({"message": 7}),
        json!({"done": true, "done_reason": "stop"}),
        json!({"error": {"message": "x"}}),
    ]
}

fn play(wire: &dyn Wire, texts: &[String]) {
    let mut decoder = wire.decoder();
    let mut out = Output::default();
    let mut result = Ok(());
    for text in texts {
        if out.is_ended() || result.is_err() {
            break;
        }
        result = decoder.decode(text, &mut out);
    }
    if result.is_ok() && !out.is_ended() {
        result = decoder.finish(&mut out);
    }
    let mut steps = out.take();
    steps.extend(result.err().map(Step::Fail));
    let mut draft = Draft::new(Model::find(ProviderKind::Anthropic, "m"), wire.api(), 0);
    let kinds: Vec<EventKind> = steps.into_iter().filter_map(|step| draft.apply(step)).collect();
    let is_end = |kind: &EventKind| matches!(kind, EventKind::Done { .. } | EventKind::Error { .. });
    assert!(kinds.iter().filter(|kind| is_end(kind)).count() <= 1);
    let starts = kinds.iter().filter(|kind| **kind == EventKind::Start).count();
    assert!(starts == 0 && kinds.len() <= 1 || starts == 1 && kinds[0] == EventKind::Start, "{kinds:?}");
}

proptest! {
    #[test]
    fn any_order_is_survived(picks in prop::collection::vec(any::<prop::sample::Index>(), 0..20)) {
        let formats: [(&dyn Wire, Vec<Value>); 5] = [
            (&anthropic::Messages, anthropic()),
            (&chat::Chat::OPENROUTER, chat()),
            (&responses::Responses, responses()),
            (&gemini::Gemini, gemini()),
            (&ollama::Ollama, ollama()),
        ];
        for (wire, events) in formats {
            let texts: Vec<String> = picks.iter().map(|pick| pick.get(&events).to_string()).collect();
            play(wire, &texts);
        }
    }

    #[test]
    fn anything_at_all_is_survived(texts in prop::collection::vec(any::<String>(), 0..4)) {
        for wire in [&anthropic::Messages as &dyn Wire, &chat::Chat::PLAIN, &responses::Responses, &gemini::Gemini, &ollama::Ollama] {
            play(wire, &texts);
        }
    }
}
