//! Git's own files with which an agent can hide work or change git's behaviour: configuration, exclude and attribute
//! rules, hooks, the list of a shallow repository. They are restored after an attempt, and their replacements go to the
//! trash.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::sleep;

use crate::fs::{leads_to_file, may_exist};
use crate::git::{OwnFiles, PutBack, Runs, Shallow};
use crate::protect::trash::free_name;
use crate::protect::{ProtectError, Site};
use crate::slot::Slot;

/// Name of the lock under which the files are restored, in the directory of all loops.
const TURN: &str = ".own-files.lock";
/// The interval between two tries to take the lock, and the number of tries.
const TURN_WAIT: Duration = Duration::from_millis(10);
const TURNS: u32 = 500;

/// Name of the copy of git's own files in the slot.
const OWN_FILES: &str = "git-files";
/// Name of the copy of the list of shallow commits.
const SHALLOW: &str = "shallow-before";

/// Returns the path of the copy of the repository's configuration, which exists during an attempt, gates or a review.
pub(crate) fn recorded_config(slot: &Slot) -> PathBuf {
    slot.file(OWN_FILES).join("common/config")
}

/// Git's own files at one moment.
pub(crate) struct ControlFiles {
    files: OwnFiles,
    shallow: Shallow,
    /// True if they come from the copy in the slot, which the attempt could write: it proves nothing, and git-ralph
    /// installs no file from it that can run commands.
    is_copy: bool,
}

impl ControlFiles {
    /// Reads the files.
    pub fn read(site: Site<'_>) -> Result<Self, ProtectError> {
        Ok(Self {
            files: OwnFiles::read(&site.repo.layout())?,
            shallow: Shallow::read(&site.repo.shallow_file())?,
            is_copy: false,
        })
    }

    /// Reads the files before an attempt, gates or a reviewer, and keeps a copy in case git-ralph is killed. The files
    /// that all work trees share are taken from the copy of an attempt that runs in one of the slots `others`, if any:
    /// the changes of that attempt since will be undone.
    pub fn save(site: Site<'_>, others: &[Slot]) -> Result<Self, ProtectError> {
        let mut now = Self::read(site)?;
        for other in others {
            if let Some(earlier) = OwnFiles::load_whole(&other.file(OWN_FILES))? {
                now.files.take_shared(earlier);
                break;
            }
        }
        let door = site.own_door();
        now.shallow.write(&door, &site.file(SHALLOW), 0o600)?;
        now.files.save(&door, &site.file(OWN_FILES))?;
        Ok(now)
    }

    /// Loads the copy, if there is one.
    pub fn load(site: Site<'_>) -> Result<Option<Self>, ProtectError> {
        let copy = site.file(OWN_FILES);
        if !may_exist(&copy) {
            return Ok(None);
        }
        Ok(Some(Self {
            files: OwnFiles::load(&copy)?,
            shallow: Shallow::read(&site.file(SHALLOW))?,
            is_copy: true,
        }))
    }

    /// Forgets the copy.
    pub fn forget(site: Site<'_>) -> Result<(), ProtectError> {
        Ok(OwnFiles::discard(&site.own_door(), &site.file(OWN_FILES))?)
    }

    /// Waits for the turn to restore the files, which lasts until the result is dropped: two processes that restore
    /// them at once would remove each other's kept files. Does not wait for an attempt that holds the lock.
    pub async fn turn(site: Site<'_>) -> Option<File> {
        let path = site.repo.common_dir.join("ralph").join(TURN);
        let file = site.door(&path).open_or_make(&path).ok()?;
        for _ in 0..TURNS {
            if file.try_lock().is_ok() {
                return Some(file);
            }
            sleep(TURN_WAIT).await;
        }
        None
    }

