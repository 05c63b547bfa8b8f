//! Longest-prefix table of models: one row per family; `$` stands for the end of the name.
//! Prices are US dollars for a million tokens: read, written, read from the cache, written to the cache.

use super::{Model, Prices, Thinking};
use crate::provider::ProviderKind;
use crate::reasoning::Reasoning::{self, High, Low, Medium, Minimal, Xhigh};

pub(super) struct Row {
    pub vendor: ProviderKind,
    pub pattern: &'static str,
    context_tokens: u64,
    output_tokens: u64,
    images: bool,
    thinking: Thinking,
    reasoning: &'static [Reasoning],
    prices: [f64; 4],
}

impl Row {
    /// Whether a name belongs to the family.
    pub(super) fn matches(&self, name: &str) -> bool {
        match self.pattern.strip_suffix('$') {
            Some(whole) => name == whole,
            None => name.starts_with(self.pattern),
        }
    }

    pub(super) fn model(&self, provider: ProviderKind, id: &str) -> Model {
        let [input, output, cache_read, cache_write] = self.prices;
        Model {
            provider,
            id: id.to_owned(),
            context_window_tokens: Some(self.context_tokens),
            max_output_tokens: Some(self.output_tokens),
            images: self.images,
            reasoning: self.reasoning.to_vec(),
            prices: Some(Prices { input, output, cache_read, cache_write }),
            known: true,
            thinking: self.thinking,
        }
    }
}

const NONE: &[Reasoning] = &[];
const LOW_TO_HIGH: &[Reasoning] = &[Low, Medium, High];
const LOW_TO_XHIGH: &[Reasoning] = &[Low, Medium, High, Xhigh];
const MINIMAL_TO_HIGH: &[Reasoning] = &[Minimal, Low, Medium, High];
const LOW_OR_HIGH: &[Reasoning] = &[Low, High];

const fn claude(
    pattern: &'static str,
    context_tokens: u64,
    output_tokens: u64,
    thinking: Thinking,
    reasoning: &'static [Reasoning],
    prices: [f64; 4],
) -> Row {
    Row {
        vendor: ProviderKind::Anthropic,
        pattern,
        context_tokens,
        output_tokens,
        images: true,
        thinking,
        reasoning,
        prices,
    }
}

const fn gpt(
    pattern: &'static str,
    context_tokens: u64,
    output_tokens: u64,
    thinking: Thinking,
    reasoning: &'static [Reasoning],
    prices: [f64; 3],
) -> Row {
    let [input, output, cache_read] = prices;
    Row {
        vendor: ProviderKind::Openai,
        pattern,
        context_tokens,
        output_tokens,
        images: true,
        thinking,
        reasoning,
        prices: [input, output, cache_read, 0.0],
    }
}

const fn gemini(
    pattern: &'static str,
    thinking: Thinking,
    reasoning: &'static [Reasoning],
    prices: [f64; 3],
) -> Row {
    let [input, output, cache_read] = prices;
    Row {
        vendor: ProviderKind::Gemini,
        pattern,
        context_tokens: 1_048_576,
        output_tokens: 65_536,
        images: true,
        thinking,
        reasoning,
        prices: [input, output, cache_read, 0.0],
    }
}

/// A model that many servers offer behind Chat Completions.
const fn open(
    pattern: &'static str,
    context_tokens: u64,
    output_tokens: u64,
    images: bool,
    reasoning: &'static [Reasoning],
    prices: [f64; 3],
) -> Row {
    let [input, output, cache_read] = prices;
    Row {
        vendor: ProviderKind::OpenaiChat,
        pattern,
        context_tokens,
        output_tokens,
        images,
        thinking: if reasoning.is_empty() { Thinking::Absent } else { Thinking::Effort },
        reasoning,
        prices: [input, output, cache_read, 0.0],
    }
}

/// A family that Ollama runs on one's own machine.
const fn local(pattern: &'static str, images: bool, reasoning: &'static [Reasoning]) -> Row {
    Row {
        vendor: ProviderKind::Ollama,
        pattern,
        context_tokens: 131_072,
        output_tokens: 131_072,
        images,
        thinking: if reasoning.is_empty() { Thinking::Absent } else { Thinking::EffortOrNone },
        reasoning,
        prices: [0.0; 4],
    }
}

