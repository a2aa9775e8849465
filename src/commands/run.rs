//! `git ralph run`.

use super::beside::Part;
use super::choose::by_flag;
use super::dry_run::{self, Planned};
use super::job_page::summarise;
use super::pick::change_to_run;
use super::run_end::{RunEnd, Turn, retry_once};
use super::setup::{
    Console, put_stories_in, step_settings, tell_adapter, tell_fixed, tell_ignored, tell_strategy,
    typed_options,
};
use super::view;
use crate::cli;
use crate::cli::complete::{changes_and_loops, names_of, offer, offer_anywhere};
use crate::engine::attempt::refusal::AttemptRefusal;
use crate::engine::step_refusal::StepRefusal;
use crate::engine::steps::finish_refusal::FinishRefusal;
use crate::engine::steps::start_refusal::StartRefusal;
use crate::engine::stories::{list_of_new_loop, source_of_new_loop};
use crate::engine::{
    AttemptOptions, Context, Loop, StartOptions, agent_of, refuse_inside_attempt, why_in_turn,
};
use crate::error::{Error, refuse};
use crate::events::{News, Observer};
use crate::exit::Exit;
use crate::names::{self, Change};
use crate::remote::{Tenure, Watch};
use crate::runs::{Command, Printed, abreast, drive, one};
use crate::settings::{Choice, FinishChoice, Leave, OnFailure, Settings, Strategy, parse_jobs};
use crate::state::{Store, live_in, sides};
use crate::ui::view::ViewThread;
use crate::ui::{self, Screen};
use std::cell::{Cell, RefCell};
use std::env;
use std::ffi::OsString;
use std::time::Instant;

/// The arguments of `git ralph run`.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag that can be typed")]
pub struct Args {
    /// The change; defaults to that of the current branch, to the only active loop, or to the only change with open
    /// stories. Several run one after another, or side by side (--jobs)
    #[arg(value_name = "CHANGE", add = offer(changes_and_loops))]
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
    /// Let the first story that is attempted, or with =all every story, change tests and the scripts of gates, and say so
    /// in the checkpoint (ralph.testChanges)
    #[arg(long, value_name = "STORIES", num_args = 0..=1, require_equals = true, default_missing_value = "story", value_parser = Leave::parse,
        add = offer_anywhere(names_of::<Leave>))]
    pub allow_test_changes: Option<Leave>,
    /// The story list.
    #[command(flatten)]
    pub stories: cli::StoriesFrom,
    /// Do this when a story has no retries left: stop, skip it, try it again later, or finish the loop (ralph.onFailure)
    #[arg(long, value_name = "WHAT", value_parser = OnFailure::parse, add = offer_anywhere(names_of::<OnFailure>))]
    pub on_failure: Option<OnFailure>,
    /// Make checkpoints on a branch of their own, or leave HEAD and the index in place: branch or stash (ralph.strategy)
    #[arg(long, value_name = "WHERE", value_parser = Strategy::parse, add = offer_anywhere(names_of::<Strategy>))]
    pub strategy: Option<Strategy>,
    /// A work tree of its own.
    #[command(flatten)]
    pub worktree: cli::OwnWorkTree,
    /// Start even if a gate fails before any work; no story is complete until it passes
    #[arg(long)]
    pub allow_red: bool,
    /// Continue even if an agent's own session worked on the loop recently
    #[arg(long)]
    pub force: bool,
    /// Show the view on the whole terminal; you can leave it while the loop continues
    #[arg(long, conflicts_with = "json")]
    pub view: bool,
    /// Hold the loop on this git remote, and push each step there (ralph.remote)
    #[arg(long, value_name = "REMOTE")]
    pub remote: Option<String>,
    /// Work on N changes at once, or on N stories of one change, each in a new linked work tree (ralph.jobs)
    #[arg(short, long, value_name = "N", value_parser = parse_jobs, conflicts_with_all = ["view", "dry_run"])]
    pub jobs: Option<u16>,
    /// Work on the next change that no run holds on the remote, until none is left; with --jobs, also without a remote
    #[arg(long, conflicts_with = "changes")]
    pub any: bool,
    /// Show the stories, settings, agent and gates of the loop, and the next attempt; change nothing
    #[arg(long, conflicts_with_all = ["any", "view"])]
    pub dry_run: bool,
    /// Print events as JSON, one per line (git ralph help events); with --dry-run one document
    #[arg(long)]
    pub json: bool,
    /// The agent's command, also for the loop that this run begins; it reads the prompt from standard input
    #[arg(last = true, value_name = "AGENT")]
    pub agent: Vec<OsString>,
    /// For the process that works on one of several changes, or stories, at once.
    #[arg(skip)]
    pub part: Option<Part>,
}

