//! Brings HEAD, index and files to where the end of a loop leaves them. Everything here can be done twice, and names the
//! final state first.

use std::path::Path;

use super::final_state::work_tree_now;
use super::original::{ORIGINAL_INDEX, install_original_index};
use super::other_work_tree::{lock, target_index, work_tree_at};
use crate::engine::Loop;
use crate::engine::position::Position;
use crate::engine::steps::finish_refusal::FinishRefusal;
use crate::error::Error;
use crate::git::worktree::Reading;
use crate::git::{Git, GitError, Head, Repo, StagedEntry, index};
use crate::names::{Oid, short_branch};
use crate::protect::{Moment, Savepoint, Site, hide_again, keep_before_switch};
use crate::refs::Update;
use crate::state::IntoPlan;

/// Name of the directory in the trash for bytes that a merge replaces.
const REPLACED: &str = "finish";
/// Name of the directory in the trash for files that are not of the beginning of the loop.
const ABORTED: &str = "abort";

/// The place where a loop ends.
#[derive(Clone, Debug)]
pub(super) enum Ground {
    /// HEAD, index and files stay.
    Same,
    /// HEAD goes to the original branch, or commit; the files stay, or are merged with what came there.
    Original {
        /// The present tip of the original branch; `None` if it has no commit.
        head: Option<Oid>,
        /// The tree that the files get, if the original branch has moved on.
        merged: Option<Oid>,
        /// The tree that the index gets, if what was staged before the loop is staged again.
        staged: Option<Oid>,
    },
    /// HEAD, index and files as they were before the loop.
    Beginning,
    /// The loop's own work tree is left with HEAD detached at the final state; another one gets the work, if any.
    OwnWorkTree(Option<IntoPlan>),
}

/// The knowledge of the command that computed the end; after a crash nothing is known.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// The work tree, if the working index was just read from it.
    pub reading: Option<Reading>,
    /// The tree of that reading.
    pub tree: Option<Oid>,
    /// The work tree that gets the work, which the command holds.
    pub target: Option<Repo>,
}

/// The place where a loop has ended.
pub(super) struct Left {
    /// Short name of the branch with the work; `None` if HEAD is detached.
    pub branch: Option<String>,
    /// The work tree with the work, if that is not the one where the loop began.
    pub work_tree: Option<String>,
}

/// The way to a ground: the updates to make, of which the first keeps the final state, where HEAD and the tip are, and
/// the words for the reflog.
pub(super) struct Way<'a> {
    pub finished: &'a Oid,
    pub refs: &'a [Update],
    pub position: &'a Position,
    pub why: &'a str,
}

impl Ground {
    /// Makes the updates, and goes there.
    ///
    /// # Errors
    /// If something cannot be moved or written.
    pub async fn reach(self, open: &mut Loop<'_>, way: Way<'_>, known: Known) -> Result<Left, Error> {
        match self {
            Self::Same => stay(open, &way).await,
            Self::Original { head, merged, staged } => {
                let mut place = open.state.original_place();
                place.oid.clone_from(&head);
                let content = staged.as_ref().or(head.as_ref());
                match &merged {
                    Some(merged) => merge(open, &way, &place, [Some(merged), content], known.tree).await?,
                    None => go_back(open, &way, &place, content).await?,
                }
                to_original_index(open, staged.is_some()).await?;
                Ok(Left {
                    branch: open.state.original_branch.clone(),
                    work_tree: None,
                })
            }
            Self::Beginning => go_to_beginning(open, &way, known.reading).await,
            Self::OwnWorkTree(into) => leave(open, &way, into, known.target).await,
        }
    }
}

async fn stay(open: &mut Loop<'_>, way: &Way<'_>) -> Result<Left, Error> {
    let git = &open.context.repo.git;
    git.update_refs(way.refs, way.why).await?;
    let own = open.state.linked.as_ref().map(|_| open.state.worktree.clone());
    if let Some(own) = &own {
        git.unlock_work_tree(own.as_path()).await?;
    }
    let on = way.position.head.branch.as_deref();
    Ok(Left {
        branch: on.map(|branch| short_branch(branch).to_owned()),
        work_tree: own.map(|own| own.to_string()),
    })
}

