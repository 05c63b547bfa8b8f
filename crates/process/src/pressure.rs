//! Token estimate of a model's context, and how full its window is.

use std::io;

use model::{AssistantMessage, Block, Message, Usage};
use protocol::ids::{ConversationId, RunId};
use protocol::literal::Nullable;
use protocol::proc::history::{ContextState, PressureLevel, PressureSource};
use serde::Serialize;

use crate::setup::Setup;

/// Characters that stand for a token, and how much an estimate is raised to be safe.
const CHARS_PER_TOKEN: f64 = 4.0;
const MARGIN: f64 = 1.15;
/// What a picture counts as, in characters: about 1,500 tokens, what providers take for one of full size. Its bytes are
/// not text, and their number says nothing about its tokens.
const PICTURE_CHARS: u64 = 5_200;

/// Inputs of the estimate.
pub(crate) struct Measured<'a> {
    pub(crate) conversation_id: &'a ConversationId,
    pub(crate) run_id: Option<&'a RunId>,
    /// How many messages the conversation has.
    pub(crate) message_count: u64,
    /// The newest of them.
    pub(crate) last_message_id: Option<i64>,
    /// How long what the model gets is, besides its prompt; see [`chars`].
    pub(crate) chars: u64,
    /// What the provider counted, after a turn.
    pub(crate) usage: Option<&'a Usage>,
    /// In milliseconds.
    pub(crate) now_ms: i64,
}

/// The state of a context before a turn (without `usage`) or after it. `ContextState::usage` is filled in by the caller.
pub(crate) fn measure(setup: &Setup, what: &Measured<'_>) -> ContextState {
    let window = setup.model.context_window_tokens.filter(|tokens| *tokens > 0);
    let estimate = estimate(setup.prompt_chars + what.chars);
    let counted = what.usage.map(counted).filter(|tokens| *tokens > 0);
    let input_tokens = counted.unwrap_or(estimate);
    let available = window.map(|window| window.saturating_sub(setup.max_tokens).max(1));
    let pressure = available.map(|available| input_tokens as f64 / available as f64);
    let by_provider = what.usage.is_some_and(|usage| usage.input > 0);
    ContextState {
        conversation_id: what.conversation_id.clone(),
        run_id: what.run_id.cloned(),
        message_count: Some(what.message_count),
        last_message_id: Nullable::from(what.last_message_id),
        provider: setup.model.provider.as_str().to_string(),
        model: setup.model.id.clone(),
        context_window_tokens: window,
        max_output_tokens: setup.max_tokens,
        estimated_input_tokens: estimate,
        input_tokens,
        output_tokens: what.usage.map(|usage| usage.output).filter(|tokens| *tokens > 0),
        total_tokens: what.usage.map(|usage| usage.total_tokens).filter(|tokens| *tokens > 0),
        available_input_tokens: available,
        pressure,
        level: level(pressure),
        source: if by_provider { PressureSource::Provider } else { PressureSource::Estimate },
        usage: None,
        updated_at: what.now_ms,
    }
}

/// What a provider counted, from the most to the least telling number.
fn counted(usage: &Usage) -> u64 {
    let both = usage.input.saturating_add(usage.output);
    if usage.total_tokens > 0 { usage.total_tokens } else { both }
}

fn level(pressure: Option<f64>) -> PressureLevel {
    match pressure {
        None => PressureLevel::Unknown,
        Some(pressure) if pressure >= 1.0 => PressureLevel::Full,
        Some(pressure) if pressure >= 0.9 => PressureLevel::Critical,
        Some(pressure) if pressure >= 0.75 => PressureLevel::Warn,
        Some(_) => PressureLevel::Ok,
    }
}

/// Tokens, from the length that all of it would have as JSON. Nothing is written: it is only counted.
fn estimate(chars: u64) -> u64 {
    (chars as f64 / CHARS_PER_TOKEN * MARGIN).ceil() as u64
}

/// The length of what every request of a run has, as JSON.
pub(crate) fn prompt_chars(system: &str, tools: &[model::Tool]) -> u64 {
    let frame = r#"{"systemPrompt":,"messages":[],"tools":}"#.len() as u64;
    frame + json_string(system) + json(&tools)
}

/// The length of messages as JSON, with what stands between them.
pub(crate) fn chars(messages: &[Message]) -> u64 {
    let commas = messages.len().saturating_sub(1) as u64;
    commas + messages.iter().map(message).sum::<u64>()
}

/// The length of one message more.
pub(crate) fn more_chars(answer: &AssistantMessage) -> u64 {
    1 + json(answer)
}

