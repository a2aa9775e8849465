//! The state of a loop, in the style of `git status`.

use std::fmt::Write;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::amounts::{self, time};
use super::style::{bold, red};
use super::summary;
use super::width::{hang, wrap};
use crate::inspect::at_work::Asked;
use crate::inspect::at_work::Waiting;
use crate::inspect::beside::Stage;
use crate::inspect::next_steps::Driver;
use crate::inspect::session::SessionStatus;
use crate::inspect::status::{CurrentStory, Status, Traces};
use crate::names::{counted, heading, typed};
use crate::state::Phase;

/// Formats `git ralph status` of one loop for a terminal with so many columns.
pub fn table(status: &Status, columns: Option<usize>) -> String {
    let mut text = place(status);
    text.push_str(&progress(status));
    text.push('\n');
    let current = status
        .current
        .as_ref()
        .filter(|_| status.phase != Phase::Finished)
        // The running attempts are shown instead of the next story.
        .filter(|_| status.phase != Phase::Ready || status.beside.is_empty());
    match (current, status.phase) {
        (Some(current), phase) => {
            story(&mut text, current, phase, status.max_retries, columns);
            let has_failed = matches!(phase, Phase::Failed | Phase::Exhausted);
            if has_failed && status.traces == Traces::None {
                let _ = writeln!(text, "    {}", summary::NOTHING_LEFT);
            }
            text.push_str(&running(status));
        }
        (None, Phase::Complete) => {
            let _ = writeln!(text, "{}", summary::no_open_story(status));
        }
        (None, Phase::Finished) => {
            let end = status.over.as_ref().map_or("closed", |over| &over.words);
            let _ = writeln!(text, "{}", hang(end, 2, columns));
        }
        // The problem is printed above.
        (None, _) => {}
    }
    text.push_str(&beside(status, columns));
    text.push_str(&who_is_at_work(status, columns));
    text.push_str(&summary::next(&status.next_steps(Driver::Steps)));
    wrap(&status.names.shorten(&text), columns)
}

/// Formats the position of the loop.
fn place(status: &Status) -> String {
    let from = status.original_branch.as_deref().unwrap_or("a detached HEAD");
    let is_over = status.phase == Phase::Finished && status.closed.as_deref() != Some("keep");
    let place = if is_over {
        format!("began on {from}")
    } else if status.strategy.leaves_head() {
        format!("on {from}, which stays as it is (strategy stash)")
    } else {
        format!("on {}, from {from}", status.branch)
    };
    let mut text = format!("{} {place}\n", bold(status.change.as_str()));
    if let Some(own) = &status.worktree {
        let _ = writeln!(text, "work tree {own}");
    }
    let _ = writeln!(text, "last checkpoint {}", status.checkpoint.short());
    text
}

/// Formats the progress of the loop, and findings about it.
fn progress(status: &Status) -> String {
    let mut text = String::new();
    if let Some(far) = amounts::far_of(status) {
        text.push_str(&far);
        for (number, what) in [
            (status.by_promise_alone, "accepted on the agent's promise alone"),
            (status.without_promise, "without a promise"),
        ] {
            if let Some(number @ 1..) = number {
                let _ = write!(text, "; {number} {what}");
            }
        }
        text.push('\n');
    }
    if let Some(line) = status.put_back_in_words() {
        let _ = writeln!(text, "{}", red(&line));
    }
    if status.commits_by_hand > 0 {
        let commits = counted(status.commits_by_hand, "commit", "commits");
        let _ = writeln!(text, "{commits} by hand since then");
    }
    if let Some(attempt) = &status.unreviewed {
        let _ = writeln!(
            text,
            "the work of {attempt} is in the work tree; no reviewer has judged it"
        );
    }
    if let Some(attempt) = &status.restored {
        let _ = writeln!(text, "the work of {attempt} is restored in the work tree");
    }
    if let Some(problem) = &status.problem {
        let _ = writeln!(text, "{}", red(problem));
    }
    text
}

/// Formats the running, waiting, asking or stopped process.
fn who_is_at_work(status: &Status, columns: Option<usize>) -> String {
    let mut text = String::new();
    if let Some(gate) = &status.gate {
        let process = process(gate.pid);
        let lasts = Timestamp::now().duration_since(gate.since).as_secs_f64().max(0.0);
        let line = format!(
            "  a gate is running before any work{process} for {}: {}",
            time(lasts),
            gate.command
        );
        let _ = writeln!(text, "{}", hang(&line, 4, columns));
    }
    if let Some(waiting) = &status.waiting {
        let _ = writeln!(text, "  {}", of_wait(waiting, TimeZone::system()));
        if let Some(reason) = &waiting.reason {
            let _ = writeln!(text, "{}", hang(&format!("    {reason}"), 4, columns));
        }
    }
    if let Some(asked) = &status.awaiting_choice {
        let _ = writeln!(text, "  {}", of_question(asked, TimeZone::system()));
        let options = asked.options.join(", ");
        let line = format!("    {} {options}", asked.question);
        let _ = writeln!(text, "{}", hang(&line, 4, columns));
    }
    if let Some(held) = &status.held_there
        && status.phase != Phase::Finished
    {
        let until = on_the_clock(held.until, TimeZone::system());
        let line = format!("  {} holds it on {} until {until}", held.holder, held.remote);
        let _ = writeln!(text, "{}", hang(&line, 4, columns));
    }
    if let Some(stopped) = &status.stopped {
        let _ = writeln!(text, "  {}", red(&format!("last run: {stopped}")));
    }
    if status.messages > 0 && status.phase != Phase::Finished {
        let words = counted(status.messages, "message", "messages");
        let _ = writeln!(text, "  {words} of yours for the next attempt (git ralph tell)");
    }
    if !status.asked_to_skip.is_empty() {
        let stories = status.asked_to_skip.join(", ");
        let _ = writeln!(text, "  asked to be skipped: {stories} (git ralph skip --undo)");
    }
    if let Some(session) = status.session.as_ref().and_then(of_session) {
        let _ = writeln!(text, "  {session}");
    }
    text
}

