//! All refs but the loop's branch, the stash among them: what an attempt did to them is seen, told, and undone
//! with a failed attempt (hazards D5, D8, D9). What keeps the work of the loop is put back after every attempt.

use std::collections::BTreeMap;
use std::fs;
use std::io;

use serde::{Deserialize, Serialize};

use super::Session;
use crate::error::Error;
use crate::fs::FileError;
use crate::git::RefInfo;
use crate::names::{Change, Oid, short_branch};
use crate::refs::{KeptRef, Update};

/// Below it are the refs that keep the work of loops; those of other loops are theirs, which go on elsewhere.
const LOOPS: &str = "refs/ralph/";
/// Below it are refs that make git show other objects than those that are named (git-replace(1)).
const REPLACEMENTS: &str = "refs/replace/";
/// Refs of operations in one work tree (gitglossary(7), "per-worktree ref").
const WORK_TREES: [&str; 3] = ["refs/bisect/", "refs/rewritten/", "refs/worktree/"];
/// The record of an attempt's beginning, in the loop's directory; it is there only while an attempt is.
const RECORD: &str = "refs-before.toml";
/// Who moves refs in an attempt.
pub(super) const ATTEMPT: &str = "the attempt";

/// The user's refs at one moment, by full name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OtherRefs(BTreeMap<String, Oid>);

/// What an attempt did to one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Moved {
    name: String,
    was: Option<Oid>,
    is: Option<Oid>,
}

impl OtherRefs {
    /// Where they are looked for.
    pub const PATTERNS: [&str; 1] = ["refs"];

    /// What was listed, without the branch of the loop `own`, and without what other loops keep.
    pub fn of(refs: &[RefInfo], own: &Change) -> Self {
        let (branch, kept) = (own.branch_ref(), own.ralph_ref(""));
        let is_other_loops = |name: &str| name.starts_with(LOOPS) && !name.starts_with(&kept);
        let is_work_trees = |name: &str| WORK_TREES.iter().any(|prefix| name.starts_with(prefix));
        let is_symbolic = |name: &str| name.starts_with("refs/remotes/") && name.ends_with("/HEAD");
        let others = refs.iter().filter(|found| {
            let name = &found.name;
            *name != branch && !is_other_loops(name) && !is_work_trees(name) && !is_symbolic(name)
        });
        Self(
            others
                .map(|found| (found.name.clone(), found.oid.clone()))
                .collect(),
        )
    }

    /// Whether a ref of this name is there.
    pub fn holds(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Where a ref is.
    pub fn at(&self, name: &str) -> Option<Oid> {
        self.0.get(name).cloned()
    }

    /// The full names of the branches.
    pub fn branches(&self) -> impl Iterator<Item = &str> {
        let names = self.0.keys().map(String::as_str);
        names.filter(|name| name.starts_with("refs/heads/"))
    }

    pub fn moved_since(&self, before: &Self) -> Vec<Moved> {
        let names = before
            .0
            .keys()
            .chain(self.0.keys().filter(|name| !before.0.contains_key(*name)));
        names
            .map(|name| Moved {
                name: name.clone(),
                was: before.0.get(name).cloned(),
                is: self.0.get(name).cloned(),
            })
            .filter(|moved| moved.was != moved.is)
            .collect()
    }
}

impl Session<'_> {
    /// Records the user's refs before an attempt.
    pub(crate) async fn record_refs(&self) -> Result<(), Error> {
        let path = self.file(RECORD);
        let text = toml::to_string(&self.other_refs_now().await?).map_err(io::Error::other);
        text.and_then(|text| fs::write(&path, text)).map_err(|source| {
            Error::File(FileError {
                what: "write",
                path,
                source,
            })
        })
    }

    /// Puts back what an attempt did to the refs that keep the work of this loop, and to replacements, by which
    /// git would show another history than there is; whatever came of the attempt.
    pub(super) async fn put_own_refs_back(&mut self) -> Result<(), Error> {
        let moved = self.moved_refs().await?;
        self.put_back_of_loop(&moved, ATTEMPT).await.map(drop)
    }

