//! What can be typed: clap types only. Their doc comments are the help and the manual.

#![expect(
    rustdoc::invalid_html_tags,
    reason = "in the help, <change> stands for a name"
)]

pub mod complete;

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueHint};
use clap_complete::engine::{ArgValueCandidates, ArgValueCompleter};
use jiff::SignedDuration;

use self::complete::{
    adapters, agents, changes, changes_and_loops, choices_and_loops, loops, loops_and_attempts,
    loops_and_kept_attempts, loops_and_stories_to_skip, stories, story_lists,
};
use crate::install::agent_settings;
use crate::install::manual::bundled;
use crate::settings::{Colour, parse_colour, parse_duration};

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
    /// What to do.
    #[command(subcommand)]
    pub command: Command,

    /// Print only the answer and errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,

    /// Show each git command as it runs
    #[arg(short, long, global = true)]
    pub verbose: bool,

    /// Use colours: always, never, or auto, on a terminal only (color.ralph, color.ui)
    #[arg(long = "color", value_name = "WHEN", global = true, value_parser = colour(), hide_possible_values = true)]
    pub colour: Option<Colour>,
}

/// What a shell completes by: options are offered where a word begins with a dash, or where there is nothing else.
#[must_use]
pub fn to_complete() -> clap::Command {
    let command = Cli::command();
    if env::args_os().last().is_some_and(|word| !word.is_empty()) {
        return command;
    }
    let hide = |arg: clap::Arg| {
        let is_option = !arg.is_positional();
        arg.hide(is_option)
    };
    command
        .disable_help_flag(true)
        .disable_version_flag(true)
        .mut_args(hide)
        .mut_subcommands(|verb| verb.mut_args(hide))
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Begin a loop: save your state, and create the branch ralph/<change>
    ///
    /// Saves everything you have (staged, unstaged, untracked) in a ref, points HEAD to the branch ralph/<change>
    /// and commits the work tree there as "initial state". Touches no file. If the loop is already active, shows
    /// where it stands.
    Start(Start),
    /// Have the agent attempt the first open story
    ///
    /// COMPLETE makes a checkpoint. Otherwise what the agent did is saved in a ref, and the work tree is reset to
    /// the last checkpoint. To try a failed story again, use git ralph retry.
    Next(Step),
    /// Have the agent attempt the failed story again, with the reason in its prompt
    Retry(Step),
    /// Close a loop: bring the work back to the original branch, or stay on the loop's branch
    ///
    /// Without a choice, asks on a terminal.
    Finish(Finish),
    /// Start or resume a loop, and attempt stories until none is left or a limit is reached
    Run(Run),
    /// Show where a loop stands and which command comes next; without a change, all loops
    Status(Status),
    /// List the stories of a change as git-ralph reads them, with warnings
    Stories(Stories),
    /// Print the prompt of the next attempt; run nothing
    Prompt(Prompt),
    /// List the attempts of a loop
    Log(Listing),
    /// Accept the work tree as the finished story: run the gates, then make the checkpoint
    Complete(Hand),
    /// Mark the story as failed: save the work, then undo it; the attempt counts
    Fail(Fail),
    /// Reset the work tree to the checkpoint, after saving the work; no attempt counts
    Revert(Hand),
    /// Skip a story
    Skip(Skip),
    /// Restore the exact state before the loop; the loop's work stays in a ref
    ///
    /// HEAD, index (what was staged) and work tree become what they were before git ralph start. The current state
    /// stays in the ref refs/ralph/<change>/finished.
    Abort(Hand),
    /// Show what the loop, or one attempt, changed
    Diff(Diff),
    /// Bring the work of a failed attempt back into the work tree
    Restore(Restore),
    /// Remove old refs, logs and trash of finished loops (ralph.keepAttempts)
    Prune(Named),
    /// Check git, the agents and the repository, and show how to fix what is wrong
    ///
    /// Lists the agents known by name, which of them are installed, their versions and command lines, and which one
    /// a loop would use. Prints what to type for each problem.
    Doctor(Doctor),
    /// Show a whole loop in a throwaway repository, with a scripted agent
    Demo(Demo),
    /// Install the manual pages and the shell completions
    ///
    /// After that git ralph --help shows the manual page, and bash, zsh and fish complete git ralph. Prints each
    /// path that it writes. Needs no repository.
    Install(Install),
    /// Manage hooks that report your own commits, or that let an agent's own session drive the loop
    Hooks(Hooks),
    /// Show the manual page of git-ralph or of a command
    Help(Help),
    /// The scripted agent of the demo
    #[command(hide = true)]
    DemoAgent,
}