/// Returns whether HEAD is at its place already.
fn is_there(way: &Way<'_>, place: &Head) -> bool {
    place.branch.is_some() && way.position.head.branch == place.branch
}

/// Moves HEAD to its place; touches no file. The working index gets `content`.
async fn go_back(
    open: &mut Loop<'_>,
    way: &Way<'_>,
    place: &Head,
    content: Option<&Oid>,
) -> Result<(), Error> {
    if is_there(way, place) {
        open.context.repo.git.update_refs(way.refs, way.why).await?;
    } else {
        open.move_refs(way.refs, &way.position.head, place, way.why)
            .await?;
    }
    let (repo, work) = (&open.context.repo, open.site().work_index());
    repo.private_index(&repo.index(), &work, place.oid.as_ref())
        .await?;
    let entries = match repo.held_tree(&work) {
        Some(held) => entries_of(&repo.git, &held, content).await?,
        None => None,
    };
    Ok(fill(repo, &work, entries, content).await?)
}

/// Gives the files the merged content, and moves HEAD to its place; the working index gets `content`. `tree` is the work
/// tree, if the working index was just read from it.
async fn merge(
    open: &mut Loop<'_>,
    way: &Way<'_>,
    place: &Head,
    [merged, content]: [Option<&Oid>; 2],
    tree: Option<Oid>,
) -> Result<(), Error> {
    let Some(merged) = merged else { return Ok(()) };
    let git = &open.context.repo.git;
    let (kept, entries) = tokio::join!(
        git.update_refs(way.refs, way.why),
        entries_of(git, merged, content)
    );
    kept?;
    let entries = entries?;
    let now = match tree {
        Some(tree) => tree,
        None => work_tree_now(open).await?,
    };
    let (site, _, mut recorder) = open.parts();
    let (work, trash) = (site.work_index(), site.trash().join(REPLACED));
    keep_before_switch(site, &work, [&now, merged], &trash, &mut recorder).await?;
    let repo = &open.context.repo;
    repo.switch_work_tree(&work, &now, merged).await?;
    let to_place = async {
        if is_there(way, place) {
            Ok(())
        } else {
            repo.set_head(place, way.why).await
        }
    };
    let (moved, filled) = tokio::join!(to_place, fill(repo, &work, entries, content));
    moved?;
    Ok(filled?)
}

/// Installs the working index in the place of the user's, with the flags that the user's had; `has_staged` if what was
/// staged before the loop is in it.
async fn to_original_index(open: &mut Loop<'_>, has_staged: bool) -> Result<(), Error> {
    open.view.drop_all();
    let (repo, work) = (&open.context.repo, open.site().work_index());
    if has_staged {
        repo.intend_to_add(&work, &intended_at_start(open)).await?;
    }
    hide_again(open.site(), &work).await?;
    repo.install_index(&work).await?;
    Ok(index::discard(&work)?)
}

/// Goes back to the savepoint of the beginning. `now` is the work tree, if the working index was just read from it.
async fn go_to_beginning(open: &mut Loop<'_>, way: &Way<'_>, now: Option<Reading>) -> Result<Left, Error> {
    let git = &open.context.repo.git;
    git.update_refs(way.refs, way.why).await?;
    let initial = open.state.before.initial.clone();
    let start = Savepoint {
        tree: git.tree_of(&initial).await?,
        commit: initial,
        moment: Moment::Start,
        ..open.checkpoint()
    };
    let kept = open.change().ralph_ref("finished");
    let (site, _, mut recorder) = open.parts();
    let trash = site.trash().join(ABORTED);
    start.go_to(site, now, &trash, &kept, &mut recorder).await?;
    open.view.drop_all();
    let original = open.state.original_place();
    let repo = &open.context.repo;
    if repo.head().await? != original {
        repo.set_head(&original, way.why).await?;
    }
    install_original_index(open).await?;
    Ok(Left {
        branch: open.state.original_branch.clone(),
        work_tree: None,
    })
}

