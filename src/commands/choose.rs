//! Asks the user at the end of a loop. The question describes the effect of each answer, and whether it is possible.

use crate::cli;
use crate::engine::question::{self, Answered, Over};
use crate::engine::steps::finish_refusal::FinishRefusal;
use crate::engine::stories::short_names;
use crate::engine::{self, Finish, Loop};
use crate::error::Error;
use crate::events::log::{Log, LogEntry, range_of};
use crate::exit::Exit;
use crate::git::Git;
use crate::inspect::changed_files::diff_of_commits;
use crate::names::counted;
use crate::signal::Stop;
use crate::state::{AwaitingChoice, Store};
use crate::ui::choice::{Choice, ask};
use crate::ui::view::completion::{self, Page};
use crate::ui::{self, Screen, pager};

/// The question at the end of a run.
const QUESTION: &str = "what should happen to the work?";
/// The choices when no story is left.
pub(super) const AT_THE_END: [Choice; 4] = [Choice::Cleanup, Choice::Keep, Choice::Diff, Choice::Quit];

/// Describes the effects of closing the loop, and asks; after an answer that only shows something, asks again. With the
/// summary of the loop, asks on the whole screen. Meanwhile other commands can continue the loop. `exit` is the exit
/// code of the asking run if the answer changes nothing.
pub(super) async fn choose(
    screen: Screen,
    open: &mut Loop<'_>,
    possible: &[Choice],
    summary: Option<String>,
    exit: Option<Exit>,
) -> Result<Answered<Choice>, Error> {
    let loud = screen.loud();
    let offers = offers(open).await?;
    let shown = Question::with(open, possible, summary.clone().unwrap_or_default(), &offers)?;
    let shown_log = log_of(open, loud)?;
    let stop = open.context.stop.clone();
    let options = possible.iter().map(|choice| choice.name().to_owned()).collect();
    let asking = |over: Over| async move {
        if summary.is_some()
            && let Some(chosen) = shown.ask(&stop, &over).await?
        {
            return Ok(chosen);
        }
        loud.say(&format!(
            "\n  c  cleanup: {}\n  k  keep: {}\n",
            offers.cleanup, offers.keep
        ));
        loop {
            let is_over = over.clone();
            match ask(screen, QUESTION, possible, &stop, move || is_over.is_over()).await {
                Choice::Diff => {
                    shown
                        .git
                        .show(&shown.difference.iter().map(String::as_str).collect::<Vec<_>>())
                        .await?;
                }
                Choice::Log => loud.say(&shown_log),
                chosen => return Ok(chosen),
            }
        }
    };
    let asked = AwaitingChoice::ours(QUESTION, options, exit.map(Exit::code));
    Box::pin(question::ask(open, asked, asking)).await
}

/// A question for the whole screen, with all its data: the loop need not be held until the answer.
pub(super) struct Question {
    page: Page,
    /// The arguments of the git command that shows the work.
    difference: Vec<String>,
    log: String,
    git: Git,
}

impl Question {
    /// Makes the question of a loop at its end.
    pub(super) async fn of(open: &Loop<'_>, possible: &[Choice], summary: String) -> Result<Self, Error> {
        let offers = offers(open).await?;
        Self::with(open, possible, summary, &offers)
    }

    fn with(open: &Loop<'_>, possible: &[Choice], summary: String, offers: &Offers) -> Result<Self, Error> {
        let words = |choice: &Choice| {
            let words = match choice {
                Choice::Cleanup => &offers.cleanup,
                Choice::Keep => &offers.keep,
                Choice::Retry => "have the agent attempt the story once more",
                Choice::Skip => "go on without the story",
                Choice::Diff => "show what was changed",
                Choice::Log => "show the attempts",
                Choice::Quit => return None,
            };
            Some((*choice, words.to_owned()))
        };
        Ok(Self {
            page: Page {
                summary: summary + &kept_attempts(open)?,
                choices: possible.iter().filter_map(words).collect(),
            },
            difference: difference(open)?,
            log: log_of(open, Screen::default())?,
            git: open.git().clone(),
        })
    }

    /// Asks; returns `None` if the terminal is unusable.
    pub(super) async fn ask(&self, stop: &Stop, over: &Over) -> Result<Option<Choice>, Error> {
        loop {
            let (page, stop, over) = (self.page.clone(), stop.renewed(), over.clone());
            let is_closed = move || stop.times() > 0 || over.is_over();
            let asked = tokio::task::spawn_blocking(move || completion::ask(&page, is_closed));
            let shown = match asked.await {
                Ok(Ok(Choice::Diff)) => pager::show_diff_and_return(self.git.top(), &self.difference).await,
                Ok(Ok(Choice::Log)) => pager::show_and_return(self.git.top(), &self.log).await,
                Ok(Ok(chosen)) => return Ok(Some(chosen)),
                Ok(Err(_)) | Err(_) => return Ok(None),
            };
            shown.map_err(Error::system("start the pager"))?;
        }
    }
}