impl Args {
    /// Sets what the options of this run alone override.
    fn set(&self, settings: &mut Settings) {
        self.limits.apply(settings);
        settings.on_failure = self.on_failure.unwrap_or(settings.on_failure);
    }

    /// Sets the end of the loop too, for a preview.
    fn set_all(&self, settings: &mut Settings) {
        self.set(settings);
        let cleanup = self.choice.cleanup.then_some(FinishChoice::Cleanup);
        let keep = self.choice.keep.then_some(FinishChoice::Keep);
        settings.finish = cleanup.or(keep).unwrap_or(settings.finish);
    }

    /// Returns whether a schedule decides about the next change, even about only one.
    pub(super) fn has_schedule(&self) -> bool {
        self.any || self.part.is_some() || self.changes.len() > 1
    }

    /// Reduces several changes, or stories, to the part of a process that works beside others.
    pub(super) fn leave_one(&mut self, change: String, part: Part) {
        self.changes = vec![change];
        self.any = false;
        // The process attempts its stories one after another.
        self.jobs = Some(1);
        // The run reports the events of a story.
        self.json &= matches!(part, Part::Change(_));
        self.worktree.worktree.get_or_insert(None);
        self.part = Some(part);
    }
}

pub(super) async fn run(screen: Screen, args: Args) -> Result<Exit, Error> {
    refuse_inside_attempt()?;
    let change = args.changes.first().map(String::as_str);
    let command = Typed::new(screen, &args);
    let ended = Box::pin(one(&command, change, &mut Watch::default())).await;
    Ok(ended?.exit)
}

/// The typed arguments of a run, and its screen.
pub(super) struct Typed<'a> {
    pub(super) screen: Screen,
    pub(super) args: &'a Args,
    /// The start of the command.
    pub(super) begun: Instant,
    /// The view of a new loop, if it could be shown.
    shown: RefCell<Option<ViewThread>>,
    /// True after a try to show it.
    is_tried: Cell<bool>,
}

impl<'a> Typed<'a> {
    pub(super) fn new(screen: Screen, args: &'a Args) -> Self {
        let begun = Instant::now();
        Self {
            screen,
            args,
            begun,
            shown: RefCell::default(),
            is_tried: Cell::default(),
        }
    }

    /// Returns whether the loop is shown on the whole screen.
    fn has_view(&self, settings: &Settings) -> bool {
        let is_asked = self.args.view || settings.former.view;
        is_asked && view::can_be_shown(self.screen, self.args.view)
    }
}

impl Typed<'_> {
    /// Returns the number of parallel stories; 0 if only the remains of an earlier run are taken in before the stories
    /// are attempted one after another. Reports the reason if the user wanted parallel ones.
    async fn jobs_of(&self, open: &Loop<'_>, settings: &Settings) -> Result<u16, Error> {
        let wanted = self.args.jobs.unwrap_or(settings.jobs);
        let mut in_turn = wanted < 2;
        if !in_turn && let Some(why) = why_in_turn(open, settings).await? {
            open.tell(format!("the stories are attempted one after another: {why}"));
            in_turn = true;
        }
        Ok(
            match (in_turn, sides(&open.repo().common_dir, open.change())?.is_empty()) {
                (true, true) => 1,
                (true, false) => 0,
                (false, _) => wanted,
            },
        )
    }
}

