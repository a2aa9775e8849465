//! Settings: git's own configuration, section `ralph`, read by one git process.
//!
//! Each command reads them again. Nothing is read from a tracked file. This module knows the keys; `defaults` has the values
//! of those that are not set, `choices` the values with names, `test_rules` those of tests, `boxing` those of the box,
//! `table` the meanings, `values` parses their values, `origins` knows which of the box are in a file of the work tree,
//! `ignored` warns, `options` has the command line's.

mod boxing;
mod choices;
mod command_lines;
mod defaults;
mod error;
mod ignored;
mod options;
mod origins;
#[cfg(test)]
mod properties;
mod table;
mod test_rules;
#[cfg(test)]
mod tests;
mod values;

use std::collections::BTreeMap;

use jiff::SignedDuration;
use serde::Serialize;

use crate::agent::Pieces;
use crate::git::hooks::{former, is_ours};
use crate::git::{Filters, Git, GitError, Hooks, Identities, Repo, Sharing};
use crate::paths::shown;

pub use boxing::{BoxMode, Boxing, Least};
pub use choices::{
    Colour, EmptyStory, FinishChoice, ListEdits, Mark, NoSignal, Notify, OnFailure, RetryContext, Strategy,
};
pub use error::SettingsError;
use ignored::{few_seconds, why_ignored};
pub use options::{Limit, LoopSettings, Options};
use origins::{is_of_tree, scopes};
pub use table::{TABLE, spelled};
pub use test_rules::{NewTests, TestChanges, TestRules};
use values::{
    address, days, dollars, duration, empty_story, expression, finish_choice, lease, list_edits, mark,
    no_signal, notify, number, ref_prefix, retry_context, text, truth, wait, wrong,
};
pub use values::{
    parse_box, parse_colour, parse_dollars, parse_duration, parse_on_failure, parse_strategy, to_std,
};

/// The settings that a command works with.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Settings {
    /// The agent's name, or its shell command line; if absent, the first known agent on PATH.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The settings of agents by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub agents: BTreeMap<String, Pieces>,
    /// The agent of retries; that of first attempts if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_agent: Option<String>,
    /// The agent of an attempt at which the other one could not work; none if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback_agent: Option<String>,
    /// Retries after the first attempt, for each story.
    pub max_retries: u32,
    /// Wall time of an attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<SignedDuration>,
    /// Time without output after which an attempt is ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_timeout: Option<SignedDuration>,
    /// Shell commands that must succeed before a checkpoint.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub verify: Vec<String>,
    /// Number of times that a gate which failed is run again.
    pub verify_retries: u32,
    /// Which files are tests, and what becomes of changes to them.
    #[serde(flatten)]
    pub tests: TestRules,
    /// The judgement of a promise without a change.
    pub empty_story: EmptyStory,
    /// The judgement of an attempt that ended by itself, without a promise.
    pub no_signal: NoSignal,
    /// Wall time of a gate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verify_timeout: Option<SignedDuration>,
    /// The agent that looks at work whose gates passed, before its checkpoint; none if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<String>,
    /// Wall time of a review.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review_timeout: Option<SignedDuration>,
    /// Path of the template for the prompts of reviews; the built-in one if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review_prompt: Option<String>,
    /// Wall time of the whole loop, checked between attempts of `run`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_duration: Option<SignedDuration>,
    /// Maximum time to wait for the agent's service in a row; no limit if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_wait: Option<SignedDuration>,
    /// Maximum number of attempts of one `run`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// Maximum cost that the agents of this loop may report in total, in US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<f64>,
    /// The action of `run` when a story has no retries left.
    pub on_failure: OnFailure,
    /// The way to notify a person of the end of a long run.
    pub notify: Notify,
    /// The choice of `run` at the end.
    pub finish: FinishChoice,
    /// Time limit of one git command.
    pub command_timeout: SignedDuration,
    /// Time to keep the refs and files of a finished loop; forever if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_attempts: Option<SignedDuration>,
    /// The adapter that lists the stories; detected if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adapter: Option<String>,
    /// The place of the stories; detected if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stories: Option<String>,
    /// Command that lists the stories, for the command adapter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stories_command: Option<String>,
    /// Command that marks a story as done before its checkpoint, for the command adapter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub done_command: Option<String>,
    /// Command that runs after a story's checkpoint, for the command adapter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed_command: Option<String>,
    /// Whoever marks a complete story.
    pub mark: Mark,
    /// The changes that an attempt may make to the list.
    pub list_edits: ListEdits,
    /// Path of the template for prompts; the built-in one if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The part of the prompt of a retry that describes an attempt without a promise.
    pub retry_context: RetryContext,
    /// The address of a commit for reports, with `{oid}` in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_commit: Option<String>,
    /// Regular expressions whose matches are taken out of reports.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub redact: Vec<String>,
    /// True if `run` shows the view on a terminal.
    pub view: bool,
    /// True if hooks guard the agent's git and refuse what would harm the loop.
    pub guard: bool,
    /// The box in which the processes of an attempt run.
    #[serde(rename = "box")]
    pub boxing: Boxing,
    /// The place of the checkpoints of a new loop.
    pub strategy: Strategy,
    /// The remote that keeps loops; absent if none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
    /// Time after which a holder that does not renew its lease is taken to be gone.
    pub lease: SignedDuration,
    /// The beginning of the refs of loops on a remote, with a slash at its end.
    pub remote_refs: String,
    /// The directory in which loops get work trees of their own; relative to the main work tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree_dir: Option<String>,
    /// Shell command that prepares a new work tree of a loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree_setup: Option<String>,
}

