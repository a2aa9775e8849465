//! The part of the repository that all sides share while they run.

use crate::engine::Loop;
use crate::error::Error;
use crate::protect::GitFiles;

/// Git's own files and directories, and those of repositories inside the work tree, before the first side begins.
pub struct Shared(GitFiles);

impl Shared {
    /// Reads the shared files.
    pub async fn read(open: &Loop<'_>) -> Result<Self, Error> {
        Ok(Self(GitFiles::before_command(open.site()).await?))
    }

    /// Undoes the changes of attempts to the shared files.
    pub async fn put_back(&self, open: &Loop<'_>) -> Result<(), Error> {
        let changed = open.attempt_record().while_attempts_run(&self.0).await;
        if !matches!(changed, Ok(false)) {
            // A configuration read before this point may contain planted hooks.
            open.context.configuration.hooks.replace(None);
            open.view.drop_all();
        }
        changed?;
        open.switch_off_foreign_filters().await
    }
}
