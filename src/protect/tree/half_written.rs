//! Temporary files that a killed git-ralph left in the work tree. They are beside their target, under git-ralph's own
//! names.

use crate::fs::TEMPORARY;
use crate::protect::trash::put_away;
use crate::protect::{ProtectError, Site};

impl Site<'_> {
    /// Moves such files to the trash: they are neither the user's work nor an attempt's. One git process, which lists
    /// the untracked files.
    pub async fn put_half_written_away(self) -> Result<(), ProtectError> {
        let names = format!(":(top,glob)**/{TEMPORARY}????????");
        let listed = self.repo.git.cmd("ls-files", ["-z", "-o", "--", &names]);
        // Git fails if an index is damaged: the files are then kept like others.
        let found = listed.fields().await.unwrap_or_default();
        let name = |path: &[u8]| {
            path.rsplit(|byte| *byte == b'/')
                .next()
                .is_some_and(is_name_of_half_written)
        };
        for path in found.into_iter().filter(|path| name(path)) {
            self.put_beginning_away(&path)?;
        }
        Ok(())
    }

    /// Moves a file that has only the beginning of its content to the trash.
    pub fn put_beginning_away(self, path: &[u8]) -> Result<(), ProtectError> {
        Ok(put_away(self, &[], path, &self.trash().join("half-written"))?)
    }
}

/// Returns whether git-ralph gives temporary files such a name.
pub(super) fn is_name_of_half_written(name: &[u8]) -> bool {
    let digits = name.strip_prefix(TEMPORARY.as_bytes());
    digits.is_some_and(|digits| digits.len() == 8 && digits.iter().all(u8::is_ascii_hexdigit))
}
