//! The checks of `start` before anything is changed.

use std::env;
use std::ffi::OsString;
use std::path::Path;

use crate::agent::Agent;
use crate::engine::attempt::agent_choice::stand_in;
use crate::engine::attempt::prompting::Texts;
use crate::engine::attempt::refusal::AttemptRefusal;
use crate::engine::attempt::{held, unpromised};
use crate::engine::position::refuse_operation;
use crate::engine::repository_refusal::RepositoryRefusal;
use crate::engine::steps::start_refusal::StartRefusal;
use crate::engine::stories::{Upcoming, first_story, list_of_new_loop, nothing_to_begin, upcoming};
use crate::engine::story_refusal::StoryRefusal;
use crate::engine::story_source::take_commands;
use crate::engine::{Context, Place, agent_of};
use crate::error::{Error, refuse};
use crate::git::index::Entries;
use crate::git::{RefInfo, StagedEntry, locks, oid_of};
use crate::names::{Change, Oid};
use crate::paths::{first_few, real};
use crate::prompt::{self, Template};
use crate::settings::{BoxMode, LoopCommands, LoopSettings, Mark, MinimumBox, Options, Settings, Strategy};
use crate::state::{self, Linked, State, Store};
use crate::stories::{Listing, Source};

/// Options of `start` and `run` on the command line.
#[derive(Clone, Debug, Default)]
pub struct StartOptions {
    /// Settings, including those of the command line.
    pub settings: Settings,
    /// The settings of the command line, which the loop keeps.
    pub typed: Options,
    /// The agent given after `--`, only to check that it exists.
    pub agent: Vec<OsString>,
    /// True to abort a live loop first.
    pub restart: bool,
    /// True to begin the loop although a gate fails before any work.
    pub allow_red: bool,
    /// The work tree that the loop is to get for itself; `None` if it works in the present one.
    pub own_work_tree: Option<Place>,
    /// The origin of the present work tree, if it was made for the loop.
    pub linked: Option<Linked>,
    /// The new files made by its preparation, which are no work of the loop.
    pub set_up: Vec<StagedEntry>,
    /// The purpose of the loop.
    pub begun_for: BegunFor,
}

/// The purpose of a loop.
#[derive(Clone, Debug, Default)]
pub enum BegunFor {
    /// The stories of a change.
    #[default]
    Change,
    /// One story of another change, attempted beside others.
    Side,
    /// Only the gates, which judge a merged tree for this list; no story is attempted.
    Landing(Box<Source>),
}

impl BegunFor {
    /// Returns whether the loop works for another loop, and not for the user.
    pub fn is_of_side(&self) -> bool {
        !matches!(self, Self::Change)
    }
}

impl StartOptions {
    /// Returns the commands of these options that the loop keeps.
    pub(super) fn commands(&self) -> LoopCommands {
        LoopCommands {
            agent: self.typed.agent.clone(),
            verify: self.typed.verify.clone(),
            unproven: Vec::new(),
        }
    }

    /// Returns the settings of these options that the loop keeps.
    pub(super) fn kept(&self) -> LoopSettings {
        LoopSettings {
            mark: self.settings.mark,
            plain: self.typed.plain,
            gates: Vec::new(),
            least: MinimumBox {
                mode: match self.typed.plain.boxed {
                    Some(_) => BoxMode::Off,
                    None => self.settings.boxing.of_tree.mode,
                },
                ..self.settings.boxing.of_tree
            },
        }
    }
}

/// Results of the checks that `start` uses.
pub struct Found {
    /// The source of the stories.
    pub source: Source,
    /// The stories.
    pub listing: Listing,
    /// The tip of a branch of this name that no live loop owns.
    pub leftover: Option<Oid>,
    /// The refs of an earlier loop of this name.
    pub(super) earlier: Vec<RefInfo>,
    /// The commits of the user's branches, tags and stash.
    pub(super) tips: Vec<Oid>,
}