use Thinking::{Absent, Adaptive, Budget, BudgetAlways, Effort, EffortOrNone, Level};

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    claude("claude-opus-4-8", 1_000_000, 128_000, Adaptive, LOW_TO_XHIGH, [5.0, 25.0, 0.5, 6.25]),
    claude("claude-opus-4-7", 1_000_000, 128_000, Adaptive, LOW_TO_XHIGH, [5.0, 25.0, 0.5, 6.25]),
    claude("claude-opus-4-6", 1_000_000, 128_000, Adaptive, LOW_TO_XHIGH, [5.0, 25.0, 0.5, 6.25]),
    claude("claude-opus-4-5", 200_000, 64_000, Budget, MINIMAL_TO_HIGH, [5.0, 25.0, 0.5, 6.25]),
    claude("claude-opus-4-1", 200_000, 32_000, Budget, MINIMAL_TO_HIGH, [15.0, 75.0, 1.5, 18.75]),
    claude("claude-opus-4-0", 200_000, 32_000, Budget, MINIMAL_TO_HIGH, [15.0, 75.0, 1.5, 18.75]),
    claude("claude-opus-4-20", 200_000, 32_000, Budget, MINIMAL_TO_HIGH, [15.0, 75.0, 1.5, 18.75]),
    claude("claude-opus-4$", 200_000, 32_000, Budget, MINIMAL_TO_HIGH, [15.0, 75.0, 1.5, 18.75]),
    claude("claude-sonnet-4-6", 1_000_000, 64_000, Adaptive, LOW_TO_HIGH, [3.0, 15.0, 0.3, 3.75]),
    claude("claude-sonnet-4-5", 200_000, 64_000, Budget, MINIMAL_TO_HIGH, [3.0, 15.0, 0.3, 3.75]),
    claude("claude-sonnet-4-0", 200_000, 64_000, Budget, MINIMAL_TO_HIGH, [3.0, 15.0, 0.3, 3.75]),
    claude("claude-sonnet-4-20", 200_000, 64_000, Budget, MINIMAL_TO_HIGH, [3.0, 15.0, 0.3, 3.75]),
    claude("claude-sonnet-4$", 200_000, 64_000, Budget, MINIMAL_TO_HIGH, [3.0, 15.0, 0.3, 3.75]),
    claude("claude-haiku-4-5", 200_000, 64_000, Budget, MINIMAL_TO_HIGH, [1.0, 5.0, 0.1, 1.25]),
    claude("claude-3-7-sonnet", 200_000, 64_000, Budget, MINIMAL_TO_HIGH, [3.0, 15.0, 0.3, 3.75]),
    claude("claude-3-5-sonnet", 200_000, 8_192, Absent, NONE, [3.0, 15.0, 0.3, 3.75]),
    claude("claude-3-5-haiku", 200_000, 8_192, Absent, NONE, [0.8, 4.0, 0.08, 1.0]),
    claude("claude-3-opus", 200_000, 4_096, Absent, NONE, [15.0, 75.0, 1.5, 18.75]),
    claude("claude-3-haiku", 200_000, 4_096, Absent, NONE, [0.25, 1.25, 0.03, 0.3]),

    gpt("gpt-5.5", 272_000, 128_000, EffortOrNone, LOW_TO_XHIGH, [5.0, 30.0, 0.5]),
    gpt("gpt-5.4", 272_000, 128_000, EffortOrNone, LOW_TO_XHIGH, [2.5, 15.0, 0.25]),
    gpt("gpt-5.4-mini", 272_000, 128_000, EffortOrNone, LOW_TO_XHIGH, [0.75, 4.5, 0.075]),
    gpt("gpt-5.4-nano", 272_000, 128_000, EffortOrNone, LOW_TO_XHIGH, [0.2, 1.25, 0.02]),
    gpt("gpt-5.2", 400_000, 128_000, EffortOrNone, LOW_TO_XHIGH, [1.75, 14.0, 0.175]),
    gpt("gpt-5.1", 400_000, 128_000, EffortOrNone, LOW_TO_HIGH, [1.25, 10.0, 0.125]),
    gpt("gpt-5", 400_000, 128_000, Effort, MINIMAL_TO_HIGH, [1.25, 10.0, 0.125]),
    gpt("gpt-5-mini", 400_000, 128_000, Effort, MINIMAL_TO_HIGH, [0.25, 2.0, 0.025]),
    gpt("gpt-5-nano", 400_000, 128_000, Effort, MINIMAL_TO_HIGH, [0.05, 0.4, 0.005]),
    gpt("gpt-4.1", 1_047_576, 32_768, Absent, NONE, [2.0, 8.0, 0.5]),
    gpt("gpt-4.1-mini", 1_047_576, 32_768, Absent, NONE, [0.4, 1.6, 0.1]),
    gpt("gpt-4.1-nano", 1_047_576, 32_768, Absent, NONE, [0.1, 0.4, 0.025]),
    gpt("gpt-4o", 128_000, 16_384, Absent, NONE, [2.5, 10.0, 1.25]),
    gpt("gpt-4o-mini", 128_000, 16_384, Absent, NONE, [0.15, 0.6, 0.075]),
    gpt("o1", 200_000, 100_000, Effort, LOW_TO_HIGH, [15.0, 60.0, 7.5]),
    gpt("o3", 200_000, 100_000, Effort, LOW_TO_HIGH, [2.0, 8.0, 0.5]),
    gpt("o3-mini", 200_000, 100_000, Effort, LOW_TO_HIGH, [1.1, 4.4, 0.55]),
    gpt("o4-mini", 200_000, 100_000, Effort, LOW_TO_HIGH, [1.1, 4.4, 0.275]),

    gemini("gemini-3-pro", Level, LOW_OR_HIGH, [2.0, 12.0, 0.2]),
    gemini("gemini-3.1-pro", Level, LOW_TO_HIGH, [2.0, 12.0, 0.2]),
    gemini("gemini-3-flash", Level, MINIMAL_TO_HIGH, [0.5, 3.0, 0.05]),
    gemini("gemini-2.5-pro", BudgetAlways, MINIMAL_TO_HIGH, [1.25, 10.0, 0.125]),
    gemini("gemini-2.5-flash", Budget, MINIMAL_TO_HIGH, [0.3, 2.5, 0.03]),
    gemini("gemini-2.5-flash-lite", Budget, MINIMAL_TO_HIGH, [0.1, 0.4, 0.01]),
    gemini("gemini-2.0-flash", Absent, NONE, [0.1, 0.4, 0.025]),

    open("deepseek-v4", 1_000_000, 384_000, false, LOW_TO_HIGH, [0.28, 0.42, 0.028]),
    open("deepseek-chat", 128_000, 8_192, false, NONE, [0.28, 0.42, 0.028]),
    open("deepseek-reasoner", 128_000, 65_536, false, LOW_TO_HIGH, [0.28, 0.42, 0.028]),
    open("grok-4", 256_000, 64_000, true, LOW_TO_HIGH, [3.0, 15.0, 0.75]),
    open("grok-4-fast", 2_000_000, 30_000, true, LOW_TO_HIGH, [0.2, 0.5, 0.05]),
    open("grok-code-fast", 256_000, 10_000, false, LOW_TO_HIGH, [0.2, 1.5, 0.02]),
    open("mistral-large", 262_144, 262_144, true, NONE, [0.5, 1.5, 0.0]),
    open("llama-3.3-70b", 131_072, 32_768, false, NONE, [0.59, 0.79, 0.0]),
    open("gpt-oss-120b", 131_072, 65_536, false, LOW_TO_HIGH, [0.15, 0.6, 0.0]),
    open("gpt-oss-20b", 131_072, 65_536, false, LOW_TO_HIGH, [0.075, 0.3, 0.0]),
    open("nemotron-3-120b", 256_000, 65_536, false, LOW_TO_HIGH, [0.5, 1.5, 0.0]),

    local("gpt-oss", false, LOW_TO_HIGH),
    local("qwen3", false, LOW_TO_HIGH),
    local("qwen3-vl", true, LOW_TO_HIGH),
    local("deepseek-r1", false, LOW_TO_HIGH),
    local("deepseek-v3.1", false, LOW_TO_HIGH),
    local("magistral", false, LOW_TO_HIGH),
    local("qwen2.5vl", true, NONE),
    local("llava", true, NONE),
    local("gemma3", true, NONE),
    local("llama3.2-vision", true, NONE),
    local("llama4", true, NONE),
    local("mistral-small3", true, NONE),
];
