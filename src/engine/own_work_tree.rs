//! Work trees that loops make for themselves: where they are, how they are made and prepared, and how a command that is
//! typed elsewhere gets there.
//!
//! Such a work tree is locked (git-worktree(1)) from its first moment until its loop is closed, so that git neither
//! prunes nor removes it. The lock's reason names the change: one that has no live loop was cut off while it was made.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};

use jiff::Timestamp;

use super::output_tail::OutputTail;
use super::run_command::{CommandListener, failure_of, run_name, variable};
use crate::agent::orphans::Orphaned;
use crate::agent::process::{self, Ending, Job, ProcessError};
use crate::engine::Context;
use crate::engine::open_refusal::OpenRefusal;
use crate::engine::steps::start_refusal::StartRefusal;
use crate::error::Error;
use crate::fs::{file_error, make_private_dir, write_private};
use crate::git::{BeginsAt, Git, GitError, REPOSITORY_VARIABLES, Repo, RepoLayout, WorkTreeInfo};
use crate::names::{Change, Oid, counted};
use crate::paths::WorkTreePath;
use crate::settings::{Settings, to_std};
use crate::state::{Linked, State, Store};

/// File in the work tree's git directory with the output of the command that prepares it.
const LOG: &str = "setup.log";
/// File there with the mark of the processes of that command.
const RUN: &str = "setup.run";

/// The place of a work tree that a loop makes for itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// As configured (`ralph.worktreeDir`).
    Configured,
    /// This directory, relative to the current one.
    Named(PathBuf),
}

/// A work tree in which a loop can begin.
pub(super) struct Prepared {
    /// Its top directory.
    pub top: PathBuf,
    /// Its origin.
    pub linked: Linked,
    /// True if it was made just now.
    pub is_new: bool,
}

/// Returns the reason for which the work tree of a loop is locked.
fn reason(change: &Change) -> String {
    format!("git ralph: {change}")
}

/// Makes a linked work tree for a change, and prepares it with the command `ralph.worktreeSetup`; returns its top
/// directory. It is locked. The user's work tree, index and branch stay as they are.
///
/// # Errors
/// If something else is there, git cannot make it, or the command fails; no work tree is left then.
pub async fn make(
    context: &mut Context<'_>,
    change: &Change,
    place: &Place,
    begins_at: BeginsAt<'_>,
    settings: &Settings,
) -> Result<PathBuf, Error> {
    let top = directory(context, change, place, settings).await?;
    if !is_free(&top) {
        return Err(in_the_way(change, &top));
    }
    let git = context.repo.git.clone();
    if let BeginsAt::Branch(branch) = begins_at {
        let trees = git.work_trees().await?;
        let name = format!("refs/heads/{branch}");
        let elsewhere = |tree: &&WorkTreeInfo| tree.branch.as_ref() == Some(&name) && tree.top.exists();
        if let Some(found) = trees.iter().find(elsewhere) {
            return Err(StartRefusal::CheckedOutElsewhere {
                branch: branch.to_owned(),
                path: found.top.display().to_string(),
            }
            .into());
        }
    }
    let made = match git.add_work_tree(&top, begins_at, &reason(change)).await {
        Ok(()) => set_up(context, change, &top, settings).await,
        Err(error) => Err(error.into()),
    };
    if let Err(error) = made {
        discard(&git, &top, settings).await?;
        return Err(error);
    }
    Ok(top.canonicalize().unwrap_or(top))
}

/// Removes a work tree in which no loop has begun, and the directory for such work trees if it is empty then.
pub(super) async fn discard(git: &Git, top: &Path, settings: &Settings) -> Result<(), Error> {
    let removed = git.discard_work_tree(top).await;
    // A git that was cut off at its very beginning leaves an empty directory.
    let _ = fs::remove_dir(top);
    drop_empty_parent(git, top, settings).await?;
    match removed {
        Err(error) if top.exists() => Err(error.into()),
        _ => Ok(()),
    }
}

/// Removes the configured directory for work trees if nothing is left in it.
pub(super) async fn drop_empty_parent(git: &Git, top: &Path, settings: &Settings) -> Result<(), GitError> {
    let trees = git.work_trees().await?;
    let Some(main) = trees.first() else { return Ok(()) };
    if top.parent() == Some(configured(&main.top, settings).as_path()) {
        let _ = top.parent().map(fs::remove_dir);
    }
    Ok(())
}

