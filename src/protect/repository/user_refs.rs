//! All refs except the loop's branch, including the stash: an attempt's changes to them are reported, and undone with a
//! failed attempt. The refs that keep the loop's work are restored after every attempt.

use std::io;
use std::sync::Arc;

use crate::events::Notices;
use crate::fs::{FileError, Links, file_error, may_exist, regular_text_if_there};
use crate::git::{GitError, RefFile, RefValue, RefValues, Repo};
use crate::names::{Change, Oid, is_loop_branch, short_branch};
use crate::protect::{ProtectError, Site};
use crate::refs::{KeptRef, OwnMove, Update, is_below};
use crate::slot::Slot;

/// Prefix of the refs that keep the work of loops; each belongs to one loop.
const LOOPS: &str = "refs/ralph/";
/// Prefix of the loops' branches.
const BRANCHES: &str = "refs/heads/ralph/";
/// Prefix of the remote-tracking refs, which a fetch moves.
const REMOTES: &str = "refs/remotes/";
/// Prefix of refs that make git show other objects than the named ones (git-replace(1)).
const REPLACEMENTS: &str = "refs/replace/";
/// The stash, whose entries are the reflog of this ref (git-stash(1)).
const STASH: &str = "refs/stash";
/// Name of the record of the refs before an attempt, in the slot; it exists only during an attempt.
const RECORD: &str = "refs-before.toml";

/// The refs at one moment, by full name. There may be many, so copies are shared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct UserRefs(Arc<RefValues>);

/// A change of a ref.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct RefChange {
    name: String,
    was: Option<Oid>,
    is: Option<Oid>,
    /// The ref that it followed before.
    followed: Option<String>,
    /// The ref that it has begun to follow: a move of that ref moves it too.
    follows: Option<String>,
    /// True if git cannot use the ref: its file is damaged, the new object is missing, or it follows another such ref.
    is_broken: bool,
    /// True if git still has the new value after its file is removed.
    is_packed: bool,
    /// True if the old object no longer exists, such as a deleted and pruned annotated tag.
    is_lost: bool,
}

impl UserRefs {
    /// Reads the refs of a repository; the other arguments are those of [`UserRefs::of`].
    pub async fn read(repo: &Repo, own: &Change, has_branch: bool) -> Result<Self, GitError> {
        Ok(Self::of(repo.ref_values().await?, own, has_branch))
    }

    /// Selects all refs except those that other loops keep, and the branch of the loop `own`, if it has one.
    pub fn of(mut refs: RefValues, own: &Change, has_branch: bool) -> Self {
        let (branch, kept) = (own.branch_ref(), own.ralph_ref(""));
        let is_own = |name: &str| has_branch && name == branch;
        let is_other_loops = |name: &str| name.starts_with(LOOPS) && !name.starts_with(&kept);
        let is_symbolic = |name: &str| name.starts_with(REMOTES) && name.ends_with("/HEAD");
        refs.retain(|name, _| !is_own(name) && !is_other_loops(name) && !is_symbolic(name));
        Self(Arc::new(refs))
    }

    /// Returns the value of a ref.
    pub fn at(&self, name: &str) -> Option<Oid> {
        self.0.get(name).map(|value| value.oid().clone())
    }

    /// Returns whether there is a stash.
    pub fn has_stash(&self) -> bool {
        self.0.contains_key(STASH)
    }

    /// Returns the full names of the branches.
    pub fn branches(&self) -> impl Iterator<Item = &str> {
        let names = self.0.keys().map(String::as_str);
        names.filter(|name| name.starts_with("refs/heads/"))
    }

    /// Records the refs before an attempt.
    pub fn record(&self, slot: &Slot) -> Result<(), ProtectError> {
        let path = slot.file(RECORD);
        let text = toml::to_string(&*self.0).map_err(io::Error::other);
        let text = text.map_err(|source| file_error("write", &path, source))?;
        Ok(slot.door().write_private(&path, &text)?)
    }

    /// Reads the record of the attempt's beginning, if there is one.
    pub fn recorded(slot: &Slot) -> Result<Option<Self>, FileError> {
        let text = regular_text_if_there(&slot.file(RECORD), Links::Refused, u64::MAX)?;
        let refs = text.and_then(|text| toml::from_str(&text).ok());
        Ok(refs.map(|refs| Self(Arc::new(refs))))
    }

    /// Forgets the record once the attempt is judged.
    pub fn forget(slot: &Slot) {
        // A remaining record is overwritten by the next attempt.
        let _ = slot.door().remove_file(&slot.file(RECORD));
    }

