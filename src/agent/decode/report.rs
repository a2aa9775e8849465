//! The result of reading an agent's output.

use super::fault::Fault;
use super::format::Format;
use crate::agent::promise::Heard;

/// The model of a run and its use, as reported in the output.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Usage {
    /// The agent's name for its model.
    pub model: Option<String>,
    /// All input tokens, by the agent's own count.
    pub input_tokens: Option<u64>,
    /// The output tokens, by the agent's own count.
    pub output_tokens: Option<u64>,
    /// The cost in US dollars, by the agent's own count.
    pub cost_usd: Option<f64>,
}

/// The end of a message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Message {
    /// The text.
    pub text: String,
    /// True if its beginning was cut off.
    pub is_cut: bool,
}

/// Returns the sum of two numbers, each of which may be unknown.
pub fn sum(known: Option<u64>, more: Option<u64>) -> Option<u64> {
    [known, more].into_iter().flatten().reduce(u64::saturating_add)
}

/// The highest valid cost, in dollars: a loop with a higher one could not travel.
const MOST_COST: f64 = 1e9;

/// Adds two costs, each of which may be unknown. Ignores invalid costs, such as negative ones.
pub fn sum_of_costs(known: Option<f64>, more: Option<f64>) -> Option<f64> {
    let costs = [known, more].into_iter().flatten();
    let costs = costs.filter(|cost| (0.0..=MOST_COST).contains(cost));
    costs.reduce(|sum, more| (sum + more).min(MOST_COST))
}

/// The outcome of an agent's run, according to its output.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    /// The promise of the final message.
    pub heard: Heard,
    /// The end of the final message, as a terminal would show it; empty if there is none.
    pub message: Message,
    /// True if the end marker of the format was seen; text has none and is always ended.
    pub ended: bool,
    /// The fault that prevented a normal end.
    pub fault: Option<Fault>,
    /// The cost in US dollars, by the agent's own count.
    pub cost_usd: Option<f64>,
    /// All input tokens, including those read from or written to a cache, by the agent's own count.
    pub input_tokens: Option<u64>,
    /// The input tokens that were read from a cache.
    pub cache_read_tokens: Option<u64>,
    /// The input tokens that were written to a cache.
    pub cache_write_tokens: Option<u64>,
    /// The output tokens, by the agent's own count.
    pub output_tokens: Option<u64>,
    /// The agent's name for its model.
    pub model: Option<String>,
    /// The version that the agent reports.
    pub version: Option<String>,
    /// Number of requests to the model, by the agent's own count.
    pub turns: Option<u64>,
    /// The agent's name for the session.
    pub session: Option<String>,
    /// The learnings of the final message, for later stories.
    pub learnings: Vec<String>,
    /// True if the agent exceeded its plan and used extra usage that costs money.
    pub on_extra_usage: bool,
    /// The names of the tools that were denied to the agent, each once; only the first few.
    pub denied: Vec<String>,
    /// The format that was given or detected.
    pub format: Format,
    /// True if the output has another format: no line of it was JSON, as the format requires.
    pub is_other: bool,
    /// The fault in the last lines of an agent without a promise; it counts only if the agent exited with an error.
    pub suspected: Option<Fault>,
    /// The last line of the output, or else of stderr, if there is no promise.
    pub last_line: Option<String>,
}

impl Report {
    /// Adds the use of an earlier round of the same attempt.
    pub fn add(&mut self, earlier: &Self) {
        self.cost_usd = sum_of_costs(self.cost_usd, earlier.cost_usd);
        self.input_tokens = sum(self.input_tokens, earlier.input_tokens);
        self.cache_read_tokens = sum(self.cache_read_tokens, earlier.cache_read_tokens);
        self.cache_write_tokens = sum(self.cache_write_tokens, earlier.cache_write_tokens);
        self.output_tokens = sum(self.output_tokens, earlier.output_tokens);
        self.turns = sum(self.turns, earlier.turns);
        self.on_extra_usage |= earlier.on_extra_usage;
    }
}
