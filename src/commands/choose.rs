//! Asks a person at the end of a loop. The question says what each answer will do, and whether it can.

use crate::cli;
use crate::engine::steps::finish_refusal::FinishRefusal;
use crate::engine::{self, Finish, Loop};
use crate::error::Error;
use crate::events::log::{Log, attempts, range_of};
use crate::names::counted;
use crate::ui::choice::{Choice, ask};
use crate::ui::{self, Screen};

/// The question at the end of a run.
pub(super) const QUESTION: &str = "what should happen to the work?";
/// The choices when no story is left.
pub(super) const AT_THE_END: [Choice; 4] = [Choice::Cleanup, Choice::Keep, Choice::Diff, Choice::Quit];
/// Says what closing the loop would do, and asks; an answer that only shows something is followed by the same question.
pub(super) async fn choose(
    screen: Screen,
    open: &mut Loop<'_>,
    question: &str,
    possible: &[Choice],
) -> Result<Choice, Error> {
    let loud = Screen {
        quiet: false,
        ..screen
    };
    loud.say(&offers(open).await?);
    loop {
        let stop = open.context.stop.clone();
        match ask(screen, question, possible, &stop).await {
            Choice::Diff => show_diff(open).await?,
            Choice::Log => {
                let log = Log {
                    change: open.change().clone(),
                    attempts: attempts(&open.file("events.jsonl"))?,
                };
                loud.say(&ui::log::table(&log, loud.columns()));
            }
            chosen => return Ok(chosen),
        }
    }
}

/// Returns the way in which a choice closes the loop, if it does.
pub(super) fn closes(choice: Choice) -> Option<Finish> {
    match choice {
        Choice::Cleanup => Some(Finish::Cleanup { index: false }),
        Choice::Keep => Some(Finish::Keep),
        _ => None,
    }
}

/// Describes the effects of the two ways to close the loop.
async fn offers(open: &mut Loop<'_>) -> Result<String, Error> {
    if !open.state.strategy.is_branch() {
        return Ok(
            "\n  c  cleanup: all changes stay in the work tree, uncommitted; the loop's stash entries are dropped\n  k  \
             keep: the same, but the stash entries stay\n"
                .to_owned(),
        );
    }
    let cleanup = match engine::can_clean_up(open).await {
        Ok(()) => format!(
            "return to {} with all changes uncommitted; {} is deleted",
            open.state.original_name(),
            open.state.branch
        ),
        Err(error) => format!("not possible: {}", in_one_line(&error)),
    };
    let state = &open.state;
    let size = open
        .context
        .repo
        .git
        .diff_size(&state.before.initial, &state.checkpoint)
        .await?;
    let files = counted(usize::try_from(size.files).unwrap_or(usize::MAX), "file", "files");
    let commits = counted(open.state.progress.completed.len(), "checkpoint", "checkpoints");
    Ok(format!(
        "\n  c  cleanup: {cleanup}\n  k  keep: stay on {} with its commits ({commits}, {files} changed)\n",
        open.state.branch
    ))
}

/// Returns the reason why a loop cannot be cleaned up, in one line.
fn in_one_line(error: &Error) -> String {
    match error {
        Error::Finish(FinishRefusal::Conflict { branch, paths, .. }) => {
            format!("conflicts with {branch} in {}", paths.join(", "))
        }
        other => other.to_string().lines().collect::<Vec<_>>().join(" "),
    }
}

/// Shows the work of the story that failed last, else the whole loop's, with the user's pager.
async fn show_diff(open: &Loop<'_>) -> Result<(), Error> {
    let state = &open.state;
    let failed = match &state.progress.story {
        Some(story) => range_of(&open.file("events.jsonl"), &story.id, Some(story.attempt))?,
        None => None,
    };
    let whole = || (state.before.initial.to_string(), state.checkpoint.to_string());
    let (from, to) = failed.unwrap_or_else(whole);
    Ok(open.context.repo.git.show(&["diff", &from, &to, "--"]).await?)
}

/// Returns the end of the loop that the arguments choose.
pub(super) fn by_flag(choice: cli::Choice) -> Option<Finish> {
    if choice.cleanup {
        Some(Finish::Cleanup { index: false })
    } else if choice.keep {
        Some(Finish::Keep)
    } else {
        None
    }
}
