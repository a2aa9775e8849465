//! A slot: the directory `slots/<n>/` in the loop's directory, with all files of an attempt and the records of the work
//! tree that the attempt changes. Files that a loop has once are in the loop's directory.

use std::path::{Path, PathBuf};

use crate::fs::{Below, FileError, file_error, is_directory};

/// Directory of the slots, in the loop's directory.
pub(crate) const SLOTS: &str = "slots";

/// The variable with a number that no other run of the same command has at the same time.
pub(crate) const SLOT: &str = "RALPH_SLOT";

/// The only slot of a loop.
const FIRST: &str = "1";

/// Name of a slot into which the files of an earlier version are being moved.
const HALF: &str = ".1";

/// The files of a slot that earlier versions kept in the loop's own directory.
const EARLIER: [&str; 35] = [
    "back.index",
    "checkpoint.index",
    "event.json",
    "excludes",
    "gate-files.index",
    "git-files",
    "guard.config",
    "guard.log",
    "guard.rules",
    "guard.tip",
    "guard.users",
    "held.index",
    "hooks",
    "inner.index",
    "into.index",
    "judged.index",
    "judged.real.index",
    "list.index",
    "prompt.md",
    "refs-before.toml",
    "review.md",
    "rules",
    "rules.index",
    "shallow-before",
    "staged.index",
    "start.index",
    "stash-before",
    "stash.index",
    "stories.copy",
    "stories.judged",
    "submodule.index",
    "submodules.start.toml",
    "submodules.toml",
    "unversioned",
    "work.index",
];

/// Returns the number in that variable; 1 if it is not set.
pub(crate) fn number() -> String {
    let given = std::env::var(SLOT).ok();
    let given = given.filter(|number| number.parse::<u16>().is_ok());
    given.unwrap_or_else(|| "1".to_owned())
}

/// The directory of a slot, in the directory of its loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    loop_dir: PathBuf,
    dir: PathBuf,
}

impl Slot {
    /// Returns the slot of the loop with this directory.
    pub fn of(loop_dir: &Path) -> Self {
        Self {
            loop_dir: loop_dir.to_owned(),
            dir: loop_dir.join(SLOTS).join(FIRST),
        }
    }

    /// Returns the slot with this directory.
    pub fn at(dir: &Path) -> Self {
        Self {
            loop_dir: dir.ancestors().nth(2).unwrap_or(dir).to_owned(),
            dir: dir.to_owned(),
        }
    }

    /// Returns the slot of a loop of an earlier version, whose files are in the loop's directory.
    pub fn of_earlier(loop_dir: &Path) -> Self {
        Self {
            loop_dir: loop_dir.to_owned(),
            dir: loop_dir.to_owned(),
        }
    }

    /// Returns the slot's directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the loop's own directory.
    pub fn loop_dir(&self) -> &Path {
        &self.loop_dir
    }

    /// Returns the directories from the loop's to the slot's.
    pub fn dirs(&self) -> [&Path; 3] {
        let above = self.dir.parent().unwrap_or(&self.dir);
        [&self.loop_dir, above, &self.dir]
    }

    /// Returns a file in the slot.
    pub fn file(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Returns the access to both directories. They are in git's directory, which the agent must not write.
    pub fn door(&self) -> Below {
        Below::of_loop(&self.loop_dir)
    }

    /// Makes the slot if it is missing, with the files that an earlier version kept in the loop's directory. Removes
    /// links and pipes that an attempt put there. No process of the attempt may be alive.
    pub fn make(&self) -> Result<(), FileError> {
        let door = self.door();
        for dir in self.dirs() {
            if !is_directory(dir)? {
                door.remove_file(dir)?;
            }
            door.give(dir, 0o700);
        }
        if !is_directory(&self.dir)? {
            self.take_earlier(&door)?;
        }
        for dir in self.dirs() {
            door.remove_specials(dir)?;
        }
        Ok(())
    }

    /// Moves the files of an earlier version; the next call completes an interrupted one.
    fn take_earlier(&self, door: &Below) -> Result<(), FileError> {
        let half = self.loop_dir.join(SLOTS).join(HALF);
        door.make_dir(&half, 0o700)?;
        let take = |from: &Path, to: &Path| {
            let moved = door.rename(from, door, to);
            moved.map_err(|source| file_error("move", from, source))
        };
        for name in EARLIER {
            let (from, to) = (self.loop_dir.join(name), half.join(name));
            if door.exists(&from)? {
                door.remove(&to)?;
                take(&from, &to)?;
            }
            // A killed git left it.
            door.remove_file(&self.loop_dir.join(format!("{name}.lock")))?;
        }
        take(&half, &self.dir)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn slot_takes_files_of_an_earlier_version_once_even_after_a_kill() {
        let git_dir = tempfile::tempdir().unwrap();
        let loop_dir = git_dir.path().join("ralph/c");
        fs::create_dir_all(loop_dir.join("unversioned/files")).unwrap();
        for name in ["prompt.md", "unversioned/inventory", "events.jsonl"] {
            fs::write(loop_dir.join(name), name).unwrap();
        }
        // A killed first call left a part of the directory.
        fs::create_dir_all(loop_dir.join("slots/.1/unversioned/files")).unwrap();
        fs::write(loop_dir.join("slots/.1/excludes"), "excludes").unwrap();
        let slot = Slot::of(&loop_dir);
        for _ in 0..2 {
            slot.make().unwrap();
            for name in ["prompt.md", "unversioned/inventory", "excludes"] {
                assert_eq!(fs::read_to_string(slot.file(name)).unwrap(), name);
            }
            assert!(slot.file("unversioned/files").is_dir() && !loop_dir.join("slots/.1").exists());
            assert!(loop_dir.join("events.jsonl").exists() && !loop_dir.join("unversioned").exists());
        }
        // Files that appear in an old place later stay there.
        fs::write(loop_dir.join("prompt.md"), "other").unwrap();
        slot.make().unwrap();
        assert_eq!(fs::read_to_string(slot.file("prompt.md")).unwrap(), "prompt.md");
        assert_eq!(Slot::at(slot.dir()), slot);
    }

    #[test]
    fn make_removes_files_and_links_in_place_of_the_slot() {
        let git_dir = tempfile::tempdir().unwrap();
        let loop_dir = git_dir.path().join("ralph/c");
        fs::create_dir_all(loop_dir.join("slots")).unwrap();
        let slot = Slot::of(&loop_dir);
        fs::write(slot.dir(), "").unwrap();
        slot.make().unwrap();
        assert!(slot.dir().is_dir());
        fs::remove_dir(slot.dir()).unwrap();
        std::os::unix::fs::symlink(git_dir.path(), slot.dir()).unwrap();
        slot.make().unwrap();
        assert!(slot.dir().symlink_metadata().unwrap().is_dir());
        std::os::unix::fs::symlink("none", slot.file("work.index")).unwrap();
        slot.make().unwrap();
        assert!(slot.file("work.index").symlink_metadata().is_err());
        fs::remove_dir_all(loop_dir.join("slots")).unwrap();
        fs::write(loop_dir.join("slots"), "").unwrap();
        slot.make().unwrap();
        assert!(slot.dir().is_dir());
    }
}
