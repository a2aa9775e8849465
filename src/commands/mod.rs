//! The commands, one file a verb: its arguments, one call of the engine, and the printed result. The doc comments of
//! the arguments are the help and the manual.

#![expect(
    rustdoc::invalid_html_tags,
    reason = "in the help, <change> stands for a name"
)]

mod abort;
mod any;
mod choose;
mod complete;
pub mod demo;
pub mod diff;
pub mod doctor;
pub mod fail;
pub mod finish;
pub mod git_hook;
pub mod groups;
pub mod guard;
pub mod help;
pub mod hook;
pub mod hooks;
pub mod install;
pub mod log;
mod next;
mod notify;
mod pick;
pub mod prompt;
pub mod prune;
pub mod pull;
pub mod push;
pub mod queue;
pub mod report;
pub mod restore;
mod retry;
mod revert;
pub mod run;
mod several;
pub mod skip;
pub mod start;
pub mod status;
pub mod stop;
pub mod stories;
pub mod usage;
pub mod version;
mod view;
pub mod watch;

use std::env;
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ArgAction, CommandFactory, Parser, Subcommand};

use crate::cli::{self, Verb};
use crate::engine::open_refusal::OpenRefusal;
use crate::engine::{self, AttemptOptions, Context, Loop, Step, StepEnd, refuse_inside_attempt};
use crate::error::Error;
use crate::events::Event;
use crate::events::What;
use crate::exit::Exit;
use crate::inspect::next_steps::Driver;
use crate::inspect::status::Status;
use crate::names::Change;
use crate::report::{Redaction, Wanted};
use crate::settings::{Colour, Options, Settings, Strategy, parse_colour};
use crate::stories::from_directory;
use crate::ui::report::{JOB_PAGE, Progress, markdown};
use crate::ui::{self, Narrator, Screen, github};

/// Run a coding agent through the stories of a change, with git as the safety net.
///
/// A coding agent works through the stories of a change, one fresh process at a time. If the agent ends with its
/// promise, its work is committed as a checkpoint on the branch ralph/<change>. Otherwise the failed work is saved
/// in a ref, the work tree is reset to the last checkpoint, and the story is retried.
#[derive(Debug, Parser)]
#[command(name = "git-ralph", bin_name = "git ralph", version, propagate_version = true)]
#[command(
    arg_required_else_help = true,
    max_term_width = 100,
    disable_help_subcommand = true
)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,

    /// Print only the answer and errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,

    /// Show each git command with its time; twice: whole, with its environment
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub verbose: u8,

    /// Use colours: always, never, or auto, on a terminal only (color.ralph, color.ui)
    #[arg(long = "color", value_name = "WHEN", global = true, value_parser = colour(), hide_possible_values = true)]
    pub colour: Option<Colour>,
}

