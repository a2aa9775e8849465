//! What an attempt may have broken so that git itself cannot work, mended before anything is judged (hazards
//! D12, D15, D19, D20).

use std::fs;

use super::Session;
use super::other_refs::ATTEMPT;
use crate::error::Error;
use crate::git::OwnFiles;

/// The copy of git's own files, in the loop's directory.
const OWN_FILES: &str = "git-files";

impl Session<'_> {
    /// Mends what would keep git itself from working. Nothing of the attempt is alive.
    pub(super) async fn repair_after_attempt(&mut self) -> Result<(), Error> {
        self.take_rights_back();
        let top = self.engine.repo.top.clone();
        if !top.exists() {
            fs::create_dir_all(&top).map_err(|source| Error::File {
                what: "make",
                path: top,
                source,
            })?;
            self.tell("the work tree was deleted; its directory is made anew");
        }
        if !self.file("attempts").exists() {
            self.store.make_dirs()?;
            self.tell("the loop's directory below .git was deleted; it is made anew");
        }
        let changed = self.put_back_own_files()?;
        let removed = self.remove_stale_locks().await?;
        if changed {
            self.widen_sparse().await?;
        }
        if removed > 0 {
            self.tell("the attempt left locks in the repository; they are removed");
        }
        Ok(())
    }

    /// Puts git's own files back to what they were before the attempt; says whether any had changed.
    pub(super) fn put_back_own_files(&mut self) -> Result<bool, Error> {
        let copy = self.file(OWN_FILES);
        if !copy.exists() {
            return Ok(false);
        }
        let changed = self.restore_own_files(&OwnFiles::load(&copy)?, ATTEMPT)?;
        self.forget_own_files()?;
        Ok(changed)
    }

    /// Puts git's own files back to what they were before `who` ran; says whether any had changed.
    pub(super) fn restore_own_files(&mut self, files: &OwnFiles, who: &str) -> Result<bool, Error> {
        let trash = self.file("trash");
        let differed = files.restore(&self.engine.repo, &trash)?;
        for path in &differed {
            self.tell(format!("{who} changed {}; it is put back", path.display()));
        }
        if !differed.is_empty() {
            // Read before, it may have been theirs.
            self.engine.configuration.hooks = None;
        }
        Ok(!differed.is_empty())
    }

    /// Keeps a copy of git's own files before an attempt.
    pub(super) fn save_own_files(&self) -> Result<(), Error> {
        Ok(OwnFiles::read(&self.engine.repo)?.save(&self.file(OWN_FILES))?)
    }

    /// Forgets the copy of git's own files.
    pub(super) fn forget_own_files(&self) -> Result<(), Error> {
        Ok(OwnFiles::discard(&self.file(OWN_FILES))?)
    }
}
