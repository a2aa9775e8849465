//! Writes the report of a loop as an HTML page, Markdown or JUnit XML. Quoted text is shown with visible control
//! characters, and never becomes markup.

mod agents;
mod cards;
mod differences;
mod document;
mod drawing;
mod harmless;
mod junit;
mod markdown;
mod page;
mod room;
mod template;
#[cfg(test)]
mod tests;
mod timeline;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;

use super::amounts::{spent, time};
use super::shown::plain;
use crate::names::{counted, dollars};
use crate::report::{AttemptReport, Environment, FileTotal, Gate, Report, StoryReport, StoryState, Totals};

pub use super::live::Live as Progress;
pub use junit::junit;
pub use markdown::{JOB_PAGE, PULL_REQUEST, markdown};
pub use page::page;

/// Returns a note about a gate that ran with other tests than the attempt's.
fn when(gate: &Gate) -> &'static str {
    if gate.held {
        " with the tests as they were"
    } else {
        ""
    }
}

/// Shortens a text to `most` characters, with an ellipsis if anything is cut off.
fn short(text: &str, most: usize) -> String {
    let text = plain(text);
    if text.chars().count() <= most {
        return text.into_owned();
    }
    let mut cut: String = text.chars().take(most.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

/// Shortens a name to one line of `most` characters.
fn in_line(text: &str, most: usize) -> String {
    short(&text.replace('\n', "^J"), most)
}

/// Returns the last `most` characters of a text, and a note if its beginning is omitted.
fn last_chars(text: &str, most: usize) -> String {
    let text = plain(text);
    let skipped = text.chars().count().saturating_sub(most);
    let end: String = text.chars().skip(skipped).collect();
    if skipped > 0 {
        format!("… the beginning is left out\n{end}")
    } else {
        end
    }
}

/// Returns the id and the title of a story.
fn headed(story: &StoryReport) -> String {
    super::log::headed(&story.id, &story.title)
}

/// Formats a time in UTC, such as `2026-11-22 10:00:00 UTC`.
fn moment(t: Timestamp) -> String {
    let zoned = t.to_zoned(TimeZone::UTC);
    zoned.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// The branches of a loop, its own and the one on which it began: `ralph/add-login, from main (1b2c3d4e5f); …`.
#[derive(Serialize)]
struct Origin {
    branch: String,
    from: String,
    commit: String,
    /// The time from its beginning to its end; empty if unknown.
    when: String,
    /// The ref with the work of an aborted loop, which no branch has.
    kept: Option<String>,
}

impl Origin {
    fn of(report: &Report) -> Self {
        let head = report.original_head.as_ref();
        let when = report
            .started
            .zip(report.ended)
            .map_or_else(String::new, |(from, to)| {
                let (from, to) = (moment(from), moment(to));
                let (day, of_day) = to.split_at(11);
                let to = if from.starts_with(day) { of_day } else { &to };
                format!("; {} to {to}", from.trim_end_matches(" UTC"))
            });
        let from = report.original_branch.as_deref().unwrap_or("a detached HEAD");
        let aborted = report.closed.as_ref().filter(|closed| closed.how == "abort");
        Self {
            branch: plain(&report.branch).into_owned(),
            from: plain(from).into_owned(),
            commit: head.map_or("no commit", |oid| oid.short()).to_owned(),
            when,
            kept: aborted.map(|closed| plain(&closed.kept).into_owned()),
        }
    }
}

/// Returns the state of a story in words.
fn state_of(story: &StoryReport) -> String {
    if let Some(number) = story.running {
        return format!("attempt {number} runs");
    }
    let last = story.attempts.last();
    let state = match (story.state, last) {
        (StoryState::Complete, _) if story.completed_by().is_some() => "complete",
        (StoryState::Complete, _) => "done in the list",
        (StoryState::Skipped, Some(last)) if !last.is_complete() => "failed and skipped",
        (StoryState::Skipped, _) => "skipped",
        (StoryState::Failed, Some(last)) => last.entry.attempt.verdict.words(),
        (_, None) => "open",
        (_, Some(_)) => "open again",
    };
    match (story.completed_by(), last) {
        (_, None) => format!("{state}; no attempt at it is in this report"),
        (None, _) if story.state == StoryState::Complete => format!("{state}; no attempt completed it"),
        _ => state.to_owned(),
    }
}

/// Returns the number of complete stories, and of those accepted on the agent's word alone, in words.
fn how_far(report: &Report) -> String {
    let totals = &report.totals;
    let by_word = report
        .stories
        .iter()
        .filter(|story| story.by_word_alone == Some(true));
    let by_word = match by_word.count() {
        0 => String::new(),
        some => format!(", {some} on the agent's word alone"),
    };
    format!("{} of {} complete{by_word}", totals.complete, totals.stories)
}

/// Returns the cost of the attempts, and the number of those whose cost is unknown; `None` if there are no attempts.
fn cost(totals: &Totals) -> Option<String> {
    let agents = match totals.cost_usd {
        _ if totals.attempts == 0 => return None,
        None => "not known".to_owned(),
        Some(cost) => spent(cost, totals.cost_unknown, totals.attempts),
    };
    Some(match totals.review_cost_usd {
        None => agents,
        Some(reviews) => format!("{agents}, and {} for reviews", dollars(reviews)),
    })
}

/// Formats the size of a difference: `14 files +412 -77`.
fn size(files: Option<u64>, insertions: Option<u64>, deletions: Option<u64>) -> Option<String> {
    if files == Some(0) {
        return Some("git sees no change".to_owned());
    }
    let files = counted(files?, "file", "files");
    Some(format!("{files} +{} -{}", insertions?, deletions?))
}

/// Returns the time of an attempt with its gates and reviews, in seconds.
fn took(attempt: &AttemptReport) -> f64 {
    attempt.entry.seconds()
}

/// Returns the time of all attempts, as `git ralph log` does.
fn took_in_all(report: &Report) -> f64 {
    let all = report.stories.iter().flat_map(|story| &story.attempts);
    all.map(took).sum()
}

/// Formats a number of seconds; returns `None` for none.
fn some_time(seconds: f64) -> Option<String> {
    (seconds > 0.0).then(|| time(seconds))
}

/// Formats a number of tokens: `950`, `12.3k`, `4.5M`.
#[expect(clippy::cast_precision_loss, reason = "three digits of it are shown")]
pub(in crate::ui) fn tokens(number: u64) -> String {
    match number {
        0..1000 => number.to_string(),
        1000..1_000_000 => format!("{:.1}k", number as f64 / 1e3),
        _ => format!("{:.1}M", number as f64 / 1e6),
    }
}

/// Returns the settings in force, with their names.
fn in_force(environment: &Environment) -> Vec<(&'static str, String)> {
    let settings = &environment.settings;
    let none = || "no limit".to_owned();
    let limit = |seconds: Option<f64>| seconds.map_or_else(none, time);
    let gates = settings.gates.iter().take(20);
    let gates = gates.map(|gate| ("Gate", short(gate, 200)));
    let gates: Vec<_> = match settings.gates.as_slice() {
        [] => vec![("Gates", "none".to_owned())],
        _ => gates.collect(),
    };
    let limits = [
        ("Retries of a story", environment.max_retries.to_string()),
        ("Time of an attempt", limit(settings.timeout)),
        ("Time without output", limit(settings.idle_timeout)),
        ("Time of a gate", limit(settings.verify_timeout)),
        ("Wait for the agent's service", limit(settings.max_wait)),
        ("Time of the loop", limit(settings.max_duration)),
        (
            "Attempts of a run",
            settings.max_attempts.map_or_else(none, |most| most.to_string()),
        ),
        ("Cost of the loop", settings.max_cost.map_or_else(none, dollars)),
    ];
    let version = [("git-ralph", short(&settings.version, 40))];
    let agents = environment.agents.iter().take(20);
    let agents = agents.map(|known| ("Agent", short(&format!("{} {}", known.agent, known.version), 100)));
    let reviewer = settings.review.iter().map(|name| ("Reviewer", short(name, 40)));
    version
        .into_iter()
        .chain(agents)
        .chain(gates)
        .chain(reviewer)
        .chain(limits)
        .collect()
}

/// Returns who changed a file: the stories, and the user if they edited it.
fn changed_by(file: &FileTotal) -> String {
    let person = file.by_person.then_some("the user");
    let all = file.stories.iter().map(String::as_str).chain(person);
    all.collect::<Vec<_>>().join(", ")
}

/// Formats a number of lines; a binary file has none.
fn lines(number: Option<u64>) -> String {
    number.map_or_else(|| "-".to_owned(), |number| number.to_string())
}
