//! The context of every command: the repository, its configuration, signals, and the observer.

use std::cell::Cell;
use std::env;
use std::fs::Metadata;
use std::path::{Path, PathBuf};

use super::damaged;
use crate::agent::process_tree;
use crate::engine::open_refusal::OpenRefusal;
use crate::engine::step_refusal::StepRefusal;
use crate::engine::steps::start_refusal::StartRefusal;
use crate::error::{Error, refuse};
use crate::events::{Observer, tell};
use crate::fs::{entries_of, is_seen_as_file, target_of};
use crate::git::{
    Git, GitError, Head, RefInfo, Repo, Signers, discover, discover_in_files, endless_file, leads_nowhere,
};
use crate::names::Change;
use crate::paths::real;
use crate::processes::Table;
use crate::settings::{Configuration, Places, Strategy, to_std};
use crate::signal::Stop;
use crate::state::{self, State, Store, is_side, loops_among};
use crate::stories;

/// The form of `git hook run` in this git. Git has the command since 2.36; since 2.54, where configuration can name
/// hooks too, it needs an option for hook names unknown to git.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HookRun {
    /// The command does not exist.
    Missing,
    /// Git 2.36 to 2.53: runs any name, but only hooks in files.
    Files,
    /// Git 2.54 and later: `--allow-unknown-hook-name`, and configured hooks too.
    Configured,
}

/// A repository, its configuration, and the observer: every command begins with it.
pub struct Context<'o> {
    /// The repository.
    pub repo: Repo,
    /// The current directory, relative to the top of the work tree.
    pub below_top: PathBuf,
    /// HEAD when the command began.
    pub head: Head,
    /// The configuration.
    pub configuration: Configuration,
    /// The observer of events.
    pub observer: &'o dyn Observer,
    /// Signals that ask git-ralph to stop.
    pub stop: Stop,
    /// The form of `git hook run`, once git has been asked.
    pub(super) hook_run: Cell<Option<HookRun>>,
}

impl<'o> Context<'o> {
    /// Finds the repository around `dir` and reads the configuration, with one git process in an ordinary repository.
    pub async fn open(dir: &Path, observer: &'o dyn Observer) -> Result<Self, Error> {
        let (context, _) = Self::open_beside(dir, observer, false).await?;
        Ok(context)
    }

    /// Opens the repository as [`Context::open`] does, and lists the refs of an ordinary one beside the configuration if they
    /// are `wanted`; they are `None` in any other repository, or if git cannot list them.
    pub async fn open_beside(
        dir: &Path,
        observer: &'o dyn Observer,
        wanted: bool,
    ) -> Result<(Self, Option<Vec<RefInfo>>), Error> {
        if let Some(device) = endless_file(dir) {
            return Err(OpenRefusal::Device(device).into());
        }
        // Git finds the same configuration from `dir` as from the top; this git starts before anything else.
        let here = Git::at(dir);
        let in_files = discover_in_files(dir);
        let asked = async {
            match in_files {
                Some(_) => None,
                None => Some(discover(dir).await),
            }
        };
        let listed = async {
            match &in_files {
                Some((repo, _)) if wanted => here.all_refs(repo.has_many_refs()).await.ok(),
                _ => None,
            }
        };
        let (mut configuration, mut asked, listed, stop) =
            tokio::join!(Configuration::read(&here), asked, listed, Stop::listen());
        let is_usual = matches!(&configuration, Ok(answer) if answer.places == Places::Usual);
        if !is_usual && damaged::repair_places(dir, observer).await? {
            configuration = Configuration::read(&here).await;
            asked = Some(discover(dir).await);
        }
        let stop = stop.map_err(Error::system("listen for signals"))?;
        let mut found = match (asked, in_files, &configuration) {
            (Some(found), ..) => found,
            (None, Some(found), Ok(answer)) if answer.places == Places::Usual => Ok(found),
            (None, ..) => discover(dir).await,
        };
        if let Err(GitError::Failed { words, .. }) = &found {
            match damaged::repair(dir, words, observer).await {
                Ok(()) => (found, configuration) = tokio::join!(discover(dir), Configuration::read(&here)),
                Err(Error::Open(refusal)) => return Err(no_work_tree(&here, refusal).await.into()),
                Err(error) => return Err(error),
            }
        }
        let (mut repo, head) = match found {
            Ok(found) => found,
            Err(GitError::Failed { words, .. }) => {
                let refusal = OpenRefusal::NoWorkTree(words.trim().to_owned());
                return Err(no_work_tree(&here, refusal).await.into());
            }
            Err(other) => return Err(other.into()),
        };
        refuse_other_git_dir(&repo, dir)?;
        refuse_tree_apart(&repo)?;
        let configuration = configuration?;
        describe(&configuration, &mut repo);
        let standing = dir.canonicalize().ok();
        let below_top = standing
            .as_deref()
            .and_then(|dir| dir.strip_prefix(&repo.top).ok());
        let below_top = below_top.map(Path::to_owned).unwrap_or_default();
        let context = Self {
            repo,
            below_top,
            head,
            configuration,
            observer,
            stop,
            hook_run: Cell::default(),
        };
        Ok((context, listed))
    }