/// The extensions of a repository (gitrepository-layout(5)) that leave its directories where they are.
const PLAIN_EXTENSIONS: &[&str] = &[
    "objectformat",
    "partialclone",
    "preciousobjects",
    "refstorage",
    "relativeworktrees",
    "worktreeconfig",
];

/// The places of a repository's directories.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Places {
    /// Those where git looks for them.
    #[default]
    Usual,
    /// A setting can have put the work tree elsewhere than beside `.git`, or changes the layout, or the repository has no
    /// settings that git lists: git has to be asked.
    Configured,
}

/// The configuration as far as git-ralph uses it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Configuration {
    /// Section `ralph`.
    pub settings: Settings,
    /// The names and addresses for commits.
    pub identities: Identities,
    /// True if a setting can make git convert files.
    converts: bool,
    /// The filters that git may run.
    filters: Filters,
    /// True if git ignores executable bits (`core.fileMode=false`).
    ignores_modes: bool,
    /// True if git writes links as files (`core.symlinks=false`).
    ignores_links: bool,
    /// The permissions of the files in the repository (`core.sharedRepository`).
    sharing: Sharing,
    /// The places of the repository's directories.
    pub places: Places,
    /// `color.ralph`, else `color.ui`.
    pub colour: Option<Colour>,
    /// The hook settings of git; `None` if they have to be read again.
    pub hooks: Option<Hooks>,
    /// Messages about settings that have no effect.
    pub ignored: Vec<String>,
    /// Messages about settings of the box that do not count, because they are in a file of the work tree.
    weaker: Vec<String>,
    /// Settings of `git -c`, which override the options of the command that began a loop.
    given: Vec<(String, String)>,
}

