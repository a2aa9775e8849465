//! Watches gates, hooks and the commands of trackers: they run outside an attempt, but may run code that the agent
//! wrote. So git's own files and the refs are compared after them, as after an attempt: the files, and the refs that
//! keep the loop's work, are restored; other changes are reported. Gates, and the commands that list and mark stories,
//! run inside the guard too; hooks, and the command after a checkpoint, are the user's, and may push.

use std::collections::BTreeSet;

use super::run_command::git_settings;
use super::{Loop, ended_loops, guard_rail, judged};
use crate::error::Error;
use crate::events::Notices;
use crate::git::index_file::GITLINK;
use crate::names::Oid;
use crate::paths::first_few;
use crate::protect::{GitFiles, RefChanges, UserRefs};
use crate::refs::free_names;

/// The origin of the processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    /// `ralph.verify`.
    Gates,
    /// `ralph.review`.
    Reviewer,
    /// A lifecycle hook.
    Hook,
    /// The commands that list and mark stories.
    Tracker,
    /// The command that runs after a checkpoint.
    Closed,
}

impl Who {
    /// Returns the name of the processes, as the subject of a sentence.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gates => "a gate",
            Self::Reviewer => "the reviewer",
            Self::Hook => "a hook",
            Self::Tracker | Self::Closed => "a command of the tracker",
        }
    }

    /// Returns the name of the period in which they ran, after `during`.
    fn time(self) -> &'static str {
        match self {
            Self::Reviewer => "the review",
            other => other.name(),
        }
    }

    /// Returns whether they are the user's own commands, which run outside the guard and may push.
    fn may_push(self) -> bool {
        matches!(self, Self::Hook | Self::Closed)
    }
}

/// The state of the repository before these processes ran. For gates and reviewers, which run code of an attempt, git's
/// own files are saved as well: after a kill the next command restores them, as after an attempt. For the other
/// processes they are not saved: a user who kills a hung hook may repair the repository before the next command.
pub(crate) struct Watch {
    files: GitFiles,
    refs: UserRefs,
    /// The gitlinks of the index.
    links: BTreeSet<Vec<u8>>,
    /// The files of ignore rules that are not in the checkpoint.
    rules: BTreeSet<Vec<u8>>,
    who: Who,
}

/// Records the state of the repository before such processes run. Returns `None` if a comparison is not needed: the
/// stories do not come from a command, or the loop is closed and has nothing to lose.
pub(crate) async fn begin(open: &Loop<'_>, who: Who) -> Result<Option<Watch>, Error> {
    let is_needed = match who {
        Who::Gates | Who::Reviewer => true,
        Who::Hook => open.state.is_live(),
        Who::Tracker | Who::Closed => open.state.source().is_by_command(),
    };
    if !is_needed {
        return Ok(None);
    }
    let files = match who {
        Who::Gates | Who::Reviewer => GitFiles::before_gates(open.site(), &open.store.others_held()?).await?,
        Who::Hook | Who::Tracker | Who::Closed => GitFiles::before_command(open.site()).await?,
    };
    let refs = open.user_refs().await?;
    if who == Who::Tracker {
        let is_wanted = open.context.configuration.settings.guard;
        let guard = guard_rail::set_up(open, is_wanted, None).await;
        if let Some(commands) = &open.state.source().commands {
            commands.env.replace(git_settings(guard.into_iter()).collect());
        }
    }
    Ok(Some(Watch {
        files,
        refs,
        links: gitlinks(open)?,
        rules: open.site().unlisted_rules(&open.checkpoint().index())?,
        who,
    }))
}

/// Compares the repository with its recorded state, once none of their processes is alive. Drops all cached knowledge
/// of the repository.
pub(crate) async fn end(open: &Loop<'_>, watch: Option<Watch>) -> Result<(), Error> {
    end_kept(open, watch, "").await
}