    /// Reads the configuration again, after it was restored.
    pub(crate) async fn read_configuration_again(&mut self) -> Result<(), Error> {
        self.configuration = Configuration::read(&self.repo.git).await?;
        describe(&self.configuration, &mut self.repo);
        Ok(())
    }

    /// Opens another work tree of the repository, and reads its configuration, which may differ.
    pub async fn at(self, top: &Path) -> Result<Self, Error> {
        let here = Git::at_top(top);
        let (mut found, mut configuration) = tokio::join!(discover(top), Configuration::read(&here));
        if let Err(GitError::Failed { words, .. }) = &found {
            damaged::repair(top, words, self.observer).await?;
            (found, configuration) = tokio::join!(discover(top), Configuration::read(&here));
        }
        let ((mut repo, head), configuration) = (found?, configuration?);
        describe(&configuration, &mut repo);
        let below_top = target_of(&top.join(&self.below_top))?.filter(Metadata::is_dir);
        Ok(Self {
            repo,
            below_top: below_top.map(|_| self.below_top).unwrap_or_default(),
            head,
            configuration,
            ..self
        })
    }

    /// Reports a message about a change that has no open loop.
    pub fn tell(&self, change: &Change, message: String) {
        tell(self.observer, change.as_str(), message);
    }

    /// Returns the change of the live loop that leaves HEAD of this work tree in its place, else the change whose
    /// branch HEAD is on, even if that change has no loop.
    pub fn change_of_branch(&self) -> Option<Change> {
        if let Some(change) = self.change_in_place() {
            return Some(change);
        }
        let branch = self.head.branch.as_deref()?;
        Change::new(branch.strip_prefix("refs/heads/ralph/")?).ok()
    }

    fn change_in_place(&self) -> Option<Change> {
        let known = state::changes(&self.repo.common_dir).ok()?;
        known.into_iter().find(|change| {
            let state = Store::new(&self.repo.common_dir, change).load_live();
            state.is_ok_and(|state| {
                state.is_some_and(|state| !state.has_branch() && state.work_tree() == self.repo.top)
            })
        })
    }

    /// Reads the state of a loop, which must exist.
    pub fn state_of(&self, change: &Change) -> Result<State, Error> {
        let state = Store::new(&self.repo.common_dir, change).load()?;
        state.ok_or_else(|| self.unknown_loop(change.as_str(), &[]))
    }

    /// Returns the error about a loop without a state, if its files show that its branch or its refs exist.
    fn lost_loop(&self, change: &Change) -> Option<OpenRefusal> {
        let layout = self.repo.layout();
        let is_there = |name: &str| layout.loose(name).is_some();
        let is_on_branch = self.head.branch.as_deref() == Some(&change.branch_ref());
        let has_start = is_there(&change.ralph_ref("start"));
        let is_in_place = !is_on_branch && has_start && is_there(&Strategy::Stash.tip_ref(change));
        let is_lost = is_on_branch || is_in_place || has_start && is_there(&change.branch_ref());
        is_lost.then(|| OpenRefusal::LostState {
            change: change.to_string(),
            is_in_place,
            is_here: is_on_branch || is_in_place,
        })
    }

    /// Returns the error about the first loop that lacks only its state.
    pub fn first_lost_loop(&self) -> Option<OpenRefusal> {
        let files = entries_of(&self.repo.common_dir.join("ralph")).unwrap_or_default();
        let names = files.into_iter().map(|entry| entry.file_name());
        let mut changes: Vec<Change> = names
            .filter_map(|name| Change::new(name.to_str()?).ok())
            .collect();
        let known = state::changes(&self.repo.common_dir).ok()?;
        changes.retain(|change| !known.contains(change));
        changes.sort();
        changes.iter().find_map(|change| self.lost_loop(change))
    }

