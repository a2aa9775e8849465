//! `git ralph run`.

use super::choose::{AT_THE_END, by_flag, choose, closes};
use super::dry_run;
use super::job_page::summarise;
use super::notify::notify;
use super::pick::change_to_run;
use super::setup::{context, put_stories_in, step_settings, tell_fixed, tell_ignored, tell_strategy};
use super::view;
use crate::cli;
use crate::cli::complete::changes_and_loops;
use crate::engine::attempt::refusal::AttemptRefusal;
use crate::engine::question::Answered;
use crate::engine::story_source::wanted;
use crate::engine::{
    self, AttemptOptions, Context, Finish, Loop, StartOptions, Step, Stopped, adopt, agent_of,
    refuse_inside_attempt, start,
};
use crate::error::Error;
use crate::events::What;
use crate::exit::Exit;
use crate::inspect::next_steps::Driver;
use crate::inspect::summary::Summary;
use crate::names::Change;
use crate::remote::refusal::RemoteRefusal;
use crate::remote::{Server, Taken, Tenure, Watch, drive, require_branch};
use crate::settings::{
    FinishChoice, OnFailure, Options, Settings, Strategy, parse_on_failure, parse_strategy,
};
use crate::state::Store;
use crate::stories;
use crate::ui::choice::Choice;
use crate::ui::view::ViewThread;
use crate::ui::{self, Narrator, Screen};
use clap_complete::engine::ArgValueCandidates;
use std::ffi::OsString;
use std::time::Instant;

/// The choices when a story has no retries left.
const AFTER_A_FAILURE: [Choice; 7] = [
    Choice::Retry,
    Choice::Skip,
    Choice::Diff,
    Choice::Log,
    Choice::Cleanup,
    Choice::Keep,
    Choice::Quit,
];

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
    #[arg(long, value_name = "WHAT", value_parser = parse_on_failure)]
    pub on_failure: Option<OnFailure>,
    /// Make checkpoints on a branch of their own, or leave HEAD and the index in place: branch or stash (ralph.strategy)
    #[arg(long, value_name = "WHERE", value_parser = parse_strategy)]
    pub strategy: Option<Strategy>,
    /// A work tree of its own.
    #[command(flatten)]
    pub worktree: cli::OwnWorkTree,
    /// Start although a gate fails before any work; no story is complete until it passes
    #[arg(long)]
    pub allow_red: bool,
    /// Go on although an agent's own session was at work on the loop lately
    #[arg(long)]
    pub force: bool,
    /// Show the view on the whole terminal, which can be left while the loop goes on (ralph.view)
    #[arg(long, conflicts_with = "json")]
    pub view: bool,
    /// Hold the loop on this git remote, and push each step there (ralph.remote)
    #[arg(long, value_name = "REMOTE")]
    pub remote: Option<String>,
    /// Work on the next change that nobody holds on the remote, until none is left
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
    let mut narrator = Narrator::new(screen);
    let mut context = context(&mut narrator).await?;
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
    tell_ignored(&mut context, &change);
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
    if args.dry_run {
        if goes_on(&context, &change) {
            let given = (&args.settings, args.agent.as_slice());
            Box::pin(dry_run::of_loop(screen, context, &change, None, given)).await?;
        } else {
            Box::pin(dry_run::of_new_loop(screen, &context, &change, &options, None)).await?;
        }
        return Ok(Ended {
            exit: Exit::Done,
            may_go_on: true,
        });
    }
    let mut tenure = None;
    if args.remote.is_some() || options.settings.remote.is_some() {
        let server = Server::new(&context.repo, &options.settings, args.remote.as_deref())?;
        require_shareable(&context, &change, options.settings.strategy)?;
        let own = options.own_work_tree.is_some();
        let taken = Box::pin(take(context, server, &change, &options.settings, own, watch)).await?;
        match Box::pin(tell_of_its_end(taken, &change)).await? {
            Some(taken) => {
                context = taken.0;
                tenure = Some(taken.1);
            }
            None => {
                return Ok(Ended {
                    exit: Exit::Done,
                    may_go_on: true,
                });
            }
        }
    }
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
        tell_fixed(&mut open);
        tell_strategy(&mut open, args.strategy);
    }
    let mut step = AttemptOptions {
        settings: step_settings(&open, &args.settings),
        agent: args.agent.clone(),
        started: 0,
        force: args.force,
    };
    args.limits.apply(&mut step.settings);
    args.tests.apply(&mut step.settings);
    if let Some(on_failure) = args.on_failure {
        step.settings.on_failure = on_failure;
    }
    let given = by_flag(args.choice);
    let mut has_view = (args.view || step.settings.view) && view::can_be_shown(screen, args.view);
    let exit = loop {
        let begun = Instant::now();
        let mut shown = None;
        if has_view {
            shown = view::begin(screen, &open.context, open.change()).await;
        }
        let ended = match &tenure {
            Some(tenure) => Box::pin(drive(&mut open, &step, tenure)).await,
            None => Box::pin(engine::run(&mut open, &step)).await,
        };
        // The loop has gone on without a view that was left or has failed; so does the rest.
        has_view = shown.as_mut().is_some_and(ViewThread::close);
        let end = match ended {
            Ok(stopped) => conclude(screen, &mut open, stopped, given, &step, begun, has_view).await,
            Err(error) => Err(error),
        };
        match end {
            Ok(None) => {}
            Ok(Some(exit)) => break Ok(exit),
            Err(error) => break Err(error),
        }
    };
    if !open.is_held() {
        // It is for another process to say where the loop stands.
        return exit.map(|exit| Ended {
            exit,
            may_go_on: false,
        });
    }
    let code = exit.as_ref().map_or_else(Error::exit, |exit| *exit).code();
    open.emit(What::RunEnded { exit: code });
    summarise(&mut open).await;
    let released = match tenure {
        // Another run was faster, before any work was done here.
        Some(tenure)
            if !started.already
                && matches!(exit, Err(Error::Remote(RemoteRefusal::Lost { .. })))
                && !tenure.has_published().await =>
        {
            engine::abort(&mut open).await
        }
        Some(tenure) => tenure.release(&mut open).await,
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

/// Takes a loop on a remote, and makes it here if it is not here as it is there.
async fn take<'o>(
    context: Context<'o>,
    server: Server,
    change: &Change,
    settings: &Settings,
    own_work_tree: bool,
    watch: &mut Watch,
) -> Result<(Context<'o>, Tenure, bool), Error> {
    let remote = server.name().to_owned();
    let Taken {
        tenure,
        portable,
        from,
        was_complete,
    } = Tenure::take(&context, server, change, watch).await?;
    let Some(portable) = portable else {
        return Ok((context, tenure, was_complete));
    };
    if own_work_tree {
        tenure.give_back().await?;
        let change = change.to_string();
        return Err(RemoteRefusal::OwnWorkTree { change }.into());
    }
    match Box::pin(adopt(context, change, portable, settings)).await {
        Ok(mut open) => {
            open.emit(What::HandedOver { from, remote });
            let mut context = open.context;
            context.head = context.repo.head().await?;
            Ok((context, tenure, was_complete))
        }
        Err(error) => {
            tenure.give_back().await?;
            Err(error)
        }
    }
}

