//! HEAD and the loop's branch as files: if one is damaged, git finds no repository or no branch, and git-ralph writes
//! it again from the loop's state.

use std::path::{Path, PathBuf};

use super::trash::{free_name, move_away};
use super::{ProtectError, Site};
use crate::events::Notices;
use crate::git::{RefFile, last_logged};
use crate::names::{Change, Oid, short_branch};

/// The proper position of HEAD and the branch of a loop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnPosition<'a> {
    /// The change of the branch.
    pub change: &'a Change,
    /// The last checkpoint.
    pub checkpoint: &'a Oid,
    /// True during an attempt: HEAD then returns to the loop's branch, wherever it was.
    pub in_attempt: bool,
}

impl OwnPosition<'_> {
    /// Writes HEAD and the loop's branch again if they are damaged; returns whether one was. A HEAD that was elsewhere,
    /// according to its reflog, stays damaged: the files may not be those of the loop. The damaged files go to the
    /// directory `trash`.
    ///
    /// # Errors
    /// If a file cannot be moved or written.
    pub async fn mend(
        self,
        site: Site<'_>,
        trash: &Path,
        notices: &mut dyn Notices,
    ) -> Result<bool, ProtectError> {
        let repo = site.repo;
        let branch = self.change.branch_ref();
        let (head_file, branch_file) = (repo.git_dir.join("HEAD"), repo.common_dir.join(&branch));
        let (head, at) = (RefFile::read(&head_file), RefFile::read(&branch_file));
        // Refs in tables have no such files.
        let in_files = !repo.common_dir.join("reftable").is_dir();
        let lost_head = in_files && matches!(head, RefFile::Missing | RefFile::Damaged);
        let lost_branch = in_files && matches!(at, RefFile::Damaged | RefFile::Symbolic(_));
        let logged = last_logged(&repo.common_dir.join("logs").join(&branch));
        let mut mended = false;
        if lost_head {
            let layout = repo.layout();
            let tip = layout.loose(&branch).or_else(|| logged.clone());
            let was = last_logged(&repo.git_dir.join("logs/HEAD"));
            let was_here = was.is_some() && (was == tip || was.as_ref() == Some(self.checkpoint));
            if !(self.in_attempt || was_here) {
                return Ok(false);
            }
            set_aside(&head_file, trash)?;
            RefFile::Symbolic(branch.clone()).write(&head_file)?;
            notices.tell(format!(
                "HEAD was damaged; it is put back to {}",
                short_branch(&branch)
            ));
            mended = true;
        }
        if lost_branch {
            let mut tip = self.checkpoint.clone();
            if let Some(logged) = logged
                && matches!(repo.git.is_ancestor(&tip, &logged).await, Ok(true))
            {
                tip = logged;
            }
            set_aside(&branch_file, trash)?;
            notices.tell(format!(
                "the branch {} was damaged; it is put back to {}",
                short_branch(&branch),
                tip.short()
            ));
            RefFile::Oid(tip).write(&branch_file)?;
            mended = true;
        }
        Ok(mended)
    }
}

/// Moves an existing file to the trash.
pub(super) fn set_aside(file: &Path, trash: &Path) -> Result<(), ProtectError> {
    if file.symlink_metadata().is_err() {
        return Ok(());
    }
    let name = file.file_name().map(PathBuf::from).unwrap_or_default();
    Ok(move_away(file, &free_name(&trash.join(name)))?)
}