impl Configuration {
    /// Reads the configuration, including the user's `git -c`.
    pub async fn read(git: &Git) -> Result<Self, SettingsError> {
        let args = [
            "-z",
            "--show-scope",
            "--show-origin",
            "--get-regexp",
            r"^(ralph|user|author|committer)\.|^color\.(ui|ralph)$|^core\.(autocrlf|eol|attributesfile|filemode|hookspath|sharedrepository|symlinks|worktree|bare)$|^extensions\.|^hook\..*\.event$|^filter\.|^attr\.tree$",
        ];
        let output = git.cmd("config", args).any_exit().await?;
        match output.code {
            Some(0 | 1) => Self::parse(&scopes(&output.stdout, git.top())),
            _ => Err(SettingsError::Git(GitError::Failed {
                verb: "config".to_owned(),
                code: output.code.unwrap_or(-1),
                words: String::from_utf8_lossy(&output.stderr).into_owned(),
            })),
        }
    }

    fn parse(listing: &[u8]) -> Result<Self, SettingsError> {
        let mut configuration = Self {
            filters: Filters::None,
            ..Self::default()
        };
        let mut hooks = Hooks::default();
        let mut hooks_paths = Vec::new();
        let mut ours = None;
        let mut has_own = false;
        let fields: Vec<&[u8]> = listing.split(|b| *b == 0).collect();
        for pair in fields.chunks_exact(2) {
            let [scope, entry] = pair else { continue };
            has_own |= *scope == b"local";
            let entry = String::from_utf8_lossy(entry);
            // A key without a value is git's way of saying true.
            let (key, value) = entry.split_once('\n').unwrap_or((&entry, "true"));
            match key.split_once('.') {
                Some(("ralph", _)) => {
                    if is_of_tree(scope) {
                        configuration.set_from_tree(key, value, scope)?;
                    } else if !set(&mut configuration.settings, key, value)? {
                        configuration.ignored.extend(why_ignored(key, value));
                    }
                    configuration.ignored.extend(few_seconds(key, value));
                    if *scope == b"command" {
                        configuration.given.push((key.to_owned(), value.to_owned()));
                    }
                }
                Some(("color", "ralph")) => ours = parse_colour(value).or(ours),
                Some(("color", _)) => configuration.colour = parse_colour(value).or(configuration.colour),
                Some(("core", "hookspath")) => hooks_paths.push((*scope, value.to_owned())),
                Some(("hook", key)) if key.strip_suffix(".event").is_some() => {
                    hooks.events.insert(value.to_owned());
                }
                Some(("core", "filemode")) => {
                    configuration.ignores_modes = matches!(value, "false" | "no" | "off" | "0");
                }
                Some(("core", "symlinks")) => {
                    configuration.ignores_links = matches!(value, "false" | "no" | "off" | "0");
                }
                Some(("core", "sharedrepository")) => configuration.sharing = Sharing::parse(value),
                Some(("core", "bare")) if matches!(value, "false" | "no" | "off" | "0") => {}
                Some(("extensions", key)) if PLAIN_EXTENSIONS.contains(&key) => {}
                Some(("core", "bare" | "worktree") | ("extensions", _)) => {
                    configuration.places = Places::Configured;
                }
                Some(("core", "autocrlf")) if matches!(value, "false" | "no" | "off" | "0") => {}
                Some(("core" | "attr", _)) => configuration.converts = true,
                Some(("filter", _)) => configuration.filters = Filters::Possible,
                Some((section, key)) => configuration.identities.set(section, key, value),
                None => {}
            }
        }
        configuration.colour = ours.or(configuration.colour);
        // Git leaves out the configuration of a repository that it refuses, and says so only when it is asked for more.
        if !has_own {
            configuration.places = Places::Configured;
        }
        // git-ralph sets this for each git that it runs, after the user's settings.
        if hooks_paths.last() == Some(&(b"command", "/dev/null".to_owned())) {
            hooks_paths.pop();
        }
        hooks.path = hooks_paths.into_iter().fold(None, |before, (_, path)| {
            // The hooks in git-ralph's directory run those of the former directory.
            if is_ours(&path) {
                former(&path).or(before)
            } else {
                Some(path)
            }
        });
        configuration.hooks = Some(hooks);
        Ok(configuration)
    }