    /// Returns the changes since an earlier state of the refs, and marks refs that git cannot use: a program that
    /// writes a ref's file can write anything.
    pub async fn checked_changes(&self, repo: &Repo, before: &Self) -> Result<RefChanges, GitError> {
        let mut changes = self.changes_since(before);
        let oids = changes.iter().flat_map(|change| [&change.was, &change.is]);
        let oids: Vec<&Oid> = oids.flatten().collect();
        let missing = repo.missing(&oids).await?;
        // The user's symbolic ref still has its old target, which has changed instead.
        changes.retain(|change| match (&change.followed, &change.is) {
            (Some(to), None) => {
                RefFile::read(&repo.common_dir.join(&change.name)) != RefFile::Symbolic(to.clone())
            }
            _ => true,
        });
        for change in &mut changes {
            change.is_lost = change.was.as_ref().is_some_and(|was| missing.contains(was));
            change.is_broken = match &change.is {
                Some(_) if change.follows.is_some() => true,
                Some(is) => missing.contains(is),
                // Git does not list a symbolic ref without a target, or to itself.
                None => matches!(
                    RefFile::read(&repo.common_dir.join(&change.name)),
                    RefFile::Damaged | RefFile::Symbolic(_)
                ),
            };
            change.is_packed = change.is_broken && repo.has_packed(&change.name, change.is.as_ref());
        }
        // A side disappears once its work is taken in, and restores its branch itself while it lives.
        changes.retain(|change| change.is.is_some() || change.is_broken || !change.is_of_side(repo));
        Ok(RefChanges(changes))
    }

    /// Returns the changes since an earlier state of the refs.
    fn changes_since(&self, before: &Self) -> Vec<RefChange> {
        if self == before {
            return Vec::new();
        }
        let names = before
            .0
            .keys()
            .chain(self.0.keys().filter(|name| !before.0.contains_key(*name)));
        let change_of = |name: &String| {
            let (was, is) = (before.0.get(name), self.0.get(name));
            let follows = match (was, is) {
                // The symbolic ref still has its old target, which has changed instead.
                (Some(RefValue::Symbolic { to: was, .. }), Some(RefValue::Symbolic { to, .. }))
                    if was == to =>
                {
                    return None;
                }
                (Some(_), Some(RefValue::Symbolic { to, .. })) => Some(to.clone()),
                _ => None,
            };
            let followed = match was {
                Some(RefValue::Symbolic { to, .. }) => Some(to.clone()),
                _ => None,
            };
            let oid = |value: Option<&RefValue>| value.map(|value| value.oid().clone());
            (was != is).then(|| RefChange {
                name: name.clone(),
                was: oid(was),
                is: oid(is),
                followed,
                follows,
                ..RefChange::default()
            })
        };
        names.filter_map(change_of).collect()
    }

    /// Selects the moves that an interrupted step has not made yet and that are still possible.
    pub fn still_possible(&self, moves: Vec<Update>) -> Vec<Update> {
        let possible = |update: &Update| match update {
            Update::Move { name, old, .. } | Update::Follow { name, old, .. } => self.at(name) == *old,
            Update::Delete { name, old } => self.at(name).as_ref() == Some(old),
            Update::Set { .. } => true,
        };
        moves.into_iter().filter(possible).collect()
    }
}

/// Changes of refs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RefChanges(Vec<RefChange>);

impl RefChanges {
    /// Returns whether there are changes.
    pub fn has_changes(&self) -> bool {
        !self.0.is_empty()
    }

    /// Returns whether this ref was changed.
    pub fn has_ref(&self, name: &str) -> bool {
        self.0.iter().any(|change| change.name == name)
    }

    /// Removes the changes of refs whose name matches.
    pub fn leave_refs_out(&mut self, is_out: impl Fn(&str) -> bool) {
        self.0.retain(|change| !is_out(&change.name));
    }

    /// Removes the changes that [`RefChanges::undo_own`] undoes.
    pub fn leave_own_out(&mut self) {
        self.0.retain(|change| !change.is_put_back());
    }

    /// Removes the files of refs that git cannot use: git would refuse to update them, or write the missing object to
    /// their reflog.
    pub fn clear_damaged(&self, repo: &Repo) -> Result<(), FileError> {
        self.0.iter().try_for_each(|change| change.clear_damaged(repo))
    }

