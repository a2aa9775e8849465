//! Settings: git's own configuration, section `ralph`, read by one git process.
//!
//! Each command reads them again. Nothing is read from a tracked file. `table` has them, each with its value, its default and its
//! meaning, `choices` the values with names, `test_rules` those of tests, `boxing` those of the box, `values` reads values,
//! `origins` knows which of the box are in a file of the work tree, `ignored` warns, `options` has the command line's.

mod boxing;
mod choices;
mod command_lines;
mod done_commands;
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

use std::cell::RefCell;
use std::collections::BTreeSet;

use crate::git::hooks::{former, is_ours};
use crate::git::{Filters, Git, GitError, Hooks, Identities, Repo, Sharing};
use crate::paths::shown;

pub use boxing::MinimumBox;
pub use choices::Wanted;
pub use choices::{
    BoxMode, Choice, Colour, EmptyStory, FinishChoice, Leave, ListEdits, Mark, NewTests, NoSignal, Notify,
    OnFailure, Order, RetryContext, Strategy, TestChanges,
};
pub use error::SettingsError;
use ignored::{few_seconds, renamed, why_ignored, without_command, without_value};
pub use options::{LoopCommands, LoopSettings, Options, PlainOptions};
use origins::{is_of_tree, scopes};
use table::default_of_time;
pub use table::{GROUPS, MAX_ATTEMPTS, MAX_COST, MAX_DURATION, Settings, TABLE, spelled};
pub use test_rules::{GateScripts, TestRules};
use values::Value;
pub use values::{
    Limit, is_default, parse_colour, parse_count, parse_dollars, parse_duration, parse_jobs, to_std,
};

/// The extensions of a repository (gitrepository-layout(5)) that do not move its directories.
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
    /// The directories are where git searches for them.
    #[default]
    Usual,
    /// A setting may have moved the work tree away from `.git`, or changed the layout, or git lists no settings of the
    /// repository: git must be asked.
    Configured,
}

/// The parts of the configuration that git-ralph uses.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Configuration {
    /// Section `ralph`.
    pub settings: Settings,
    /// The names and addresses for commits.
    pub identities: Identities,
    /// True if a setting may make git convert files.
    converts: bool,
    /// The filters that git may run.
    filters: Filters,
    /// True if git ignores executable bits (`core.fileMode=false`).
    ignores_modes: bool,
    /// True if git writes symlinks as files (`core.symlinks=false`).
    ignores_links: bool,
    /// The permissions of the files in the repository (`core.sharedRepository`).
    sharing: Sharing,
    /// The places of the repository's directories.
    pub places: Places,
    /// `color.ralph`, else `color.ui`.
    pub colour: Option<Colour>,
    /// The hook settings of git; `None` if they must be reread.
    pub hooks: RefCell<Option<Hooks>>,
    /// Messages about settings without effect, or with a new name.
    pub ignored: Vec<String>,
    /// Messages about sandbox settings that are ignored because they are in a file of the work tree.
    weaker: Vec<String>,
    /// Settings of `git -c`, which override the options of the command that began a loop.
    given: Vec<(String, String)>,
}

impl Configuration {
    /// Reads the configuration, including the user's `git -c`.
    pub async fn read(git: &Git) -> Result<Self, SettingsError> {
        let (configuration, wrong) = Self::read_around_errors(git).await?;
        wrong.map_or(Ok(configuration), Err)
    }

    /// Reads the configuration in the same way, without the values that are of the wrong kind; returns also the error about these.
    pub async fn read_around_errors(git: &Git) -> Result<(Self, Option<SettingsError>), SettingsError> {
        let args = [
            "-z",
            "--show-scope",
            "--show-origin",
            "--get-regexp",
            r"^(ralph|user|author|committer)\.|^color\.(ui|ralph)$|^core\.(autocrlf|eol|attributesfile|filemode|hookspath|sharedrepository|symlinks|worktree|bare)$|^extensions\.|^hook\..*\.event$|^filter\.|^attr\.tree$",
        ];
        let output = git.cmd("config", args).any_exit().await?;
        match output.code {
            Some(0 | 1) => Ok(Self::parsed(&scopes(&output.stdout, git.top()))),
            _ => Err(SettingsError::Git(GitError::Failed {
                verb: "config".to_owned(),
                code: output.code.unwrap_or(-1),
                words: String::from_utf8_lossy(&output.stderr).into_owned(),
            })),
        }
    }

    #[cfg(test)]
    fn parse(listing: &[u8]) -> Result<Self, SettingsError> {
        let (configuration, wrong) = Self::parsed(listing);
        wrong.map_or(Ok(configuration), Err)
    }