    /// Puts back what was moved of the refs that keep the work of this loop, by `who`; says whether any was.
    pub(super) async fn put_back_of_loop(&mut self, moved: &[Moved], who: &str) -> Result<bool, Error> {
        let mut updates = Vec::new();
        let attempt = self.state.progress.story.as_ref();
        let attempt = attempt.map(|story| self.state.change.attempt_ref(&story.id, story.attempt));
        for moved in moved {
            if moved.name.starts_with(REPLACEMENTS) {
                if let (Some(attempt), Some(is)) = (&attempt, &moved.is) {
                    let keep = Update::Set {
                        name: format!("{attempt}-{}", is.short()),
                        new: is.clone(),
                    };
                    // One object may stand in for many.
                    if !updates.contains(&keep) {
                        updates.push(keep);
                    }
                }
                self.tell(match &moved.was {
                    Some(was) => format!("{}; it is put back to {}", moved.told(who), was.short()),
                    None => format!("{}; it is taken away", moved.told(who)),
                });
                updates.extend(moved.clone().undone());
                continue;
            }
            if let (true, Some(was)) = (moved.is_put_back(), moved.was.clone()) {
                self.tell(format!("{}; it is put back to {}", moved.told(who), was.short()));
                updates.push(Update::Move {
                    name: moved.name.clone(),
                    new: was,
                    old: moved.is.clone(),
                });
            }
        }
        if updates.is_empty() {
            return Ok(false);
        }
        let why = "ralph: what keeps the work of loops is put back";
        self.engine.repo.git.update_refs(&updates, why).await?;
        self.refs = None;
        Ok(true)
    }

    /// Forgets the record once the attempt is judged.
    pub(super) fn forget_refs(&self) {
        // A record that stays would only be written over by the next attempt.
        let _ = fs::remove_file(self.file(RECORD));
    }

    fn recorded_refs(&self) -> Option<OtherRefs> {
        toml::from_str(
            &crate::fs::read_regular_text(&self.file(RECORD), crate::fs::Links::Refused, u64::MAX).ok()?,
        )
        .ok()
    }

    /// The user's refs: those last read, where nothing can have changed them since.
    pub(super) async fn other_refs_now(&self) -> Result<OtherRefs, Error> {
        match &self.refs {
            Some(known) => Ok(known.clone()),
            None => self.read_other_refs().await,
        }
    }

    pub(super) async fn read_other_refs(&self) -> Result<OtherRefs, Error> {
        let refs = self.engine.repo.git.refs(&OtherRefs::PATTERNS).await?;
        Ok(OtherRefs::of(&refs, &self.state.change))
    }

    async fn moved_refs(&self) -> Result<Vec<Moved>, Error> {
        let Some(before) = self.recorded_refs() else {
            return Ok(Vec::new());
        };
        let mut moved = self.other_refs_now().await?.moved_since(&before);
        // What is kept of the attempt itself has been told.
        let kept = self.state.progress.story.as_ref();
        let kept = kept.map(|story| format!("{}-", self.state.change.attempt_ref(&story.id, story.attempt)));
        moved.retain(|moved| !kept.as_ref().is_some_and(|kept| moved.name.starts_with(kept)));
        Ok(moved)
    }

    /// After an attempt that promised COMPLETE: why it cannot be, if it hid work in the stash; what else
    /// it did to the user's refs is told.
    pub(super) async fn judge_refs(&mut self) -> Result<Option<String>, Error> {
        for moved in self.moved_refs().await? {
            if moved.name == "refs/stash" && moved.is.is_some() {
                return Ok(Some(
                    "work was put into the stash; it must stay in the work tree or be committed".to_owned(),
                ));
            }
            self.tell(moved.told(ATTEMPT));
        }
        Ok(None)
    }

