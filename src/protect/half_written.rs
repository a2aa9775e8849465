//! Files that a git-ralph had begun to write into the work tree when it was killed. They are beside their place, under names
//! of git-ralph's own.

use super::trash::put_away;
use super::{ProtectError, Site};
use crate::fs::TEMPORARY;

/// Moves such files to the trash: they are neither a person's work nor an attempt's. One git process, which lists the files
/// that git does not track.
pub(crate) async fn put_half_written_away(site: Site<'_>) -> Result<(), ProtectError> {
    let names = format!(":(top,glob)**/{TEMPORARY}????????");
    let listed = site.repo.git.cmd("ls-files", ["-z", "-o", "--", &names]);
    // Git cannot be asked where an index is damaged: what is left then is kept like any other file.
    let mut found = listed.fields().await.unwrap_or_default();
    found.retain(|path| is_half_written(path));
    let trash = site.trash().join("half-written");
    for path in found {
        put_away(site, &[], &path, &trash)?;
    }
    Ok(())
}

/// Returns whether git-ralph writes to files of such names before it puts them in their place.
fn is_half_written(path: &[u8]) -> bool {
    let name = path.rsplit(|byte| *byte == b'/').next();
    let digits = name.and_then(|name| name.strip_prefix(TEMPORARY.as_bytes()));
    digits.is_some_and(|digits| digits.len() == 8 && digits.iter().all(u8::is_ascii_hexdigit))
}