/// `git ralph start`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag that can be typed")]
pub struct Start {
    /// The change: a name that can be part of a branch name
    #[arg(add = ArgValueCandidates::new(changes))]
    pub change: String,
    /// Settings.
    #[command(flatten)]
    pub settings: Settings,
    /// The story list.
    #[command(flatten)]
    pub stories: StoriesFrom,
    /// If the loop is active, abort it first, and begin anew
    #[arg(long, conflicts_with = "resume")]
    pub restart: bool,
    /// If the loop's state is lost, rebuild it from the branch and the refs
    #[arg(long)]
    pub resume: bool,
    /// Show the stories, settings, agent and gates of the loop; change nothing
    #[arg(long, conflicts_with_all = ["restart", "resume"])]
    pub dry_run: bool,
    /// Print events as JSON, one per line (git ralph help events); with --dry-run one document
    #[arg(long)]
    pub json: bool,
}

/// `git ralph next` and `git ralph retry`.
#[derive(Debug, Args)]
pub struct Step {
    /// The change; defaults to that of the current branch, or to the only active loop
    #[arg(add = ArgValueCandidates::new(loops))]
    pub change: Option<String>,
    /// Settings.
    #[command(flatten)]
    pub settings: Settings,
    /// Print events as JSON, one per line (git ralph help events)
    #[arg(long)]
    pub json: bool,
    /// The agent's command; it reads the prompt from standard input
    #[arg(last = true, value_name = "AGENT")]
    pub agent: Vec<OsString>,
}

/// `git ralph run`.
#[derive(Debug, Args)]
pub struct Run {
    /// The change; defaults to that of the current branch, or to the only active loop
    #[arg(add = ArgValueCandidates::new(changes_and_loops))]
    pub change: Option<String>,
    /// The choice.
    #[command(flatten)]
    pub choice: Choice,
    /// Settings.
    #[command(flatten)]
    pub settings: Settings,
    /// The story list.
    #[command(flatten)]
    pub stories: StoriesFrom,
    /// Print events as JSON, one per line (git ralph help events)
    #[arg(long)]
    pub json: bool,
    /// The agent's command; it reads the prompt from standard input
    #[arg(last = true, value_name = "AGENT")]
    pub agent: Vec<OsString>,
}

