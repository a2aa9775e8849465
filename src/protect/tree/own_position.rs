//! HEAD, its branch and the loop's tip as files: if one is damaged, git finds no repository or no branch, and git-ralph
//! rewrites it from the loop's state.

use std::path::Path;

use crate::fs::may_exist;
use crate::git::{Head, RefFile, Repo, last_logged};
use crate::names::{Oid, short_branch};
use crate::protect::trash::set_aside;
use crate::protect::{ProtectError, Site};

impl Site<'_> {
    /// Rewrites HEAD, its branch and the loop's tip if they are damaged, or name a missing object; returns whether one
    /// was. `head` is the required HEAD, `tip` the full name of the ref of the checkpoints, which may be the branch of
    /// HEAD, with the last checkpoint. A HEAD that was at another commit, according to its reflog, stays damaged except
    /// `in_attempt`: the files may not be the loop's. The damaged files go to the directory `trash`.
    pub async fn repair_position(
        self,
        head: &Head,
        (tip, checkpoint): (&str, &Oid),
        in_attempt: bool,
        trash: &Path,
    ) -> Result<bool, ProtectError> {
        let repo = self.repo;
        // Refs in reftables have no such files.
        if may_exist(&repo.common_dir.join("reftable")) {
            return Ok(false);
        }
        let branch = head.branch.as_deref();
        let logged = |name: &str| last_logged(&repo.common_dir.join("logs").join(name));
        let head_file = repo.git_dir.join("HEAD");
        let mut repaired = false;
        let is_damaged = match RefFile::read(&head_file) {
            RefFile::Missing | RefFile::Damaged => true,
            RefFile::Oid(oid) if Some(&oid) != head.oid.as_ref() => names_nothing(repo, &oid).await,
            RefFile::Oid(_) | RefFile::Symbolic(_) | RefFile::Unseen => false,
        };
        if is_damaged {
            let layout = repo.layout();
            let at = branch.and_then(|branch| layout.loose(branch).or_else(|| logged(branch)));
            let was = last_logged(&repo.git_dir.join("logs/HEAD"));
            let was_here = was.is_some() && (was == at || was == head.oid);
            let Some(place) = place(head).filter(|_| in_attempt || was_here) else {
                return Ok(false);
            };
            set_aside(self, &head_file, trash)?;
            place.write(&self.door(&head_file), &head_file, repo.sharing.file_mode())?;
            self.tell(format!("HEAD was damaged; it is put back to {}", shown(head)));
            repaired = true;
        }
        let of_loop = (tip, Some(checkpoint));
        let of_head = branch.filter(|branch| *branch != tip);
        let of_head = of_head.map(|branch| (branch, head.oid.as_ref()));
        for (name, at) in [Some(of_loop), of_head].into_iter().flatten() {
            let file = repo.common_dir.join(name);
            let Some(at) = at else { continue };
            let is_damaged = match RefFile::read(&file) {
                RefFile::Damaged | RefFile::Symbolic(_) => true,
                RefFile::Oid(oid) if oid != *at => names_nothing(repo, &oid).await,
                RefFile::Oid(_) | RefFile::Missing | RefFile::Unseen => false,
            };
            if !is_damaged {
                continue;
            }
            let mut at = at.clone();
            if let Some(logged) = logged(name)
                && matches!(repo.git.is_ancestor(&at, &logged).await, Ok(true))
            {
                at = logged;
            }
            set_aside(self, &file, trash)?;
            self.tell(format!(
                "the branch {} was damaged; it is put back to {}",
                short_branch(name),
                at.short()
            ));
            RefFile::Oid(at).write(&self.door(&file), &file, repo.sharing.file_mode())?;
            repaired = true;
        }
        Ok(repaired)
    }
}

/// Returns the content of a HEAD file for this position.
fn place(head: &Head) -> Option<RefFile> {
    match (&head.branch, &head.oid) {
        (Some(branch), _) => Some(RefFile::Symbolic(branch.clone())),
        (None, oid) => oid.clone().map(RefFile::Oid),
    }
}

fn shown(head: &Head) -> &str {
    match (&head.branch, &head.oid) {
        (Some(branch), _) => short_branch(branch),
        (None, oid) => oid.as_ref().map_or("nothing", Oid::short),
    }
}

/// Returns whether an object certainly does not exist: git may not run before other files are repaired.
async fn names_nothing(repo: &Repo, oid: &Oid) -> bool {
    repo.missing(&[oid])
        .await
        .is_ok_and(|missing| !missing.is_empty())
}