    /// Sets a value of the box that is in a file of the work tree: it counts only where the box is not weaker with it.
    fn set_from_tree(&mut self, key: &str, value: &str, file: &[u8]) -> Result<(), SettingsError> {
        let mut changed = self.settings.clone();
        set(&mut changed, key, value)?;
        if !self.settings.boxing.take_from_tree(changed.boxing) {
            self.weaker.push(format!(
                "{}={value} in {} is ignored: a file of the work tree can only make the box stronger",
                spelled(key),
                shown(file.strip_prefix(b"file:").unwrap_or(file))
            ));
        }
        Ok(())
    }

    /// Returns messages about what files of the work tree say of the box of a loop, and what does not count.
    pub fn weaker(&self, kept: &LoopSettings) -> Vec<String> {
        let mut messages = self.weaker.clone();
        let (least, now) = (kept.least, &self.settings.boxing);
        if least.mode > now.mode || least.commands && !now.has_hooks {
            messages.push(
                "a file of the work tree asked for a stronger box when the loop began; that still holds for this loop"
                    .to_owned(),
            );
        }
        messages
    }

    /// Tells a repository what was configured for it.
    pub fn describe(&self, repo: &mut Repo) {
        repo.converts = self.converts;
        repo.git = repo.git.clone().with_filters(self.filters);
        repo.ignores_modes = self.ignores_modes;
        repo.ignores_links = self.ignores_links;
        repo.sharing = self.sharing;
    }

    /// Returns the value that `git -c` gives a setting for this command; the key is in lower case.
    pub fn given(&self, key: &str) -> Option<&str> {
        let mut given = self.given.iter().rev();
        let (_, value) = given.find(|(other, _)| other == key)?;
        Some(value)
    }

    /// Returns the settings for a command on an existing loop.
    pub fn of_loop(&self, kept: &LoopSettings) -> Settings {
        let mut settings = self.settings.clone();
        let options = kept.options.without(|key| self.given(key).is_some());
        options.apply(&mut settings);
        if self.given("ralph.mark").is_none() {
            settings.mark = kept.mark;
        }
        if self.given("ralph.box").is_none() {
            settings.boxing.mode = settings.boxing.mode.max(kept.least.mode);
        }
        if self.given("ralph.boxcommands").is_none() {
            settings.boxing.has_hooks |= kept.least.commands;
        }
        settings
    }
}

