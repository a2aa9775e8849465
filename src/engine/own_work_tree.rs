//! Work trees that loops make for themselves: their places, their creation and preparation, and how a command typed in
//! another work tree opens them.

use std::path::{Path, PathBuf};

use super::work_tree_contents::{note_prepared, settle, tell_lacking};
use super::work_tree_copies::copy_ignored;
use super::work_tree_lock::{is_half_made, is_locked, making, note_made, owner, reason};
use super::work_tree_place::{OwnTree, Place, configured, is_free, real, why_unusable};
use super::work_tree_removal::{Removal, TRASH, drop_empty_parent, remove_new, remove_unused};
use super::work_tree_reuse::drop_settings;
use super::work_tree_setup::{end_setup, set_up};
use crate::engine::Context;
use crate::engine::list_growth::has_new_story;
use crate::engine::open_refusal::OpenRefusal;
use crate::engine::repository_refusal::RepositoryRefusal;
use crate::engine::steps::start_refusal::StartRefusal;
use crate::engine::submodules;
use crate::error::{Error, refuse};
use crate::events::Notices;
use crate::fs::{FileError, is_regular, is_there, may_exist, target_of};
use crate::git::{BeginsAt, Git, Repo, RepoLayout, StagedEntry, WorkTreeInfo, discover, git_directories};
use crate::names::{Change, Oid, counted};
use crate::paths::{WorkTreePath, shown};
use crate::protect::KeptModes;
use crate::settings::Settings;
use crate::state::{Linked, State, Store};

/// A work tree in which a loop can begin.
pub(super) struct Prepared {
    /// Its top directory.
    pub top: PathBuf,
    /// Its origin.
    pub linked: Linked,
    /// True if it was made just now.
    pub is_new: bool,
    /// The new files made by its preparation, which are no work of the loop.
    pub set_up: Vec<StagedEntry>,
}

/// A work tree that was just made, or existed before.
pub(super) struct Made {
    /// Its top directory.
    pub top: PathBuf,
    /// The new files made by its preparation.
    pub set_up: Vec<StagedEntry>,
}

impl Made {
    fn there(top: PathBuf) -> Self {
        let set_up = Vec::new();
        Self { top, set_up }
    }
}

/// Returns the error for a loop whose work tree was moved to another place.
fn moved(repo: &Repo, state: &State) -> Result<Option<OpenRefusal>, FileError> {
    let of_loop = reason(&state.change);
    let to = repo
        .layout()
        .linked_work_trees()?
        .find(|top| is_locked(top, &of_loop));
    Ok(to.map(|to| OpenRefusal::WorkTreeMoved {
        change: state.change.to_string(),
        path: state.work_tree().to_owned(),
        to,
    }))
}

/// Returns whether git lists this work tree but the work tree cannot find its repository: the repository was moved.
fn is_cut_off(repo: &Repo, top: &Path) -> Result<bool, FileError> {
    Ok(is_regular(&top.join(".git"))?
        && RepoLayout::of_work_tree(top).is_none()
        && repo.layout().linked_work_trees()?.any(|linked| linked == top))
}

/// Removes the work trees that sides of this change began to make and in which no loop has begun. Starts no process if
/// there is none.
pub(super) async fn clear_half_made_sides(context: &Context<'_>, of: &Change) -> Result<(), Error> {
    let settings = &context.configuration.settings;
    for top in context.repo.layout().linked_work_trees()? {
        let Some((side, is_half_made)) = owner(&top) else {
            continue;
        };
        if side.side_of().is_none_or(|(change, _)| change != *of) {
            continue;
        }
        let store = Store::new(&context.repo.common_dir, &side);
        // Another process may be making it, and a loop that has begun in it removes it itself.
        let Ok(_alone) = store.lock_making() else {
            continue;
        };
        // Without its state nothing says that the work tree holds no work.
        let Ok(state) = store.load() else { continue };
        // A work tree that a loop has left is removed when the loop is opened.
        if state.is_some_and(|state| state.is_live() || state.is_leaving() && !is_half_made) {
            continue;
        }
        let place = &Place::Configured;
        let own = OwnTree {
            context,
            change: &side,
            place,
            settings,
        };
        own.clear_away(&top).await?;
    }
    Ok(())
}

