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

/// Drive a coding agent through the stories of a change, with git as the safety net.
///
/// A coding agent works through the stories of a change, one fresh process at a time. An agent that ends
/// with its promise earns a checkpoint commit on the branch ralph/<change>; anything else puts the work tree
/// back to the last checkpoint, keeps the failed work in a ref, and the story is tried again.
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

    /// Say nothing but the answer and errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,

    /// Show each git command as it runs
    #[arg(short, long, global = true)]
    pub verbose: bool,

    /// Colour words: always, never, or on a terminal only (auto; color.ralph, color.ui)
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
    /// Begin a loop: remember where you are, and make the branch ralph/<change>
    ///
    /// Keeps everything you have (staged, unstaged, untracked) in a ref, puts HEAD on the branch ralph/<change>
    /// and commits the work tree there as "initial state". No file is touched. If the loop goes on already,
    /// says where it stands.
    Start(Start),
    /// Have the agent attempt the first story that is not complete
    ///
    /// COMPLETE makes a checkpoint; anything else keeps what the agent did in a ref and puts the work tree back
    /// to the last checkpoint. A story that failed before is for git ralph retry.
    Next(Step),
    /// Have the agent attempt the story that failed once more, with the reason in its prompt
    Retry(Step),
    /// Close a loop: bring the work back to the original branch, or stay on the loop's branch
    ///
    /// Without a choice it is asked for on a terminal.
    Finish(Finish),
    /// Start or go on, and attempt stories until none is left or a stop
    Run(Run),
    /// Show where a loop stands and which command comes next; without a change, all loops
    Status(Status),
    /// List the stories of a change as git-ralph sees them, with warnings
    Stories(Stories),
    /// Print the prompt that the next attempt would get; run nothing
    Prompt(Prompt),
    /// List the attempts of a loop
    Log(Listing),
    /// Say that the work tree is the finished story: gates run, then the checkpoint is made
    Complete(Hand),
    /// Say that the story failed: what is there is kept, then undone, and the attempt counts
    Fail(Fail),
    /// Go back to the checkpoint without a new attempt; what is there is kept
    Revert(Hand),
    /// Have the loop pass over a story
    Skip(Skip),
    /// Go back to exactly what was before the loop; what it made is kept
    ///
    /// HEAD, index (what was staged) and work tree become what they were before git ralph start. What is there
    /// now stays in the ref refs/ralph/<change>/finished.
    Abort(Hand),
    /// Show what the loop did so far, or what one attempt did, through git's pager
    Diff(Diff),
    /// Put a kept attempt's work back into the work tree
    Restore(Restore),
    /// Remove what finished loops left and nobody needs any more (ralph.keepAttempts)
    Prune(Named),
    /// Check what a loop needs: git, an agent, a repository in order; list the agents that are known by name
    ///
    /// Shows which of them are installed, their versions and command lines, and which one a loop would work
    /// with. Each thing that needs mending comes with what to type.
    Doctor(Doctor),
    /// Show the whole loop on a throwaway repository, with a scripted agent
    Demo(Demo),
    /// Put the manual pages and the completions where man and the shells look
    ///
    /// Then git ralph --help shows the manual page, and bash, zsh and fish complete git ralph. Prints each path
    /// that was written. Needs no repository.
    Install(Install),
    /// Let git, or an agent's own sessions, tell git-ralph what happens: hooks in the repository, or in the agent's settings
    Hooks(Hooks),
    /// Show the manual page of git-ralph, or of a command; nothing has to be installed for it
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
    /// If the loop goes on: abort it first, and begin anew
    #[arg(long, conflicts_with = "resume")]
    pub restart: bool,
    /// If the loop's state is lost: rebuild it from the branch and the refs
    #[arg(long)]
    pub resume: bool,
    /// Show the stories, the settings, the agent and the gates of the loop that would begin; change nothing
    #[arg(long, conflicts_with_all = ["restart", "resume"])]
    pub dry_run: bool,
    /// Print events as JSON, one a line (git ralph help events); with --dry-run one document
    #[arg(long)]
    pub json: bool,
}

/// `git ralph next` and `git ralph retry`.
#[derive(Debug, Args)]
pub struct Step {
    /// The change; if left out, that of the current branch or the only loop
    #[arg(add = ArgValueCandidates::new(loops))]
    pub change: Option<String>,
    /// Settings.
    #[command(flatten)]
    pub settings: Settings,
    /// Print events as JSON, one a line (git ralph help events)
    #[arg(long)]
    pub json: bool,
    /// The agent's command; it reads the prompt on standard input
    #[arg(last = true, value_name = "AGENT")]
    pub agent: Vec<OsString>,
}

/// `git ralph run`.
#[derive(Debug, Args)]
pub struct Run {
    /// The change; if left out, that of the current branch or the only loop
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
    /// Print events as JSON, one a line (git ralph help events)
    #[arg(long)]
    pub json: bool,
    /// The agent's command; it reads the prompt on standard input
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
    /// With --cleanup: stage again what was staged before the loop, where the loop has not changed it
    #[arg(long)]
    pub index: bool,
    /// The change; also `cleanup` or `keep` as a word, before it
    #[arg(num_args = 0..=2, value_name = "CHANGE", add = ArgValueCandidates::new(choices_and_loops))]
    pub words: Vec<String>,
    /// Print events as JSON, one a line (git ralph help events)
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
    /// The agent: a name that git ralph doctor lists, or a shell line (ralph.agent)
    #[arg(long = "agent", value_name = "AGENT", add = ArgValueCandidates::new(agents))]
    pub agent_line: Option<String>,
    /// Retries after the first attempt, a story (ralph.maxRetries)
    #[arg(long, value_name = "N")]
    pub max_retries: Option<u32>,
    /// Wall time of an attempt, like 45m, or none (ralph.timeout)
    #[arg(long, value_name = "TIME", value_parser = limit)]
    pub timeout: Option<Limit>,
    /// Time without output after which an attempt is ended, or none (ralph.idleTimeout)
    #[arg(long, value_name = "TIME", value_parser = limit)]
    pub idle_timeout: Option<Limit>,
    /// A shell command that must succeed before a checkpoint; may be given several times (ralph.verify)
    #[arg(long, value_name = "COMMAND")]
    pub verify: Vec<String>,
}