/// The verbs. The arguments of one are built when it is needed.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Command {
    /// Begin a loop: save your state, and create the branch ralph/<change>
    ///
    /// Saves everything you have (staged, unstaged, untracked) in a ref, points HEAD to the branch ralph/<change>
    /// and commits the work tree there as "initial state". Touches no file. If the loop is already active, shows
    /// where it stands.
    Start(Verb<start::Args>),
    /// Have the agent attempt the first open story
    ///
    /// COMPLETE makes a checkpoint. Otherwise what the agent did is saved in a ref, and the work tree is reset to
    /// the last checkpoint. To try a failed story again, use git ralph retry.
    Next(Verb<cli::StepArgs>),
    /// Have the agent attempt the failed story again, with the reason in its prompt
    Retry(Verb<cli::StepArgs>),
    /// Close a loop: bring the work back to the original branch, or stay on the loop's branch
    ///
    /// Without a choice, asks on a terminal.
    Finish(Verb<finish::Args>),
    /// Start or resume a loop, and attempt stories until none is left or a limit is reached
    Run(Verb<run::Args>),
    /// Watch loops while they run, in any terminal
    ///
    /// Follows every active loop of the repository, or one, from its files alone: it holds nothing, and leaving it stops
    /// nothing. Ends with the exit code of the loop when its run ends.
    Watch(Verb<watch::Args>),
    /// End git ralph run after the attempt that is running, or at once
    Stop(Verb<stop::Args>),
    /// Show where a loop stands and which command comes next; without a change, all loops
    Status(Verb<status::Args>),
    /// List the stories of a change as git-ralph reads them, with warnings
    Stories(Verb<stories::Args>),
    /// Print the prompt of the next attempt; run nothing
    Prompt(Verb<prompt::Args>),
    /// List the attempts of a loop, or show what one of them printed
    Log(Verb<log::Args>),
    /// Report a loop: a page, Markdown, JSON or JUnit
    ///
    /// Writes one HTML file without scripts, and prints its path: a timeline, every attempt, why those failed that
    /// failed, what was changed, what happened in between, and sums.
    Report(Verb<report::Args>),
    /// Accept the work tree as the finished story: run the gates, then make the checkpoint
    Complete(Verb<cli::ManualArgs>),
    /// Mark the story as failed: save the work, then undo it; the attempt counts
    Fail(Verb<fail::Args>),
    /// Reset the work tree to the checkpoint, after saving the work; no attempt counts
    Revert(Verb<cli::ManualArgs>),
    /// Skip a story
    Skip(Verb<skip::Args>),
    /// Restore the state before the loop; the loop's work stays in a ref
    ///
    /// HEAD, index (what was staged) and all files that git does not ignore become what they were before git ralph
    /// start. Prints which ignored files are gone and cannot be restored. The current state stays in the ref refs/ralph/<change>/finished.
    Abort(Verb<cli::ManualArgs>),
    /// Show what the loop, or one attempt, changed
    Diff(Verb<diff::Args>),
    /// Bring the work of a failed attempt back into the work tree
    Restore(Verb<restore::Args>),
    /// Remove old refs, logs and trash of finished loops (ralph.keepAttempts)
    Prune(Verb<prune::Args>),
    /// Put a loop on a git remote, so that it can go on elsewhere
    ///
    /// State, events, learnings and failed attempts travel in one ref, which only moves from where it was last seen. The
    /// branch ralph/<change> is copied beside it, for people and pull requests. Nobody holds the loop there afterwards.
    Push(Verb<push::Args>),
    /// Bring a loop here from a git remote
    ///
    /// Goes to the loop's checkpoint in this work tree, which must have no uncommitted changes. Retries, reasons and the
    /// log go on where they were.
    Pull(Verb<pull::Args>),
    /// List the changes that are left to do: those of this work tree, and the loops on a git remote
    Queue(Verb<queue::Args>),
    /// Check git, the agents and the repository, and show how to fix what is wrong
    ///
    /// Lists the agents known by name, which of them are installed, their versions and command lines, and which one
    /// a loop would use. Prints what to type for each problem.
    Doctor(Verb<doctor::Args>),
    /// Show a whole loop in a throwaway repository, with a scripted agent
    Demo(Verb<demo::Args>),
    /// Install the manual pages and the shell completions
    ///
    /// After that git ralph --help shows the manual page, and bash, zsh and fish complete git ralph. Prints each
    /// path that it writes. Needs no repository.
    Install(Verb<install::Args>),
    /// Manage hooks that report your own commits, or that let an agent's own session drive the loop
    Hooks(Verb<hooks::Args>),
    /// Show the manual page of git-ralph or of a command
    Help(Verb<help::Args>),
    /// Print the version of git-ralph
    Version(Verb<version::Args>),
    /// The scripted agent of the demo
    #[command(hide = true)]
    DemoAgent,
}

/// Returns the command line for completion: options are offered for a word that begins with a dash, or if there is
/// nothing else.
#[must_use]
pub fn to_complete() -> clap::Command {
    let mut command = Cli::command();
    if env::args_os().last().is_some_and(|word| !word.is_empty()) {
        return command;
    }
    let hide = |arg: clap::Arg| {
        let is_option = !arg.is_positional();
        arg.hide(is_option)
    };
    command = command.disable_help_flag(true).disable_version_flag(true);
    command.build();
    command.mut_args(hide).mut_subcommands(|verb| verb.mut_args(hide))
}

/// Parses the use of colours.
fn colour() -> impl TypedValueParser<Value = Colour> {
    let words = PossibleValuesParser::new(["always", "never", "auto"]);
    words.try_map(|word| parse_colour(&word).ok_or(word))
}