impl OwnTree<'_> {
    /// Makes a linked work tree for a change, locks it, and prepares it with the command `ralph.worktreeSetup`. The
    /// user's work tree, index and branch stay unchanged.
    /// # Errors
    /// If something else occupies the place, git cannot make it, or the command fails; no work tree is left then.
    async fn make(self, begins_at: BeginsAt<'_>) -> Result<Made, Error> {
        let (context, change) = (self.context, self.change);
        let top = self.directory().await?;
        if !is_free(&top)? {
            return Err(in_the_way(change, &top));
        }
        if let Some(why) = top.parent().and_then(why_unusable) {
            let change = change.to_string();
            return refuse(StartRefusal::NoPlaceForWorkTree {
                change,
                path: top,
                why,
            });
        }
        if let BeginsAt::Branch(branch) = begins_at {
            let trees = context.repo.work_trees().await?;
            let name = format!("refs/heads/{branch}");
            let has_branch =
                |tree: &&WorkTreeInfo| tree.branch.as_ref() == Some(&name) && may_exist(&tree.top);
            if let Some(found) = trees.iter().find(has_branch) {
                return refuse(StartRefusal::CheckedOutElsewhere {
                    branch: branch.to_owned(),
                    path: found.top.display().to_string(),
                });
            }
        }
        let git = &context.repo.git;
        git.add_work_tree(&top, begins_at, &making(change)).await?;
        let prepared = async {
            let (made, _) = discover(&top).await?;
            let index = made.read_index_if_there(&made.index())?;
            let modes = KeptModes::read(&context.repo, index.entries().map(|entry| entry.path))?;
            modes.give(&made)?;
            submodules::check_out(self, &made).await?;
            copy_ignored(self, &made).await?;
            let mut new = Vec::new();
            if self.settings.worktree_setup.is_some() || !self.settings.worktree_copy.is_empty() {
                set_up(self, &made).await?;
                new = settle(self, &made).await?;
                note_prepared(self, &made).await?;
                modes.give(&made)?;
            }
            tell_lacking(self, &made).await?;
            Ok(new)
        };
        let set_up = match Box::pin(prepared).await {
            Ok(set_up) => set_up,
            Err(error) => {
                remove_new(&context.repo, &top, self.settings).await?;
                return Err(error);
            }
        };
        note_made(change, &top, context.repo.sharing.file_mode())?;
        let top = top.canonicalize().unwrap_or(top);
        Ok(Made { top, set_up })
    }

    /// Removes the work tree of a loop that has not begun, or has lost its files; files not written by git are trashed.
    async fn clear_away(self, top: &Path) -> Result<(), Error> {
        let why = "an earlier git-ralph was cut off; the work tree that it began to make is removed";
        self.clear(top, Some(why)).await
    }

    /// Does the same as `clear_away`; reports `why`, if given.
    async fn clear(self, top: &Path, why: Option<&str>) -> Result<(), Error> {
        let (context, change) = (self.context, self.change);
        end_setup(top).await?;
        let store = Store::new(&context.repo.common_dir, change);
        let trash = store.file("trash").join(TRASH);
        let moved = match remove_unused(&context.repo, top, &trash).await? {
            Removal::Done(moved) => moved,
            Removal::Stays(why) => {
                return refuse(StartRefusal::WorkTreeStays {
                    change: change.to_string(),
                    path: top.to_owned(),
                    why,
                });
            }
        };
        drop_empty_parent(context.repo.main_top().await?.as_deref(), top, self.settings);
        if let Some(why) = why {
            self.tell(format!("{why}: {}", top.display()));
        }
        if let Some(moved) = moved {
            let place = moved.display();
            self.tell(format!("files in it that no commit has are moved to {place}"));
        }
        Ok(())
    }

    /// Finds or makes the work tree in which a new loop begins, at the present HEAD.
    ///
    /// # Errors
    /// If something else occupies the place, HEAD has no commit, or git cannot make it; nothing is changed then.
    pub(super) async fn prepare(self) -> Result<Prepared, Error> {
        let (context, change) = (self.context, self.change);
        let Some(head) = context.head.oid.clone() else {
            return Err(StartRefusal::NoCommitForWorkTree.into());
        };
        let top = self.directory().await?;
        let linked = Linked {
            branch: context.head.branch_name().map(str::to_owned),
            from: WorkTreePath::new(&context.repo.top),
            leaving: false,
            emptied_before: 0,
        };
        if let Some(left) = self.closed_side()?.filter(|left| left.work_tree() == top) {
            let mut taken = None;
            if left.is_leaving() {
                taken = self.take_over(&left, &head).await?;
                if taken.is_none() {
                    drop_settings(&top)?;
                    self.clear(&top, None).await?;
                }
            }
            if taken.is_some() || is_free(&top)? {
                self.forget_left(&left).await?;
            }
            if let Some(set_up) = taken {
                return Ok(Prepared {
                    top,
                    linked,
                    is_new: false,
                    set_up,
                });
            }
        }
        let trees = context.repo.work_trees().await?;
        for tree in &trees {
            let is_ours = |reason: String| tree.locked.as_ref() == Some(&reason);
            match &tree.branch {
                _ if is_ours(making(change)) => {}
                // No loop has begun in it: a loop works on its own branch.
                None if is_ours(reason(change)) => {}
                Some(_) if is_ours(reason(change)) => {
                    return refuse(StartRefusal::WorkTreeOfLostLoop {
                        change: change.to_string(),
                        path: tree.top.clone(),
                    });
                }
                _ => continue,
            }
            self.clear_away(&tree.top).await?;
        }
        self.tell_left_behind(head.short()).await?;
        let is_new = is_free(&top)?;
        let Made { top, set_up } = if is_new {
            self.make(BeginsAt::Commit(&head)).await?
        } else {
            let found = trees.iter().find(|tree| tree.top == top);
            self.reuse(&top, found, &head).await?;
            Made::there(top)
        };
        Ok(Prepared {
            top,
            linked,
            is_new,
            set_up,
        })
    }

    /// Reports that uncommitted changes stay behind, if there are any.
    async fn tell_left_behind(self, at: &str) -> Result<(), Error> {
        let args = ["--porcelain", "-z", "--no-renames"];
        let changed = self.context.repo.git.cmd("status", args).fields().await?.len();
        if changed > 0 {
            let paths = counted(changed, "path", "paths");
            self.tell(format!(
                "uncommitted changes stay here ({paths}): the loop's work tree begins at {at}"
            ));
        }
        Ok(())
    }

    /// Takes over the work tree of an earlier loop of this change, if it has nothing to lose.
    async fn reuse(self, top: &Path, found: Option<&WorkTreeInfo>, head: &Oid) -> Result<(), Error> {
        let change = self.change;
        let state = Store::new(&self.context.repo.common_dir, change).load()?;
        let own = state.filter(|state| state.has_own_work_tree() && state.work_tree() == top);
        let (Some(found), Some(own)) = (found, own) else {
            return Err(in_the_way(change, top));
        };
        if found.branch.as_deref() == Some(&change.branch_ref()) {
            if !has_new_story(&own, &self.context.repo.top) {
                return Ok(());
            }
            // Its list belongs to the finished loop and lacks later changes.
            return refuse(StartRefusal::CheckedOutElsewhere {
                branch: change.branch(),
                path: top.to_string_lossy().into_owned(),
            });
        }
        let git = Git::at_top(top);
        let args = ["--porcelain", "-z", "--untracked-files=all"];
        if found.branch.is_some() || !git.cmd("status", args).fields().await?.is_empty() {
            return refuse(StartRefusal::WorkTreeInUse {
                change: change.to_string(),
                path: top.to_owned(),
            });
        }
        // Git would write over files that it ignores.
        let (there, at) = discover(top).await?;
        let from = there.tree_at(at.oid.as_ref()).await?;
        let paths = there.in_the_way(&git.diff_trees(&from, head).await?)?;
        if !paths.is_empty() {
            let of = format!("the work tree {}", top.display());
            let paths = paths.iter().map(|path| shown(path)).collect();
            return Err(RepositoryRefusal::InTheWay { of, paths }.into());
        }
        git.cmd("read-tree", ["-m", "-u", "HEAD", head.as_str()])
            .done()
            .await?;
        let args = ["--no-deref", "-m", "ralph: start", "HEAD", head.as_str()];
        git.cmd("update-ref", args).done().await?;
        Ok(())
    }

    /// Refuses a place that contains anything but the work tree of this loop, before a new loop replaces it.
    pub(super) async fn refuse_taken(self, state: &State) -> Result<(), Error> {
        let top = self.directory().await?;
        let is_own = state.has_own_work_tree() && state.work_tree() == top;
        if is_own || is_free(&top)? {
            return Ok(());
        }
        Err(in_the_way(self.change, &top))
    }

    /// Returns the directory of the work tree, absolute and with symlinks resolved.
    async fn directory(self) -> Result<PathBuf, Error> {
        let Context { repo, below_top, .. } = self.context;
        Ok(match self.place {
            Place::Named(dir) => real(&repo.top.join(below_top).join(dir)),
            Place::Configured => {
                let main = repo.main_top().await?;
                configured(main.as_deref().unwrap_or(&repo.top), self.settings).join(self.change.as_str())
            }
        })
    }

    /// Returns the work tree that has the branch of the change checked out, and makes one for it if there is none.
    pub(super) async fn on_branch(self) -> Result<Made, Error> {
        let (context, change) = (self.context, self.change);
        let branch = change.branch_ref();
        let trees = context.repo.work_trees().await?;
        let found = trees
            .into_iter()
            .find(|tree| tree.branch.as_deref() == Some(&branch));
        if let Some(found) = found {
            if !may_exist(&found.top) {
                if [reason(change), making(change)].map(Some).contains(&found.locked) {
                    context.repo.git.unlock_work_tree(&found.top).await?;
                }
            } else if is_half_made(change, &found.top) {
                self.clear_away(&found.top).await?;
            } else {
                return Ok(Made::there(found.top));
            }
        }
        if context.repo.git.oid_at(&branch).await?.is_none() {
            return Err(context.nothing_to_resume(change).await.into());
        }
        self.make(BeginsAt::Branch(&change.branch())).await
    }
}

