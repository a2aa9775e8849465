//! Makes a report from the events, the state, the story list and git.

use jiff::Timestamp;

use super::history::{self, story_of};
use super::links::Links;
use super::outcome::Outcome;
use super::{Report, StoryReport, StoryState, Totals, VERSION, Wanted, asked, by_agent, changes, output};
use crate::engine::stories::listing_at;
use crate::error::Error;
use crate::events::log::read_events;
use crate::git::Repo;
use crate::inspect::status::Status;
use crate::state::{State, Store};
use crate::stories::Listing;

/// Makes the report of a loop; `listing` is its story list, if that can be read. `progress` is called with the numbers
/// of done and of all differences.
pub async fn of_loop(
    repo: &Repo,
    state: &State,
    listing: Option<&Listing>,
    wanted: &Wanted,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Report, Error> {
    let store = Store::new(&repo.common_dir, &state.change);
    let events = read_events(&store.file("events.jsonl"))?;
    let then = match listing {
        None => listing_at(&repo.git, state, state.checkpoint()).await,
        Some(_) => None,
    };
    let version = repo.git.version().await.ok().flatten();
    let mut report = Report {
        v: VERSION,
        change: state.change.clone(),
        made_by: env!("CARGO_PKG_VERSION").to_owned(),
        git: version.map(|(major, minor)| format!("{major}.{minor}")),
        made: Timestamp::now(),
        phase: state.shown_phase(),
        outcome: Outcome::default(),
        branch: state.common.branch.clone(),
        original_branch: state.begun_on().cloned(),
        original_head: state.common.original_head.clone(),
        tip: state.checkpoint().clone(),
        closed: None,
        agents: Vec::new(),
        by_agent: Vec::new(),
        environments: Vec::new(),
        started: None,
        ended: None,
        totals: Totals::default(),
        gates: Vec::new(),
        events: Vec::new(),
        stories: Vec::new(),
        files: Vec::new(),
        compare_url: None,
        dropped: Vec::new(),
    };
    // A run that reports its own loop has ended its attempts.
    let is_held = store.is_held() && store.holder() != i32::try_from(std::process::id()).ok();
    let status = Status::by_files(repo, state);
    let running = running_of(&status, is_held);
    history::add(&mut report, &events, &running);
    if let Some(since) = wanted.since {
        leave_out_before(&mut report, since);
    }
    report.stories = stories_of(state, listing, std::mem::take(&mut report.stories));
    for (story, number) in running {
        story_of(&mut report.stories, &story, None).running = Some(number);
    }
    let listed = listing.or(then.as_ref());
    for story in &mut report.stories {
        let known = listed.and_then(|listing| listing.find(&story.id));
        story.asked = known.and_then(asked::asked);
        story.state = state_of(story, state, listing, then.as_ref());
        let completed = story.completed_by();
        story.by_word_alone = completed.and_then(|attempt| attempt.entry.attempt.is_by_word_alone());
    }
    // A process that can write the events can delete them: no attempt in them does not mean that there was none.
    let is_unrecorded = events.is_empty() && !state.progress().completed.is_empty();
    if is_unrecorded {
        report
            .dropped
            .push("the attempts, of which nothing is recorded".to_owned());
    }
    let git = &repo.git;
    let seen = report.stories.len();
    let complete = report.stories.iter();
    let complete = complete
        .filter(|story| story.state == StoryState::Complete)
        .count();
    // Without the list, the state has the number of stories.
    let known = state.listed().filter(|_| listing.is_none());
    let total = known.map_or(seen, |listed| listed.total.max(seen));
    let complete = known.map_or(complete, |listed| listed.done.max(complete));
    report.sum_up(complete, total);
    // Without pruned objects, the rest is reported.
    if let Ok(size) = git.diff_size(state.initial(), state.checkpoint()).await {
        report.totals.files = Some(size.files);
        report.totals.insertions = Some(size.insertions);
        report.totals.deletions = Some(size.deletions);
    }
    report.by_agent = by_agent::of(&report);
    let agents = report.by_agent.iter();
    report.agents = agents.filter_map(|sums| sums.agent.clone()).collect();
    report.outcome = Outcome::of(&status, is_held, &report.stories, &report.totals);
    let diffs = (wanted.diffs, &wanted.redaction);
    changes::add(&mut report, git, diffs, &wanted.kept, progress).await?;
    changes::add_up(&mut report);
    add_links(&mut report, repo, state, wanted).await;
    output::add(&mut report, &store, wanted.logs);
    wanted.redaction.redact(&mut report);
    Ok(report)
}

/// Returns the running attempts, by story and number.
fn running_of(status: &Status, is_held: bool) -> Vec<(String, u32)> {
    let running = status.running.iter().filter(|_| is_held);
    let running = running.map(|running| (running.story.clone(), running.attempt));
    let beside = status.beside.iter().filter(|one| one.is_running());
    running
        .chain(beside.map(|one| (one.story.clone(), one.attempt)))
        .collect()
}

/// Returns the state of a story. If the list has the story, the list decides: a completed story may be open again.
/// Without the list, a story that is done in the latest checkpoint (`then`) counts too: the user may have done it.
fn state_of(
    story: &StoryReport,
    state: &State,
    listing: Option<&Listing>,
    then: Option<&Listing>,
) -> StoryState {
    let listed_in = |listing: &Listing| Some(listing.find(&story.id)?.done);
    let is_done = listing.and_then(listed_in).unwrap_or_else(|| {
        let completed = &state.progress().completed;
        story.state == StoryState::Complete
            || completed.iter().any(|done| done.id == story.id)
            || then.and_then(listed_in) == Some(true)
    });
    let last = story.attempts.last();
    if is_done {
        StoryState::Complete
    } else if state.progress().skipped.contains(&story.id) && !state.progress().is_put_off(&story.id) {
        StoryState::Skipped
    } else if last.is_some_and(|last| !last.is_complete()) {
        StoryState::Failed
    } else {
        StoryState::Open
    }
}

/// Returns the stories in the order of the list, then attempted and skipped ones that are not in it.
fn stories_of(state: &State, listing: Option<&Listing>, attempted: Vec<StoryReport>) -> Vec<StoryReport> {
    let mut stories = Vec::new();
    let listed = listing.map_or(&[][..], |listing| &listing.stories);
    for story in listed.iter().filter(|story| story.done || !story.optional) {
        let report = story_of(&mut stories, &story.id, Some(&story.title));
        if story.done {
            report.state = StoryState::Complete;
        }
    }
    if listing.is_none() {
        for done in &state.progress().completed {
            story_of(&mut stories, &done.id, Some(&done.title));
        }
    }
    for story in attempted {
        let report = story_of(&mut stories, &story.id, None);
        if report.title.is_empty() {
            report.title = story.title;
        }
        if report.state == StoryState::Open {
            report.state = story.state;
        }
        report.attempts = story.attempts;
    }
    for id in &state.progress().skipped {
        story_of(&mut stories, id, None);
    }
    stories
}

/// Removes attempts, gates and events that ended before a time.
fn leave_out_before(report: &mut Report, since: Timestamp) {
    let mut left_out = 0;
    for story in &mut report.stories {
        let before = story.attempts.len();
        story.attempts.retain(|done| {
            let attempt = &done.entry.attempt;
            let took = jiff::SignedDuration::try_from_secs_f64(attempt.duration).unwrap_or_default();
            attempt.started.saturating_add(took).is_ok_and(|end| end >= since)
        });
        left_out += before - story.attempts.len();
    }
    report.gates.retain(|gate| gate.ended >= since);
    report.events.retain(|event| event.t >= since);
    report.started = report.started.map(|started| started.max(since));
    report.ended = report.ended.map(|ended| ended.max(since));
    if left_out > 0 {
        let what = format!("{left_out} attempts that ended before {since}");
        report.dropped.push(what);
    }
}

async fn add_links(report: &mut Report, repo: &Repo, state: &State, wanted: &Wanted) {
    let begin = state.common.original_head.as_ref();
    let set = wanted.link.as_deref();
    let links = Links::of(&repo.git, &state.common.branch, set, begin, state.checkpoint()).await;
    let Some(links) = links else {
        return;
    };
    report.compare_url = begin.and_then(|begin| links.compare(begin, state.checkpoint()));
    for attempt in report.stories.iter_mut().flat_map(|story| &mut story.attempts) {
        let oid = attempt.entry.checkpoint.as_ref();
        attempt.url = oid.and_then(|oid| links.commit(oid));
    }
}
