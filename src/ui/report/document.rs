//! Makes the values of a loop for the HTML and Markdown templates: texts that are safe to show, within the limits.

use serde::Serialize;
use serde_json::{Value, json};

use super::agents::agent_row;
use super::cards::{card_of, gate_rows};
use super::differences::difference_of;
use super::room::{LINE, Room, TITLE};
use super::{
    Origin, changed_by, cost, headed, how_far, in_force, in_line, lines, moment, short, size, some_time,
    tokens, took_in_all,
};
use crate::names::typed;
use crate::report::{AttemptReport, Environment, OutcomeKind, Report};
use crate::ui::amounts::{at_once, time, time_of_gate};
use crate::ui::shown::plain;

/// The values of a loop.
#[derive(Serialize)]
pub(super) struct Document<'r> {
    /// Its id on the page.
    pub id: String,
    pub name: String,
    typed: String,
    outcome: String,
    outcome_kind: &'static str,
    origin: Origin,
    compare_url: Option<&'r str>,
    sums: Vec<(&'static str, String)>,
    /// Files, with the stories that changed them, and the lines added and removed.
    files: Vec<[String; 4]>,
    edits: Vec<Value>,
    cards: Vec<Value>,
    /// The drawing of the attempts.
    pub timeline: Option<Value>,
    gates: Vec<Value>,
    events: Vec<Value>,
    agents: Vec<Value>,
    /// The settings in force, each time with the first attempt under them.
    pub environments: Vec<(String, Vec<(&'static str, String)>)>,
    pub left_out: Vec<String>,
    /// The stories with those of their attempts that are shown, each with its id on the page.
    #[serde(skip)]
    pub rows: Vec<(String, Vec<(String, &'r AttemptReport)>)>,
}

impl<'r> Document<'r> {
    /// Makes the values of a loop, the first of which has the number 0 on the page.
    pub fn of(report: &'r Report, number: usize, room: &mut Room) -> Self {
        let id = format!("c{number}");
        let (mut cards, mut rows) = (Vec::new(), Vec::new());
        let all = report.attempts();
        let skipped = room.beyond(all.len(), room.attempts, "earlier attempts");
        let mut without = 0;
        for story in &report.stories {
            let of_story = all[skipped..].iter().enumerate();
            let of_story = of_story.filter(|(_, (other, _))| std::ptr::eq(*other, story));
            let of_story: Vec<_> = of_story
                .map(|(number, (_, attempt))| (format!("{id}t{number}"), *attempt))
                .collect();
            let has_room = if story.attempts.is_empty() {
                without += 1;
                without <= room.attempts
            } else {
                !of_story.is_empty()
            };
            if has_room {
                cards.push(card_of(report, story, &of_story, room));
                rows.push((short(&headed(story), TITLE), of_story));
            }
        }
        room.beyond(without, room.attempts, "stories without an attempt");
        rows.retain(|(_, attempts)| !attempts.is_empty());
        let earlier = room.beyond(report.events.len(), room.events, "earlier events");
        let events = &report.events[earlier..];
        let edits = events.iter().filter_map(|event| {
            let mut difference = difference_of(event.diff.as_deref(), event.patch.as_ref(), room)?;
            difference["title"] = json!(format!("{}, {}", short(&event.text, LINE), moment(event.t)));
            let oid = event.checkpoint.as_ref();
            difference["command"] = json!(oid.map(|oid| format!("git show {}", oid.short())));
            Some(difference)
        });
        let edits = edits.collect();
        let events = events.iter().map(|event| {
            json!({
                "t": moment(event.t),
                "kind": event.kind.words(),
                "took": event.duration.and_then(some_time),
                "text": short(&event.text, LINE),
            })
        });
        let files = report.files.iter().take(room.files).map(|file| {
            let (who, path) = (short(&changed_by(file), LINE), in_line(&file.path, LINE));
            [path, who, lines(file.insertions), lines(file.deletions)]
        });
        let unshown = room.beyond(report.environments.len(), room.files, "earlier settings");
        let since = |one: &Environment| (short(&one.since, LINE), in_force(one));
        room.beyond(report.files.len(), room.files, "files of all changes");
        room.beyond(report.by_agent.len(), room.files, "agents");
        let agents = report.by_agent.iter().take(room.files);
        let mut document = Self {
            name: plain(report.change.as_str()).into_owned(),
            typed: typed(&report.change),
            outcome: short(&report.outcome.text, LINE),
            outcome_kind: kind_of(report),
            origin: Origin::of(report),
            compare_url: report.compare_url.as_deref(),
            sums: sums(report),
            files: files.collect(),
            edits,
            cards,
            timeline: None,
            gates: gate_rows(report.gates.iter().map(|gate| (gate, true)), room),
            events: events.collect(),
            agents: agents.map(agent_row).collect(),
            environments: report.environments[unshown..].iter().map(since).collect(),
            left_out: report.dropped.iter().map(|what| short(what, LINE)).collect(),
            rows,
            id,
        };
        let left_out = std::mem::take(&mut room.left_out).into_iter();
        let left_out = left_out.map(|(what, number)| format!("{number} {what}"));
        document.left_out.extend(left_out);
        document
    }
}

fn kind_of(report: &Report) -> &'static str {
    match report.outcome.kind {
        OutcomeKind::Finished | OutcomeKind::Complete if report.totals.complete >= report.totals.stories => {
            "complete"
        }
        OutcomeKind::Stopped | OutcomeKind::Aborted => "failed",
        _ => "other",
    }
}

/// Returns the sums of a loop, the most important ones first.
fn sums(report: &Report) -> Vec<(&'static str, String)> {
    let totals = &report.totals;
    let of = |part: Option<u64>, what: &str| part.map(|part| format!(", {} {what}", tokens(part)));
    let read = totals.input_tokens.map(|read| {
        let cached = of(totals.cache_read_tokens, "from a cache").unwrap_or_default();
        format!("{}{cached}", tokens(read))
    });
    let mut own = report.attempts().into_iter();
    let at_once = at_once(own.any(|(_, attempt)| attempt.entry.attempt.base.is_some()));
    let parts = [
        ("Stories", Some(how_far(report))),
        ("Attempts", Some(totals.attempts.to_string())),
        ("Time of attempts", Some(time(took_in_all(report)) + at_once)),
        ("Cost", cost(totals)),
        ("Changed", size(totals.files, totals.insertions, totals.deletions)),
        ("Start to end", Some(time(totals.duration))),
        ("Agents", some_time(totals.agent_duration)),
        (
            "Gates",
            Some(totals.gate_duration)
                .filter(|took| *took > 0.0)
                .map(time_of_gate),
        ),
        ("Waiting", some_time(totals.waiting)),
        ("Tokens read", read),
        ("Tokens written", totals.output_tokens.map(tokens)),
    ];
    let known = parts.into_iter().filter_map(|(name, value)| Some((name, value?)));
    known.collect()
}