/// Makes the missing work tree of a live loop again, at the loop's branch. Returns the new files made by its
/// preparation.
pub(super) async fn make_again(
    context: &Context<'_>,
    state: &State,
    settings: &Settings,
) -> Result<Vec<StagedEntry>, Error> {
    let place = state.work_tree();
    if !state.has_own_work_tree() || !state.is_live() {
        return Ok(Vec::new());
    }
    let own = OwnTree {
        context,
        change: &state.change,
        place: &Place::Named(place.to_owned()),
        settings,
    };
    if is_half_made(&state.change, place) {
        own.clear_away(place).await?;
    }
    if target_of(place)?.is_some() {
        return Ok(Vec::new());
    }
    if let Some(moved) = moved(&context.repo, state)? {
        return Err(moved.into());
    }
    context.repo.git.unlock_work_tree(place).await?;
    let branch = state.change.branch();
    let begins_at = match context.repo.git.oid_at(&state.tip_ref()).await? {
        Some(_) => BeginsAt::Branch(&branch),
        None => BeginsAt::Commit(state.checkpoint()),
    };
    let made = own.make(begins_at).await?;
    let place = place.display();
    own.tell(format!(
        "the loop's work tree was gone, and is made again: {place}"
    ));
    Ok(made.set_up)
}