/// Leaves the loop's own work tree, which is removed later. `target` is the work tree that gets the work, if the caller
/// has found and locked it.
async fn leave(
    open: &mut Loop<'_>,
    way: &Way<'_>,
    into: Option<IntoPlan>,
    target: Option<Repo>,
) -> Result<Left, Error> {
    let left = match &into {
        Some(into) => {
            bring(open, into, target).await?;
            Left {
                branch: into.branch.clone(),
                work_tree: Some(into.worktree.to_string()),
            }
        }
        None => Left {
            branch: None,
            work_tree: Some(open.state.worktree.to_string()),
        },
    };
    let head = Head {
        branch: None,
        oid: Some(way.finished.clone()),
    };
    // After the files of the other work tree: they may have moved.
    let position = open.position().await?;
    open.move_refs(way.refs, &position.head, &head, way.why).await?;
    let (repo, work) = (&open.context.repo, open.site().work_index());
    repo.private_index(&repo.index(), &work, Some(way.finished))
        .await?;
    let reset = ["--reset", way.finished.as_str()];
    repo.git.cmd("read-tree", reset).index(&work).done().await?;
    repo.refresh(&work).await?;
    repo.install_index(&work).await?;
    index::discard(&work)?;
    if let Some(linked) = &mut open.state.linked {
        linked.leaving = true;
    }
    Ok(left)
}

/// Gives the files of another work tree the work of the loop.
async fn bring(open: &mut Loop<'_>, into: &IntoPlan, target: Option<Repo>) -> Result<(), Error> {
    if let Some(target) = target {
        return write_files(open, into, &target).await;
    }
    let target = work_tree_at(open, into.worktree.as_path()).await?;
    let _alone = lock(open, &target)?;
    write_files(open, into, &target).await
}

/// Lists the paths that were staged only as an intent to add before the loop.
fn intended_at_start(open: &Loop<'_>) -> Vec<Vec<u8>> {
    let index = open.context.repo.read_index(&open.file(ORIGINAL_INDEX));
    let index = index.unwrap_or_default();
    let intended = index.entries().filter(|entry| entry.intended);
    intended.map(|entry| entry.path.to_vec()).collect()
}

/// Returns the entries of an index with `content` that differ from the tree `held`: a tree of many files takes a long
/// time to read.
async fn entries_of(
    git: &Git,
    held: &Oid,
    content: Option<&Oid>,
) -> Result<Option<Vec<StagedEntry>>, GitError> {
    Ok(match content {
        Some(content) => Some(git.staged_between(held, content).await?),
        None => None,
    })
}

/// Makes an index hold `content`; `entries` are the differences, if they are known.
async fn fill(
    repo: &Repo,
    index: &Path,
    entries: Option<Vec<StagedEntry>>,
    content: Option<&Oid>,
) -> Result<(), GitError> {
    let content = match (entries, content) {
        (Some(entries), _) => return repo.set_entries(index, &entries).await,
        (None, Some(content)) => content.as_str(),
        (None, None) => return repo.git.cmd("read-tree", ["--empty"]).index(index).done().await,
    };
    let args = ["--no-sparse-checkout", "--reset", content];
    repo.git.cmd("read-tree", args).index(index).done().await
}

/// Gives the files of the target the merged content. A file that is neither as in its HEAD nor as merged already stops
/// this; it is not overwritten.
async fn write_files(open: &mut Loop<'_>, into: &IntoPlan, target: &Repo) -> Result<(), Error> {
    let index = target_index(open);
    let made = target
        .private_index(&target.index(), &index, Some(&into.from))
        .await?;
    target.show_paths(&index, &made.entries.hidden()).await?;
    let changes = target.git.diff_trees(&into.from, &into.merged).await?;
    let paths: Vec<Vec<u8>> = changes.into_iter().map(|(_, path)| path).collect();
    let mut written = target.update_index(&index, &["--add", "--remove"], &paths).await;
    if written.is_ok() {
        let trees = [&into.from, &into.merged];
        let (site, _, mut recorder) = open.parts();
        let (there, trash) = (Site { repo: target, ..site }, site.trash().join(REPLACED));
        keep_before_switch(there, &index, trees, &trash, &mut recorder).await?;
        written = target.switch_work_tree(&index, &into.from, &into.merged).await;
    }
    index::discard(&index)?;
    match written {
        Err(GitError::Failed { words, .. }) => Err(FinishRefusal::NotWritten {
            change: open.change().to_string(),
            path: target.top.clone(),
            words,
        }
        .into()),
        other => Ok(other?),
    }
}