    fn parsed(listing: &[u8]) -> (Self, Option<SettingsError>) {
        let mut configuration = Self {
            filters: Filters::None,
            ..Self::default()
        };
        let mut hooks = Hooks::default();
        let mut hooks_paths = Vec::new();
        let mut ours = None;
        let mut has_own = false;
        let mut wrong = None;
        let (mut empty, mut filled) = (BTreeSet::new(), BTreeSet::new());
        let fields: Vec<&[u8]> = listing.split(|b| *b == 0).collect();
        for pair in fields.chunks_exact(2) {
            let [scope, entry] = pair else { continue };
            has_own |= *scope == b"local";
            let entry = String::from_utf8_lossy(entry);
            // In git's listing, a key without a value means true.
            let (key, value) = entry.split_once('\n').unwrap_or((&entry, "true"));
            let is_off = matches!(value, "false" | "no" | "off" | "0");
            match key.split_once('.') {
                Some(("ralph", _)) => {
                    let set = if is_of_tree(scope) {
                        configuration.set_from_tree(key, value, scope).map(|()| true)
                    } else {
                        configuration.settings.boxing.of_tree.forget(key);
                        set(&mut configuration.settings, key, value)
                    };
                    match set {
                        Ok(true) if value.is_empty() => drop(empty.insert(key.to_owned())),
                        Ok(true) => drop(filled.insert(key.to_owned())),
                        Ok(false) => configuration.ignored.extend(why_ignored(key, value)),
                        Err(error) => wrong = Some(SettingsError::and(wrong, error)),
                    }
                    let renamed = renamed(key).filter(|message| !configuration.ignored.contains(message));
                    configuration
                        .ignored
                        .extend(renamed.or_else(|| few_seconds(key, value)));
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
                Some(("core", "filemode")) => configuration.ignores_modes = is_off,
                Some(("core", "symlinks")) => configuration.ignores_links = is_off,
                Some(("core", "sharedrepository")) => configuration.sharing = Sharing::parse(value),
                Some(("core", "autocrlf" | "bare")) if is_off => {}
                Some(("extensions", key)) if PLAIN_EXTENSIONS.contains(&key) => {}
                Some(("core", "bare" | "worktree") | ("extensions", _)) => {
                    configuration.places = Places::Configured;
                }
                Some(("core" | "attr", _)) => configuration.converts = true,
                Some(("filter", _)) => configuration.filters = Filters::Possible,
                Some((section, key)) => configuration.identities.set(section, key, value),
                None => {}
            }
        }
        let unknown = without_command(&configuration.settings.agents);
        let empty = empty.difference(&filled).map(|key| without_value(key));
        configuration.ignored.extend(unknown.into_iter().chain(empty));
        configuration.colour = ours.or(configuration.colour);
        // Git omits the configuration of a repository that it refuses, and reports this only on further queries.
        if !has_own {
            configuration.places = Places::Configured;
        }
        // git-ralph sets this for each git process that it starts, after the user's settings.
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
        configuration.hooks = RefCell::new(Some(hooks));
        (configuration, wrong)
    }

    /// Sets a sandbox value from a file of the work tree: it counts only if it does not weaken the sandbox.
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

    /// Returns messages about a loop's sandbox settings in files of the work tree, including ignored ones.
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

    /// Passes the configured values that a repository needs to it.
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
    pub fn of_loop(&self, kept: &LoopSettings, commands: &LoopCommands) -> Settings {
        let mut settings = self.settings.clone();
        let options = Options {
            agent: commands.agent.clone(),
            verify: commands.verify.clone(),
            plain: kept.plain,
        };
        options.apply_but(&mut settings, |key| self.given(key).is_some());
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
    let set = settings
        .put(
            key,
            default_of_time(key).filter(|_| value.is_empty()).unwrap_or(value),
        )
        .or_else(|| set_piece(settings, key, value));
    match set {
        Some(Ok(())) => Ok(true),
        None => Ok(false),
        Some(Err(wanted)) => Err(SettingsError::Value {
            key: key.to_owned(),
            value: value.to_owned(),
            wanted,
            more: Vec::new(),
        }),
    }
}

/// Sets a value that belongs to a named agent; returns `None` if the key names none.
fn set_piece(settings: &mut Settings, key: &str, value: &str) -> Option<Result<(), Wanted>> {
    let (name, piece) = key.strip_prefix("ralph.agent.")?.rsplit_once('.')?;
    let mut pieces = settings.agents.get(name).cloned().unwrap_or_default();
    let set = match piece {
        "command" => pieces.command.set(value),
        "args" => pieces.args.set(value),
        "format" => {
            let format = value.parse().map(|format| pieces.format = Some(format));
            format.map_err(|_| "the name of a format, like claude or text")
        }
        _ => return None,
    };
    settings.agents.insert(name.to_owned(), pieces);
    Some(set)
}