impl Command for Typed<'_> {
    type Narrator = Console;

    fn narrator(&self) -> Console {
        Console::new(self.screen)
    }

    fn say(&self, line: &str) {
        self.screen.say(&format!("{line}\n"));
    }

    fn warn(&self, line: &str) {
        self.screen.loud().warn(line);
    }

    fn relay(&self, line: &Printed, observer: Option<&dyn Observer>) {
        match (line, observer) {
            (Printed::Answer(_, line), _) if self.args.json => self.screen.json(&format!("{line}\n")),
            (Printed::Answer(part, line), _) => self.screen.answer_exactly(&beside(part, line)),
            (Printed::Narration(part, line), Some(observer)) => {
                observer.hear(News::Relayed(&beside(part, line)));
            }
            (Printed::Narration(part, line), None) => self.screen.loud().say(&beside(part, line)),
        }
    }

    fn can_ask(&self) -> bool {
        self.screen.can_ask()
    }

    fn remote(&self) -> Option<&str> {
        self.args.remote.as_deref()
    }

    fn require_choice(&self, settings: &Settings) -> Result<(), Error> {
        if has_choice(self.args, settings) {
            return Ok(());
        }
        refuse(FinishRefusal::NoChoiceForSeveral {
            is_agent: false,
            changes: vec!["--any".to_owned()],
        })
    }

    async fn open<'o>(&self, narrator: &'o Console) -> Result<Context<'o>, Error> {
        narrator.context().await
    }

    async fn prepare<'o>(
        &self,
        context: Context<'o>,
        change: Option<&str>,
    ) -> Result<Option<(Context<'o>, Change, StartOptions)>, Error> {
        let (screen, args) = (self.screen, self.args);
        let mut context = context;
        if let Some(Part::Change(head)) = &args.part {
            require_room(&context, change)?;
            context.head = head.clone();
        }
        let mut settings = context.configuration.settings.clone();
        let typed = typed_options(&args.settings, &args.agent);
        typed.apply(&mut settings);
        settings.strategy = args.strategy.unwrap_or(settings.strategy);
        put_stories_in(&mut settings, &context, &args.stories)?;
        let change = match change {
            Some(name) => Change::new(name)?,
            None => change_to_run(screen, &context, &settings, "run").await?,
        };
        ui::set_subject(&change);
        tell_ignored(&context, &change);
        if agent_of(&args.agent, &settings, &context.repo.top).is_none() && !goes_on(&context, &change) {
            // The hint does not repeat a mistyped name.
            source_of_new_loop(&context, &change, &settings)?;
            refuse_over(&context, &change, &settings).await?;
            let mut command = format!("run {}", names::typed(&change));
            let cli::StoriesFrom { path, adapter } = &args.stories;
            for (option, value) in [("--stories", path), ("--adapter", adapter)] {
                if let Some(value) = value {
                    command += &format!(" {option} {}", names::typed(value));
                }
            }
            return Err(AttemptRefusal::NoAgent(command).into());
        }
        let options = StartOptions {
            settings,
            typed,
            agent: args.agent.clone(),
            allow_red: args.allow_red,
            own_work_tree: args.worktree.place(),
            ..StartOptions::default()
        };
        if args.dry_run {
            Box::pin(show(screen, context, &change, args, &options)).await?;
            return Ok(None);
        }
        Ok(Some((context, change, options)))
    }

    async fn show(&self, open: &Loop<'_>) {
        let mut shown = None;
        if self.has_view(&open.settings()) {
            shown = view::begin(self.screen, &open.context, open.change()).await;
        }
        *self.shown.borrow_mut() = shown;
        self.is_tried.set(true);
    }

    fn hide(&self) {
        self.shown.take();
        self.is_tried.set(false);
    }

    fn begin(&self, open: &Loop<'_>, already: bool) -> AttemptOptions {
        let args = self.args;
        if already {
            tell_fixed(open);
            tell_adapter(open, args.stories.adapter.as_deref());
            tell_strategy(open, args.strategy);
        }
        let mut settings = step_settings(open, &args.settings);
        args.set(&mut settings);
        AttemptOptions {
            settings,
            agent: args.agent.clone(),
            started: 0,
            force: args.force,
            leave: args.allow_test_changes,
        }
    }

    async fn work(
        &self,
        open: &mut Loop<'_>,
        step: &AttemptOptions,
        tenure: Option<&Tenure>,
    ) -> Result<Exit, Error> {
        let (screen, args) = (self.screen, self.args);
        let given = by_flag(args.choice);
        let mut retries = false;
        let mut shown = self.shown.take();
        let mut has_view = shown.is_some() || !self.is_tried.take() && self.has_view(&step.settings);
        loop {
            let begun = Instant::now();
            if has_view && shown.is_none() {
                shown = view::begin(screen, &open.context, open.change()).await;
            }
            if std::mem::take(&mut retries) {
                Box::pin(retry_once(open, step)).await?;
            }
            let stopped = match self.jobs_of(open, &step.settings).await? {
                1 => Box::pin(drive(open, step, tenure)).await,
                jobs => {
                    let typed: Vec<OsString> = env::args_os().skip(1).collect();
                    Box::pin(abreast(self, open, (step, jobs), tenure, &typed)).await
                }
            };
            // If the loop has continued after the view was left or failed, so does the rest.
            has_view = shown.take().as_mut().is_some_and(ViewThread::close);
            let end = RunEnd {
                stopped: stopped?,
                begun,
                took: self.begun.elapsed(),
                has_view,
            };
            match end.conclude(screen, open, given, step).await? {
                Turn::Over(exit) => return Ok(exit),
                Turn::Next => {}
                Turn::Retry => retries = true,
            }
        }
    }

    async fn report(&self, open: &Loop<'_>) {
        summarise(open).await;
    }
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
        Box::pin(dry_run::of_loop(
            screen,
            context,
            change,
            Planned::Run(&|settings| args.set_all(settings)),
            given,
        ))
        .await?;
    } else {
        let mut options = options.clone();
        args.set_all(&mut options.settings);
        dry_run::of_new_loop(screen, &context, change, &options, None).await?;
    }
    Ok(())
}

