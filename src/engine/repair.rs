//! What an attempt may have broken so that git itself cannot work, mended before anything is judged (hazards
//! D12, D15, D19, D20).

use std::fs;
use std::path::PathBuf;

use super::Session;
use super::other_refs::ATTEMPT;
use crate::error::Error;
use crate::fs::{FileError, file_error};
use crate::git::{OwnFiles, PutBack, Shallow, is_intact};
use crate::names::ref_component;

/// The copy of git's own files, in the loop's directory.
const OWN_FILES: &str = "git-files";
/// The copy of the list of commits without parents.
const SHALLOW: &str = "shallow-before";

impl Session<'_> {
    /// Mends what would keep git itself from working. Nothing of the attempt is alive.
    pub(super) async fn repair_after_attempt(&mut self) -> Result<(), Error> {
        self.take_rights_back();
        let top = self.engine.repo.top.clone();
        if !top.exists() {
            fs::create_dir_all(&top).map_err(|source| {
                Error::File(FileError {
                    what: "make",
                    path: top,
                    source,
                })
            })?;
            self.tell("the work tree was deleted; its directory is made anew");
        }
        if !self.file("attempts").exists() {
            self.store.make_dirs()?;
            self.tell("the loop's directory below .git was deleted; it is made anew");
        }
        let changed = self.put_back_own_files().await?;
        let removed = self.remove_stale_locks().await?;
        self.mend_index().await?;
        if changed {
            self.widen_sparse().await?;
        }
        if removed > 0 {
            self.tell("the attempt left locks in the repository; they are removed");
        }
        Ok(())
    }

    /// Puts the index of the checkpoint in the place of one that is not as git wrote it: git would read it, and
    /// take what is missing in it for deleted.
    pub(super) async fn mend_index(&mut self) -> Result<(), Error> {
        let (real, saved) = (self.engine.repo.index(), self.file("checkpoint.index"));
        let oid = self.oid_length();
        if !real.is_file() || is_intact(&real, oid) {
            return Ok(());
        }
        if is_intact(&saved, oid) {
            self.engine.repo.install_index(&saved).await?;
            self.tell("the index was damaged: it is put back as it was at the checkpoint");
            return Ok(());
        }
        // Where there is none, one is made from the checkpoint.
        Ok(fs::remove_file(&real).map_err(|error| file_error("remove", &real, error))?)
    }

    /// Puts git's own files back to what they were before the attempt; says whether any had changed.
    pub(crate) async fn put_back_own_files(&mut self) -> Result<bool, Error> {
        let copy = self.file(OWN_FILES);
        if !copy.exists() {
            return Ok(false);
        }
        let changed = self.restore_own_files(&OwnFiles::load(&copy)?, ATTEMPT).await?;
        self.forget_own_files()?;
        Ok(changed)
    }

    /// Puts git's own files back to what they were before `who` ran; says whether any had changed.
    pub(super) async fn restore_own_files(&mut self, files: &OwnFiles, who: &str) -> Result<bool, Error> {
        let trash = self.new_trash_for_own_files();
        let differed = files.restore(&self.engine.repo, &trash)?;
        for PutBack { path, instead } in &differed {
            let path = path.display();
            // A person or an editor may have written it as well.
            self.tell(match instead {
                Some(instead) => format!(
                    "{path} was changed during {who}; it is put back, and what was there is kept as {}",
                    instead.display()
                ),
                None => format!("{path} was removed during {who}; it is put back"),
            });
        }
        let (config, rules) = {
            let dir = &self.engine.repo.common_dir;
            (dir.join("config"), dir.join("info/exclude"))
        };
        for PutBack { path, instead } in &differed {
            let Some(instead) = instead.as_ref().filter(|file| file.is_file()) else {
                continue;
            };
            if *path == config {
                let git = &self.engine.repo.git;
                let kept = git.keep_harmless_settings(instead, path).await?;
                if !kept.is_empty() {
                    self.tell(format!("settings that run nothing stay: {}", kept.join(", ")));
                }
            } else if *path == rules {
                self.leave_out_covered(instead).await?;
            }
        }
        let before = Shallow::read(&self.file(SHALLOW));
        let whole = self.engine.repo.restore_history(&before).await?;
        if whole > 0 {
            self.tell(format!(
                "git was told during the attempt to end history at {whole} of the commits that go on (git fetch \
                 --depth); it shows all of it again"
            ));
        }
        if !differed.is_empty() {
            // Read before, it may have been theirs.
            self.engine.configuration.hooks = None;
        }
        Ok(!differed.is_empty())
    }

    /// Where what was there in the place of git's own files goes: a name that nothing has yet.
    fn new_trash_for_own_files(&self) -> PathBuf {
        let trash = self.file("trash");
        let name = match &self.state.progress.story {
            Some(story) => format!("{}.{}", ref_component(&story.id), story.attempt),
            None => "between".to_owned(),
        };
        let mut dir = trash.join(format!("{name}.git"));
        let mut more = 1;
        while dir.symlink_metadata().is_ok() {
            more += 1;
            dir = trash.join(format!("{name}.git-{more}"));
        }
        dir
    }

    /// Keeps a copy of git's own files before an attempt.
    pub(crate) fn save_own_files(&self) -> Result<(), Error> {
        self.unversioned().settle_covered()?;
        Shallow::read(&self.engine.repo.shallow_file()).write(&self.file(SHALLOW))?;
        Ok(OwnFiles::read(&self.engine.repo)?.save(&self.file(OWN_FILES))?)
    }

    /// Forgets the copy of git's own files.
    pub(super) fn forget_own_files(&self) -> Result<(), Error> {
        Ok(OwnFiles::discard(&self.file(OWN_FILES))?)
    }
}
