//! Arguments that several commands share, and the completion of words by a shell.

pub mod complete;
mod verb;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use clap_complete::engine::ArgValueCompleter;

use self::complete::{adapters, agents, loops, names_of, offer, offer_anywhere, story_lists};
pub use self::verb::Verb;
use crate::engine::Place;
use crate::settings::{
    BoxMode, Choice as _, Limit, MAX_ATTEMPTS, MAX_COST, MAX_DURATION, Options, PlainOptions, parse_count,
    parse_dollars, parse_duration,
};

/// The arguments of `git ralph next` and `git ralph retry`.
#[derive(Debug, Args)]
pub struct StepArgs {
    /// The change; defaults to that of the current branch, or to the only active loop
    #[arg(add = offer(loops))]
    pub change: Option<String>,
    /// Settings.
    #[command(flatten)]
    pub settings: Settings,
    /// Changes of tests.
    #[command(flatten)]
    pub tests: TestChanges,
    /// Continue even if an agent's own session worked on the loop recently
    #[arg(long)]
    pub force: bool,
    /// Show the story, settings, agent and gates of the attempt; change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Print events as JSON, one per line (git ralph help events); with --dry-run one document
    #[arg(long)]
    pub json: bool,
    /// The agent's command; it reads the prompt from standard input
    #[arg(last = true, value_name = "AGENT")]
    pub agent: Vec<OsString>,
}

/// The end of a loop.
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

/// Settings that hold for this command; those of the command that begins a loop, for the loop.
#[derive(Debug, Clone, Args)]
pub struct Settings {
    /// Use this agent: a name that git ralph doctor lists, or a shell command line (ralph.agent)
    #[arg(long = "agent", value_name = "AGENT", add = offer_anywhere(agents))]
    pub agent_line: Option<String>,
    /// Retry a failed story at most N times (ralph.maxRetries)
    #[arg(long, value_name = "N", value_parser = whole_number)]
    pub max_retries: Option<u32>,
    /// End an attempt after this time, such as 45m, or none (ralph.timeout)
    #[arg(long, value_name = "TIME", value_parser = limit)]
    pub timeout: Option<Limit>,
    /// End an attempt after this time without output, or none (ralph.idleTimeout)
    #[arg(long, value_name = "TIME", value_parser = limit)]
    pub idle_timeout: Option<Limit>,
    /// Make this shell command a gate, which must succeed before a checkpoint; repeatable (ralph.verify)
    #[arg(long, value_name = "COMMAND", value_parser = gate)]
    pub verify: Vec<String>,
    /// Run agents and gates in a box: require (without a value), all, on or off (ralph.box)
    #[arg(long = "box", value_name = "WHEN", num_args = 0..=1, require_equals = true, default_missing_value = "require", value_parser = BoxMode::parse,
        add = offer_anywhere(names_of::<BoxMode>))]
    pub boxed: Option<BoxMode>,
}

/// Limits of this run.
#[derive(Debug, Clone, Args)]
pub struct Limits {
    /// Start no more attempts when this time has passed since the loop was started, or none (ralph.maxDuration)
    #[arg(long, value_name = "TIME", value_parser = limit)]
    pub max_duration: Option<Limit>,
    /// Start at most N attempts (ralph.maxAttempts)
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub max_attempts: Option<u32>,
    /// Start no more attempts when the agents have reported this cost in US dollars (ralph.maxCost)
    #[arg(long, value_name = "DOLLARS", value_parser = parse_dollars)]
    pub max_cost: Option<f64>,
}

impl Limits {
    /// Overrides the configured limits.
    pub fn apply(&self, settings: &mut crate::settings::Settings) {
        if let Some(limit) = self.max_duration {
            settings.max_duration = limit.0;
        }
        let typed = [
            self.max_duration.map(|_| MAX_DURATION),
            self.max_attempts.map(|_| MAX_ATTEMPTS),
            self.max_cost.map(|_| MAX_COST),
        ];
        settings.typed.extend(typed.into_iter().flatten());
        settings.max_attempts = self.max_attempts.or(settings.max_attempts);
        settings.max_cost = self.max_cost.or(settings.max_cost);
    }
}