/// Finds or makes the work tree in which a new loop begins, at the present HEAD.
///
/// # Errors
/// If something else is there, HEAD has no commit, or it cannot be made; nothing is changed then.
pub(super) async fn prepare(
    context: &mut Context<'_>,
    change: &Change,
    place: &Place,
    settings: &Settings,
) -> Result<Prepared, Error> {
    let Some(head) = context.head.oid.clone() else {
        return Err(StartRefusal::NoCommitForWorkTree.into());
    };
    let top = directory(context, change, place, settings).await?;
    let trees = context.repo.git.work_trees().await?;
    let locked = Some(reason(change));
    for cut_off in trees.iter().filter(|tree| tree.locked == locked) {
        end_setup(&cut_off.top).await?;
        discard(&context.repo.git, &cut_off.top, settings).await?;
        let place = cut_off.top.display();
        context.tell(
            change,
            format!(
                "an earlier git-ralph was cut off; the work tree that it began to make is removed: {place}"
            ),
        );
    }
    let branch = context.head.branch.as_deref();
    let branch = branch.and_then(|branch| branch.strip_prefix("refs/heads/"));
    let linked = Linked {
        branch: branch.map(str::to_owned),
        from: WorkTreePath::new(&context.repo.top),
        leaving: false,
    };
    tell_left_behind(context, change, head.short()).await?;
    let is_new = is_free(&top);
    let top = if is_new {
        make(context, change, place, BeginsAt::Commit(&head), settings).await?
    } else {
        let found = trees.iter().find(|tree| tree.top == top && tree.locked != locked);
        reuse(context, change, &top, found, &head).await?;
        top
    };
    Ok(Prepared { top, linked, is_new })
}

/// Says that uncommitted changes do not come along, if there are any.
async fn tell_left_behind(context: &mut Context<'_>, change: &Change, at: &str) -> Result<(), Error> {
    let args = ["--porcelain", "-z", "--no-renames"];
    let changed = context.repo.git.cmd("status", args).fields().await?.len();
    if changed > 0 {
        let paths = counted(changed, "path", "paths");
        context.tell(
            change,
            format!("uncommitted changes stay here ({paths}): the loop's work tree begins at {at}"),
        );
    }
    Ok(())
}

/// Takes the work tree that an earlier loop of this change has left, if nothing is in it that it would lose.
async fn reuse(
    context: &Context<'_>,
    change: &Change,
    top: &Path,
    found: Option<&WorkTreeInfo>,
    head: &Oid,
) -> Result<(), Error> {
    let state = Store::new(&context.repo.common_dir, change).load()?;
    let is_own = state.is_some_and(|state| state.linked.is_some() && state.worktree.as_path() == top);
    let Some(found) = found.filter(|_| is_own) else {
        return Err(in_the_way(change, top));
    };
    if found.branch.as_deref() == Some(&change.branch_ref()) {
        // `start` refuses to begin on the branch of a finished loop, and says what to do.
        return Ok(());
    }
    let git = Git::at_top(top);
    let args = ["--porcelain", "-z", "--untracked-files=all"];
    if found.branch.is_some() || !git.cmd("status", args).fields().await?.is_empty() {
        return Err(StartRefusal::WorkTreeInUse {
            change: change.to_string(),
            path: top.to_owned(),
        }
        .into());
    }
    git.cmd("read-tree", ["-m", "-u", "HEAD", head.as_str()])
        .done()
        .await?;
    let args = ["--no-deref", "-m", "ralph: start", "HEAD", head.as_str()];
    git.cmd("update-ref", args).done().await?;
    Ok(())
}

