//! The loop: one function a step, shared by the step commands and by the driver of `run`.
//!
//! - `machine` decides (pure); `session` holds an open loop, which `start` begins (after the refusals of
//!   `preflight`, upon a `snapshot`) or `resume` rebuilds.
//! - An `attempt` runs an agent (`run_agent`, told by `prompting`), mends what it broke (`home`, `repair`, `rights`),
//!   and is concluded (`conclude`: `verdict`, `gates`, `source`) by a `checkpoint` or a `revert`; `limits` and
//!   `waiting` say whether and when there is another. `hand` does
//!   the same at a person's word.
//! - `finish`, `abort`, `restore` and `prune` end things; `recover` completes what a crash left.
//! - `hooks` of the user's run around these steps; `others` compares what they and gates left.
//! - `session_hook` answers agents whose own sessions drive the loop by their hooks.
//! - `git_hooks` are told by git what a person does meanwhile.
//! - The `guard` stands around the agent's git meanwhile.
//! - `kept` numbers the attempts that refs keep.
//! - `other_refs`, `touched` and `unversioned` know what an attempt did beside the tracked files.
//! - `unmarked` remembers what a list does not say of complete stories, and asks for it again.
//! - `driver` chains the steps, `report` and `doctor` look, `glance` at files alone.
//!
//! Nothing here knows the command line or prints: what happens goes to an [`Observer`].

mod abort;
mod attempt;
mod baseline;
mod checkpoint;
pub(crate) mod conclude;

mod backoff;
pub mod driver;
mod finish;
mod gate;
mod gates;
mod guard_rail;
mod hand;
mod home;
pub(crate) mod kept;
mod learnings;
pub mod lifecycle_hooks;
mod limits;
mod other_refs;
mod others;
pub(crate) mod output_tail;
mod preflight;
pub mod progress;
mod prompting;
pub(crate) mod prune;
mod recover;
mod repair;
mod restore;
mod resume;
mod revert;
mod rights;
pub(crate) mod run_agent;
mod session;
mod snapshot;
mod start;
pub mod stories;
mod story_source;
mod submodules;
mod touched;
mod trash;
mod unmarked_stories;
mod unversioned;
pub(crate) mod verdict;

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::agent::{Agent, process_tree};
use crate::error::Error;
use crate::events::Observer;
use crate::git::{Git, GitError, Head, Repo, discover};
use crate::names::Change;
use crate::settings::{Configuration, Settings, to_std};
use crate::signal::Stop;
use crate::state::{self, Store};

pub use attempt::AttemptOptions;
pub use conclude::StepEnd;
pub use finish::Finish;
pub use kept::kept_range;
pub use preflight::{Found, StartOptions};
pub use resume::resume;
pub use session::{Session, look};
pub use start::{Started, preview, start};
pub use stories::{Upcoming, listing_of, progress_of, upcoming, wanted};

/// A repository, its configuration, and who watches: what every command begins with.
pub struct Engine<'o> {
    /// The repository.
    pub repo: Repo,
    /// HEAD when the command began.
    pub head: Head,
    /// The configuration.
    pub configuration: Configuration,
    /// Who watches.
    pub observer: &'o mut dyn Observer,
    /// Signals that ask us to stop.
    pub stop: Stop,
    /// How this git runs hooks, when it was asked.
    hook_run: Option<lifecycle_hooks::HookRun>,
}