/// A work tree of the loop's own.
#[derive(Debug, Clone, Args)]
pub struct OwnWorkTree {
    /// Work in a new linked work tree at the current commit; do not touch this one (ralph.worktreeDir)
    #[arg(long, value_name = "DIR", num_args = 0..=1, require_equals = true, value_hint = ValueHint::DirPath)]
    #[expect(
        clippy::option_option,
        reason = "clap gives an option whose value may be left out so"
    )]
    pub worktree: Option<Option<PathBuf>>,
}

impl OwnWorkTree {
    /// Returns the place of the work tree, if the loop is to get one.
    pub fn place(&self) -> Option<Place> {
        let named = |dir: &Option<PathBuf>| dir.clone().map_or(Place::Configured, Place::Named);
        self.worktree.as_ref().map(named)
    }
}

/// The source of the stories.
#[derive(Debug, Clone, Args)]
pub struct StoriesFrom {
    /// Read the stories from this list; #item makes each box a story, #group each section, #whole the whole text (ralph.stories)
    #[arg(long = "stories", value_name = "PATH", add = ArgValueCompleter::new(story_lists))]
    pub path: Option<String>,
    /// Read the stories with this adapter: openspec, markdown, prd or command (ralph.adapter)
    #[arg(long, value_name = "NAME", add = offer_anywhere(adapters))]
    pub adapter: Option<String>,
}

impl From<&Settings> for Options {
    fn from(typed: &Settings) -> Self {
        Self {
            agent: typed.agent_line.clone(),
            verify: typed.verify.clone(),
            plain: PlainOptions {
                max_retries: typed.max_retries,
                timeout: typed.timeout,
                idle_timeout: typed.idle_timeout,
                boxed: typed.boxed,
            },
        }
    }
}

fn whole_number(text: &str) -> Result<u32, &'static str> {
    text.parse().map_err(|_| "it must be a whole number")
}

/// Refuses an empty gate, as of a variable that is not set: it would pass always.
fn gate(text: &str) -> Result<String, &'static str> {
    let line = Some(text).filter(|text| !text.trim().is_empty());
    line.map(str::to_owned).ok_or("it must be a shell command")
}

fn limit(text: &str) -> Result<Limit, String> {
    parse_duration(text)
        .map(Limit)
        .map_err(|wanted| format!("it must be {wanted}"))
}

/// The leave to change what judges an attempt.
#[derive(Debug, Clone, Copy, Args)]
pub struct TestChanges {
    /// Let tests and the scripts of gates change this time, and say so in the checkpoint (ralph.testChanges)
    #[arg(long)]
    pub allow_test_changes: bool,
}

impl TestChanges {
    /// Overrides what is configured.
    pub fn apply(self, settings: &mut crate::settings::Settings) {
        if self.allow_test_changes {
            settings.tests.allow();
        }
    }
}

/// The arguments of `git ralph complete`.
#[derive(Debug, Args)]
pub struct CompleteArgs {
    /// The change; defaults to that of the current branch, or to the only active loop
    #[arg(add = offer(loops))]
    pub change: Option<String>,
    /// Changes of tests.
    #[command(flatten)]
    pub tests: TestChanges,
    /// Print events as JSON, one per line (git ralph help events)
    #[arg(long)]
    pub json: bool,
}

/// The arguments of commands with which the user decides about a story.
#[derive(Debug, Args)]
pub struct ManualArgs {
    /// The change; defaults to that of the current branch, or to the only active loop
    #[arg(add = offer(loops))]
    pub change: Option<String>,
    /// Print events as JSON, one per line (git ralph help events)
    #[arg(long)]
    pub json: bool,
}
