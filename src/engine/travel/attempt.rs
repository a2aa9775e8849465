//! Reduces the end of an attempt to the parts that may be sent to another machine.

use super::public_text::PublicText;
use crate::events::Attempt;

/// Removes the parts of the record that belong to this machine.
pub(super) fn keep_public(attempt: &mut Attempt, text: &PublicText) {
    let Attempt {
        story: _,
        attempt: _,
        verdict: _,
        reason,
        started: _,
        duration: _,
        exit_code: _,
        cost_usd: _,
        input_tokens: _,
        cache_read_tokens: _,
        cache_write_tokens: _,
        output_tokens: _,
        model: _,
        agent_version: _,
        turns: _,
        files: _,
        insertions: _,
        deletions: _,
        rests_on: _,
        boxed,
        reviewer: _,
        review_cost_usd: _,
        review_input_tokens: _,
        review_output_tokens: _,
        rounds: _,
        slot: _,
        base: _,
        output,
    } = attempt;
    *reason = text.of_some(reason.as_ref());
    // The reason can name a directory of this machine.
    if let Some(words) = boxed {
        *words = words.split(' ').next().unwrap_or_default().to_owned();
    }
    // Logs stay on this machine.
    *output = None;
}
