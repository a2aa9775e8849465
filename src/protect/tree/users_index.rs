//! The user's index in a loop that works with its own index: recorded before an attempt, and restored after it.

use crate::protect::trash::set_aside;
use crate::protect::{ProtectError, Site};

use crate::fs::{leads_to_file, read, read_if_there};

/// Name of the copy in the loop's directory; it exists only during an attempt.
const COPY: &str = "users.index";

/// Records the index before an attempt.
pub(super) fn take(site: Site<'_>) -> Result<(), ProtectError> {
    if site.repo.git.own_index().is_some() {
        site.forget_users_index()?;
        site.repo
            .copy_index(&site.repo.users_index(), &site.loop_file(COPY))?;
    }
    Ok(())
}

impl Site<'_> {
    /// Restores the recorded index, byte for byte, if it was changed.
    pub async fn put_users_index_back(self) -> Result<(), ProtectError> {
        let (copy, real) = (self.loop_file(COPY), self.repo.users_index());
        let Some(recorded) = read_if_there(&copy)? else {
            return Ok(());
        };
        if !leads_to_file(&real)? {
            set_aside(self, &real, &self.trash().join("damaged"))?;
        } else if read(&real)? == recorded {
            return Ok(());
        }
        Ok(self.repo.with_users_index().install_index(&copy).await?)
    }

    /// Forgets the record: the index is the user's, or was restored.
    pub fn forget_users_index(self) -> Result<(), ProtectError> {
        Ok(self.repo.discard_index(&self.loop_file(COPY))?)
    }
}