/// Publishes the end of a loop whose run was killed in its `finish`, or between that and its last push; a `finish` is
/// completed first. Returns `None` if that was all that was left to do.
async fn tell_of_its_end<'o>(
    (context, tenure, was_complete): (Context<'o>, Tenure, bool),
    change: &Change,
) -> Result<Option<(Context<'o>, Tenure)>, Error> {
    let state = Store::new(&context.repo.common_dir, change).load()?;
    let may_be_closed = state.is_some_and(|state| {
        let is_live = state.is_live();
        is_live && state.intent.is_some() || !is_live && was_complete
    });
    if !may_be_closed {
        return Ok(Some((context, tenure)));
    }
    let mut open = engine::open(context, change).await?;
    if !open.state.is_live() {
        tenure.release(&mut open).await?;
        open.tell(format!(
            "{change} is closed here already; its end is on the remote now"
        ));
        return Ok(None);
    }
    let mut context = open.context;
    context.head = context.repo.head().await?;
    Ok(Some((context, tenure)))
}

/// Refuses a loop whose checkpoints cannot travel.
fn require_shareable(context: &Context<'_>, change: &Change, strategy: Strategy) -> Result<(), Error> {
    let live = Store::new(&context.repo.common_dir, change).load_live()?;
    let strategy = live.map_or(strategy, |state| state.strategy);
    Ok(require_branch(change, strategy)?)
}

/// Returns whether the loop is already live, so that its state may name the agent.
pub(super) fn goes_on(context: &Context<'_>, change: &Change) -> bool {
    context.resolve_change(Some(change.as_str())).is_ok()
}