/// Runs the typed command.
pub async fn run(cli: Cli) -> Exit {
    let mut screen = Screen {
        quiet: cli.quiet,
        verbose: cli.verbose > 0,
        json: false,
        colour: cli.colour,
    };
    screen.settle_colours(None);
    let result = match cli.command {
        Command::Start(Verb(args)) => Box::pin(start::run(with_json(&mut screen, args.json), args)).await,
        Command::Next(Verb(args)) => next::run(with_json(&mut screen, args.json), args).await,
        Command::Retry(Verb(args)) => retry::run(with_json(&mut screen, args.json), args).await,
        Command::Finish(Verb(args)) => Box::pin(finish::run(with_json(&mut screen, args.json), args)).await,
        Command::Run(Verb(args)) if args.any => {
            Box::pin(any::run(with_json(&mut screen, args.json), args)).await
        }
        Command::Run(Verb(args)) if args.changes.len() > 1 => {
            Box::pin(several::run(with_json(&mut screen, args.json), args)).await
        }
        Command::Run(Verb(args)) => Box::pin(run::run(with_json(&mut screen, args.json), args)).await,
        Command::Watch(Verb(args)) => Box::pin(watch::run(screen, args)).await,
        Command::Stop(Verb(args)) => stop::run(screen, args).await,
        Command::Status(Verb(args)) => Box::pin(status::run(screen, args)).await,
        Command::Stories(Verb(args)) => Box::pin(stories::run(screen, args)).await,
        Command::Prompt(Verb(args)) => prompt::run(screen, args).await,
        Command::Log(Verb(args)) => Box::pin(log::run(screen, args)).await,
        Command::Report(Verb(args)) => Box::pin(report::run(screen, args)).await,
        Command::Complete(Verb(args)) => complete::run(with_json(&mut screen, args.json), args).await,
        Command::Fail(Verb(args)) => Box::pin(fail::run(with_json(&mut screen, args.json), args)).await,
        Command::Revert(Verb(args)) => revert::run(with_json(&mut screen, args.json), args).await,
        Command::Skip(Verb(args)) => skip::run(screen, args).await,
        Command::Abort(Verb(args)) => abort::run(with_json(&mut screen, args.json), args).await,
        Command::Diff(Verb(args)) => Box::pin(diff::run(screen, args)).await,
        Command::Restore(Verb(args)) => restore::run(screen, args).await,
        Command::Prune(Verb(args)) => prune::run(screen, args).await,
        Command::Push(Verb(args)) => Box::pin(push::run(screen, args)).await,
        Command::Pull(Verb(args)) => Box::pin(pull::run(screen, args)).await,
        Command::Queue(Verb(args)) => Box::pin(queue::run(screen, args)).await,
        Command::Doctor(Verb(args)) => doctor::run(screen, args).await,
        Command::Demo(Verb(args)) => demo::run(with_json(&mut screen, args.json), args).await,
        Command::Install(Verb(args)) => install::run(screen, args).await,
        Command::Hooks(Verb(args)) => hooks::run(screen, args).await,
        Command::Help(Verb(args)) => help::run(screen, args).await,
        Command::Version(Verb(args)) => version::run(screen, args).await,
        Command::DemoAgent => demo::agent(),
    };
    let exit = result.unwrap_or_else(|error| {
        let about = match &error {
            Error::Open(OpenRefusal::UnknownLoop { name, .. }) => Some(name.clone()),
            _ => ui::subject(),
        };
        screen.fail(&about.unwrap_or_default(), &error);
        error.exit()
    });
    let Some(source) = ui::lost_answer() else {
        return exit;
    };
    // Only on standard error: standard output is no longer writable.
    screen.json = false;
    let what = "write to standard output";
    screen.fail("", &Error::System { what, source });
    // Any other code says more than just that something is wrong.
    if exit == Exit::Done { Exit::Error } else { exit }
}

/// Makes standard output carry events from here on; listings print a document of their own instead.
fn with_json(screen: &mut Screen, json: bool) -> Screen {
    screen.json = json;
    *screen
}

/// Returns the current directory.
fn here() -> Result<PathBuf, Error> {
    env::current_dir().or_else(|source| {
        // An attempt may have deleted the shell's current directory.
        let named = env::var_os("PWD").map(PathBuf::from);
        let above = named.as_deref().into_iter().flat_map(Path::ancestors);
        let there = above.filter(|dir| dir.is_absolute()).find(|dir| dir.is_dir());
        there.map(Path::to_owned).ok_or(Error::System {
            what: "find the current directory",
            source,
        })
    })
}

/// Opens the repository around the current directory.
async fn context(narrator: &mut Narrator) -> Result<Context<'_>, Error> {
    let screen = narrator.screen();
    let context = Context::open(&here()?, narrator).await?;
    screen.settle_colours(context.configuration.colour);
    Ok(context)
}

/// Finds the change of a command; errors from here on are about it.
fn resolve(context: &Context<'_>, name: Option<&str>) -> Result<Change, Error> {
    let change = context.resolve_change(name)?;
    ui::set_subject(&change);
    Ok(change)
}

/// Opens the loop of a step.
async fn open_loop<'o>(narrator: &'o mut Narrator, change: Option<&str>) -> Result<Loop<'o>, Error> {
    let context = context(narrator).await?;
    let change = resolve(&context, change)?;
    engine::open(context, &change).await
}

/// Makes one attempt, and returns its exit code.
async fn attempt(screen: Screen, step: Step, args: cli::StepArgs) -> Result<Exit, Error> {
    refuse_inside_attempt()?;
    let mut narrator = Narrator::new(screen);
    let mut open = open_loop(&mut narrator, args.change.as_deref()).await?;
    tell_fixed(&mut open);
    let options = AttemptOptions {
        settings: step_settings(&open, &args.settings),
        agent: args.agent,
        started: 0,
        force: args.force,
    };
    let end = engine::attempt(&mut open, step, &options).await?;
    if let StepEnd::Limited(limit) = &end {
        open.tell(format!("stopped at a limit: {limit}"));
    }
    let status = Status::remembered(&open.state);
    // The commands that show something were listed with the failure.
    let mut next = status.next_steps(Driver::Steps);
    next.retain(|step| !step.only_shows);
    screen.say(&ui::summary::next(&next));
    Ok(step_exit(&open, end))
}

