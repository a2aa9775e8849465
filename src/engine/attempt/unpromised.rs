//! Attempts that end without a promise (`ralph.noSignal=gates`): gates and the reviewer judge their work as if it had
//! been promised.

use super::outcome::Outcome;
use super::refusal::AttemptRefusal;
use super::verdict::Judgement;
use crate::agent::promise::Heard;
use crate::engine::Loop;
use crate::engine::stories::changes_only_the_list;
use crate::error::Error;
use crate::settings::{NoSignal, Settings};
use crate::state::Verdict;

/// Maximum number of lines of a message without a promise that the user is shown.
const LAST_LINES: usize = 5;

/// Refuses `ralph.noSignal=gates` without a gate or a reviewer.
///
/// # Errors
/// [`AttemptRefusal::NothingJudges`].
pub(crate) fn require_judge(settings: &Settings) -> Result<(), Error> {
    if settings.no_signal == NoSignal::Gates && !has_judge(settings) {
        return Err(AttemptRefusal::NothingJudges.into());
    }
    Ok(())
}

fn has_judge(settings: &Settings) -> bool {
    !settings.verify.is_empty() || !settings.review.is_empty()
}

/// Gives the attempt the judgement of a complete one, subject to gates and the reviewer, if the settings say so: it
/// exited without a signal, did not deny completion, and changed more than the story list.
pub(crate) async fn judge(open: &Loop<'_>, outcome: &mut Outcome, settings: &Settings) -> Result<(), Error> {
    let is_wanted = settings.no_signal == NoSignal::Gates && has_judge(settings);
    if !is_wanted || outcome.is_closed || !outcome.is_left_open() {
        return Ok(());
    }
    let reading = open.read_work_tree().await?;
    if changes_only_the_list(open, &reading) {
        return Ok(());
    }
    let who = match (settings.verify.is_empty(), !settings.review.is_empty()) {
        (false, true) => "the gates and the reviewer judge",
        (false, false) => "the gates judge",
        (true, _) => "the reviewer judges",
    };
    open.tell(format!(
        "the agent ended without a promise; {who} what it did (ralph.noSignal)"
    ));
    outcome.judgement = Judgement::unpromised();
    Ok(())
}

/// Reports, once per command, the line that the agent never printed, and the end of its message.
pub(crate) fn tell_missing_line(open: &Loop<'_>, outcome: &Outcome) {
    // The run of several stories reports it for its sides.
    if !open.state.here.is_side
        && outcome.is_unsaid()
        && let Some(report) = &outcome.report
        && report.heard == Heard::Nothing
        && !open.has_told_missing_line.replace(true)
    {
        let lines = report.message.text.lines().filter(|line| !line.trim().is_empty());
        let lines: Vec<String> = lines.map(|line| format!("\n     {line}")).collect();
        let last = lines[lines.len().saturating_sub(LAST_LINES)..].concat();
        let end = if last.is_empty() {
            ", which is empty (of a command, only standard output is read)"
        } else {
            ":"
        };
        open.tell(format!(
            "a line with <promise>COMPLETE</promise> alone is missing at the end of the agent's final message{end}{last}"
        ));
    }
}

/// Adds to the reason of a refused attempt that the agent's last message has no promise.
pub(crate) fn refused(judgement: Judgement) -> Judgement {
    let is_failure = matches!(
        judgement.verdict,
        Verdict::Failed | Verdict::GateFailed | Verdict::ReviewRejected
    );
    match judgement.reason {
        Some(reason) if is_failure => Judgement {
            reason: Some(format!("the agent's last message has no promise, and {reason}")),
            ..judgement
        },
        reason => Judgement { reason, ..judgement },
    }
}
