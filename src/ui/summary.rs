//! The last lines of a command: the progress of the loop, why it stopped, and the commands to type next.

use std::fmt::Write;
use std::time::Duration;

use super::amounts::{far_of, time, time_and_cost};
use super::style::{bold, green, red};
use crate::inspect::next_steps::NextStep;
use crate::inspect::status::{Status, Traces};
use crate::inspect::summary::{Failed, Summary};
use crate::names::{counted, heading, typed};
use crate::state::Phase;

/// What is said of an attempt where no command has something to show.
pub(super) const NOTHING_LEFT: &str = "no file was changed, and the agent printed nothing";

/// Returns the summary of a loop at the end of a run, without the next commands; `stopped` says why it ended, if no story
/// does.
pub fn of(summary: &Summary, stopped: Option<&str>) -> String {
    let status = &summary.status;
    let mut text = String::from("\n");
    let mut parts: Vec<String> = far_of(status).into_iter().collect();
    if summary.tally.attempts > 0 {
        let attempts = counted(summary.tally.attempts, "attempt", "attempts");
        parts.push(format!("{attempts}, {}", time_and_cost(&summary.tally)));
    }
    parts.extend(summary.run.and_then(time_of_run));
    let changed = summary.changed;
    if changed.files > 0 {
        let files = counted(changed.files, "file", "files");
        parts.push(format!(
            "{files} changed, +{} -{}",
            changed.insertions, changed.deletions
        ));
    }
    let _ = writeln!(text, "{}: {}", bold(status.change.as_str()), parts.join("; "));
    if let Some(line) = status.put_back_in_words() {
        let _ = writeln!(text, "{}", red(&line));
    }
    if let Some(stopped) = stopped {
        let _ = writeln!(text, "{stopped}");
    }
    for Failed {
        attempt,
        printed_nothing,
    } in &summary.failed
    {
        let name = attempt.name();
        let mut words = format!("  {name} {}", attempt.verdict);
        if let Some(first) = attempt.reason.as_deref().and_then(|reason| reason.lines().next()) {
            let _ = write!(words, ": {first}");
        }
        // Where git sees no change, the output is all that there is.
        let verb = match attempt.files {
            Some(0) if *printed_nothing => {
                let _ = writeln!(text, "{words} ({NOTHING_LEFT})");
                continue;
            }
            Some(0) => "log",
            _ => "diff",
        };
        let (change, name) = (typed(&status.change), typed(&name));
        let _ = writeln!(text, "{words} (git ralph {verb} {change} {name})");
    }
    match (&status.current, status.phase) {
        (Some(story), Phase::Failed | Phase::Exhausted) => {
            let title = heading(&story.id, &story.title);
            let mut times = counted(story.retries + 1, "time", "times");
            if let Some(last) = summary.tally.latest(&story.id).map(|last| last.attempt)
                && last > story.retries + 1
            {
                let _ = write!(times, " since it was last begun ({last} attempts in all)");
            }
            let _ = writeln!(text, "{}", red(&format!("story {title} failed {times}")));
            if let Some(first) = story.reason.as_deref().and_then(|reason| reason.lines().next()) {
                let _ = writeln!(text, "  {first}");
            }
            if status.traces == Traces::None {
                let _ = writeln!(text, "  {NOTHING_LEFT}");
            }
        }
        (None, Phase::Complete) => {
            let _ = writeln!(text, "{}", no_open_story(status));
        }
        _ => {}
    }
    text
}

/// Returns the time of a run, with all gates and waits, unless it is short.
fn time_of_run(took: Duration) -> Option<String> {
    (took >= Duration::from_secs(60)).then(|| format!("the run took {}", time(took.as_secs_f64())))
}

/// Returns the line about a loop without an open story: green only if an attempt completed each.
pub(super) fn no_open_story(status: &Status) -> String {
    if !status.put_off.is_empty() {
        "no story but those that failed is left".to_owned()
    } else if !status.skipped.is_empty() {
        "no story but the skipped ones is left".to_owned()
    } else if has_unseen(status) {
        "no open story is left".to_owned()
    } else {
        green("nothing is left to do")
    }
}

/// Returns the line about stories that only the list, or only the agent, calls complete; empty without any.
pub fn unseen(status: &Status) -> String {
    let far = far_of(status).filter(|_| has_unseen(status));
    far.map_or_else(String::new, |far| far + "\n")
}

fn has_unseen(status: &Status) -> bool {
    let is_any = |of: &Option<Vec<String>>| of.as_ref().is_some_and(|ids| !ids.is_empty());
    !status.by_list.is_empty() || is_any(&status.by_word) || is_any(&status.doubtful)
}

/// Returns the commands to type next, in the style of `git status`.
pub fn next(steps: &[NextStep]) -> String {
    let mut text = String::new();
    for step in steps {
        let _ = writeln!(text, "  (use \"{}\" {})", step.command, step.purpose);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_of_a_run_is_shown_if_it_is_long() {
        assert_eq!(time_of_run(Duration::from_secs(59)), None);
        let long = time_of_run(Duration::from_secs(623));
        assert_eq!(long.as_deref(), Some("the run took 10m 23s"));
    }
}
