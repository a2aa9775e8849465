//! Runs a reviewer once: its prompt, its process, and its answer.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use super::opinion::{Opinion, opinion, words};
use super::reviewer::Reviewer;
use crate::agent::decode::{Decoder, Format, Report};
use crate::agent::job::Job;
use crate::agent::promise::{Nonce, Tag};
use crate::engine::Loop;
use crate::engine::attempt::agent_run::{agent_job, run_job};
use crate::engine::attempt::held::ForReview;
use crate::engine::attempt::prompting::context_files;
use crate::engine::boxed::{self, Inside};
use crate::engine::output_tail::{length, printed};
use crate::engine::stories::list_before_attempt;
use crate::error::Error;
use crate::events::{News, ReviewEnded, What};
use crate::fs::Durability;
use crate::names::{Oid, typed_path};
use crate::paths::shown;
use crate::prompt::{self, review};
use crate::settings::{Settings, to_std};
use crate::state::RunningGate;
use crate::stories::Story;

/// The variable with the path of the prompt, for a command that names `{prompt_file}`.
const PROMPT_FILE: &str = "RALPH_PROMPT_FILE";

/// The work that is judged.
pub(crate) struct Work<'a> {
    pub story: &'a Story,
    /// The number of the attempt that did it.
    pub attempt: u32,
    /// The commit before it.
    pub from: Oid,
    /// The tree or the commit with it.
    pub to: Oid,
    /// The differences between the two commits or trees.
    pub changes: Vec<(u8, Vec<u8>)>,
    /// The paths that are restored to their previous versions while the reviewer works.
    pub aside: Vec<Vec<u8>>,
    /// The gates that passed.
    pub gates: &'a [String],
    /// The changes of held files that the reviewer decides about.
    pub held: Option<&'a ForReview>,
    /// True if the agent is known to have said that the story is complete.
    pub promised: bool,
}

/// The occasion of a review, and the log that gets its output.
#[derive(Clone, Copy)]
pub(crate) enum Ground<'a> {
    /// An attempt is judged; the review is an event of it.
    Attempt(&'a File),
    /// The user asks; nothing is recorded.
    Person(&'a File),
}

/// The answer of a reviewer.
pub(crate) struct Answer {
    pub opinion: Opinion,
    /// The end of its last message, without the verdict.
    pub words: String,
    pub time: Duration,
    pub report: Report,
}

impl Answer {
    /// Returns an answer without a verdict, with the reason.
    pub fn none(why: String) -> Self {
        Self {
            opinion: Opinion::None(why),
            words: String::new(),
            time: Duration::ZERO,
            report: Decoder::new(Format::Text, "").finish(),
        }
    }
}

/// Runs a reviewer to its end. The caller undoes the reviewer's changes.
pub(crate) async fn ask(
    open: &Loop<'_>,
    reviewer: &Reviewer,
    work: &Work<'_>,
    settings: &Settings,
    job: Job,
    ground: Ground<'_>,
) -> Result<Answer, Error> {
    let name = reviewer.name();
    let confined = boxed::of_loop(open, settings, Inside::Reviewer(&reviewer.agent)).await?;
    let nonce = Nonce::random();
    let tag = Tag::verdict(nonce);
    let text = prompt_of(open, reviewer, work, tag).await?;
    let prompt_file = open.site().file("review.md");
    let is_named = reviewer.agent.command.argv(&prompt_file).1;
    // Commands that the reviewer runs could read the prompt there.
    if is_named {
        open.store.door().write_private(&prompt_file, &text)?;
    } else {
        open.store.door().remove_file(&prompt_file)?;
    }
    open.context
        .observer
        .hear(News::Doing(&format!("review: {name}")));
    if matches!(ground, Ground::Attempt(_)) {
        open.state
            .note_running(|running| running.judging = Some(RunningGate::reviewer(&name)));
        // Display only.
        open.save_for(Durability::Atomic)?;
    }
    let (Ground::Attempt(log) | Ground::Person(log)) = ground;
    let (since, from) = (Instant::now(), length(log));
    let agent = &reviewer.agent;
    let mut job = Job {
        timeout: settings.review_timeout().map(to_std),
        idle_timeout: settings.idle_timeout.map(to_std),
        ..agent_job(job, agent, &prompt_file, &text, &confined)
    };
    job.env.retain(|(name, _)| name != PROMPT_FILE);
    if is_named {
        job.env.push((PROMPT_FILE.into(), prompt_file.into_os_string()));
    }
    let mut decoder = Decoder::of(tag, agent.format, &text).likely(agent.likely);
    let (ended, _) = run_job(open, job, log, &mut decoder).await?;
    let report = decoder.finish();
    let opinion = opinion(&ended.ending, &report, agent.name.as_deref());
    let is_verdict = matches!(opinion, Opinion::Accepted | Opinion::Rejected);
    if is_verdict && !report.message.text.contains(nonce.text()) {
        open.tell(format!(
            "the verdict of the reviewer {name} has not the letters and digits of its prompt; it counts, because it is its final message"
        ));
    }
    let (words, time) = (words(&report), since.elapsed());
    if let Ground::Attempt(log) = ground {
        let (accepted, words) = match &opinion {
            Opinion::Accepted => (Some(true), words.clone()),
            Opinion::Rejected => (Some(false), words.clone()),
            Opinion::None(why) => (None, why.clone()),
            Opinion::Away(unavailable) => (None, unavailable.reason.clone()),
            Opinion::Interrupted(_) => (None, String::new()),
        };
        open.emit(What::Review(ReviewEnded {
            story: work.story.id.clone(),
            attempt: work.attempt,
            reviewer: name,
            accepted,
            words: Some(words).filter(|words| !words.is_empty()),
            duration: time.as_secs_f64(),
            cost_usd: report.cost_usd,
            output: printed(log, from),
        }));
    }
    Ok(Answer {
        opinion,
        words,
        time,
        report,
    })
}

async fn prompt_of(open: &Loop<'_>, reviewer: &Reviewer, work: &Work<'_>, tag: Tag) -> Result<String, Error> {
    let listing = list_before_attempt(open).await?.unwrap_or_default();
    let context = context_files(&open.repo().top, open.state.source(), &listing);
    let files: Vec<String> = work.changes.iter().map(|(_, path)| shown(path)).collect();
    let aside: Vec<String> = work.aside.iter().map(|path| shown(path)).collect();
    let tests = work.held.map_or_else(Vec::new, |held| {
        let paths = held.files.iter();
        paths
            .map(|(path, was)| (was.as_str(), typed_path(Path::new(OsStr::from_bytes(path)))))
            .collect()
    });
    let inputs = review::Inputs {
        work: prompt::Work {
            change: open.change().as_str(),
            story: work.story,
            source: &open.state.source().path,
            preamble: &listing.preamble,
            context: &context,
            gates: work.gates,
        },
        from: work.from.as_str(),
        to: work.to.as_str(),
        files: &files,
        tests: &tests,
        tests_fail: work.held.and_then(ForReview::why),
        aside: &aside,
        promised: work.promised,
        tag,
    };
    Ok(review::render(&reviewer.template, &inputs)?)
}
