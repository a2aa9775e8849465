//! The commands, one file per verb: its arguments, one call of the engine, and the printed result. The doc comments of
//! the arguments are the help and the manual.

#![expect(
    rustdoc::invalid_html_tags,
    reason = "in the help, <change> stands for a name"
)]

mod abort;
mod attempt;
mod beside;
mod choose;
mod complete;
pub mod demo;
pub mod diff;
pub mod doctor;
mod dry_run;
mod fail;
pub mod finish;
mod git_hook;
pub mod groups;
mod guard;
pub mod help;
mod hook;
pub mod hooks;
pub mod install;
mod job_page;
pub mod land;
pub mod list;
pub mod log;
mod notify;
mod one_story;
mod pick;
pub mod program;
pub mod prompt;
pub mod prune;
pub mod pull;
pub mod push;
pub mod queue;
pub mod redo;
pub mod report;
mod report_of;
mod report_remote;
pub mod restore;
mod revert;
pub mod review;
pub mod run;
mod run_end;
mod setup;
mod several;
pub mod skip;
pub mod start;
pub mod status;
pub mod stop;
pub mod stories;
mod story_word;
pub mod tell;
mod usage;
pub mod version;
mod view;
pub mod watch;
mod watch_remote;

use std::env;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ArgAction, CommandFactory, Parser, Subcommand};

use self::attempt::attempt;
use self::setup::Console;
use crate::cli::{self, Verb};
use crate::engine::Step;
use crate::engine::open_refusal::OpenRefusal;
use crate::error::Error;
use crate::exit::Exit;
use crate::settings::{Colour, parse_colour};
use crate::stories::Reader;
use crate::ui::{self, Screen};

/// Run a coding agent through the stories of a change, with git as the safety net.
///
/// A coding agent works through the stories of a change, one fresh process at a time. If the agent ends with its
/// promise, its work is committed as a checkpoint on the branch ralph/<change>. Otherwise the failed work is saved
/// in a ref, the work tree is reset to the last checkpoint, and the story is retried.
#[derive(Debug, Parser)]
#[command(name = "git-ralph", bin_name = "git ralph", version, propagate_version = true)]
#[command(
    arg_required_else_help = true,
    max_term_width = 80,
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
    /// Have the agent attempt the failed story again, with the reason
    Retry(Verb<cli::StepArgs>),
    /// Close a loop: bring the work back, or stay on the loop's branch
    ///
    /// Without a choice, asks on a terminal.
    Finish(Verb<finish::Args>),
    /// Merge finished changes into the branch here, if gates pass
    ///
    /// For changes that were finished with --keep, in the order in which they are typed. Each is merged with the branch that is
    /// checked out here, and the gates run on the result in a work tree of its own; only if they pass, the branch moves. A change that
    /// conflicts, or on which a gate fails, is left out, and the next one is tried.
    Land(Verb<land::Args>),
    /// Start or resume a loop, and attempt stories until none is left
    Run(Verb<run::Args>),
    /// Watch loops while they run, in any terminal
    ///
    /// Follows every active loop of the repository, or one, from its files alone: it holds nothing, and leaving it stops
    /// nothing. Ends with the exit code of the loop when its run ends.
    Watch(Verb<watch::Args>),
    /// End git ralph run after the attempt that is running, or at once
    Stop(Verb<stop::Args>),
    /// Show where a loop stands, or all loops, and what to type next
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
    /// Accept the work tree as the finished story, if the gates pass
    Complete(Verb<cli::CompleteArgs>),
    /// Save the work, then undo it as a failed attempt; it counts
    Fail(Verb<fail::Args>),
    /// Say something to the agent: words for the next prompts
    ///
    /// The words are in every prompt until a story whose attempts were shown them is complete. They can be said at any time,
    /// also while an attempt runs.
    Tell(Verb<tell::Args>),
    /// Save the work, then reset to the checkpoint; no attempt counts
    Revert(Verb<cli::ManualArgs>),
    /// Skip a story
    Skip(Verb<skip::Args>),
    /// Apply an attempt's changes to the story list
    ///
    /// git-ralph puts back what an attempt changes in other stories. If you had edited the list meanwhile, this merges that into
    /// the list.
    List(Verb<list::Args>),
    /// Undo a completed story, and do it again
    ///
    /// Goes back to the checkpoint before the story; your own edits since stay. The next attempt is at this story, and its prompt
    /// has your words and the work that was undone, which a ref keeps.
    Redo(Verb<redo::Args>),
    /// Ask a reviewer about a checkpoint
    ///
    /// Another agent (ralph.review) reads the work of an attempt, and says whether the story is complete. Changes nothing, and
    /// counts nothing.
    Review(Verb<review::Args>),
    /// Restore the state before the loop; the loop's work stays in a ref
    ///
    /// HEAD, index (what was staged) and all files that git does not ignore become what they were before git ralph
    /// start. Prints which ignored files are gone and cannot be restored. The current state stays in the ref refs/ralph/<change>/finished.
    Abort(Verb<cli::ManualArgs>),
    /// Show what the loop, or one attempt, changed
    Diff(Verb<diff::Args>),
    /// Bring the work of a failed attempt back into the work tree
    Restore(Verb<restore::Args>),
    /// Remove old refs, logs and trash of finished loops
    Prune(Verb<prune::Args>),
    /// Put a loop on a git remote, to continue it on another machine
    ///
    /// State, events, learnings and failed attempts travel in one ref, which only moves from where it was last seen. The
    /// branch ralph/<change> is copied beside it, for people and pull requests. The loop is free there afterwards.
    Push(Verb<push::Args>),
    /// Bring a loop here from a git remote
    ///
    /// Goes to the loop's checkpoint in this work tree, which must have no uncommitted changes. Retries, reasons and the
    /// log go on where they were.
    Pull(Verb<pull::Args>),
    /// List the changes that are left to do, here and on a git remote
    Queue(Verb<queue::Args>),
    /// Check git, agents and repository, and suggest fixes
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
    /// Manage hooks for your own commits, and for agents' sessions
    Hooks(Verb<hooks::Args>),
    /// Show the manual page of git-ralph or of a command
    Help(Verb<help::Args>),
    /// Print the version of git-ralph
    Version(Verb<version::Args>),
    /// The scripted agent of the demo
    #[command(hide = true)]
    DemoAgent(demo::AgentArgs),
}

