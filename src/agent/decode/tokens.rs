//! Reads the token counts of claude's stream, and of formats that adopted its field names.

use super::{lines::Object, report_builder::ReportBuilder};

/// Adds the tokens of one model to the report.
pub(super) fn spend(tokens: &Object, report: &mut ReportBuilder) {
    let count = |snake, camel| tokens.get(snake).or_else(|| tokens.get(camel));
    // The input tokens without those of the cache.
    let output = count("output_tokens", "outputTokens");
    report.spend(count("input_tokens", "inputTokens"), output, None);
    report.spend_cached(
        count("cache_read_input_tokens", "cacheReadInputTokens"),
        count("cache_creation_input_tokens", "cacheCreationInputTokens"),
    );
}