/// Opens the loop's own work tree, if it has one and the loop is live or has still to remove it.
pub(super) async fn go_to_own<'o>(context: Context<'o>, state: &State) -> Result<Context<'o>, Error> {
    let place = state.work_tree();
    let is_there = place == context.repo.top && !is_half_made(&state.change, place);
    if !state.has_own_work_tree() || is_there {
        return Ok(context);
    }
    if !state.is_live() {
        let layout = RepoLayout::of_work_tree(place).filter(|_| state.is_leaving());
        let is_whole = layout.is_some_and(|layout| layout.shares(&context.repo.common_dir));
        if is_whole && state.here.is_side {
            drop_settings(place)?;
        }
        // An earlier git may have been killed while it removed the work tree.
        if is_whole && discover(place).await.is_ok() {
            return context.at(place).await;
        }
        return Ok(context);
    }
    match refusal(&context.repo, state)? {
        Some(refusal) => Err(refusal.into()),
        None => context.at(place).await,
    }
}

/// Returns the error for a live loop whose own work tree is missing, or no longer belongs to the repository.
pub(crate) fn refusal(repo: &Repo, state: &State) -> Result<Option<OpenRefusal>, FileError> {
    let place = state.work_tree();
    // A damaged HEAD is repaired once the loop is open.
    let is_ours = || {
        let found = git_directories(place).filter(|(top, _)| *top == real(place));
        found.is_some_and(|(_, layout)| layout.shares(&repo.common_dir))
    };
    if !state.has_own_work_tree() || !state.is_live() {
        return Ok(None);
    }
    let (change, path) = (state.change.to_string(), place.to_owned());
    if is_half_made(&state.change, place) {
        return Ok(Some(OpenRefusal::WorkTreeHalfMade { change, path }));
    }
    if is_ours() {
        return Ok(None);
    }
    let is_gone = !is_there(place)?;
    if is_gone && let Some(moved) = moved(repo, state)? {
        return Ok(Some(moved));
    }
    if is_cut_off(repo, place)? {
        return Ok(Some(OpenRefusal::WorkTreeCutOff { change, path }));
    }
    Ok(Some(OpenRefusal::WorkTreeGone {
        change,
        path,
        is_gone,
    }))
}

fn in_the_way(change: &Change, path: &Path) -> Error {
    StartRefusal::WorkTreeInTheWay {
        change: change.to_string(),
        path: path.to_owned(),
    }
    .into()
}