/// Sets one value; returns `false` if no setting has this key.
fn set(settings: &mut Settings, key: &str, value: &str) -> Result<bool, SettingsError> {
    match key {
        "ralph.agent" => settings.agent = text(value),
        "ralph.retryagent" => settings.retry_agent = text(value),
        "ralph.fallbackagent" => settings.fallback_agent = text(value),
        "ralph.maxretries" => settings.max_retries = number(key, value)?,
        "ralph.timeout" => settings.timeout = duration(key, value)?,
        "ralph.idletimeout" => settings.idle_timeout = duration(key, value)?,
        "ralph.verify" => add(&mut settings.verify, value),
        "ralph.verifyretries" => settings.verify_retries = number(key, value)?,
        "ralph.tests" | "ralph.testchanges" | "ralph.newtests" => settings.tests.set(key, value)?,
        "ralph.emptystory" => settings.empty_story = empty_story(key, value)?,
        "ralph.nosignal" => settings.no_signal = no_signal(key, value)?,
        "ralph.verifytimeout" => settings.verify_timeout = duration(key, value)?,
        "ralph.review" => settings.review = text(value),
        "ralph.reviewtimeout" => settings.review_timeout = duration(key, value)?,
        "ralph.reviewprompt" => settings.review_prompt = text(value),
        "ralph.maxduration" => settings.max_duration = duration(key, value)?,
        "ralph.maxwait" => settings.max_wait = wait(key, value)?,
        "ralph.maxattempts" => settings.max_attempts = Some(number(key, value)?),
        "ralph.maxcost" => settings.max_cost = Some(dollars(key, value)?),
        "ralph.onfailure" => {
            settings.on_failure = parse_on_failure(value).map_err(|wanted| wrong(key, value, wanted))?;
        }
        "ralph.notify" => settings.notify = notify(value),
        "ralph.finish" => settings.finish = finish_choice(key, value)?,
        "ralph.commandtimeout" => {
            settings.command_timeout = duration(key, value)?.unwrap_or(SignedDuration::MAX);
        }
        "ralph.keepattempts" => settings.keep_attempts = days(key, value)?,
        "ralph.adapter" => settings.adapter = text(value),
        "ralph.stories" => settings.stories = text(value),
        "ralph.storiescommand" => settings.stories_command = text(value),
        "ralph.donecommand" => settings.done_command = text(value),
        "ralph.closedcommand" => settings.closed_command = text(value),
        "ralph.listedits" => settings.list_edits = list_edits(key, value)?,
        "ralph.mark" => settings.mark = mark(key, value)?,
        "ralph.prompt" => settings.prompt = text(value),
        "ralph.retrycontext" => settings.retry_context = retry_context(key, value)?,
        // The name that it had before.
        "ralph.retryoutput" => settings.retry_context = RetryContext::of_output(truth(key, value)?),
        "ralph.linkcommit" => settings.link_commit = address(key, value)?,
        "ralph.redact" if value.is_empty() => settings.redact.clear(),
        "ralph.redact" => settings.redact.push(expression(key, value)?),
        "ralph.view" => settings.view = truth(key, value)?,
        "ralph.guard" => settings.guard = truth(key, value)?,
        "ralph.box" => {
            settings.boxing.mode = parse_box(value).map_err(|wanted| wrong(key, value, wanted))?;
            settings.boxing.of_tree.mode = BoxMode::Off;
        }
        "ralph.boxread" => add(&mut settings.boxing.read, value),
        "ralph.boxwrite" => add(&mut settings.boxing.written, value),
        "ralph.boxenv" => add(&mut settings.boxing.variables, value),
        "ralph.boxcommands" => {
            settings.boxing.has_hooks = truth(key, value)?;
            settings.boxing.of_tree.commands = false;
        }
        "ralph.strategy" => {
            settings.strategy = parse_strategy(value).map_err(|wanted| wrong(key, value, wanted))?;
        }
        "ralph.remote" => settings.remote = text(value),
        "ralph.lease" => settings.lease = lease(key, value)?,
        "ralph.remoterefs" => settings.remote_refs = ref_prefix(key, value)?,
        "ralph.worktreedir" => settings.worktree_dir = text(value),
        "ralph.worktreesetup" => settings.worktree_setup = text(value),
        _ => match key
            .strip_prefix("ralph.agent.")
            .and_then(|rest| rest.rsplit_once('.'))
        {
            Some((name, piece)) => return set_piece(settings, key, name, piece, value),
            None => return Ok(false),
        },
    }
    Ok(true)
}

/// Adds a value to a list. As in git's own lists, an empty one forgets those before it.
fn add(list: &mut Vec<String>, value: &str) {
    if value.is_empty() {
        list.clear();
    } else {
        list.push(value.to_owned());
    }
}

/// Sets a value that belongs to an agent by name.
fn set_piece(
    settings: &mut Settings,
    key: &str,
    name: &str,
    piece: &str,
    value: &str,
) -> Result<bool, SettingsError> {
    let mut pieces = settings.agents.get(name).cloned().unwrap_or_default();
    match piece {
        "command" => pieces.command = text(value),
        "args" => pieces.args = text(value),
        "format" => {
            let format = value.parse();
            let format =
                format.map_err(|_| wrong(key, value, "the name of a format, like claude or text"))?;
            pieces.format = Some(format);
        }
        _ => return Ok(false),
    }
    settings.agents.insert(name.to_owned(), pieces);
    Ok(true)
}