    /// Restores the files to their state before `who` ran, before any git reads them; returns the changed ones.
    /// Replaced files go to the directory `trash`, or to the next free directory of such a name.
    ///
    /// # Errors
    /// If a file cannot be moved or written; [`ProtectError::Unproven`] if the user has to decide about some files: the
    /// others are restored.
    pub async fn put_back(
        &self,
        site: Site<'_>,
        who: &str,
        trash: &Path,
    ) -> Result<Vec<PutBack>, ProtectError> {
        let (unproven, stay) = self.unproven(site).await?;
        let names = unproven.iter().map(|runs| runs.name.clone());
        let names = names.chain(stay).collect();
        let differed = self.files.restore(
            &site.repo.layout(),
            (&site.door(trash), &free_name(trash)?),
            &names,
        )?;
        for PutBack { path, instead, .. } in &differed {
            let path = path.display();
            // The user or an editor may have written the file, too.
            site.tell(match instead {
                Some(instead) => format!(
                    "{path} was changed during {who}; it is put back, and what was there is kept as {}",
                    instead.display()
                ),
                None => format!("{path} was removed during {who}; it is put back"),
            });
        }
        if unproven.is_empty() {
            return Ok(differed);
        }
        let copy = site.file(OWN_FILES);
        let files = unproven.into_iter();
        Err(ProtectError::Unproven(
            files.map(|runs| (runs.path, copy.join(runs.name))).collect(),
        ))
    }

    /// Returns whether the files have changed, apart from settings that [`ControlFiles::settle`] keeps.
    pub async fn differ(&self, site: Site<'_>) -> Result<bool, ProtectError> {
        let now = Self::read(site)?;
        if (&now.files, &now.shallow) == (&self.files, &self.shallow) {
            return Ok(false);
        }
        let configurations = self.files.configurations(&now.files);
        let Some((was, is)) = configurations.filter(|_| now.shallow == self.shallow) else {
            return Ok(true);
        };
        Ok(!site.repo.git.adds_only_harmless(was, is).await?)
    }

    /// Keeps the harmless settings of a replaced configuration. Returns the replaced exclude rules, if any.
    pub async fn settle(site: Site<'_>, differed: Vec<PutBack>) -> Result<Option<PathBuf>, ProtectError> {
        let repo = site.repo;
        let config = repo.common_dir.join("config");
        let rules = repo.common_dir.join("info/exclude");
        let mut replaced = None;
        for PutBack { path, instead, bytes } in differed {
            let Some(instead) = instead else { continue };
            if !leads_to_file(&instead)? {
                continue;
            }
            if path == config {
                let kept = repo.git.keep_harmless_settings(&instead, &path, &bytes).await?;
                site.notices.tell_names("settings that run nothing stay", &kept);
            } else if path == rules {
                replaced = Some(instead);
            }
        }
        Ok(replaced)
    }

    /// Restores the history that git shows, if `who` cut it off.
    pub async fn show_whole_history(&self, site: Site<'_>, who: &str) -> Result<(), ProtectError> {
        let whole = site.repo.restore_history(&self.shallow).await?;
        if whole > 0 {
            site.tell(format!(
                "history was cut off at {whole} commits during {who} (git fetch --depth); git shows all of it again"
            ));
        }
        Ok(())
    }

    /// Returns the files that differ from their copy and can run commands, and the names of configuration files that
    /// stay unchanged, because the next job of a CI system has written its own header for a host.
    async fn unproven(&self, site: Site<'_>) -> Result<(Vec<Runs>, Vec<PathBuf>), ProtectError> {
        let (mut unproven, mut stay) = (Vec::new(), Vec::new());
        if !self.is_copy {
            return Ok((unproven, stay));
        }
        for runs in self.files.would_run(&site.repo.layout())? {
            let recorded = site.file(OWN_FILES).join(&runs.name);
            if runs.is_config && site.repo.git.differ_in_headers(&recorded, &runs.path).await? {
                let path = runs.path.display();
                site.tell(format!(
                    "{path} has other headers for hosts (http.<url>.extraHeader) than before the attempt; they stay"
                ));
                stay.push(runs.name);
            } else if !runs.is_config || site.repo.git.adds_what_runs(&recorded, &runs.path).await? {
                unproven.push(runs);
            }
        }
        Ok((unproven, stay))
    }
}