fn message(message: &Message) -> u64 {
    match message {
        Message::User { content } => r#"{"role":"user","content":[]}"#.len() as u64 + blocks(content),
        Message::Assistant(answer) => json(answer),
        Message::ToolResult(result) => {
            let frame = r#"{"role":"toolResult","toolCallId":,"toolName":,"content":[],"isError":false}"#;
            let names = json_string(&result.tool_call_id) + json_string(&result.tool_name);
            frame.len() as u64 + names + blocks(&result.content)
        }
    }
}

fn blocks(blocks: &[Block]) -> u64 {
    let one = |block: &Block| match block {
        Block::Text { text } => r#"{"type":"text","text":}"#.len() as u64 + json_string(text),
        Block::Image { mime_type, .. } => {
            r#"{"type":"image","data":,"mimeType":}"#.len() as u64 + json_string(mime_type) + PICTURE_CHARS
        }
    };
    blocks.len().saturating_sub(1) as u64 + blocks.iter().map(one).sum::<u64>()
}

/// The length of a text as a JSON string, in UTF-16 units.
fn json_string(text: &str) -> u64 {
    2 + text.bytes().map(|byte| u64::from(units(byte) + escape(byte))).sum::<u64>()
}

/// The length of a value as JSON, in UTF-16 units.
fn json(value: &impl Serialize) -> u64 {
    let mut count = Count(0);
    match serde_json::to_writer(&mut count, value) {
        Ok(()) => count.0,
        // What has no JSON is sent as none either.
        Err(_) => 0,
    }
}

/// Counts what is written, and keeps nothing.
struct Count(u64);

impl io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.iter().map(|byte| u64::from(units(*byte))).sum::<u64>();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// UTF-16 units of the character that begins with a byte of UTF-8; none for the bytes that continue one.
fn units(byte: u8) -> u8 {
    match byte {
        0x80..=0xbf => 0,
        0xf0..=0xff => 2,
        _ => 1,
    }
}

/// What a character needs more in a JSON string.
fn escape(byte: u8) -> u8 {
    match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 1,
        0..=0x1f => 5,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_counted_as_json_would_write_them() {
        for text in ["", "plain", "a\"b\\c\n\t\r\u{8}\u{c}\u{1}", "äß€", "😀 mixed 日本", "\u{7f}"] {
            let json = serde_json::to_string(text).unwrap();
            assert_eq!(json_string(text), json.encode_utf16().count() as u64, "{text:?}");
            assert_eq!(super::json(&text), json.encode_utf16().count() as u64, "{text:?}");
        }
    }

    #[test]
    fn an_estimate_is_a_quarter_of_the_json_and_a_margin() {
        let block = |text: &str| serde_json::json!({ "type": "text", "text": text });
        let whole = serde_json::json!({
            "systemPrompt": "be good",
            "messages": [
                { "role": "user", "content": [block("hello"), block("wörld")] },
                {
                    "role": "toolResult",
                    "toolCallId": "1",
                    "toolName": "Read",
                    "content": [block("x")],
                    "isError": false
                },
            ],
            "tools": [],
        });
        let messages = [
            Message::User { content: vec![Block::text("hello"), Block::text("wörld")] },
            Message::tool_result("1", "Read", "x", false),
        ];
        let chars = whole.to_string().encode_utf16().count() as f64;
        let counted = prompt_chars("be good", &[]) + super::chars(&messages);
        assert_eq!(estimate(counted), (chars / 4.0 * 1.15).ceil() as u64);
    }

    #[test]
    fn a_picture_counts_the_same_however_many_bytes_it_has() {
        let with =
            |bytes: usize| [Message::User { content: vec![Block::image("image/png", "A".repeat(bytes))] }];
        let (small, large) = (estimate(chars(&with(10))), estimate(chars(&with(10_000_000))));
        assert_eq!(small, large);
        assert!((1_400..1_700).contains(&small), "{small}");
    }

    #[test]
    fn levels_have_their_bounds() {
        use PressureLevel::*;
        let levels = [None, Some(0.749), Some(0.75), Some(0.9), Some(0.999), Some(1.0)].map(level);
        assert_eq!(levels, [Unknown, Ok, Warn, Critical, Critical, Full]);
    }

    #[test]
    fn a_provider_s_numbers_go_before_the_estimate() {
        let usage = |input, output, total_tokens| Usage {
            input,
            output,
            total_tokens,
            ..crate::cost::usage(&Default::default())
        };
        assert_eq!(counted(&usage(5, 7, 100)), 100);
        assert_eq!(counted(&usage(5, 7, 0)), 12);
        assert_eq!(counted(&usage(5, 0, 0)), 5);
        assert_eq!(counted(&usage(0, 0, 0)), 0);
    }
}
