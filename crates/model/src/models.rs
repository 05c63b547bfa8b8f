//! Model registry, what is known about models: their sizes, what they take in, how they think, what they cost.
//! A name that is not in the table is allowed: it gets what its provider's models usually have.

mod table;

use protocol::signal::stream::{Cost, Usage};
use serde::{Deserialize, Serialize};

use crate::provider::ProviderKind;
use crate::reasoning::Reasoning;
use table::{ROWS, Row};

/// A model, and what is known about it. Config may put other values into the fields.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Who offers it.
    pub provider: ProviderKind,
    /// Its name, as the provider knows it.
    pub id: String,
    /// How much it takes in all; `None` when not known.
    pub context_window_tokens: Option<u64>,
    /// How much it writes at most; `None` when not known.
    pub max_output_tokens: Option<u64>,
    /// Whether it takes pictures.
    pub images: bool,
    /// The levels of thinking it has; none when it does not think.
    pub reasoning: Vec<Reasoning>,
    /// What it costs; `None` when not known.
    pub prices: Option<Prices>,
    /// False when the name is in no table.
    pub known: bool,
    pub(crate) thinking: Thinking,
}

/// US dollars for a million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Prices {
    /// Read.
    pub input: f64,
    /// Written.
    pub output: f64,
    /// Read from the provider's cache.
    pub cache_read: f64,
    /// Written to the provider's cache.
    pub cache_write: f64,
}

/// How a model is told to think.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Thinking {
    /// It does not think.
    Absent,
    /// By a number of tokens.
    Budget,
    /// By an effort, thinking as it sees fit (Anthropic).
    Adaptive,
    /// By an effort; it cannot be turned off.
    Effort,
    /// By an effort, of which one is `none`.
    EffortOrNone,
    /// By a number of tokens, but never none (Gemini).
    BudgetAlways,
    /// By a level (Gemini).
    Level,
}

/// Tokens of one answer, as a provider counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Tokens {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// What the provider says it cost, where it says so.
    pub cost: Option<f64>,
}

impl Model {
    /// What is known about `id` at `provider`.
    pub fn find(provider: ProviderKind, id: &str) -> Model {
        let name = plain_name(id);
        let row = ROWS
            .iter()
            .filter(|row| reaches(provider, row) && row.matches(&name))
            .max_by_key(|row| row.pattern.len());
        let mut model = match row {
            Some(row) => row.model(provider, id),
            None => unknown(provider, id),
        };
        if provider == ProviderKind::Ollama {
            // What a local server can hold is its own matter, and it is free.
            model.context_window_tokens = Some(OLLAMA_CONTEXT_TOKENS);
            model.max_output_tokens = None;
            model.prices = Some(Prices::default());
        }
        if id.ends_with(":free") {
            model.prices = Some(Prices::default());
        }
        model
    }

    /// What an answer used and cost.
    pub(crate) fn usage(&self, tokens: &Tokens) -> Usage {
        let prices = self.prices.unwrap_or_default();
        let of = |count: u64, price: f64| count as f64 * price / 1_000_000.0;
        let mut cost = Cost {
            input: of(tokens.input, prices.input),
            output: of(tokens.output, prices.output),
            cache_read: of(tokens.cache_read, prices.cache_read),
            cache_write: of(tokens.cache_write, prices.cache_write),
            total: 0.0,
        };
        cost.total = match (self.prices, tokens.cost) {
            (_, Some(told)) => told,
            _ => cost.input + cost.output + cost.cache_read + cost.cache_write,
        };
        let sum = [tokens.input, tokens.output, tokens.cache_read, tokens.cache_write];
        Usage {
            input: tokens.input,
            output: tokens.output,
            cache_read: tokens.cache_read,
            cache_write: tokens.cache_write,
            total_tokens: sum.into_iter().fold(0, u64::saturating_add),
            cost,
        }
    }
}

/// How much context a local server is asked for; its own default cuts conversations without a word.
const OLLAMA_CONTEXT_TOKENS: u64 = 32_768;

/// The name without the vendor before it, the variant after it, and with the table's spelling.
fn plain_name(id: &str) -> String {
    let name = id.rsplit('/').next().unwrap_or(id).to_ascii_lowercase();
    if name.starts_with("claude") { name.split(':').next().unwrap_or(&name).replace('.', "-") } else { name }
}

