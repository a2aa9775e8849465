//! Leaves of the end of an attempt what may go to another machine.

use super::public_text::PublicText;
use crate::events::Attempt;

/// Returns the record without what belongs to this machine.
pub(super) fn ended(attempt: Attempt, text: &PublicText) -> Attempt {
    let Attempt {
        story,
        attempt,
        verdict,
        reason,
        started,
        duration,
        exit_code,
        cost_usd,
        input_tokens,
        cache_read_tokens,
        cache_write_tokens,
        output_tokens,
        model,
        agent_version,
        turns,
        files,
        insertions,
        deletions,
        rests_on,
        boxed,
        reviewer,
        review_cost_usd,
        review_input_tokens,
        review_output_tokens,
        output: _,
    } = attempt;
    Attempt {
        story,
        attempt,
        verdict,
        reason: text.of_some(reason.as_ref()),
        started,
        duration,
        exit_code,
        cost_usd,
        input_tokens,
        cache_read_tokens,
        cache_write_tokens,
        output_tokens,
        model,
        agent_version,
        turns,
        files,
        insertions,
        deletions,
        rests_on,
        // The reason can name a directory of this machine.
        boxed: boxed.map(|words| words.split(' ').next().unwrap_or_default().to_owned()),
        reviewer,
        review_cost_usd,
        review_input_tokens,
        review_output_tokens,
        output: None,
    }
}