fn story(text: &mut String, current: &CurrentStory, phase: Phase, max_retries: u32, columns: Option<usize>) {
    let _ = writeln!(text, "story {}", heading(&current.id, &current.title));
    if matches!(phase, Phase::Failed | Phase::Exhausted) {
        let used = match max_retries {
            0 => "failed, no retries allowed".to_owned(),
            most if most < current.retries => {
                format!("failed, {} used", counted(current.retries, "retry", "retries"))
            }
            most => {
                let most = counted(most, "retry", "retries");
                format!("failed, {} of {most} used", current.retries)
            }
        };
        let _ = writeln!(text, "  {}", red(&used));
        for line in current.reason.iter().flat_map(|reason| reason.lines()) {
            let _ = writeln!(text, "{}", hang(&format!("    {line}"), 4, columns));
        }
    }
}

/// Describes the running attempt; an unknown one was interrupted.
fn running(status: &Status) -> String {
    let Some(running) = &status.running else {
        return match status.phase {
            Phase::Running => format!("  {} was interrupted\n", status.cut_off.unwrap_or("an attempt")),
            _ => String::new(),
        };
    };
    let now = Timestamp::now();
    let ago = |since: Timestamp| time(now.duration_since(since).as_secs_f64().max(0.0));
    let process = process(running.pid);
    let attempt = typed(format!("{}@{}", status.names.of(&running.story), running.attempt));
    let round = match running.rounds {
        1 => String::new(),
        rounds => format!(", round {rounds},"),
    };
    let runs = match status.waiting {
        Some(_) => "has been waiting and running",
        None => "is running",
    };
    let gate = running.gate.as_ref().map_or_else(String::new, |gate| {
        let kind = if gate.is_review { "review" } else { "gate" };
        format!("  {kind}: {}, for {}\n", gate.command, ago(gate.since))
    });
    format!(
        "  attempt {}{round} {runs}{process} for {}, last output {} ago\n{gate}  \
         (use \"git ralph log --follow {} {attempt}\" to watch it)\n",
        running.attempt,
        ago(running.since),
        ago(running.last_output),
        typed(&status.change)
    )
}

/// Describes the parallel attempts, one per line.
fn beside(status: &Status, columns: Option<usize>) -> String {
    let ago = |since: Option<Timestamp>| {
        let since = since.map_or(0.0, |since| Timestamp::now().duration_since(since).as_secs_f64());
        time(since.max(0.0))
    };
    let all = &status.beside;
    let mut text = match (all.len(), all.iter().filter(|one| one.is_running()).count()) {
        (0, _) => return String::new(),
        (all, 0) => format!(
            "{} not taken in yet\n",
            counted(all, "attempt is", "attempts are")
        ),
        (_, running) => {
            let stories = counted(running, "story is", "stories are");
            format!("{stories} worked on side by side\n")
        }
    };
    for one in all {
        let (story, number) = (heading(&one.story, &one.title), one.attempt);
        let line = match one.stage {
            Stage::Running => format!(
                "attempt {number} is running for {}, last output {} ago (git ralph log --follow {} {})",
                ago(one.since),
                ago(one.last_output),
                typed(&one.side),
                typed(format!("{}@{number}", one.story))
            ),
            Stage::Promised => format!("attempt {number} has promised it, and is not judged yet"),
            Stage::Failed => format!("attempt {number} has failed, and is not counted yet"),
            Stage::Interrupted => format!("attempt {number} was interrupted"),
        };
        let _ = writeln!(text, "{}", hang(&format!("  {story}: {line}"), 4, columns));
    }
    text
}

/// Names a process, if known.
fn process(pid: Option<i32>) -> String {
    pid.map_or_else(String::new, |pid| format!(" (process {pid})"))
}

/// Returns a time of day, with its date if it is not today's.
fn on_the_clock(time: Timestamp, zone: TimeZone) -> String {
    let (time, now) = (time.to_zoned(zone.clone()), Timestamp::now().to_zoned(zone));
    let form = if time.date() == now.date() {
        "%H:%M"
    } else {
        "%Y-%m-%d %H:%M"
    };
    time.strftime(form).to_string()
}

/// Describes a question to the user, with the time of day at which it was asked.
fn of_question(asked: &Asked, zone: TimeZone) -> String {
    let since = on_the_clock(asked.since, zone);
    format!("git-ralph ({}) asks since {since}:", asked.process)
}

/// Describes a wait for the agent's service, with the time of day at which it ends.
fn of_wait(waiting: &Waiting, zone: TimeZone) -> String {
    let until = on_the_clock(waiting.until, zone);
    let process = process(waiting.pid);
    format!("waiting for an agent's service until {until}{process}")
}

/// Describes an agent's own session, if it is worth a line.
fn of_session(session: &SessionStatus) -> Option<String> {
    if let Some(error) = &session.error {
        return Some(red(&format!("an error has stopped the agent's session: {error}")));
    }
    if session.ended_early {
        return Some(red("the agent's session has ended, but the loop is still active"));
    }
    let silent = Timestamp::now().duration_since(session.seen).as_secs_f64();
    let what = match session.story {
        Some(_) => "was given it",
        None => "was asked to continue",
    };
    session
        .at_work
        .then(|| format!("an agent's session {what} {} ago", time(silent)))
}
