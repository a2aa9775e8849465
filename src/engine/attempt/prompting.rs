//! The prompt of the next attempt.

use std::path::Path;

use super::learnings;
use crate::engine::{Context, Loop, numbers};
use crate::error::Error;
use crate::fs::seen;
use crate::names::Change;
use crate::prompt::{self, Template, from_user};
use crate::settings::Settings;
use crate::settings::{BoxMode, Choice, TestChanges};
use crate::state::{Message, Phase, Store, Verdict};
use crate::stories::{Adapter, Listing, Source, Story};

/// Renders the prompt of the next attempt at `story` of this listing.
pub fn prompt_text(
    open: &Loop<'_>,
    listing: &Listing,
    story: &Story,
    settings: &Settings,
) -> Result<String, Error> {
    let current = open.state.current_at(&story.id);
    let running = open.state.phase() == Phase::Running;
    let attempt = match current {
        Some(current) if running => current.attempt,
        _ => numbers::next_number(open, &story.id)?,
    };
    // Attempts that do not count have numbers too, but no reason.
    let failed = current.filter(|current| {
        let counted = current
            .verdict
            .is_some_and(|verdict| verdict.counts() || verdict == Verdict::Conflict);
        !running && counted && current.reason.is_some()
    });
    let (last_attempt, last_log) = failed
        .map(|failed| numbers::left_by(open, &failed.id, failed.attempt))
        .unwrap_or_default();
    let top = &open.repo().top;
    let last_log = last_log.map(|log| below(top, &log));
    // A session has none of git-ralph's variables, so the prompt contains the path.
    let mut texts = Texts::of(top, (open.state.source(), listing), &learnings::file(open));
    // Other open stories may be in progress beside this one, so their notes get no mark.
    let completed = &open.state.progress().completed;
    texts.learnings = prompt::marked(&texts.learnings, |of, number| {
        let work = || completed.iter().find(|done| done.id == of)?.work.as_ref();
        if of == story.id {
            number < attempt && open.state.here.restored.as_deref() != Some(&*format!("{of}@{number}"))
        } else {
            let undone = open.state.progress().redone_at(of);
            let is_undone = undone.is_some_and(|(kept, _)| kept == open.change().attempt_ref(of, number));
            is_undone || work().is_some_and(|work| work.attempt != number)
        }
    });
    let change = open.change().worked_on();
    let work = (&change, open.state.source(), listing, story);
    let inputs = prompt::Inputs {
        branch: &open.state.common.branch,
        strategy: open.state.common.strategy.name(),
        attempt,
        reason: current.and_then(|current| current.reason.as_deref()),
        redone: open.state.progress().redone_at(&story.id),
        checkpoint: open.state.checkpoint().short(),
        last_attempt: last_attempt.as_deref(),
        last_log: last_log.as_deref(),
        ..texts.inputs(work, settings)
    };
    Ok(with_messages(
        render(top, &inputs, settings)?,
        &open.state.here.messages,
    ))
}

/// Adds messages of the user to a prompt.
pub(crate) fn with_messages<'t>(prompt: String, messages: impl IntoIterator<Item = &'t Message>) -> String {
    let words = messages
        .into_iter()
        .map(|message| (message.text.as_str(), message.during.as_deref()));
    from_user(prompt, words)
}

/// Renders the prompt that the first attempt at `story` would get in a loop that has not begun. Changes nothing.
pub fn first_prompt(
    context: &Context<'_>,
    change: &Change,
    source: &Source,
    listing: &Listing,
    story: &Story,
    settings: &Settings,
) -> Result<String, Error> {
    let repo = &context.repo;
    let store = Store::new(&repo.common_dir, change);
    let branch = settings.strategy.branch(change, &context.head);
    let file = store.file(learnings::FILE);
    let texts = Texts::of(&repo.top, (source, listing), &file);
    let inputs = prompt::Inputs {
        branch: &branch,
        strategy: settings.strategy.name(),
        attempt: numbers::logged(&store.file("attempts"), &story.id)?.saturating_add(1),
        ..texts.inputs((change, source, listing, story), settings)
    };
    render(&repo.top, &inputs, settings)
}

fn render(top: &Path, inputs: &prompt::Inputs<'_>, settings: &Settings) -> Result<String, Error> {
    Ok(prompt::render(
        &Template::load(top, settings.prompt.as_deref())?,
        inputs,
    )?)
}

/// The texts from which a prompt is built.
#[derive(Default)]
pub(crate) struct Texts {
    context: Vec<String>,
    learnings: String,
    learnings_file: String,
}

impl Texts {
    fn of(top: &Path, (source, listing): (&Source, &Listing), file: &Path) -> Self {
        Self {
            context: context_files(top, source, listing),
            learnings: learnings::newest_in(file),
            learnings_file: below(top, file),
        }
    }

    /// Returns the inputs of a first attempt at a story of a list.
    pub fn inputs<'a>(
        &'a self,
        (change, source, listing, story): (&'a Change, &'a Source, &'a Listing, &'a Story),
        settings: &'a Settings,
    ) -> prompt::Inputs<'a> {
        prompt::Inputs {
            work: prompt::Work {
                change: change.as_str(),
                story,
                source: &source.path,
                preamble: &listing.preamble,
                context: &self.context,
                gates: &settings.verify,
            },
            branch: "HEAD",
            strategy: settings.strategy.name(),
            boxed: settings.boxing.mode != BoxMode::Off,
            adapter: source.adapter.name(),
            whole: source.is_whole(),
            mark: settings.mark.name(),
            attempt: 1,
            reason: None,
            redone: None,
            checkpoint: "HEAD",
            last_attempt: None,
            last_log: None,
            learnings: &self.learnings,
            learnings_file: &self.learnings_file,
            held_tests: held_tests(settings),
            may_continue: settings.offers_to_continue(),
        }
    }
}

/// Returns a path relative to the top, if the path is below it.
fn below(top: &Path, path: &Path) -> String {
    let path = path.strip_prefix(top).unwrap_or(path);
    path.to_string_lossy().into_owned()
}

/// Lists the documents that explain the change: beside an openspec story list, or a list with text beside its stories.
pub(crate) fn context_files(top: &Path, source: &Source, listing: &Listing) -> Vec<String> {
    let mut files: Vec<String> = Vec::new();
    if source.adapter == Adapter::Openspec
        && let Some(dir) = Path::new(&source.path).parent()
    {
        let beside = ["proposal.md", "design.md", "specs"]
            .iter()
            .map(|name| dir.join(name));
        let beside = beside.filter(|path| seen(&top.join(path)).is_some());
        files.extend(beside.map(|path| path.to_string_lossy().into_owned()));
    }
    files.extend(listing.has_more_text.then(|| source.path.clone()));
    files
}

/// Returns the pathspecs of the tests that an attempt cannot change to pass its gates.
fn held_tests(settings: &Settings) -> &[String] {
    let rules = &settings.tests;
    // If reviewers decide, an agent that leaves the tests alone would ask the user instead.
    let may_change = rules.changes == TestChanges::Allow || settings.has_tests_reviewed();
    if settings.verify.is_empty() || may_change {
        return &[];
    }
    &rules.pathspecs
}
