//! Normaliser of conversations: makes one that a provider accepts, whatever was interrupted, changed or lost in it.

use std::collections::{HashMap, HashSet, VecDeque};

use protocol::signal::stream::{AssistantContent, AssistantMessage, StopReason, TextContent, TextType};

use crate::message::{Block, Message, ToolResult};
use crate::models::Model;
use crate::provider::ProviderKind;

/// What stands in for a result that never came.
pub const NO_RESULT: &str = "No result provided";
/// What stands in for a picture a model cannot see.
pub const NO_IMAGE: &str = "[An image was here. This model does not take images.]";

const ANTHROPIC_ID_CHARS_MAX: usize = 64;

/// The conversation as `model` can be sent it: answers that broke off are left out; each tool call is followed by
/// its result, if need be a made-up one; results without a call are dropped; what another model thought becomes
/// text; ids and pictures are as the provider wants them.
pub fn repair(messages: Vec<Message>, model: &Model) -> Vec<Message> {
    let mut results = Results::default();
    let mut others = Vec::new();
    for (index, message) in messages.into_iter().enumerate() {
        match message {
            Message::ToolResult(result) => results.keep(index, result),
            other => others.push((index, other)),
        }
    }
    let mut out = Vec::new();
    for (index, message) in others {
        match message {
            Message::Assistant(answer) => push_answer(&mut out, index, answer, &mut results, model),
            Message::User { content } => {
                let content = visible(content, model);
                if !content.is_empty() {
                    out.push(Message::User { content });
                }
            }
            Message::ToolResult(_) => {}
        }
    }
    if model.provider == ProviderKind::Anthropic {
        normalise_ids(&mut out);
    }
    out
}

/// Results by the id of their call, in the order they came.
#[derive(Default)]
struct Results(HashMap<String, VecDeque<(usize, ToolResult)>>);

impl Results {
    fn keep(&mut self, index: usize, result: ToolResult) {
        self.0.entry(result.tool_call_id.clone()).or_default().push_back((index, result));
    }

    /// The first result of this call that came after it.
    fn take(&mut self, id: &str, after: usize) -> Option<ToolResult> {
        let waiting = self.0.get_mut(id)?;
        while waiting.front().is_some_and(|(index, _)| *index < after) {
            waiting.pop_front();
        }
        waiting.pop_front().map(|(_, result)| result)
    }
}

fn push_answer(
    out: &mut Vec<Message>,
    index: usize,
    mut answer: AssistantMessage,
    results: &mut Results,
    model: &Model,
) {
    if matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted) {
        return;
    }
    let own = answer.provider == model.provider.as_str() && answer.model == model.id;
    answer.content = answer.content.into_iter().filter_map(|content| fitting(content, own)).collect();
    if answer.content.is_empty() {
        return;
    }
    let mut seen = HashSet::new();
    // Two calls with one id could never be told apart by their results.
    answer.content.retain(|content| match content {
        AssistantContent::ToolCall(call) => seen.insert(call.id.clone()),
        _ => true,
    });
    let calls: Vec<_> = tool_calls(&answer).map(|call| (call.id.clone(), call.name.clone())).collect();
    out.push(Message::Assistant(answer));
    for (id, name) in calls {
        let result = match results.take(&id, index) {
            Some(result) => ToolResult { content: visible(result.content, model), ..result },
            None => ToolResult {
                tool_call_id: id,
                tool_name: name,
                content: vec![Block::text(NO_RESULT)],
                is_error: true,
            },
        };
        out.push(Message::ToolResult(result));
    }
}

/// The tool calls of an answer, in order.
pub fn tool_calls(answer: &AssistantMessage) -> impl Iterator<Item = &protocol::signal::stream::ToolCall> {
    answer.content.iter().filter_map(|content| match content {
        AssistantContent::ToolCall(call) => Some(call),
        _ => None,
    })
}

/// The block as it can be said again: signatures hold only for the model that made them.
fn fitting(content: AssistantContent, own: bool) -> Option<AssistantContent> {
    match content {
        AssistantContent::Text(mut text) => {
            text.text_signature = text.text_signature.filter(|_| own);
            (!text.text.trim().is_empty()).then_some(AssistantContent::Text(text))
        }
        AssistantContent::Thinking(thinking) if own => {
            let says = !thinking.thinking.trim().is_empty() || thinking.thinking_signature.is_some();
            says.then_some(AssistantContent::Thinking(thinking))
        }
        AssistantContent::Thinking(thinking) => {
            let hidden = thinking.redacted == Some(true) || thinking.thinking.trim().is_empty();
            (!hidden).then(|| AssistantContent::Text(plain_text(thinking.thinking)))
        }
        AssistantContent::ToolCall(mut call) => {
            call.thought_signature = call.thought_signature.filter(|_| own);
            Some(AssistantContent::ToolCall(call))
        }
    }
}

/// A block of words without a signature.
pub(crate) fn plain_text(text: String) -> TextContent {
    TextContent { content_type: TextType::Text, text, text_signature: None }
}

/// The blocks without empty texts, and without pictures where the model cannot see them.
fn visible(content: Vec<Block>, model: &Model) -> Vec<Block> {
    let mut out: Vec<Block> = Vec::with_capacity(content.len());
    for block in content {
        let block = match block {
            Block::Image { .. } if !model.images => Block::text(NO_IMAGE),
            other => other,
        };
        let empty = matches!(&block, Block::Text { text } if text.trim().is_empty());
        let again = matches!(&block, Block::Text { text } if text == NO_IMAGE) && out.last() == Some(&block);
        if !empty && !again {
            out.push(block);
        }
    }
    out
}

/// Gives all tool calls and results ids that Anthropic accepts, and keeps different ones different.
fn normalise_ids(messages: &mut [Message]) {
    let mut given: HashMap<String, String> = HashMap::new();
    let mut taken: HashSet<String> = HashSet::new();
    for message in messages {
        match message {
            Message::Assistant(answer) => {
                for content in &mut answer.content {
                    if let AssistantContent::ToolCall(call) = content {
                        call.id = normal_id(&call.id, &mut given, &mut taken);
                    }
                }
            }
            Message::ToolResult(result) => {
                result.tool_call_id = normal_id(&result.tool_call_id, &mut given, &mut taken);
            }
            Message::User { .. } => {}
        }
    }
}

fn normal_id(id: &str, given: &mut HashMap<String, String>, taken: &mut HashSet<String>) -> String {
    if let Some(known) = given.get(id) {
        return known.clone();
    }
    let good = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
    let plain: String = id.chars().map(good).take(ANTHROPIC_ID_CHARS_MAX).collect();
    let plain = if plain.is_empty() { "_".to_owned() } else { plain };
    let mut chosen = plain.clone();
    let mut number = 1;
    while !taken.insert(chosen.clone()) {
        number += 1;
        let tail = format!("_{number}");
        let head: String = plain.chars().take(ANTHROPIC_ID_CHARS_MAX - tail.len()).collect();
        chosen = head + &tail;
    }
    given.insert(id.to_owned(), chosen.clone());
    chosen
}

#[cfg(test)]
mod tests;
