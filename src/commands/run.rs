//! `git ralph run`.

use super::choose::by_flag;
use super::dry_run;
use super::hold::hold;
use super::job_page::summarise;
use super::pick::change_to_run;
use super::run_end::RunEnd;
use super::setup::{context, put_stories_in, step_settings, tell_fixed, tell_ignored, tell_strategy};
use super::view;
use crate::cli;
use crate::cli::complete::changes_and_loops;
use crate::engine::attempt::refusal::AttemptRefusal;
use crate::engine::story_source::wanted;
use crate::engine::{
    self, AttemptOptions, Context, Loop, StartOptions, agent_of, refuse_inside_attempt, start,
};
use crate::error::Error;
use crate::events::What;
use crate::exit::Exit;
use crate::names::Change;
use crate::remote::refusal::RemoteRefusal;
use crate::remote::{Tenure, Watch, drive};
use crate::settings::{Choice, OnFailure, Options, Strategy};
use crate::stories;
use crate::ui::view::ViewThread;
use crate::ui::{self, Narrator, Screen};
use clap_complete::engine::ArgValueCandidates;
use std::ffi::OsString;
use std::time::Instant;

/// The arguments of `git ralph run`.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag that can be typed")]
pub struct Args {
    /// The change; defaults to that of the current branch, to the only active loop, or to the only change with open
    /// stories. Several run one after another
    #[arg(value_name = "CHANGE", add = ArgValueCandidates::new(changes_and_loops))]
    pub changes: Vec<String>,
    /// The choice.
    #[command(flatten)]
    pub choice: cli::Choice,
    /// Settings.
    #[command(flatten)]
    pub settings: cli::Settings,
    /// Limits of the run.
    #[command(flatten)]
    pub limits: cli::Limits,
    /// Changes of tests.
    #[command(flatten)]
    pub tests: cli::TestChanges,
    /// The story list.
    #[command(flatten)]
    pub stories: cli::StoriesFrom,
    /// When a story has no retries left: stop, skip the story, or finish the loop (ralph.onFailure)
    #[arg(long, value_name = "WHAT", value_parser = OnFailure::parse)]
    pub on_failure: Option<OnFailure>,
    /// Make checkpoints on a branch of their own, or leave HEAD and the index in place: branch or stash (ralph.strategy)
    #[arg(long, value_name = "WHERE", value_parser = Strategy::parse)]
    pub strategy: Option<Strategy>,
    /// A work tree of its own.
    #[command(flatten)]
    pub worktree: cli::OwnWorkTree,
    /// Start although a gate fails before any work; no story is complete until it passes
    #[arg(long)]
    pub allow_red: bool,
    /// Continue although an agent's own session worked on the loop lately
    #[arg(long)]
    pub force: bool,
    /// Show the view on the whole terminal, which can be left while the loop continues (ralph.view)
    #[arg(long, conflicts_with = "json")]
    pub view: bool,
    /// Hold the loop on this git remote, and push each step there (ralph.remote)
    #[arg(long, value_name = "REMOTE")]
    pub remote: Option<String>,
    /// Work on the next change that no run holds on the remote, until none is left
    #[arg(long, conflicts_with = "changes")]
    pub any: bool,
    /// Show the stories, settings, agent and gates of the loop, and the next attempt; change nothing
    #[arg(long, conflicts_with_all = ["any", "view"])]
    pub dry_run: bool,
    /// Print events as JSON, one per line (git ralph help events); with --dry-run one document
    #[arg(long)]
    pub json: bool,
    /// The agent's command; it reads the prompt from standard input
    #[arg(last = true, value_name = "AGENT")]
    pub agent: Vec<OsString>,
}

/// The end of the loop of one change.
pub(super) struct Ended {
    pub(super) exit: Exit,
    /// True if the loop was closed, and every story is complete or no failure was to stop the run.
    pub(super) may_go_on: bool,
}

impl Ended {
    /// A run that had nothing to do.
    const NOTHING_DONE: Self = Self {
        exit: Exit::Done,
        may_go_on: true,
    };
}

pub(super) async fn run(screen: Screen, args: Args) -> Result<Exit, Error> {
    refuse_inside_attempt()?;
    let change = args.changes.first().map(String::as_str);
    let ended = Box::pin(one(screen, &args, change, &mut Watch::default())).await;
    Ok(ended?.exit)
}