/// `git ralph doctor`.
#[derive(Debug, Args)]
pub struct Doctor {
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// `git ralph finish`.
#[derive(Debug, Args)]
pub struct Finish {
    /// The choice.
    #[command(flatten)]
    pub choice: Choice,
    /// With --cleanup, stage again what was staged before the loop and the loop has not changed
    #[arg(long)]
    pub index: bool,
    /// The change; `cleanup` or `keep` may stand before it as a word
    #[arg(num_args = 0..=2, value_name = "CHANGE", add = ArgValueCandidates::new(choices_and_loops))]
    pub words: Vec<String>,
    /// Print events as JSON, one per line (git ralph help events)
    #[arg(long)]
    pub json: bool,
}

/// What becomes of the work.
#[derive(Debug, Clone, Copy, Args)]
#[group(multiple = false)]
pub struct Choice {
    /// Return to the original branch with all changes uncommitted, and delete the loop's branch
    #[arg(long)]
    pub cleanup: bool,
    /// Stay on the loop's branch with its commits
    #[arg(long)]
    pub keep: bool,
}

/// Settings that hold for this command (for `start` and `run`: for the loop).
#[derive(Debug, Clone, Args)]
pub struct Settings {
    /// The agent: a name that git ralph doctor lists, or a shell command line (ralph.agent)
    #[arg(long = "agent", value_name = "AGENT", add = ArgValueCandidates::new(agents))]
    pub agent_line: Option<String>,
    /// Retries per story, after the first attempt (ralph.maxRetries)
    #[arg(long, value_name = "N")]
    pub max_retries: Option<u32>,
    /// Time limit of an attempt, such as 45m, or none (ralph.timeout)
    #[arg(long, value_name = "TIME", value_parser = limit)]
    pub timeout: Option<Limit>,
    /// End an attempt after this time without output, or none (ralph.idleTimeout)
    #[arg(long, value_name = "TIME", value_parser = limit)]
    pub idle_timeout: Option<Limit>,
    /// A gate: a shell command that must succeed before a checkpoint; repeatable (ralph.verify)
    #[arg(long, value_name = "COMMAND")]
    pub verify: Vec<String>,
}

/// Where the stories come from.
#[derive(Debug, Clone, Args)]
pub struct StoriesFrom {
    /// The story list; #item makes each box a story, #group each section (ralph.stories)
    #[arg(long = "stories", value_name = "PATH", add = ArgValueCompleter::new(story_lists))]
    pub path: Option<String>,
    /// How to read the stories: openspec, markdown, prd or command (ralph.adapter)
    #[arg(long, value_name = "NAME", add = ArgValueCandidates::new(adapters))]
    pub adapter: Option<String>,
}

/// A time limit as typed; `none` is one too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit(pub Option<SignedDuration>);

fn colour() -> impl TypedValueParser<Value = Colour> {
    let words = PossibleValuesParser::new(["always", "never", "auto"]);
    words.try_map(|word| parse_colour(&word).ok_or(word))
}

fn limit(text: &str) -> Result<Limit, String> {
    parse_duration(text)
        .map(Limit)
        .map_err(|wanted| format!("it must be {wanted}"))
}

/// A listing.
#[derive(Debug, Args)]
pub struct Listing {
    /// The change; defaults to that of the current branch, or to the only active loop
    #[arg(add = ArgValueCandidates::new(loops))]
    pub change: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// `git ralph status`.
#[derive(Debug, Args)]
pub struct Status {
    /// The change; defaults to that of the current branch, or to the only active loop
    #[arg(add = ArgValueCandidates::new(loops))]
    pub change: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Print one line for a shell prompt or a status bar; nothing if no loop is active
    #[arg(long, conflicts_with = "json")]
    pub short: bool,
}

/// `git ralph stories`.
#[derive(Debug, Args)]
pub struct Stories {
    /// The change; defaults to that of the current branch, or to the only active loop
    #[arg(add = ArgValueCandidates::new(changes_and_loops))]
    pub change: Option<String>,
    /// Another story list than that of the loop.
    #[command(flatten)]
    pub from: StoriesFrom,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// A command about a change.
#[derive(Debug, Args)]
pub struct Named {
    /// The change; defaults to that of the current branch, or to the only active loop
    #[arg(add = ArgValueCandidates::new(loops))]
    pub change: Option<String>,
}

/// `git ralph prompt`.
#[derive(Debug, Args)]
pub struct Prompt {
    /// The change; defaults to that of the current branch, or to the only active loop
    #[arg(add = ArgValueCandidates::new(loops))]
    pub change: Option<String>,
    /// The story; defaults to that of the next attempt
    #[arg(long, value_name = "ID", conflicts_with = "template", add = ArgValueCandidates::new(stories))]
    pub story: Option<String>,
    /// Print the built-in template, as a start for your own (ralph.prompt)
    #[arg(long)]
    pub template: bool,
}

/// A command by which a person speaks for a story.
#[derive(Debug, Args)]
pub struct Hand {
    /// The change; defaults to that of the current branch, or to the only active loop
    #[arg(add = ArgValueCandidates::new(loops))]
    pub change: Option<String>,
    /// Print events as JSON, one per line (git ralph help events)
    #[arg(long)]
    pub json: bool,
}

/// `git ralph fail`.
#[derive(Debug, Args)]
pub struct Fail {
    /// The change, the reason, or both; a single word that names no loop is the reason
    #[arg(num_args = 0..=2, value_names = ["CHANGE", "REASON"], add = ArgValueCandidates::new(loops))]
    pub words: Vec<String>,
    /// Print events as JSON, one per line (git ralph help events)
    #[arg(long)]
    pub json: bool,
}

/// `git ralph diff`.
#[derive(Debug, Args)]
pub struct Diff {
    /// The change, the story or story@attempt, or both; a single word that names no loop is the story
    #[arg(
        num_args = 0..=2,
        value_names = ["CHANGE", "STORY[@ATTEMPT]"],
        add = ArgValueCandidates::new(loops_and_attempts)
    )]
    pub words: Vec<String>,
    /// Show only which files changed, and by how much
    #[arg(long)]
    pub stat: bool,
}

/// `git ralph restore`.
#[derive(Debug, Args)]
pub struct Restore {
    /// The change and the attempt, or only the attempt: story@number, or a story for its latest attempt
    #[arg(
        num_args = 1..=2,
        required = true,
        value_names = ["CHANGE", "STORY[@ATTEMPT]"],
        add = ArgValueCandidates::new(loops_and_kept_attempts)
    )]
    pub words: Vec<String>,
}