    /// Returns the error about an unknown loop; `known` are the loops that exist.
    pub fn unknown_loop(&self, name: &str, known: &[Change]) -> Error {
        let change = Change::new(name).ok();
        if let Some(lost) = change.and_then(|change| self.lost_loop(&change)) {
            return lost.into();
        }
        OpenRefusal::UnknownLoop {
            name: name.to_owned(),
            known: known.iter().map(ToString::to_string).collect(),
            changes: stories::changes(&self.repo.top),
            checklist: self.list_to_name(name),
        }
        .into()
    }

    /// Refuses to resume a change without a loop.
    pub(super) async fn nothing_to_resume(&self, change: &Change) -> StartRefusal {
        let branch = self.repo.git.oid_at(&change.branch_ref()).await;
        StartRefusal::NothingToResume {
            change: change.to_string(),
            has_branch: branch.is_ok_and(|branch| branch.is_some()),
            stories: self.list_to_name(change.as_str()),
        }
    }

    /// Returns the list to name in a command that begins this change, if it is in no known place.
    pub fn list_to_name(&self, change: &str) -> Option<String> {
        let top = &self.repo.top;
        let is_known = self.configuration.settings.stories.is_some()
            || stories::changes(top).iter().any(|known| known == change);
        (!is_known).then(|| stories::checklist(top)).flatten()
    }

    /// Finds the change of a command: the one named, else the one of the current branch, else the only live loop, else
    /// the only loop.
    pub fn resolve_change(&self, name: Option<&str>) -> Result<Change, Error> {
        let all = state::changes(&self.repo.common_dir)?;
        let known = loops_among(&self.repo.common_dir, &all);
        if let Some(name) = name {
            let change = Change::new(name)?;
            return if all.contains(&change) {
                Ok(change)
            } else {
                Err(self.unknown_loop(name, &known))
            };
        }
        if let Some(change) = self.change_of_branch().filter(|change| all.contains(change)) {
            // In the work tree of a side, a command means the loop for which the side works.
            let is_loop = known.contains(&change);
            return Ok(if is_loop { change } else { change.worked_on() });
        }
        // A loop whose state file cannot be read counts as live; a command that names the loop shows the reason.
        let is_live = |change: &Change| match Store::new(&self.repo.common_dir, change).load() {
            Ok(state) => state.is_some_and(|state| state.is_live()),
            Err(_) => true,
        };
        let live: Vec<Change> = known.iter().filter(|change| is_live(change)).cloned().collect();
        let names = |changes: &[Change]| changes.iter().map(ToString::to_string).collect();
        if known.is_empty()
            && let Some(change) = self.change_of_branch()
        {
            return Err(self.unknown_loop(change.as_str(), &[]));
        }
        match (live.as_slice(), known.as_slice()) {
            ([one], _) | ([], [one]) => Ok(one.clone()),
            ([], finished) => {
                let lost = self.first_lost_loop().filter(|_| finished.is_empty());
                refuse(lost.unwrap_or_else(|| OpenRefusal::NoLoop {
                    finished: names(finished),
                    changes: stories::changes(&self.repo.top),
                    checklist: None,
                }))
            }
            (several, _) => Err(OpenRefusal::SeveralLoops(names(several)).into()),
        }
    }
}

/// Passes the configured values that a repository needs to it.
pub(super) fn describe(configuration: &Configuration, repo: &mut Repo) {
    configuration.describe(repo);
    let signers = configuration.identities.signers();
    repo.git = repo
        .git
        .clone()
        .with_limit(to_std(configuration.settings.command_timeout))
        .with_own_identity(signers.is_none());
    repo.signers = signers.unwrap_or_else(Signers::own);
}

/// Returns why git has no work tree at `dir`, although it finds a repository there.
pub async fn repository_without_tree(dir: &Path) -> Option<OpenRefusal> {
    let outside = OpenRefusal::NoWorkTree(String::new());
    let refusal = no_work_tree(&Git::at(dir), outside).await;
    (!matches!(refusal, OpenRefusal::NoWorkTree(_))).then_some(refusal)
}