/// Returns the command line for completion: offers options for a word that begins with a dash, or if there is nothing
/// else.
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

/// Parses the colour setting.
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
    let reads_list = match &cli.command {
        Command::Start(Verb(args)) if args.resume => Some(Reader::Resume),
        Command::Run(_) => Some(Reader::Run),
        Command::Stories(_) => Some(Reader::Stories),
        _ => None,
    };
    let result = match cli.command {
        Command::Start(Verb(args)) => Box::pin(start::run(&with_events(&mut screen, args.json), args)).await,
        Command::Next(Verb(args)) => attempt(&with_events(&mut screen, args.json), Step::Next, args).await,
        Command::Retry(Verb(args)) => attempt(&with_events(&mut screen, args.json), Step::Retry, args).await,
        Command::Finish(Verb(args)) => {
            Box::pin(finish::run(&with_events(&mut screen, args.json), args)).await
        }
        Command::Land(Verb(args)) => Box::pin(land::run(&Console::new(screen), screen, args)).await,
        Command::Run(Verb(args)) if args.has_schedule() => {
            Box::pin(several::run(with_events(&mut screen, args.json).screen, args)).await
        }
        Command::Run(Verb(args)) => {
            Box::pin(run::run(with_events(&mut screen, args.json).screen, args)).await
        }
        Command::Watch(Verb(args)) => Box::pin(watch::run(&Console::new(screen), args)).await,
        Command::Stop(Verb(args)) => stop::run(&Console::new(screen), args).await,
        Command::Status(Verb(args)) => Box::pin(status::run(&Console::new(screen), args)).await,
        Command::Stories(Verb(args)) => Box::pin(stories::run(&Console::new(screen), args)).await,
        Command::Prompt(Verb(args)) => Box::pin(prompt::run(&Console::new(screen), args)).await,
        Command::Log(Verb(args)) => Box::pin(log::run(&Console::new(screen), args)).await,
        Command::Report(Verb(args)) => Box::pin(report::run(&Console::new(screen), args)).await,
        Command::Complete(Verb(args)) => {
            Box::pin(complete::run(&with_events(&mut screen, args.json), args)).await
        }
        Command::Fail(Verb(args)) => Box::pin(fail::run(&with_events(&mut screen, args.json), args)).await,
        Command::Tell(Verb(args)) => tell::run(&Console::new(screen), args).await,
        Command::Revert(Verb(args)) => revert::run(&with_events(&mut screen, args.json), args).await,
        Command::List(Verb(args)) => Box::pin(list::run(&Console::new(screen), args)).await,
        Command::Redo(Verb(args)) => Box::pin(redo::run(&with_events(&mut screen, args.json), args)).await,
        Command::Skip(Verb(args)) => Box::pin(skip::run(&Console::new(screen), args)).await,
        Command::Abort(Verb(args)) => abort::run(&with_events(&mut screen, args.json), args).await,
        Command::Diff(Verb(args)) => Box::pin(diff::run(&Console::new(screen), args)).await,
        Command::Review(Verb(args)) => Box::pin(review::run(&Console::new(screen), args)).await,
        Command::Restore(Verb(args)) => Box::pin(restore::run(&Console::new(screen), args)).await,
        Command::Prune(Verb(args)) => prune::run(&Console::new(screen), args).await,
        Command::Push(Verb(args)) => Box::pin(push::run(&Console::new(screen), args)).await,
        Command::Pull(Verb(args)) => Box::pin(pull::run(&Console::new(screen), args)).await,
        Command::Queue(Verb(args)) => Box::pin(queue::run(&Console::new(screen), args)).await,
        Command::Doctor(Verb(args)) => doctor::run(&Console::new(screen), args).await,
        Command::Demo(Verb(args)) => Box::pin(demo::run(&with_events(&mut screen, args.json), args)).await,
        Command::Install(Verb(args)) => install::run(screen, args).await,
        Command::Hooks(Verb(args)) => hooks::run(screen, args).await,
        Command::Help(Verb(args)) => help::run(screen, args, Cli::command()).await,
        Command::Version(Verb(args)) => version::run(screen, args).await,
        Command::DemoAgent(args) => demo::agent(&args),
    };
    let exit = result.unwrap_or_else(|mut error| {
        if let Some(verb) = reads_list {
            error.say_verb(verb);
        }
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
    // Any other code is more specific than a write error.
    if exit == Exit::Done { Exit::Error } else { exit }
}

/// Makes standard output carry events from now on; listings print their own document instead.
fn with_events(screen: &mut Screen, json: bool) -> Console {
    screen.json = json;
    Console::new(*screen)
}