/// Makes all the checks of `start`. `refs` are all refs, if they are known.
pub(super) async fn check(
    context: &Context<'_>,
    change: &Change,
    options: &StartOptions,
    refs: Option<Vec<RefInfo>>,
) -> Result<Found, Error> {
    let repo = &context.repo;
    refuse_home_or_root(context)?;
    refuse_other_loops(context, change)?;
    refuse_operation(repo).await?;
    locks::require_free(repo).await?;
    refuse_head(context, change, options).await?;
    let refs = match refs {
        Some(refs) => refs,
        None => repo.git.all_refs(repo.has_many_refs()).await?,
    };
    let leftover = leftover(context, change, options.settings.strategy, &refs)?;
    let (source, listing) = match &options.begun_for {
        BegunFor::Landing(source) => ((**source).clone(), Listing::default()),
        BegunFor::Change | BegunFor::Side => {
            let found = stories_to_do(context, change, options).await?;
            check_attempts(context, change, options, &found).await?;
            found
        }
    };
    let tips = tips(context, &refs).await?;
    let loop_refs = change.ralph_ref("");
    Ok(Found {
        source,
        listing,
        leftover,
        tips,
        earlier: refs
            .into_iter()
            .filter(|found| found.name.starts_with(&loop_refs))
            .collect(),
    })
}

/// Refuses settings that would prevent every attempt.
async fn check_attempts(
    context: &Context<'_>,
    change: &Change,
    options: &StartOptions,
    (source, listing): &(Source, Listing),
) -> Result<(), Error> {
    let repo = &context.repo;
    check_template(context, change, &options.settings, source, listing)?;
    held::require_pathspecs(&repo.git, &options.settings).await?;
    unpromised::require_judge(&options.settings)?;
    let missing = |agent: Option<Agent>| AttemptRefusal::of_missing(&agent?.command, &repo.top);
    let stand_in = stand_in(&options.settings, &repo.top);
    let has_stand_in = stand_in.is_some() && missing(stand_in).is_none();
    let agent = agent_of(&options.agent, &options.settings, &repo.top);
    match missing(agent) {
        Some(missing) if !has_stand_in => Err(missing.into()),
        _ => Ok(()),
    }
}

/// Refuses a HEAD on the loop's own branch, or on anything but a branch.
async fn refuse_head(context: &Context<'_>, change: &Change, options: &StartOptions) -> Result<(), Error> {
    let Some(branch) = &context.head.branch else {
        return Ok(());
    };
    if *branch == change.branch_ref() {
        let state = Store::new(&context.repo.common_dir, change).load()?;
        return Err(match state {
            Some(mut state) => {
                take_commands(&mut state, &context.configuration);
                on_finished_branch(context, &state, options).await
            }
            None => StartRefusal::OnLoopBranch {
                branch: change.branch(),
                // The named path is relative to the top.
                stories: options
                    .settings
                    .stories
                    .clone()
                    .filter(|_| context.below_top == Path::new("")),
            }
            .into(),
        });
    }
    if branch.starts_with("refs/heads/") {
        Ok(())
    } else {
        Err(StartRefusal::OddHead(branch.clone()).into())
    }
}

/// Returns the tip that an earlier loop of this name left where the new one puts its commits.
fn leftover(
    context: &Context<'_>,
    change: &Change,
    strategy: Strategy,
    refs: &[RefInfo],
) -> Result<Option<Oid>, Error> {
    if !strategy.leaves_head() {
        return check_branch(change, refs);
    }
    if context.head.oid.is_none() {
        return Err(StartRefusal::NoCommit.into());
    }
    Ok(oid_of(refs, &strategy.tip_ref(change)))
}

/// Finds the stories of the change, at least one of which can be attempted and marked.
async fn stories_to_do(
    context: &Context<'_>,
    change: &Change,
    options: &StartOptions,
) -> Result<(Source, Listing), Error> {
    let settings = &options.settings;
    let (source, listing) = list_of_new_loop(context, change, settings, options.restart).await?;
    if listing.stories.is_empty() {
        return Err(StoryRefusal::of_none(source).into());
    }
    if settings.mark == Mark::Auto && !source.is_by_command() {
        source.target(&context.repo.top)?;
    }
    first_story(&context.repo.top, change, &source, &listing)?;
    Ok((source, listing))
}

/// Returns the commits of the user's branches, tags and stash.
async fn tips(context: &Context<'_>, refs: &[RefInfo]) -> Result<Vec<Oid>, Error> {
    let mut tips: Vec<Oid> = refs
        .iter()
        .filter(|found| !found.name.starts_with("refs/ralph/"))
        .filter_map(|found| found.commit.clone())
        .collect();
    if refs.iter().any(|found| found.name == "refs/stash") {
        let stash = context.repo.stash().await?;
        tips.extend(stash.into_iter().map(|entry| entry.oid));
    }
    tips.sort();
    tips.dedup();
    Ok(tips)
}