/// `git ralph skip`.
#[derive(Debug, Args)]
pub struct Skip {
    /// The change, the story, or both; a single word that names no loop is the story
    #[arg(
        num_args = 0..=2,
        value_names = ["CHANGE", "STORY"],
        add = ArgValueCandidates::new(loops_and_stories_to_skip)
    )]
    pub words: Vec<String>,
    /// Take the skip back
    #[arg(long)]
    pub undo: bool,
}

/// `git ralph demo`.
#[derive(Debug, Args)]
pub struct Demo {
    /// Keep the repository, and print where it is
    #[arg(long)]
    pub keep: bool,
}

/// `git ralph install`.
#[derive(Debug, Args)]
pub struct Install {
    /// Install into <DIR>/share instead of for this user
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub prefix: Option<PathBuf>,
    /// Remove what was installed, and nothing else
    #[arg(long)]
    pub uninstall: bool,
}

/// `git ralph hooks`.
#[derive(Debug, Args)]
#[command(disable_help_subcommand = true)]
pub struct Hooks {
    /// What to do.
    #[command(subcommand)]
    pub action: HooksAction,
}

/// What can be done with hooks.
#[derive(Debug, Subcommand)]
pub enum HooksAction {
    /// Print settings with which an agent's sessions drive the loop, for a file of your own
    Print {
        /// The agent
        #[arg(value_parser = PossibleValuesParser::new(agents_with_hooks()))]
        agent: String,
    },
    /// Add hooks to this repository, beside existing ones, or to the settings of an agent
    Install(HooksOf),
    /// Remove them again, and nothing else
    Uninstall(HooksOf),
    /// Show which hooks are installed, and which were overwritten
    Status,
}

/// Whose hooks.
#[derive(Debug, Args)]
pub struct HooksOf {
    /// The agent whose settings to change; defaults to git's hooks in this repository
    #[arg(long, value_parser = PossibleValuesParser::new(agents_with_hooks()))]
    pub agent: Option<String>,
    /// Use the agent's settings in this project instead of yours
    #[arg(long, requires = "agent")]
    pub project: bool,
}

fn agents_with_hooks() -> impl Iterator<Item = &'static str> {
    agent_settings::ALL.iter().map(|agent| agent.name)
}

/// `git ralph help`.
#[derive(Debug, Args)]
pub struct Help {
    /// The command, or the topic: events, lifecycle or tutorial; defaults to git-ralph itself
    #[arg(value_parser = PossibleValuesParser::new(verbs()), hide_possible_values = true)]
    pub command: Option<String>,
}

/// The commands and topics that have a manual page.
fn verbs() -> impl Iterator<Item = &'static str> {
    bundled::PAGES
        .iter()
        .chain(bundled::TOPICS)
        .map(|(name, _)| *name)
        .filter(|name| !name.is_empty())
}
