//! Makes the values of a story's card: the request, the agent's message, the basis of acceptance, its gates, and its
//! attempts with their changes.

use serde_json::{Value, json};

use super::agents::review_rows;
use super::differences::difference_of;
use super::drawing::kind_of;
use super::room::{LINE, Room, TITLE, weight};
use super::{cost, headed, in_line, last_chars, short, size, state_of, took};
use crate::events::Basis;
use crate::names::{counted, dollars, typed};
use crate::report::{AttemptReport, Gate, Report, StoryReport, StoryState, Totals};
use crate::state::Phase;
use crate::ui::amounts::{time, time_of_gate};
use crate::ui::log::{in_one_line, words_of_round};
use crate::ui::shown::plain;

/// Maximum number of gates on a card.
const MOST_GATES: usize = 20;

/// Returns the card of a story with some of its attempts, each with its id on the page.
pub(super) fn card_of(
    report: &Report,
    story: &StoryReport,
    shown: &[(String, &AttemptReport)],
    room: &mut Room,
) -> Value {
    let is_complete = story.state == StoryState::Complete;
    let last = shown.last().map(|(_, last)| *last);
    let asked = story.asked.as_ref().and_then(|asked| room.text(&asked.text));
    let said = last.and_then(|last| room.text(last.message.as_deref()?));
    let attempts = shown.iter().map(|(id, attempt)| {
        let is_last = last.is_some_and(|last| std::ptr::eq(last, *attempt));
        let mut one = attempt_of(report, attempt, id, room);
        if !is_last {
            one["said"] = json!(attempt.message.as_deref().and_then(|said| room.text(said)));
        }
        one["open"] = json!(is_last && !is_complete);
        one
    });
    let attempts: Vec<Value> = attempts.collect();
    let completed_by = story.completed_by();
    let gates = shown.iter().flat_map(|(_, attempt)| {
        let is_accepted = completed_by.is_some_and(|by| std::ptr::eq(by, *attempt))
            && !attempt.entry.attempt.rests_on.contains(&Basis::GatesOnOtherFiles);
        attempt.gates.iter().map(move |gate| (gate, is_accepted))
    });
    let kind = match (story.state, last) {
        _ if story.running.is_some() => "other",
        (StoryState::Complete, _) => "complete",
        (StoryState::Failed, Some(last)) => kind_of(last),
        (StoryState::Skipped, Some(last)) if !last.is_complete() => "failed",
        _ => "other",
    };
    json!({
        "title": short(&headed(story), TITLE),
        "kind": kind,
        "state": state_of(story),
        "sum": (story.attempts.len() > 1).then(|| sum_of(&story.attempts)),
        "rests_on": rests_on(story),
        "by_word_alone": story.by_word_alone == Some(true),
        "accepted": is_complete && shown.iter().all(|(_, attempt)| attempt.is_complete()),
        "asked": asked,
        "said": said,
        "gates": gate_rows(gates, room),
        "attempts": attempts,
    })
}

/// Returns the number of a story's attempts, their time and their cost.
fn sum_of(attempts: &[AttemptReport]) -> String {
    let mut parts = vec![
        counted(attempts.len(), "attempt", "attempts"),
        time(attempts.iter().map(took).sum()),
    ];
    let totals = Totals::of(attempts);
    parts.extend(totals.cost_usd.and_then(|_| cost(&totals)));
    parts.join(", ")
}

/// Returns the basis of a complete story, in words; `None` if the report has no attempt that completed it.
pub(super) fn rests_on(story: &StoryReport) -> Option<String> {
    let rests_on = &story.completed_by()?.entry.attempt.rests_on;
    let words = rests_on.iter().map(|basis| match basis {
        Basis::Promise => "the agent's promise",
        Basis::Confirmed => "the promise of a second process, as no file changed",
        Basis::UnchangedSaid => "what the agent said of the work that was there before",
        Basis::Doubtful => "a promise against which the agent's words or ticks speak",
        Basis::PromiseInSentence => "a promise inside a sentence",
        Basis::Person => "the user's word",
        Basis::Gates => "gates",
        Basis::GatesOnOtherFiles => "no gates, as one took files of the work away",
        Basis::Tests => "gates with the tests as they were",
        Basis::GateScript => "gates with their scripts as they were",
        Basis::TestChangesAllowed => "changes of tests that were allowed",
        Basis::TestsReviewed => "changes of tests that a review accepted",
        Basis::Review => "a review",
    });
    let words = words.collect::<Vec<_>>().join(", ");
    Some(match story.by_word_alone {
        None => "it is not known what".to_owned(),
        Some(true) => format!("the agent's word alone ({words})"),
        Some(false) => words,
    })
}