/// Returns the settings for this command on an existing loop.
fn step_settings(open: &Loop<'_>, typed: &cli::Settings) -> Settings {
    let mut settings = open.settings();
    Options::from(typed).apply(&mut settings);
    settings
}

/// Uses a list that is named on the command line, relative to the current directory.
fn put_stories_in(
    settings: &mut Settings,
    context: &Context<'_>,
    given: &cli::StoriesFrom,
) -> Result<(), Error> {
    if let Some(path) = &given.path {
        settings.stories = Some(from_directory(&context.repo.top, &context.below_top, path)?);
    }
    if let Some(adapter) = &given.adapter {
        settings.adapter = Some(adapter.clone());
    }
    Ok(())
}

/// Returns the exit code of a step. A signal during the completion of a step did not interrupt it, but ends the
/// command.
fn step_exit(open: &Loop<'_>, end: StepEnd) -> Exit {
    match (end, open.context.stop.signal()) {
        (StepEnd::Interrupted(signal), _) | (_, Some(signal)) => Exit::Signal(signal),
        (StepEnd::Checkpointed, None) => Exit::Done,
        (StepEnd::Failed { retries_left: true }, None) => Exit::RetriesLeft,
        (StepEnd::Failed { retries_left: false }, None) => Exit::RetriesSpent,
        (StepEnd::Limited(_) | StepEnd::Asked, None) => Exit::Limit,
    }
}

/// Adds the loop's report to the summary page of the CI job, if there is one.
async fn summarise(open: &mut Loop<'_>) {
    if !github::has_page() {
        return;
    }
    let settings = &open.context.configuration.settings;
    let wanted = Wanted {
        redaction: Redaction::new(&settings.redact).unwrap_or_default(),
        link: settings.link_commit.clone(),
        ..Wanted::default()
    };
    let mut progress = Progress::new(Screen {
        quiet: true,
        ..Screen::default()
    });
    let made = report::report_of(&open.context, &open.state, &wanted, &mut progress).await;
    let why = match made {
        Ok(report) => match github::summarise(&markdown(&[report], JOB_PAGE)) {
            Ok(()) => return,
            Err(error) => error.to_string(),
        },
        Err(error) => error.to_string(),
    };
    open.tell(format!("cannot write the summary of the job: {why}"));
}

/// Splits words into the change and the rest: a first word that names a loop, or the first of two, is the change.
fn change_and_word(context: &Context<'_>, words: &[String]) -> Result<(Change, Option<String>), Error> {
    match words {
        [] => Ok((resolve(context, None)?, None)),
        [word] => match resolve(context, Some(word)) {
            Ok(change) => Ok((change, None)),
            // Without a loop, the missing loop is the error to report.
            Err(unknown) => match resolve(context, None) {
                Ok(change) => Ok((change, Some(word.clone()))),
                Err(_) => Err(unknown),
            },
        },
        [change, word, ..] => Ok((resolve(context, Some(change))?, Some(word.clone()))),
    }
}

/// Splits `<story>@<number>`; a word without a number is a story.
fn story_and_attempt(word: &str) -> Result<(String, Option<u32>), Error> {
    match word.rsplit_once('@') {
        None => Ok((word.to_owned(), None)),
        Some((story, number)) => match number.parse() {
            Ok(number) if !story.is_empty() => Ok((story.to_owned(), Some(number))),
            _ => Err(OpenRefusal::NoAttempt(word.to_owned()).into()),
        },
    }
}

/// Reports settings of `git -c` that an active loop does not follow: it keeps the list that it began with.
fn tell_fixed(open: &mut Loop<'_>) {
    for key in ["ralph.adapter", "ralph.stories"] {
        if open.context.configuration.given(key).is_some() {
            open.tell(format!(
                "{key} has no effect on an active loop: it keeps the story list that it began with"
            ));
        }
    }
}

/// Reports that an active loop keeps its strategy.
fn tell_strategy(open: &mut Loop<'_>, typed: Option<Strategy>) {
    let kept = open.state.strategy;
    if typed.is_some_and(|typed| typed != kept) {
        open.tell(format!(
            "--strategy has no effect on an active loop: it keeps the strategy {}",
            kept.name()
        ));
    }
}

/// Reports settings that have no effect.
fn tell_ignored(context: &mut Context<'_>, change: &Change) {
    for message in context.configuration.ignored.clone() {
        context
            .observer
            .event(&Event::now(change.as_str(), What::Notice { message }));
    }
}