/// Whether a row can be meant by a name at this provider: the collectors offer everybody's models.
fn reaches(provider: ProviderKind, row: &Row) -> bool {
    match provider {
        ProviderKind::Openai => row.vendor == ProviderKind::Openai,
        ProviderKind::Anthropic | ProviderKind::Gemini | ProviderKind::Demo => row.vendor == provider,
        ProviderKind::OpenaiChat | ProviderKind::Openrouter => row.vendor != ProviderKind::Ollama,
        ProviderKind::Ollama => row.vendor == ProviderKind::Ollama,
    }
}

fn unknown(provider: ProviderKind, id: &str) -> Model {
    use Reasoning::*;
    let (thinking, reasoning) = match provider {
        ProviderKind::Anthropic => (Thinking::Adaptive, vec![Low, Medium, High]),
        ProviderKind::Openai | ProviderKind::OpenaiChat | ProviderKind::Openrouter => {
            (Thinking::Effort, vec![Low, Medium, High])
        }
        ProviderKind::Gemini => (Thinking::Level, vec![Low, High]),
        ProviderKind::Ollama | ProviderKind::Demo => (Thinking::Absent, Vec::new()),
    };
    Model {
        provider,
        id: id.to_owned(),
        context_window_tokens: None,
        max_output_tokens: None,
        images: matches!(
            provider,
            ProviderKind::Anthropic | ProviderKind::Openai | ProviderKind::Gemini | ProviderKind::Openrouter
        ),
        reasoning,
        prices: None,
        known: false,
        thinking,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_pattern_wins() {
        let mini = Model::find(ProviderKind::Openai, "gpt-4o-mini-2024-07-18");
        assert_eq!(mini.prices.map(|prices| prices.input), Some(0.15));
        assert_eq!(
            Model::find(ProviderKind::Anthropic, "claude-opus-4-6-20260101").context_window_tokens,
            Some(1_000_000)
        );
        assert_eq!(Model::find(ProviderKind::Anthropic, "claude-opus-4-1").max_output_tokens, Some(32_000));
        assert!(Model::find(ProviderKind::Openrouter, "anthropic/claude-opus-4").known);
        // What comes after the models we know must not be taken for the oldest of them.
        assert!(!Model::find(ProviderKind::Anthropic, "claude-opus-4-99").known);
    }

    #[test]
    fn a_collector_knows_the_vendors_models() {
        let model = Model::find(ProviderKind::Openrouter, "anthropic/claude-sonnet-4.6");
        assert!(model.known && model.images);
        assert_eq!(model.context_window_tokens, Some(1_000_000));
        assert_eq!(
            Model::find(ProviderKind::Openrouter, "openai/gpt-oss-120b:free").prices,
            Some(Prices::default())
        );
        assert_eq!(
            Model::find(ProviderKind::OpenaiChat, "llama-3.3-70b-versatile").max_output_tokens,
            Some(32_768)
        );
    }

    #[test]
    fn unknown_names_are_allowed() {
        let model = Model::find(ProviderKind::OpenaiChat, "my-own-model");
        assert!(!model.known && model.prices.is_none() && model.context_window_tokens.is_none());
        assert!(!Model::find(ProviderKind::Anthropic, "gpt-4o").known);
        assert_eq!(Model::find(ProviderKind::Ollama, "mistral").prices, Some(Prices::default()));
        assert!(Model::find(ProviderKind::Ollama, "qwen3:8b").reasoning.contains(&Reasoning::Medium));
    }

    #[test]
    fn costs_add_up() {
        let model = Model::find(ProviderKind::Anthropic, "claude-sonnet-4-5");
        let tokens = Tokens {
            input: 1_000_000,
            output: 100_000,
            cache_read: 1_000_000,
            cache_write: 10_000,
            cost: None,
        };
        let usage = model.usage(&tokens);
        assert_eq!(usage.total_tokens, 2_110_000);
        assert!((usage.cost.total - (3.0 + 1.5 + 0.3 + 0.0375)).abs() < 1e-9, "{usage:?}");
        let told = model.usage(&Tokens { cost: Some(0.25), ..tokens });
        assert_eq!(told.cost.total, 0.25);
    }

    #[test]
    fn every_row_makes_sense() {
        for row in ROWS {
            let model = row.model(row.vendor, row.pattern);
            assert!(model.max_output_tokens <= model.context_window_tokens, "{}", row.pattern);
            assert_eq!(model.thinking == Thinking::Absent, model.reasoning.is_empty(), "{}", row.pattern);
            assert!(!model.reasoning.contains(&Reasoning::Off), "{}", row.pattern);
            assert_eq!(row.pattern, row.pattern.to_lowercase());
        }
    }
}