/// Reports the result of the run, and closes the loop as given, configured or chosen on a terminal, or leaves that to a
/// later command. Returns `None` if the run continues.
async fn conclude(
    screen: Screen,
    open: &mut Loop<'_>,
    stopped: Stopped,
    given: Option<Finish>,
    step: &AttemptOptions,
    begun: Instant,
    has_view: bool,
) -> Result<Option<Exit>, Error> {
    let settings = &step.settings;
    let summary = Summary::of(open, Driver::Run).await?;
    let may_close = match stopped {
        Stopped::Complete | Stopped::Skipped(_) => true,
        Stopped::RetriesSpent => settings.on_failure == OnFailure::Finish,
        Stopped::Limit(_) | Stopped::Asked | Stopped::Signal(_) => false,
    };
    let set = match settings.finish {
        FinishChoice::Ask => None,
        FinishChoice::Cleanup => Some(Finish::Cleanup { index: false }),
        FinishChoice::Keep => Some(Finish::Keep),
    };
    let mut close = given.or(set).filter(|_| may_close);
    let at_its_end = !matches!(stopped, Stopped::Limit(_) | Stopped::Asked | Stopped::Signal(_));
    let asks = close.is_none() && at_its_end && screen.can_ask();
    let shown = Summary {
        // A person who is asked, or has answered before, need not type anything.
        next: if asks || close.is_some() {
            Vec::new()
        } else {
            summary.next.clone()
        },
        ..summary.clone()
    };
    let text = ui::summary::of(&shown, why(&stopped).as_deref());
    screen.say(&text);
    if screen.quiet && stopped != Stopped::Complete {
        // Why it stopped is what -q leaves.
        let loud = Screen {
            quiet: false,
            ..screen
        };
        loud.say(&format!("{}\n", message(&stopped, open)));
    }
    notify(screen, open, begun, &message(&stopped, open)).await;
    if asks {
        let possible: &[Choice] = match stopped {
            Stopped::RetriesSpent => &AFTER_A_FAILURE,
            _ => &AT_THE_END,
        };
        let answered = Box::pin(choose(screen, open, possible, has_view.then_some(text))).await?;
        let choice = match answered {
            Answered::Here(choice) => choice,
            Answered::ToStop => Choice::Quit,
            Answered::Elsewhere if open.state.is_live() => return Ok(None),
            // It has ended by another command, or by a signal.
            Answered::Elsewhere | Answered::Lost => {
                let signal = open.context.stop.signal();
                return Ok(Some(signal.map_or_else(|| stopped.exit(), Exit::Signal)));
            }
        };
        match choice {
            Choice::Retry => {
                retry_once(open, step).await?;
                return Ok(None);
            }
            Choice::Skip => {
                let id = engine::skip(open, None, false).await?;
                screen.say(&format!("story {id} is skipped\n"));
                return Ok(None);
            }
            choice => close = closes(choice),
        }
        if close.is_none() {
            screen.say(&ui::summary::next(&summary.next));
        }
    }
    match close {
        Some(close) => engine::finish(open, close).await?,
        // Whoever is asked is waited for.
        None if at_its_end && !asks => open.emit(What::AwaitingChoice {
            options: vec!["cleanup".to_owned(), "keep".to_owned()],
        }),
        None => {}
    }
    Ok(Some(stopped.exit()))
}

/// Tries the failed story once more, whatever its limit is; the other stories keep theirs.
async fn retry_once(open: &mut Loop<'_>, step: &AttemptOptions) -> Result<(), Error> {
    let failures = open
        .state
        .progress
        .story
        .as_ref()
        .map_or(0, |story| story.failures);
    let mut once = step.clone();
    once.settings.max_retries = failures;
    engine::attempt(open, Step::Retry, &once).await?;
    Ok(())
}

/// Returns one line about the result of a run.
fn message(stopped: &Stopped, open: &Loop<'_>) -> String {
    let change = open.change();
    match (stopped, &open.state.progress.story) {
        (Stopped::Complete, _) => format!("{change}: nothing is left to do"),
        (Stopped::RetriesSpent, Some(story)) => format!("{change}: story {} failed", story.id),
        (Stopped::RetriesSpent, None) => format!("{change}: a story failed"),
        (other, _) => format!("{change}: {}", why(other).unwrap_or_default()),
    }
}

/// Returns the reason why a run ended, unless a story is the reason.
fn why(stopped: &Stopped) -> Option<String> {
    match stopped {
        Stopped::Complete | Stopped::RetriesSpent => None,
        Stopped::Skipped(ids) => Some(format!("skipped, because they failed: {}", ids.join(", "))),
        Stopped::Limit(limit) => Some(engine::at_limit(limit)),
        Stopped::Asked => Some(engine::BY_REQUEST.to_owned()),
        Stopped::Signal(signal) => Some(engine::by_signal(*signal)),
    }
}
