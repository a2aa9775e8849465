//! Ignore rules beside tracked files that hide themselves: later checkpoints lack the files that they hide.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::fs::{is_there, path_below, seen_itself};
use crate::paths::{directories, first_few, named_in};
use crate::protect::permissions::look_with_permissions;
use crate::protect::trash::put_away;
use crate::protect::{ProtectError, Site};

/// The name of a file of ignore rules.
const RULES: &[u8] = b".gitignore";

impl Site<'_> {
    /// Finds the files of ignore rules at the top and in the directories of an index's files that the index lacks.
    pub fn unlisted_rules(self, index: &Path) -> Result<BTreeSet<Vec<u8>>, ProtectError> {
        let file = self.repo.read_index_or_none(index)?;
        let mut dirs = directories(file.paths());
        dirs.insert(b"");
        let mut found = BTreeSet::new();
        for dir in dirs {
            let name = named_in(dir, RULES);
            let path = path_below(&self.repo.top, &name);
            if !file.has(&name) && look_with_permissions(&self.repo.top, &path, is_there)? {
                found.insert(name);
            }
        }
        Ok(found)
    }

    /// Moves such files that are not among the `known` ones to the trash: `who` made them.
    pub fn take_new_rules_away(
        self,
        index: &Path,
        known: &BTreeSet<Vec<u8>>,
        who: &str,
    ) -> Result<(), ProtectError> {
        let trash = self.trash().join("rules");
        for path in self.unlisted_rules(index)?.difference(known) {
            put_away(self, &[], path, &trash)?;
            self.tell(format!(
                "{} was made during {who}; what it hides would be missing in later checkpoints: it is moved to {}",
                first_few([path]).join(""),
                trash.display()
            ));
        }
        Ok(())
    }

    /// Reports files that changed since the attempt began and are missing from the working index, which the work tree
    /// was just read into, because new self-hiding rules hide them. Both times are in seconds since 1970. Two more
    /// processes if there are such rules.
    pub async fn tell_hidden_by_rules(
        self,
        [loop_began, attempt_began]: [i64; 2],
    ) -> Result<(), ProtectError> {
        let work = self.work_index();
        let is_new = |path: &[u8], since: i64| {
            let found = seen_itself(&path_below(&self.repo.top, path));
            found.is_some_and(|found| found.ctime() >= since)
        };
        let mut rules = self.unlisted_rules(&work)?;
        rules.retain(|path| is_new(path, loop_began));
        if rules.is_empty() {
            return Ok(());
        }
        let mut new = self.repo.outside(&work).await?.ignored;
        new.retain(|path| !rules.contains(path) && is_new(path, attempt_began));
        let hidden = self.repo.ignored_by(&work, &new, &rules).await?;
        let rules = first_few(&rules).join(", ");
        let why = format!("warning: not in the checkpoint, because {rules} hides them");
        self.tell_few(&why, &hidden);
        Ok(())
    }
}