/// Returns the error for a directory outside every work tree; `refusal` if git gives no better reason.
async fn no_work_tree(here: &Git, refusal: OpenRefusal) -> OpenRefusal {
    let asked = here
        .cmd("rev-parse", ["--is-bare-repository", "--absolute-git-dir"])
        .any_exit()
        .await;
    let answer = asked.ok().filter(|output| output.code == Some(0));
    let answer = answer.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let Some((is_bare, git_dir)) = answer.as_deref().and_then(|answer| answer.split_once('\n')) else {
        return match refusal {
            OpenRefusal::NoWorkTree(_) => refuse_lost_repository(here.top()).unwrap_or(refusal),
            damaged => damaged,
        };
    };
    let git_dir = PathBuf::from(git_dir.trim_end());
    let top = real(here.top());
    // A setting says that the directory that contains `.git` is no work tree.
    let is_beside = git_dir.ends_with(".git") && git_dir.parent().is_some_and(|above| top.starts_with(above));
    match is_bare {
        _ if is_beside && !top.starts_with(&git_dir) => OpenRefusal::NoWorkTreeHere(git_dir),
        "true" => OpenRefusal::Bare,
        _ => OpenRefusal::InsideGitDir(git_dir),
    }
}

/// Returns the error for a directory whose `.git` names a missing repository.
pub fn refuse_lost_repository(dir: &Path) -> Option<OpenRefusal> {
    let lost = leads_nowhere(dir).map(|(file, place)| OpenRefusal::LeadsNowhere { file, place });
    lost.or_else(|| {
        let git_dirs = dir.ancestors().map(|above| above.join(".git"));
        let mut git_dirs = git_dirs.filter(|git_dir| is_seen_as_file(&git_dir.join("HEAD")));
        let commondir = git_dirs.next()?.join("commondir");
        is_seen_as_file(&commondir).then_some(OpenRefusal::LedAway(commondir))
    })
}

/// Refuses to begin an attempt inside an attempt.
pub fn refuse_inside_attempt() -> Result<(), Error> {
    if env::var_os(process_tree::VARIABLE).is_some() {
        Err(OpenRefusal::InsideAttempt.into())
    } else {
        Ok(())
    }
}

/// Refuses to change the loop of a side that is not over: the loop for which the side works takes it in unchanged.
pub fn refuse_side(context: &Context<'_>, side: &Change) -> Result<(), Error> {
    let common_dir = &context.repo.common_dir;
    let of = side.side_of().filter(|_| is_side(common_dir, side));
    match of {
        Some((change, _)) if Store::new(common_dir, &change).load_live()?.is_some() => {
            let (side, change) = (side.to_string(), change.to_string());
            Err(StepRefusal::OfSide { side, change }.into())
        }
        _ => Ok(()),
    }
}

/// Refuses a command that an attempt runs in the user's name, even if the attempt unset the variable: the process
/// descends from one that holds a loop.
pub fn refuse_word_of_attempt(context: &Context<'_>) -> Result<(), Error> {
    refuse_inside_attempt()?;
    let lineage = Table::read().map(|table| table.lineage()).unwrap_or_default();
    let is_driver = |change: &Change| {
        let store = Store::new(&context.repo.common_dir, change);
        store.holder().is_some_and(|holder| lineage.contains(&holder)) && store.is_held()
    };
    if state::changes(&context.repo.common_dir)?.iter().any(is_driver) {
        return Err(OpenRefusal::InsideAttempt.into());
    }
    Ok(())
}

/// Refuses a work tree whose repository git finds from elsewhere only, by `core.worktree`.
pub fn refuse_tree_apart(repo: &Repo) -> Result<(), Error> {
    if target_of(&repo.top.join(".git"))?.is_some() {
        return Ok(());
    }
    refuse(OpenRefusal::TreeApart {
        top: repo.top.clone(),
        git_dir: repo.git_dir.clone(),
    })
}

/// Refuses `git --git-dir=<another> ralph`, which would silently use the repository of the current directory.
fn refuse_other_git_dir(repo: &Repo, dir: &Path) -> Result<(), Error> {
    let Some(named) = env::var_os("GIT_DIR").filter(|named| !named.is_empty()) else {
        return Ok(());
    };
    let named = dir.join(PathBuf::from(named));
    if real(&named) == real(&repo.git_dir) {
        Ok(())
    } else {
        refuse(OpenRefusal::OtherGitDir {
            named,
            found: repo.git_dir.clone(),
        })
    }
}