/// Returns the error for a start on the branch of a finished loop: no story is left, or a new loop begins on another
/// branch.
async fn on_finished_branch(context: &Context<'_>, state: &State, options: &StartOptions) -> Error {
    let listing = state.source().list(&context.repo.top).await;
    if let Ok(listing) = listing
        && !listing.stories.is_empty()
        && upcoming(&listing, &[]) == Upcoming::Nothing
    {
        return nothing_to_begin(&context.repo.top, &state.change, state.source(), &listing);
    }
    if options.linked.is_some() {
        // The command was typed in another work tree.
        return StartRefusal::CheckedOutElsewhere {
            branch: state.common.branch.clone(),
            path: context.repo.top.display().to_string(),
        }
        .into();
    }
    StartRefusal::OnFinishedBranch {
        branch: state.common.branch.clone(),
        original: state.original_name(),
    }
    .into()
}

/// Checks the template: a mistake is reported now instead of at a later story.
fn check_template(
    context: &Context<'_>,
    change: &Change,
    settings: &Settings,
    source: &Source,
    listing: &Listing,
) -> Result<(), Error> {
    let template = Template::load(&context.repo.top, settings.prompt.as_deref())?;
    for story in listing.stories.iter().filter(|story| !story.done).take(1) {
        let texts = Texts::default();
        let branch = settings.strategy.branch(change, &context.head);
        let inputs = prompt::Inputs {
            branch: &branch,
            ..texts.inputs((change, source, listing, story), settings)
        };
        prompt::check(&template, &inputs)?;
    }
    Ok(())
}

fn refuse_home_or_root(context: &Context<'_>) -> Result<(), Error> {
    let top = real(&context.repo.top);
    let home = env::home_dir().and_then(|home| home.canonicalize().ok());
    if top.parent().is_none() || Some(&top) == home.as_ref() {
        Err(StartRefusal::TooMuch(top).into())
    } else {
        Ok(())
    }
}

/// Refuses while another loop is live in this work tree.
pub(super) fn refuse_other_loops(context: &Context<'_>, change: &Change) -> Result<(), Error> {
    for other in state::changes(&context.repo.common_dir)? {
        if other == *change {
            continue;
        }
        let state = match Store::new(&context.repo.common_dir, &other).load() {
            // The work tree of a side is new: no other loop can be in it.
            Err(_) if change.side_of().is_some() => continue,
            state => state?,
        };
        if state.is_some_and(|state| state.is_live() && state.work_tree() == context.repo.top) {
            return Err(StartRefusal::OtherLoop(other.to_string()).into());
        }
    }
    Ok(())
}

/// Returns the tip of a leftover branch of this name, after checking that no branch name conflicts.
fn check_branch(change: &Change, refs: &[RefInfo]) -> Result<Option<Oid>, Error> {
    let wanted = change.branch_ref();
    let below = format!("{wanted}/");
    let mut leftover = None;
    for found in refs.iter().filter(|found| found.name.starts_with("refs/heads/")) {
        if found.name == "refs/heads/ralph" || found.name.starts_with(&below) {
            return refuse(StartRefusal::BranchInTheWay {
                branch: found.name.trim_start_matches("refs/heads/").to_owned(),
                wanted: change.branch(),
            });
        }
        if found.name == wanted {
            if let Some(path) = &found.checked_out {
                return refuse(StartRefusal::CheckedOutElsewhere {
                    branch: change.branch(),
                    path: path.clone(),
                });
            }
            leftover = Some(found.oid.clone());
        }
    }
    Ok(leftover)
}

/// Refuses an index with conflicts.
pub fn refuse_unmerged(entries: &Entries) -> Result<(), Error> {
    if entries.unmerged.is_empty() {
        return Ok(());
    }
    // A conflict has one stage for each side.
    let mut unmerged = entries.unmerged.clone();
    unmerged.dedup();
    refuse(StartRefusal::Unmerged(first_few(&unmerged)))
}

/// Refuses an index with conflicts or other unusable entries.
pub(super) async fn refuse_index_state(context: &Context<'_>, entries: &Entries) -> Result<(), Error> {
    refuse_unmerged(entries)?;
    if !entries.submodules.is_empty()
        && let Some(unclean) = context.repo.unclean_submodule().await?
    {
        return Err(RepositoryRefusal::from(unclean).into());
    }
    Ok(())
}