/// Starts or resumes the loop of one change, and works through it.
/// `watch` knows what was seen of the loops' holders on a remote.
pub(super) async fn one(
    screen: Screen,
    args: &Args,
    change: Option<&str>,
    watch: &mut Watch,
) -> Result<Ended, Error> {
    let narrator = Narrator::new(screen);
    let (context, change, options) = prepare(screen, &narrator, args, change).await?;
    if args.dry_run {
        Box::pin(show(screen, context, &change, args, &options)).await?;
        return Ok(Ended::NOTHING_DONE);
    }
    let remote = args.remote.as_deref();
    let Some((context, mut tenure)) = Box::pin(hold(context, &change, &options, remote, watch)).await? else {
        return Ok(Ended::NOTHING_DONE);
    };
    let started = match Box::pin(start(context, &change, &options, None)).await {
        Ok(started) => started,
        Err(error) => {
            if let Some(tenure) = tenure {
                tenure.give_back().await?;
            }
            return Err(error);
        }
    };
    let mut open = started.open;
    if let Some(tenure) = &mut tenure {
        tenure.keep(&open.context.stop);
    }
    if started.already {
        tell_fixed(&open);
        tell_strategy(&open, args.strategy);
    }
    let step = step_options(&open, args);
    let exit = work(screen, &mut open, &step, args, tenure.as_ref()).await;
    if !open.is_held() {
        // The process that holds the loop prints the summary.
        return exit.map(|exit| Ended {
            exit,
            may_go_on: false,
        });
    }
    let code = exit.as_ref().map_or_else(Error::exit, |exit| *exit).code();
    open.emit(What::RunEnded { exit: code });
    summarise(&open).await;
    let was_faster = matches!(exit, Err(Error::Remote(RemoteRefusal::Lost { .. })));
    let released = match tenure {
        // Another run was faster, before any work was done here.
        Some(tenure) if !started.already && was_faster && !tenure.has_published().await => {
            engine::abort(&mut open).await
        }
        Some(tenure) => tenure.release(&open).await,
        None => Ok(()),
    };
    let exit = exit?;
    released?;
    let ended_well = exit == Exit::Done || step.settings.on_failure != OnFailure::Stop;
    Ok(Ended {
        exit,
        may_go_on: ended_well && !open.state.is_live(),
    })
}

/// Opens the repository, and finds the change and how its loop would start. Refuses a run that could not begin.
async fn prepare<'o>(
    screen: Screen,
    narrator: &'o Narrator,
    args: &Args,
    change: Option<&str>,
) -> Result<(Context<'o>, Change, StartOptions), Error> {
    let context = context(narrator).await?;
    let mut settings = context.configuration.settings.clone();
    let typed = Options::from(&args.settings);
    typed.apply(&mut settings);
    settings.strategy = args.strategy.unwrap_or(settings.strategy);
    put_stories_in(&mut settings, &context, &args.stories)?;
    let change = match change {
        Some(name) => Change::new(name)?,
        None => change_to_run(screen, &context, &settings).await?,
    };
    ui::set_subject(&change);
    tell_ignored(&context, &change);
    if agent_of(&args.agent, &settings, &context.repo.top).is_none() && !goes_on(&context, &change) {
        // The hint does not repeat a mistyped name.
        stories::resolve(
            &context.repo.top,
            change.as_str(),
            &wanted(&settings, &change, &context.below_top),
        )?;
        return Err(AttemptRefusal::NoAgent(format!("run {change}")).into());
    }
    let options = StartOptions {
        settings,
        typed,
        agent: args.agent.clone(),
        restart: false,
        allow_red: args.allow_red,
        own_work_tree: args.worktree.place(),
        linked: None,
    };
    Ok((context, change, options))
}

/// Shows what the run would do (`--dry-run`).
async fn show(
    screen: Screen,
    context: Context<'_>,
    change: &Change,
    args: &Args,
    options: &StartOptions,
) -> Result<(), Error> {
    if goes_on(&context, change) {
        let given = (&args.settings, args.agent.as_slice());
        Box::pin(dry_run::of_loop(screen, context, change, None, given)).await?;
    } else {
        dry_run::of_new_loop(screen, &context, change, options, None).await?;
    }
    Ok(())
}

/// Returns the options of the run's attempts.
fn step_options(open: &Loop<'_>, args: &Args) -> AttemptOptions {
    let mut settings = step_settings(open, &args.settings);
    args.limits.apply(&mut settings);
    args.tests.apply(&mut settings);
    settings.on_failure = args.on_failure.unwrap_or(settings.on_failure);
    AttemptOptions {
        settings,
        agent: args.agent.clone(),
        started: 0,
        force: args.force,
    }
}

/// Runs the loop until it stops, and again after each answer of the user that continues it. Returns how it ended.
async fn work(
    screen: Screen,
    open: &mut Loop<'_>,
    step: &AttemptOptions,
    args: &Args,
    tenure: Option<&Tenure>,
) -> Result<Exit, Error> {
    let given = by_flag(args.choice);
    let mut has_view = (args.view || step.settings.view) && view::can_be_shown(screen, args.view);
    loop {
        let begun = Instant::now();
        let mut shown = None;
        if has_view {
            shown = view::begin(screen, &open.context, open.change()).await;
        }
        let stopped = match tenure {
            Some(tenure) => Box::pin(drive(open, step, tenure)).await,
            None => Box::pin(engine::run(open, step)).await,
        };
        // The loop has gone on without a view that was left or has failed; so does the rest.
        has_view = shown.as_mut().is_some_and(ViewThread::close);
        let end = RunEnd {
            stopped: stopped?,
            begun,
            has_view,
        };
        if let Some(exit) = end.conclude(screen, open, given, step).await? {
            return Ok(exit);
        }
    }
}

/// Returns whether the loop is already live, so that its state may name the agent.
pub(super) fn goes_on(context: &Context<'_>, change: &Change) -> bool {
    context.resolve_change(Some(change.as_str())).is_ok()
}