impl<'o> Engine<'o> {
    /// Finds the repository around `dir` and reads the configuration: two git processes at once.
    ///
    /// # Errors
    /// When `dir` is not inside a work tree, or a setting cannot be understood.
    pub async fn open(dir: &Path, observer: &'o mut dyn Observer) -> Result<Self, Error> {
        let stop = Stop::listen().map_err(|source| Error::System {
            what: "listen for signals",
            source,
        })?;
        // Git finds the same configuration from here as from the top.
        let here = Git::at(dir);
        let (found, configuration) = tokio::join!(discover(dir), Configuration::read(&here));
        let (mut repo, head) = match found {
            Ok(found) => found,
            Err(GitError::Failed { words, .. }) => {
                return Err(Error::NoWorkTree(words.trim().to_owned()));
            }
            Err(other) => return Err(other.into()),
        };
        refuse_other_git_dir(&repo, dir)?;
        let configuration = configuration?;
        repo.converts = configuration.converts;
        let has_identity = configuration.has_identity || identity_in_environment();
        repo.git = repo
            .git
            .clone()
            .with_limit(to_std(configuration.settings.command_timeout))
            .with_own_identity(!has_identity);
        Ok(Self {
            repo,
            head,
            configuration,
            observer,
            stop,
            hook_run: None,
        })
    }

    /// The change whose branch HEAD is on, whether there is such a loop or not.
    pub(crate) fn change_of_branch(&self) -> Option<Change> {
        let branch = self.head.branch.as_deref()?;
        Change::new(branch.strip_prefix("refs/heads/ralph/")?).ok()
    }

    /// The change that a command is about: the one named, else the one of the current branch, else
    /// the only live loop, else the only loop.
    ///
    /// # Errors
    /// When there is none, or when several are possible.
    pub fn resolve_change(&self, name: Option<&str>) -> Result<Change, Error> {
        let known = state::changes(&self.repo.common_dir)?;
        if let Some(name) = name {
            let change = Change::new(name)?;
            return if known.contains(&change) {
                Ok(change)
            } else {
                Err(Error::UnknownLoop {
                    name: name.to_owned(),
                    known: known.iter().map(ToString::to_string).collect(),
                })
            };
        }
        if let Some(change) = self.change_of_branch().filter(|change| known.contains(change)) {
            return Ok(change);
        }
        // A file that cannot be read is still a loop; naming it gives the reason.
        let is_live = |change: &Change| match Store::new(&self.repo.common_dir, change).load() {
            Ok(state) => state.is_some_and(|state| state.is_live()),
            Err(_) => true,
        };
        let live: Vec<Change> = known.iter().filter(|change| is_live(change)).cloned().collect();
        let names = |changes: &[Change]| changes.iter().map(ToString::to_string).collect();
        match (live.as_slice(), known.as_slice()) {
            ([one], _) | ([], [one]) => Ok(one.clone()),
            ([], finished) => Err(Error::NoLoop(names(finished))),
            (several, _) => Err(Error::SeveralLoops(names(several))),
        }
    }
}

/// Refuses to begin an attempt inside an attempt.
///
/// # Errors
/// When the mark of an attempt is in the environment.
pub fn refuse_inside_attempt() -> Result<(), Error> {
    if env::var_os(process_tree::VARIABLE).is_some() {
        Err(Error::InsideAttempt)
    } else {
        Ok(())
    }
}

/// `git --git-dir=<elsewhere> ralph` must not quietly work on the repository of the current directory.
fn refuse_other_git_dir(repo: &Repo, dir: &Path) -> Result<(), Error> {
    let Some(named) = env::var_os("GIT_DIR").filter(|named| !named.is_empty()) else {
        return Ok(());
    };
    let named = dir.join(PathBuf::from(named));
    let resolve = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if resolve(&named) == resolve(&repo.git_dir) {
        Ok(())
    } else {
        Err(Error::OtherGitDir {
            named,
            found: repo.git_dir.clone(),
        })
    }
}

fn identity_in_environment() -> bool {
    let set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    ["AUTHOR", "COMMITTER"]
        .iter()
        .all(|role| set(&format!("GIT_{role}_NAME")) && (set(&format!("GIT_{role}_EMAIL")) || set("EMAIL")))
}

/// The agent of a step or of a loop that begins: the command given, else what the settings name.
#[must_use]
pub fn agent_of(given: &[OsString], settings: &Settings, top: &Path) -> Option<Agent> {
    Agent::choose(given, settings.agent.as_deref(), &settings.agents, top)
}