/// Where the stories come from.
#[derive(Debug, Clone, Args)]
pub struct StoriesFrom {
    /// The story list, with #item or #group to say what a story is (ralph.stories)
    #[arg(long = "stories", value_name = "PATH", add = ArgValueCompleter::new(story_lists))]
    pub path: Option<String>,
    /// What lists the stories: openspec, markdown, prd or command (ralph.adapter)
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
    /// The change; if left out, that of the current branch or the only loop
    #[arg(add = ArgValueCandidates::new(loops))]
    pub change: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// `git ralph status`.
#[derive(Debug, Args)]
pub struct Status {
    /// The change; if left out, that of the current branch or the only loop
    #[arg(add = ArgValueCandidates::new(loops))]
    pub change: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Print one line for the prompt of a shell or a status bar, from what is saved alone; nothing where no loop goes on
    #[arg(long, conflicts_with = "json")]
    pub short: bool,
}

/// `git ralph stories`.
#[derive(Debug, Args)]
pub struct Stories {
    /// The change; if left out, that of the current branch or the only loop
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
    /// The change; if left out, that of the current branch or the only loop
    #[arg(add = ArgValueCandidates::new(loops))]
    pub change: Option<String>,
}

/// `git ralph prompt`.
#[derive(Debug, Args)]
pub struct Prompt {
    /// The change; if left out, that of the current branch or the only loop
    #[arg(add = ArgValueCandidates::new(loops))]
    pub change: Option<String>,
    /// The story, if not the one that the next attempt is about
    #[arg(long, value_name = "ID", conflicts_with = "template", add = ArgValueCandidates::new(stories))]
    pub story: Option<String>,
    /// Print the built-in template, to begin one of your own with (ralph.prompt)
    #[arg(long)]
    pub template: bool,
}

/// A command by which a person speaks for a story.
#[derive(Debug, Args)]
pub struct Hand {
    /// The change; if left out, that of the current branch or the only loop
    #[arg(add = ArgValueCandidates::new(loops))]
    pub change: Option<String>,
    /// Print events as JSON, one a line (git ralph help events)
    #[arg(long)]
    pub json: bool,
}

/// `git ralph fail`.
#[derive(Debug, Args)]
pub struct Fail {
    /// The change, the reason, or both; a single word that is no loop is the reason
    #[arg(num_args = 0..=2, value_names = ["CHANGE", "REASON"], add = ArgValueCandidates::new(loops))]
    pub words: Vec<String>,
    /// Print events as JSON, one a line (git ralph help events)
    #[arg(long)]
    pub json: bool,
}

/// `git ralph diff`.
#[derive(Debug, Args)]
pub struct Diff {
    /// The change, the story or story@attempt, or both; a single word that is no loop is the story
    #[arg(
        num_args = 0..=2,
        value_names = ["CHANGE", "STORY[@ATTEMPT]"],
        add = ArgValueCandidates::new(loops_and_attempts)
    )]
    pub words: Vec<String>,
    /// Show only which files changed, and how much
    #[arg(long)]
    pub stat: bool,
}

/// `git ralph restore`.
#[derive(Debug, Args)]
pub struct Restore {
    /// The change and the attempt, or the attempt alone: story@number, or a story for its latest
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
    /// The change, the story, or both; a single word that is no loop is the story
    #[arg(
        num_args = 0..=2,
        value_names = ["CHANGE", "STORY"],
        add = ArgValueCandidates::new(loops_and_stories_to_skip)
    )]
    pub words: Vec<String>,
    /// Pass over the story no longer
    #[arg(long)]
    pub undo: bool,
}

/// `git ralph demo`.
#[derive(Debug, Args)]
pub struct Demo {
    /// Leave the repository there and say where
    #[arg(long)]
    pub keep: bool,
}

/// `git ralph install`.
#[derive(Debug, Args)]
pub struct Install {
    /// Install into <DIR>/share, not for this user alone
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
    /// Print the settings by which an agent's sessions drive the loop, for a file of one's own
    Print {
        /// The agent
        #[arg(value_parser = PossibleValuesParser::new(agents_with_hooks()))]
        agent: String,
    },
    /// Put hooks into this repository, beside those that are there, or into the settings of an agent
    Install(HooksOf),
    /// Take them out again, and nothing else
    Uninstall(HooksOf),
    /// Show which hooks are installed, and which somebody has overwritten
    Status,
}

/// Whose hooks.
#[derive(Debug, Args)]
pub struct HooksOf {
    /// The agent whose settings are meant; if left out, git's hooks in this repository
    #[arg(long, value_parser = PossibleValuesParser::new(agents_with_hooks()))]
    pub agent: Option<String>,
    /// The agent's settings in this project, not those of the user
    #[arg(long, requires = "agent")]
    pub project: bool,
}

fn agents_with_hooks() -> impl Iterator<Item = &'static str> {
    agent_settings::ALL.iter().map(|agent| agent.name)
}

/// `git ralph help`.
#[derive(Debug, Args)]
pub struct Help {
    /// The command, or events or lifecycle; if left out, the page is about the whole
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