/// Makes the work tree of a live loop again, if it is gone: at the loop's branch.
///
/// # Errors
/// If it cannot be made.
pub(super) async fn make_again(
    context: &mut Context<'_>,
    state: &State,
    settings: &Settings,
) -> Result<(), Error> {
    let place = state.worktree.as_path();
    if state.linked.is_none() || !state.is_live() || place.exists() {
        return Ok(());
    }
    let refs = context.repo.git.refs(&[&state.tip_ref()]).await?;
    let branch = state.change.branch();
    let begins_at = if refs.iter().any(|found| found.name == state.tip_ref()) {
        BeginsAt::Branch(&branch)
    } else {
        BeginsAt::Commit(&state.checkpoint)
    };
    let named = Place::Named(place.to_owned());
    make(context, &state.change, &named, begins_at, settings).await?;
    context.tell(
        &state.change,
        format!(
            "the loop's work tree was gone, and is made again: {}",
            place.display()
        ),
    );
    Ok(())
}

/// Goes to the work tree of a live loop that has one of its own.
///
/// # Errors
/// If it is gone, or no longer belongs to the repository.
pub(super) async fn go_to_own<'o>(context: Context<'o>, state: &State) -> Result<Context<'o>, Error> {
    let place = state.worktree.as_path();
    if state.linked.is_none() || !state.is_live() || place == context.repo.top {
        return Ok(context);
    }
    match refusal(&context.repo, state) {
        Some(refusal) => Err(refusal.into()),
        None => context.at(place).await,
    }
}

/// Returns the error for a live loop whose own work tree is gone, or no longer belongs to the repository.
pub(crate) fn refusal(repo: &Repo, state: &State) -> Option<OpenRefusal> {
    let place = state.worktree.as_path();
    let is_there = || RepoLayout::of_work_tree(place).is_some_and(|layout| layout.shares(&repo.common_dir));
    if state.linked.is_none() || !state.is_live() || is_there() {
        return None;
    }
    let (change, path) = (state.change.to_string(), place.to_owned());
    let is_gone = place.symlink_metadata().is_err();
    Some(OpenRefusal::WorkTreeGone {
        change,
        path,
        is_gone,
    })
}

/// Goes to the work tree that has the branch of a change checked out, and makes one for it if there is none.
///
/// # Errors
/// If there is no such branch, or the work tree cannot be made.
pub(super) async fn go_to_branch<'o>(
    mut context: Context<'o>,
    change: &Change,
    place: &Place,
    settings: &Settings,
) -> Result<Context<'o>, Error> {
    let branch = change.branch_ref();
    let trees = context.repo.git.work_trees().await?;
    let found = trees
        .into_iter()
        .find(|tree| tree.branch.as_deref() == Some(&branch));
    if let Some(found) = found.filter(|tree| tree.top.exists()) {
        return context.at(&found.top).await;
    }
    let refs = context.repo.git.refs(&[&branch]).await?;
    if refs.iter().all(|found| found.name != branch) {
        return Err(StartRefusal::NothingToResume(change.to_string()).into());
    }
    let top = make(
        &mut context,
        change,
        place,
        BeginsAt::Branch(&change.branch()),
        settings,
    )
    .await?;
    context.at(&top).await
}

/// Runs the command that prepares a new work tree.
async fn set_up(
    context: &mut Context<'_>,
    change: &Change,
    top: &Path,
    settings: &Settings,
) -> Result<(), Error> {
    let Some(command) = settings.worktree_setup.clone() else {
        return Ok(());
    };
    let dir = RepoLayout::of_work_tree(top).map(|layout| layout.git_dir.join("ralph"));
    let dir = dir.unwrap_or_else(|| top.to_owned());
    make_private_dir(&dir)?;
    let run = run_name(Timestamp::now());
    // If this process dies, the next command ends what the command has started.
    write_private(&dir.join(RUN), &run)?;
    let path = dir.join(LOG);
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let mut log = options
        .open(&path)
        .map_err(|error| file_error("write", &path, error))?;
    let main = (
        OsString::from("RALPH_MAIN_WORKTREE"),
        context.repo.top.clone().into(),
    );
    let own = (OsString::from("RALPH_WORKTREE"), top.as_os_str().to_owned());
    let job = Job {
        argv: ["sh", "-c", &command].map(OsString::from).into(),
        dir: top.to_owned(),
        env: vec![variable("RALPH_CHANGE", change.as_str()), own, main],
        env_remove: REPOSITORY_VARIABLES
            .iter()
            .copied()
            .chain(["GIT_CONFIG_PARAMETERS"])
            .collect(),
        stdin: Vec::new(),
        run,
        timeout: settings.verify_timeout.map(to_std),
        idle_timeout: settings.idle_timeout.map(to_std),
    };
    context
        .observer
        .doing(&format!("setting up the work tree: {command}"));
    let mut stop = context.stop.clone();
    let mut listener = CommandListener {
        change: change.to_string(),
        observer: &mut *context.observer,
        tail: OutputTail::default(),
    };
    let ended = process::run(job, &mut log, &mut stop, &mut listener).await?;
    let output = listener.tail.text();
    match ended.ending {
        Ending::Interrupted(signal) => Err(Error::Stopped(signal)),
        ending => match failure_of(ending) {
            None => Ok(()),
            Some(why) => Err(StartRefusal::SetupFailed { command, why, output }.into()),
        },
    }
}

