//! The tokens that claude's stream counts, and others that took its names.

use serde::Deserialize;

use super::lines::Lenient;
use super::report_builder::ReportBuilder;

/// Tokens of one model.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Tokens {
    /// The input tokens, those of the cache excluded.
    #[serde(alias = "input_tokens", alias = "inputTokens")]
    input: Lenient<u64>,
    #[serde(alias = "cache_read_input_tokens", alias = "cacheReadInputTokens")]
    pub(super) cache_read: Lenient<u64>,
    #[serde(alias = "cache_creation_input_tokens", alias = "cacheCreationInputTokens")]
    pub(super) cache_written: Lenient<u64>,
    #[serde(alias = "output_tokens", alias = "outputTokens")]
    output: Lenient<u64>,
}

impl Tokens {
    /// Adds them to the report.
    pub(super) fn spend(self, report: &mut ReportBuilder) {
        report.spend(self.input.value(), self.output.value(), None);
        report.spend_cached(self.cache_read.value(), self.cache_written.value());
    }
}