/// Returns whether a complete loop is closed without a question.
pub(super) fn has_choice(args: &Args, settings: &Settings) -> bool {
    by_flag(args.choice).is_some() || settings.finish != FinishChoice::Ask
}

/// Returns whether the loop is already live, so that its state may name the agent.
pub(super) fn goes_on(context: &Context<'_>, change: &Change) -> bool {
    let live = Store::new(&context.repo.common_dir, change).load_live();
    live.is_ok_and(|state| state.is_some())
}

/// Refuses a loop that is over, unless its list has an open story: an agent would change nothing about that.
async fn refuse_over(context: &Context<'_>, change: &Change, settings: &Settings) -> Result<(), Error> {
    let Some(state) = Store::new(&context.repo.common_dir, change).load()? else {
        return Ok(());
    };
    let listed = list_of_new_loop(context, change, settings, false).await;
    let has_open = listed.is_ok_and(|(_, listing)| listing.open().next().is_some());
    match state.begin_again(None, has_open) {
        None => refuse(StepRefusal::of_end(&state)),
        Some(_) => Ok(()),
    }
}

/// Refuses to work beside other changes on one whose loop is active in the work tree in which the command was typed.
fn require_room(context: &Context<'_>, change: Option<&str>) -> Result<(), Error> {
    let active = live_in(&context.repo.common_dir, &context.repo.top)?;
    match active.filter(|active| Some(active.change.as_str()) == change) {
        Some(active) => refuse(StartRefusal::ActiveBeside(active.change.to_string())),
        None => Ok(()),
    }
}

/// Returns an output line about a part of the run, with the name of the part unless it already has it.
fn beside(part: &str, line: &str) -> String {
    let name = format!("{part}: ");
    let line = line.strip_prefix(&name).unwrap_or(line);
    format!("{}\n", [&name, line].concat().trim_end())
}