/// Ends the processes of a command whose git-ralph was killed while it prepared this work tree.
async fn end_setup(top: &Path) -> Result<(), ProcessError> {
    let dir = RepoLayout::of_work_tree(top).map(|layout| layout.git_dir.join("ralph"));
    let run = dir.and_then(|dir| fs::read_to_string(dir.join(RUN)).ok());
    let Some(run) = run.filter(|run| !run.is_empty()) else {
        return Ok(());
    };
    let setup = Orphaned {
        run,
        pid: None,
        started: None,
        since: Timestamp::now(),
        work_tree: top,
    };
    setup.end(std::future::pending()).await?;
    Ok(())
}

/// Returns whether a work tree can be made here.
fn is_free(top: &Path) -> bool {
    match fs::read_dir(top) {
        Ok(mut entries) => entries.next().is_none(),
        Err(_) => top.symlink_metadata().is_err(),
    }
}

fn in_the_way(change: &Change, path: &Path) -> Error {
    StartRefusal::WorkTreeInTheWay {
        change: change.to_string(),
        path: path.to_owned(),
    }
    .into()
}

/// Returns the directory of the work tree of a change, absolute and without links.
async fn directory(
    context: &Context<'_>,
    change: &Change,
    place: &Place,
    settings: &Settings,
) -> Result<PathBuf, Error> {
    Ok(match place {
        Place::Named(dir) => real(&context.repo.top.join(&context.below_top).join(dir)),
        Place::Configured => {
            let trees = context.repo.git.work_trees().await?;
            let main = trees.first().map_or(&context.repo.top, |main| &main.top);
            configured(main, settings).join(change.as_str())
        }
    })
}

/// Returns the directory for the work trees of loops; `main` is the main work tree.
fn configured(main: &Path, settings: &Settings) -> PathBuf {
    match &settings.worktree_dir {
        Some(dir) => real(&main.join(dir)),
        None => {
            let mut name = main.file_name().unwrap_or_default().to_owned();
            name.push(".ralph");
            real(&main.with_file_name(name))
        }
    }
}

/// Returns the path with links resolved as far as it exists.
fn real(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain = plain.canonicalize().unwrap_or(plain);
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    let found = plain.ancestors().find_map(|above| {
        let rest = plain.strip_prefix(above).ok()?;
        let above = above.canonicalize().ok()?;
        Some(if rest.as_os_str().is_empty() {
            above
        } else {
            above.join(rest)
        })
    });
    found.unwrap_or(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_resolved_as_far_as_it_exists() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("a/b")).unwrap();
        std::os::unix::fs::symlink(top.join("a/b"), top.join("link")).unwrap();
        for (path, is) in [
            ("link", "a/b"),
            ("link/../c/d", "a/c/d"),
            ("a/./none/../x", "a/x"),
            ("new/one", "new/one"),
        ] {
            assert_eq!(real(&top.join(path)), top.join(is), "{path}");
        }
    }

    #[test]
    fn work_trees_are_beside_the_main_one_unless_a_directory_is_set() {
        let mut settings = Settings::default();
        let main = Path::new("/none/of/these/repo");
        assert_eq!(
            configured(main, &settings),
            Path::new("/none/of/these/repo.ralph")
        );
        settings.worktree_dir = Some("../trees".to_owned());
        assert_eq!(configured(main, &settings), Path::new("/none/of/these/trees"));
        settings.worktree_dir = Some("/elsewhere/none".to_owned());
        assert_eq!(configured(main, &settings), Path::new("/elsewhere/none"));
    }
}
