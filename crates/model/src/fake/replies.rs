//! Encoder of scripted turns for the wire, so that a whole gateway can be pointed at a [`super::Server`].

use serde_json::{Value, json};

use super::script::{Piece, Turn};
use super::server::{Chunk, Reply};

/// A turn as a Chat Completions stream.
pub fn chat_reply(turn: &Turn) -> Reply {
    let chunk = |delta: Value, finish: Option<&str>| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
        data(&json!({ "id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [choice] }))
    };
    let mut reply = Reply::events("", 1);
    let mut tools = 0;
    for piece in &turn.pieces {
        match piece {
            Piece::Text(deltas) => {
                for delta in deltas {
                    reply = reply.then(chunk(json!({ "content": delta }), None));
                }
            }
            Piece::Thinking(deltas) => {
                for delta in deltas {
                    reply = reply.then(chunk(json!({ "reasoning_content": delta }), None));
                }
            }
            Piece::Tool { id, name, arguments } => {
                let function = json!({ "name": name, "arguments": "" });
                let head = json!({ "index": tools, "id": id, "type": "function", "function": function });
                let rest = json!({ "index": tools, "function": { "arguments": arguments } });
                reply = reply.then(chunk(json!({ "tool_calls": [head] }), None));
                reply = reply.then(chunk(json!({ "tool_calls": [rest] }), None));
                tools += 1;
            }
            other => match waiting(other) {
                Ok(wait) => reply = reply.then(wait),
                Err(message) => return reply.then(data(&json!({ "error": { "message": message } }))),
            },
        }
    }
    let finish = match (turn.cut, turn.has_tool()) {
        (true, _) => "length",
        (false, true) => "tool_calls",
        (false, false) => "stop",
    };
    let (input, output) = turn.tokens;
    let usage = json!({ "prompt_tokens": input, "completion_tokens": output });
    reply
        .then(chunk(json!({}), Some(finish)))
        .then(data(&json!({ "id": "chatcmpl-1", "choices": [], "usage": usage })))
        .then(Chunk::Bytes(b"data: [DONE]\n\n".to_vec()))
}

/// A turn as a stream of Anthropic's Messages API.
pub fn anthropic_reply(turn: &Turn) -> Reply {
    let (input, output) = turn.tokens;
    let usage = json!({ "input_tokens": input, "output_tokens": 1 });
    let message = json!({ "id": "msg_1", "role": "assistant", "content": [], "usage": usage });
    let mut reply = Reply::events("", 1).then(data(&json!({ "type": "message_start", "message": message })));
    let mut index = 0;
    for piece in &turn.pieces {
        let (block, deltas) = match piece {
            Piece::Text(deltas) => {
                let delta = |text: &String| json!({ "type": "text_delta", "text": text });
                (json!({ "type": "text", "text": "" }), deltas.iter().map(delta).collect())
            }
            Piece::Thinking(deltas) => {
                let delta = |text: &String| json!({ "type": "thinking_delta", "thinking": text });
                let mut deltas: Vec<Value> = deltas.iter().map(delta).collect();
                deltas.push(json!({ "type": "signature_delta", "signature": "c2lnbmVk" }));
                (json!({ "type": "thinking", "thinking": "" }), deltas)
            }
            Piece::Tool { id, name, arguments } => {
                let delta = json!({ "type": "input_json_delta", "partial_json": arguments });
                (json!({ "type": "tool_use", "id": id, "name": name, "input": {} }), vec![delta])
            }
            other => match waiting(other) {
                Ok(wait) => {
                    reply = reply.then(wait);
                    continue;
                }
                Err(message) => {
                    let error = json!({ "type": "api_error", "message": message });
                    return reply.then(data(&json!({ "type": "error", "error": error })));
                }
            },
        };
        reply = reply
            .then(data(&json!({ "type": "content_block_start", "index": index, "content_block": block })));
        for delta in deltas {
            reply =
                reply.then(data(&json!({ "type": "content_block_delta", "index": index, "delta": delta })));
        }
        reply = reply.then(data(&json!({ "type": "content_block_stop", "index": index })));
        index += 1;
    }
    let reason = match (turn.cut, turn.has_tool()) {
        (true, _) => "max_tokens",
        (false, true) => "tool_use",
        (false, false) => "end_turn",
    };
    let last = json!({ "type": "message_delta", "delta": { "stop_reason": reason }, "usage": { "output_tokens": output } });
    reply.then(data(&last)).then(data(&json!({ "type": "message_stop" })))
}

/// A piece that says nothing; an error is what the answer breaks off with.
fn waiting(piece: &Piece) -> Result<Chunk, &str> {
    match piece {
        Piece::Pause(pause) => Ok(Chunk::Pause(*pause)),
        Piece::Gate(gate) => Ok(Chunk::Gate(gate.clone())),
        Piece::Fail(message) => Err(message),
        _ => Ok(Chunk::Hang),
    }
}

fn data(value: &Value) -> Chunk {
    Chunk::Bytes(format!("data: {value}\n\n").into_bytes())
}