    /// Returns the moves that undo, whatever the outcome, the changes by `who` to the refs that keep the work of this
    /// loop, to replacements, which would show a false history, and to refs that git can no longer use. Values of
    /// replacements are kept under names that begin with `attempt`.
    pub fn undo_own(&self, attempt: Option<&str>, who: &str, notices: &dyn Notices) -> Vec<Update> {
        let mut updates = Vec::new();
        for change in self.0.iter().filter(|change| change.is_put_back()) {
            if let (Some(attempt), Some(is)) = (attempt, &change.is)
                && change.is_replacement()
                && !change.is_broken
            {
                let keep = Update::set(format!("{attempt}-{}", is.short()), is.clone());
                // The same object may replace several others.
                if !updates.contains(&keep) {
                    updates.push(keep);
                }
            }
            notices.tell(match &change.was {
                Some(_) if change.is_lost => change.lost(who),
                Some(was) => change.put_back(who, was),
                None => format!("{}; it is taken away", change.message(who)),
            });
            updates.extend(change.undone());
        }
        updates
    }

    /// Reports the changes by `who` to refs that are not restored.
    pub fn report_others(&self, own: &[OwnMove], who: &str, notices: &dyn Notices) {
        let others = self.0.iter().filter(|change| !change.is_put_back());
        for change in others.filter(|change| !change.is_of_other_loop(own)) {
            notices.tell(change.message(who));
        }
    }

    /// Returns the moves that restore the user's refs after a failed attempt, or after processes (`who`) that may only
    /// read: branches and tags that were deleted, or moved to a commit that this HEAD visited, get their old value. New
    /// refs, stash entries, and branches checked out in another work tree stay. Adds the refs that keep the new values
    /// to `kept`, with names after `name`.
    pub async fn undo_users(
        self,
        site: Site<'_>,
        own: &[OwnMove],
        name: &str,
        who: &str,
        kept: &mut Vec<KeptRef>,
    ) -> Result<Vec<Update>, ProtectError> {
        let mut updates = Vec::new();
        if !self.has_changes() {
            return Ok(updates);
        }
        let git = &site.repo.git;
        let visited = git.head_history().await?;
        let checked_out = git.checked_out_refs(&site.repo.top).await?;
        let made: Vec<String> = self
            .0
            .iter()
            .filter(|change| change.was.is_none())
            .map(|change| change.name.clone())
            .collect();
        for change in self.0 {
            // A branch at a commit that this HEAD never visited may belong to another work tree.
            // The guard's log affects only the wording: other processes can write it.
            let ours = change.is.as_ref().is_none_or(|is| visited.contains(is));
            let ours = ours && !checked_out.contains(&change.name);
            let ours = ours && !change.name.starts_with(REMOTES) && !is_finished(site.repo, &change).await?;
            // The branch of a new loop also is, for a moment, at the commit where others began.
            if (!ours || change.was.is_none()) && change.is_of_other_loop(own) {
                continue;
            }
            if change.is_lost && ours {
                site.tell(change.lost(who));
                continue;
            }
            let Some(was) = change.was.clone().filter(|_| ours && change.name != STASH) else {
                site.tell(change.message(who));
                continue;
            };
            // Git cannot have a ref in the place of a directory of refs, whose creator may need them.
            let is_in_the_way = |made: &&String| is_below(made, &change.name) || is_below(&change.name, made);
            if let Some(other) = made.iter().find(is_in_the_way).filter(|_| change.is.is_none()) {
                let ref_of_it = KeptRef::beside(name, &was);
                site.tell(format!(
                    "{}; it cannot be put back beside {other}, and its commits are kept as {}",
                    change.message(who),
                    ref_of_it.name
                ));
                kept.push(ref_of_it);
                continue;
            }
            site.tell(change.put_back(who, &was));
            if let Some(is) = &change.is {
                kept.push(KeptRef::beside(name, is));
            }
            updates.extend(change.undone());
        }
        kept.dedup();
        Ok(updates)
    }
}

/// Returns whether a branch or a work tree with this name was made by git-ralph for an attempt beside others, and will
/// be removed by it.
pub(super) fn is_of_side(repo: &Repo, name: &str) -> bool {
    let is_side = Change::new(name).is_ok_and(|change| change.side_of().is_some());
    is_side && may_exist(&repo.common_dir.join(format!("ralph/{name}.lock")))
}

/// Returns whether another loop's branch is gone because that loop was finished or aborted, and its work is kept.
async fn is_finished(repo: &Repo, change: &RefChange) -> Result<bool, ProtectError> {
    let (Some(was), None, Some(name)) = (&change.was, &change.is, change.name.strip_prefix(BRANCHES)) else {
        return Ok(false);
    };
    let name = format!("{LOOPS}{name}/finished");
    match repo.git.oid_at(&name).await? {
        Some(kept) => Ok(repo.git.is_ancestor(was, &kept).await?),
        None => Ok(false),
    }
}