/// Does the same after processes that may only read: also restores other refs that no other process can have moved, and
/// keeps their values under names that begin with `name`.
pub(crate) async fn end_kept(open: &Loop<'_>, watch: Option<Watch>, name: &str) -> Result<(), Error> {
    let Some(watch) = watch else {
        return Ok(());
    };
    let Watch {
        files,
        refs,
        links,
        rules,
        who,
    } = watch;
    if who == Who::Tracker
        && let Some(commands) = &open.state.source().commands
    {
        commands.env.replace(Vec::new());
    }
    if !who.may_push() {
        guard_rail::take_away(open, who.name());
    }
    open.view.drop_refs();
    let judged = judged::record(open).map(|record| judged::savepoint(open, &record));
    let record = open.attempt_record();
    // New ignore rules hide no file of a judged tree.
    let known = judged.as_ref().unwrap_or(&record.checkpoint);
    let changed = record.after_command(who.time(), &files, known).await;
    if !matches!(changed, Ok(false)) {
        // A configuration read before this point may contain planted hooks.
        open.context.configuration.hooks.replace(None);
    }
    changed?;
    remove_new_links(open, &links, who).await?;
    if matches!(who, Who::Gates | Who::Reviewer) {
        let index = open.checkpoint().index();
        open.site().take_new_rules_away(&index, &rules, who.time())?;
    }
    open.switch_off_foreign_filters().await?;
    open.position().await?;
    let now = open.user_refs().await?;
    let mut changes = now.checked_changes(open.repo(), &refs).await?;
    // A push moves the remote-tracking refs.
    changes.leave_refs_out(|name| who.may_push() && name.starts_with("refs/remotes/"));
    ended_loops::leave_branches_out(open, &mut changes, &now);
    put_own_refs_back(open, &changes, None, who.time()).await?;
    if who == Who::Reviewer {
        changes.leave_own_out();
        return put_others_back(open, changes, name, who.time()).await;
    }
    changes.report_others(&[], who.time(), open);
    Ok(())
}

/// Returns the gitlink paths in the index of the work tree, which every other git uses.
fn gitlinks(open: &Loop<'_>) -> Result<BTreeSet<Vec<u8>>, Error> {
    let index = open.repo().read_index_or_none(&open.repo().users_index())?;
    let links = index.entries().filter(|entry| entry.mode == GITLINK);
    Ok(links.map(|entry| entry.path.to_vec()).collect())
}

/// Removes newly added gitlinks from the index: the user's next `git status` would run commands that the configuration
/// of these repositories names.
async fn remove_new_links(open: &Loop<'_>, known: &BTreeSet<Vec<u8>>, who: Who) -> Result<(), Error> {
    let new: Vec<Vec<u8>> = gitlinks(open)?.difference(known).cloned().collect();
    if new.is_empty() {
        return Ok(());
    }
    let repo = open.repo();
    repo.update_index(&repo.users_index(), &["--force-remove"], &new)
        .await?;
    let what = format!("repositories were added to the index during {}", who.time());
    open.tell_few(&format!("{what}; they are taken out of it"), &new);
    Ok(())
}

/// Restores refs that do not keep the loop's work, and keeps their changed values.
async fn put_others_back(open: &Loop<'_>, changes: RefChanges, name: &str, who: &str) -> Result<(), Error> {
    let mut kept = Vec::new();
    let moves = changes.undo_users(open.site(), &[], name, who, &mut kept);
    let moves = moves.await?;
    if moves.is_empty() {
        return Ok(());
    }
    let refs = open.read_user_refs().await?;
    let (mut updates, _) = free_names(&kept, |name| refs.at(name));
    updates.extend(moves);
    open.view.drop_refs();
    let why = "ralph: a reviewer may only look";
    Ok(open.git().update_refs(&updates, why).await?)
}

/// Undoes the changes by `who` to the refs that keep the loop's work, to replacements, and to refs that git can no
/// longer read; keeps values of replacements under names that begin with `attempt`.
pub(crate) async fn put_own_refs_back(
    open: &Loop<'_>,
    changes: &RefChanges,
    attempt: Option<&str>,
    who: &str,
) -> Result<(), Error> {
    if !changes.has_changes() {
        return Ok(());
    }
    open.view.drop_users_refs();
    let site = open.site();
    changes.clear_damaged(site.repo)?;
    let updates = changes.undo_own(attempt, who, open);
    if !updates.is_empty() {
        let why = "ralph: what keeps the work of loops is put back";
        site.repo.git.update_refs(&updates, why).await?;
    }
    Ok(())
}

/// Returns the names of the files that differ from this tree, as a text; `None` if none does.
pub(crate) async fn changed_since(open: &Loop<'_>, before: &Oid) -> Result<Option<String>, Error> {
    let after = open.read_work_tree().await?.tree;
    let changes = open.git().diff_trees(before, &after).await?;
    if changes.is_empty() {
        return Ok(None);
    }
    let names = first_few(changes.iter().map(|(_, path)| path));
    Ok(Some(names.join(", ")))
}