    /// What brings the user's refs back after a failed attempt: branches and tags that went, or moved to
    /// where this HEAD was, get their old value, and `kept` gets the new ones. New refs, stash entries,
    /// and what is checked out in another work tree stay.
    pub(super) async fn put_refs_back(
        &mut self,
        name: &str,
        kept: &mut Vec<KeptRef>,
    ) -> Result<Vec<Update>, Error> {
        let mut updates = Vec::new();
        let all = self.moved_refs().await?;
        if all.is_empty() {
            return Ok(updates);
        }
        let visited = self.engine.repo.git.head_history().await?;
        let elsewhere = self
            .engine
            .repo
            .git
            .checked_out_refs(&self.engine.repo.top)
            .await?;
        for moved in all {
            // Somebody may work on other branches meanwhile: what this HEAD was never at is theirs.
            let ours =
                !elsewhere.contains(&moved.name) && moved.is.as_ref().is_none_or(|is| visited.contains(is));
            let back = match (&moved.was, &moved.is) {
                (Some(was), is) if ours && moved.name != "refs/stash" => Some((was.clone(), is.clone())),
                _ => None,
            };
            self.tell(match &back {
                Some((was, _)) => format!("{}; it is put back to {}", moved.told(ATTEMPT), was.short()),
                None => moved.told(ATTEMPT),
            });
            if let Some((was, is)) = back {
                if let Some(is) = &is {
                    kept.push(KeptRef {
                        name: format!("{name}-{}", is.short()),
                        oid: is.clone(),
                    });
                }
                updates.push(Update::Move {
                    name: moved.name,
                    new: was,
                    old: is,
                });
            }
        }
        kept.dedup();
        Ok(updates)
    }
}

impl Session<'_> {
    /// Those of the moves that were not made before a crash cut the step off, and are still possible.
    pub(super) async fn still_to_do(&self, moves: Vec<Update>) -> Result<Vec<Update>, Error> {
        if moves.is_empty() {
            return Ok(moves);
        }
        let now = self.read_other_refs().await?;
        let possible = |update: &Update| match update {
            Update::Move { name, old, .. } => now.0.get(name) == old.as_ref(),
            Update::Delete { name, old } => now.0.get(name) == Some(old),
            Update::Set { .. } => true,
        };
        Ok(moves.into_iter().filter(possible).collect())
    }
}

impl Moved {
    /// What brings the ref back to what it was.
    fn undone(self) -> Option<Update> {
        let name = self.name;
        match (self.was, self.is) {
            (Some(new), old) => Some(Update::Move { name, new, old }),
            (None, Some(old)) => Some(Update::Delete { name, old }),
            (None, None) => None,
        }
    }

    /// Its full name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it keeps work of the loop, and nobody else may move it. Only the loop's own are looked at.
    pub fn is_put_back(&self) -> bool {
        self.name.starts_with(REPLACEMENTS) || self.name.starts_with(LOOPS) && self.was.is_some()
    }

    /// Says what was done to it, by `who`.
    pub fn told(&self, who: &str) -> String {
        let name = match self.name.strip_prefix("refs/tags/") {
            Some(tag) => format!("the tag {tag}"),
            None if self.name == "refs/stash" => "the stash".to_owned(),
            None if self.name.starts_with("refs/heads/") => {
                format!("the branch {}", short_branch(&self.name))
            }
            None => self.name.clone(),
        };
        match (&self.was, &self.is) {
            (Some(was), None) => format!("{who} deleted {name} (it was at {})", was.short()),
            (None, _) => format!("{who} made {name}"),
            (Some(_), Some(is)) => format!("{who} moved {name} to {}", is.short()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn oid(digit: char) -> Oid {
        Oid::parse(&digit.to_string().repeat(40)).unwrap()
    }

    #[test]
    fn what_moved_went_or_came_is_seen() {
        let refs = |entries: &[(&str, char)]| {
            OtherRefs(
                entries
                    .iter()
                    .map(|(name, at)| ((*name).to_owned(), oid(*at)))
                    .collect(),
            )
        };
        let before = refs(&[("refs/heads/a", '1'), ("refs/heads/b", '2'), ("refs/tags/t", '3')]);
        let now = refs(&[("refs/heads/a", '1'), ("refs/heads/b", '4'), ("refs/stash", '5')]);
        let told: Vec<String> = now
            .moved_since(&before)
            .iter()
            .map(|moved| moved.told(ATTEMPT))
            .collect();
        assert_eq!(
            told,
            [
                "the attempt moved the branch b to 4444444444",
                "the attempt deleted the tag t (it was at 3333333333)",
                "the attempt made the stash",
            ]
        );
        let text = toml::to_string(&before).unwrap();
        assert_eq!(toml::from_str::<OtherRefs>(&text).unwrap(), before);
    }
}