fn attempt_of(report: &Report, attempt: &AttemptReport, id: &str, room: &mut Room) -> Value {
    let entry = &attempt.entry;
    let done = &entry.attempt;
    let reason = done.reason.as_deref().unwrap_or_default().trim();
    let line = in_line(&in_one_line(reason).unwrap_or_default(), LINE);
    let next = attempt.told.as_deref().filter(|words| words.trim() != reason);
    let difference = difference_of(attempt.diff.as_deref(), attempt.patch.as_ref(), room);
    let is_kept = entry.kept.is_some();
    let commands = [
        ("log", attempt.has_log),
        ("diff", is_kept || difference.is_some()),
        ("restore", is_kept && report.phase != Phase::Finished),
    ];
    let name = plain(&attempt.entry.attempt.name()).into_owned();
    let command = |verb| format!("git ralph {verb} {} {}", typed(&report.change), typed(&name));
    let commands = commands.into_iter().filter(|(_, works)| *works);
    let log = attempt.log.as_ref().map(|log| {
        let end = last_chars(log, room.logs);
        room.logs = room.logs.saturating_sub(weight(&end));
        end
    });
    json!({
        "id": id,
        "name": name,
        "number": done.attempt,
        "kind": kind_of(attempt),
        "verdict": done.verdict.words(),
        "reason": (*reason != line).then(|| room.text(reason)).flatten(),
        "line": line,
        "facts": facts_of(attempt),
        "cost": done.cost_usd.map(dollars),
        "next": next.and_then(|words| room.text(words)),
        "said": null,
        "rounds": entry.by_round.iter().map(|round| in_line(&words_of_round(round), LINE)).collect::<Vec<_>>(),
        "reviews": review_rows(&attempt.reviews),
        "difference": difference,
        "commands": commands.map(|(verb, _)| command(verb)).collect::<Vec<_>>(),
        "kept": entry.kept.as_ref().map(|kept| in_line(kept, LINE)),
        "short": entry.checkpoint.as_ref().map(|oid| oid.short().to_owned()),
        "url": attempt.url,
        "log": log,
        "open": false,
    })
}

/// Returns the time of an attempt, its agent, and the size of its changes, if known.
fn facts_of(attempt: &AttemptReport) -> Vec<String> {
    let done = &attempt.entry.attempt;
    let gates = match attempt.gates.as_slice() {
        [] => String::new(),
        gates => format!(
            ", gates {}",
            time_of_gate(gates.iter().map(|gate| gate.duration).sum())
        ),
    };
    let turns = done.turns.map(|turns| format!("{turns} turns"));
    let rounds = done.rounds.map(|rounds| format!("{rounds} rounds"));
    let boxed = done.boxed.as_deref().map(|boxed| {
        let is_there = !boxed.starts_with("none");
        if is_there { "in a box" } else { "without a box" }.to_owned()
    });
    let by = attempt
        .agent
        .iter()
        .chain(&done.model)
        .chain(&turns)
        .chain(&boxed)
        .chain(&rounds);
    let by: Vec<&str> = by.map(String::as_str).collect();
    let parts = [
        Some(time(took(attempt)) + &gates),
        (!by.is_empty()).then(|| short(&by.join(", "), 80)),
        size(done.files, done.insertions, done.deletions),
    ];
    parts.into_iter().flatten().collect()
}

/// Returns a row for each gate with the numbers of its runs, and the end of the last one's output. Each run comes with
/// whether a checkpoint is based on it.
pub(super) fn gate_rows<'g>(gates: impl Iterator<Item = (&'g Gate, bool)>, room: &mut Room) -> Vec<Value> {
    let mut all: Vec<(Vec<&Gate>, bool)> = Vec::new();
    for (gate, counts) in gates {
        let is_same = |(runs, _): &&mut (Vec<&Gate>, bool)| {
            runs.first()
                .is_some_and(|run| (&run.command, run.held) == (&gate.command, gate.held))
        };
        match all.iter_mut().find(is_same) {
            Some((runs, is_last)) => {
                runs.push(gate);
                *is_last = counts;
            }
            None => all.push((vec![gate], counts)),
        }
    }
    room.beyond(all.len(), MOST_GATES, "gates");
    let rows = all.iter().take(MOST_GATES).filter_map(|(runs, counts)| {
        let last = runs.last()?;
        let kind = match (last.passed, counts) {
            (false, _) => "failed",
            (true, false) => "other",
            (true, true) => "complete",
        };
        Some(json!({
            "command": short(&last.command, LINE),
            "held": last.held,
            "kind": kind,
            "words": words_of(last, runs),
            "output": last.output.as_deref().and_then(|output| room.text(output)),
        }))
    });
    rows.collect()
}

/// Returns the result of the last run of a gate, and the earlier results.
fn words_of(last: &Gate, runs: &[&Gate]) -> String {
    let took = time_of_gate(runs.iter().map(|gate| gate.duration).sum());
    let result = if last.passed { "passed" } else { "failed" };
    let other = if last.passed {
        ("failure", "failures")
    } else {
        ("success", "successes")
    };
    let words = match (
        runs.len(),
        runs.iter().filter(|gate| gate.passed != last.passed).count(),
    ) {
        (1, _) => format!("{result} after {took}"),
        (all, 0) => format!("{result} {all} times, {took}"),
        (all, others) => format!(
            "{result}, after {}; {all} runs, {took}",
            counted(others, other.0, other.1)
        ),
    };
    let why = last.reason.as_deref();
    why.map_or_else(|| words.clone(), |why| format!("{words} ({})", short(why, LINE)))
}