impl RefChange {
    /// Removes the file of the ref if git cannot use it.
    fn clear_damaged(&self, repo: &Repo) -> Result<(), FileError> {
        let file = repo.common_dir.join(&self.name);
        let is_same = match (&self.is, RefFile::read(&file)) {
            (None, RefFile::Damaged | RefFile::Symbolic(_)) => true,
            (Some(_), RefFile::Damaged | RefFile::Symbolic(_)) => self.follows.is_some(),
            (Some(is), RefFile::Oid(oid)) => *is == oid,
            _ => false,
        };
        if self.is_broken && is_same {
            repo.door(&file).remove_file(&file)?;
        }
        Ok(())
    }

    fn is_replacement(&self) -> bool {
        self.name.starts_with(REPLACEMENTS)
    }

    /// Returns whether another loop made or moved its branch meanwhile, locally or on a remote, as parallel loops do:
    /// none of the attempt's `own` moves did.
    fn is_of_other_loop(&self, own: &[OwnMove]) -> bool {
        let is_own = |is: &Oid| own.iter().any(|(name, new)| *name == self.name && new == is);
        is_loop_branch(&self.name) && self.is.as_ref().is_some_and(|is| !is_own(is))
    }

    /// Returns whether the ref is the branch of an attempt beside others.
    fn is_of_side(&self, repo: &Repo) -> bool {
        let name = self.name.strip_prefix(BRANCHES);
        name.is_some_and(|name| is_of_side(repo, name))
    }

    /// Returns whether the change must be undone: the ref keeps work of the loop, or replaces an object, or cannot be
    /// used. Of the refs that keep work, only the loop's own are considered.
    fn is_put_back(&self) -> bool {
        self.is_broken || self.is_replacement() || self.name.starts_with(LOOPS) && self.was.is_some()
    }

    /// Returns the move that restores the ref.
    fn undone(&self) -> Option<Update> {
        let name = self.name.clone();
        let (was, is) = (self.was.clone(), self.is.clone());
        match (was, is, self.followed.clone()) {
            _ if self.is_lost => None,
            (_, old, Some(to)) => Some(Update::Follow { name, to, old }),
            // Its file is removed; another value may be packed.
            (Some(new), ..) if self.is_broken => Some(Update::Set { name, new }),
            (None, ..) if self.is_broken && !self.is_packed => None,
            (Some(new), old, _) => Some(Update::Move { name, new, old }),
            (None, Some(old), _) => Some(Update::Delete { name, old }),
            (None, None, _) => None,
        }
    }

    /// Returns a message about a change while `who` ran that cannot be undone.
    fn lost(&self, who: &str) -> String {
        format!(
            "{}; it cannot be put back: git has that object no more",
            self.message(who)
        )
    }

    /// Returns a message about a change while `who` ran, and the restored value.
    fn put_back(&self, who: &str, was: &Oid) -> String {
        let message = self.message(who);
        match &self.followed {
            Some(to) => format!("{message}; it follows {to} again"),
            None => format!("{message}; it is put back to {}", was.short()),
        }
    }

    /// Returns a message about its change while `who` ran: another process may have made it.
    fn message(&self, who: &str) -> String {
        let name = match self.name.strip_prefix("refs/tags/") {
            Some(tag) => format!("the tag {tag}"),
            None if self.name == STASH => "the stash".to_owned(),
            None if self.name.starts_with("refs/heads/") => {
                format!("the branch {}", short_branch(&self.name))
            }
            None => self.name.clone(),
        };
        if let Some(other) = &self.follows {
            return format!("{name} was made to follow {other} during {who}");
        }
        if let (Some(to), Some(is)) = (&self.followed, &self.is) {
            return format!(
                "{name}, which follows {to}, was set to {} during {who}",
                is.short()
            );
        }
        match (&self.was, &self.is) {
            (_, Some(is)) if self.is_broken => {
                format!(
                    "{name} was moved to {}, which does not exist, during {who}",
                    is.short()
                )
            }
            (Some(_), None) if self.is_broken => format!("{name} was damaged during {who}"),
            (Some(was), None) => format!("{name} was deleted during {who} (it was at {})", was.short()),
            (None, _) => format!("{name} was made during {who}"),
            (Some(was), Some(is)) => {
                format!(
                    "{name} was moved from {} to {} during {who}",
                    was.short(),
                    is.short()
                )
            }
        }
    }
}

#[cfg(test)]
mod tests;