/// Returns the arguments of the git command that shows the work.
fn difference(open: &Loop<'_>) -> Result<Vec<String>, Error> {
    let (from, to) = shown_range(open)?;
    let mode = open.settings().boxing.mode;
    let store = Store::new(&open.repo().common_dir, open.change());
    let args = diff_of_commits(&store, mode)?;
    Ok(args
        .into_iter()
        .chain([from.as_str(), to.as_str(), "--"])
        .map(str::to_owned)
        .collect())
}

/// Names the failed attempts whose work is kept, on one line; empty without any.
fn kept_attempts(open: &Loop<'_>) -> Result<String, Error> {
    let attempts = open.attempts()?;
    let kept = attempts.iter().filter(|entry| entry.kept.is_some());
    let short = short_names(&open.state);
    let name = |entry: &LogEntry| format!("{}@{}", short.of(&entry.attempt.story), entry.attempt.attempt);
    let names: Vec<String> = kept.map(name).collect();
    Ok(match names.as_slice() {
        [] => String::new(),
        [only] => format!("the work of a failed attempt is kept: {only}\n"),
        several => format!(
            "the work of {} failed attempts is kept: {}\n",
            several.len(),
            several.join(", ")
        ),
    })
}

/// Returns the log of the loop's attempts, as printed by `git ralph log`.
fn log_of(open: &Loop<'_>, screen: Screen) -> Result<String, Error> {
    let log = Log::read(open.change().clone(), &open.file("events.jsonl"))?;
    Ok(ui::log::table(&log, &short_names(&open.state), screen.columns()))
}

/// Returns how a choice closes the loop, if it does.
pub(super) fn closes(choice: Choice) -> Option<Finish> {
    match choice {
        Choice::Cleanup => Some(Finish::Cleanup { index: false }),
        Choice::Keep => Some(Finish::Keep),
        _ => None,
    }
}

/// The effects of the two ways to close the loop, in words.
struct Offers {
    cleanup: String,
    keep: String,
}

/// Describes the effects of the two ways to close the loop.
async fn offers(open: &Loop<'_>) -> Result<Offers, Error> {
    if !open.state.has_branch() {
        let stay = "all changes stay in the work tree, uncommitted";
        if open.state.here.save_points.is_empty() {
            return Ok(Offers {
                cleanup: stay.to_owned(),
                keep: "the same: the loop has no stash entries".to_owned(),
            });
        }
        return Ok(Offers {
            cleanup: format!("{stay}; the stash entries of stories that failed are dropped"),
            keep: "the same, but these stash entries stay".to_owned(),
        });
    }
    let (state, branch) = (&open.state, &open.state.common.branch);
    let own = state.has_own_work_tree();
    let cleanup = match engine::can_clean_up(open).await {
        Ok(()) if own => format!(
            "all changes go to the work tree of {}, uncommitted; {branch} is deleted, and the loop's work tree removed",
            state.begun_on().map_or("the beginning", String::as_str)
        ),
        Ok(()) => format!(
            "return to {} with all changes uncommitted; {branch} is deleted{}",
            state.original_name(),
            moved_on(open).await?
        ),
        Err(error) => format!("not possible: {}", in_one_line(&error)),
    };
    let size = open.git().diff_size(state.initial(), state.checkpoint()).await?;
    let files = counted(size.files, "file", "files");
    let commits = counted(state.progress().completed.len(), "checkpoint", "checkpoints");
    let keep = format!("stay on {branch} with its commits ({commits}, {files} changed)");
    Ok(Offers { cleanup, keep })
}

/// Returns a note if the original branch has new commits without conflicts; else an empty text.
async fn moved_on(open: &Loop<'_>) -> Result<String, Error> {
    let state = &open.state;
    let (Some(branch), Some(head)) = (&state.common.original_branch, &state.common.original_head) else {
        return Ok(String::new());
    };
    let name = format!("refs/heads/{branch}");
    let refs = open.git().refs(&[&name]).await?;
    let tip = refs.iter().find(|found| found.name == name);
    Ok(match tip {
        Some(tip) if tip.oid != *head => format!("; {branch} has moved on, and merges without conflict"),
        _ => String::new(),
    })
}

/// Returns the reason why a loop cannot be cleaned up, on one line.
fn in_one_line(error: &Error) -> String {
    match error {
        Error::Finish(FinishRefusal::Conflict { branch, paths, .. }) => {
            format!("conflicts with {branch} in {}", paths.join(", "))
        }
        other => other.to_string().lines().collect::<Vec<_>>().join(" "),
    }
}

/// Returns the two states around the work of the story that failed last, else around all work of the loop.
fn shown_range(open: &Loop<'_>) -> Result<(String, String), Error> {
    let state = &open.state;
    let failed = match state.current() {
        Some(story) => range_of(&open.file("events.jsonl"), &story.id, Some(story.attempt), true)?,
        None => None,
    };
    let whole = || (state.initial().to_string(), state.checkpoint().to_string());
    Ok(failed.unwrap_or_else(whole))
}

/// Returns the end of the loop that the arguments choose.
pub(super) fn by_flag(choice: cli::Choice) -> Option<Finish> {
    let cleanup = choice.cleanup.then_some(Finish::Cleanup { index: false });
    cleanup.or(choice.keep.then_some(Finish::Keep))
}
