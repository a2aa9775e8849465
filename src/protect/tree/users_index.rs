//! The index of the work tree in a loop that works with an index of its own: recorded before an attempt, and put back
//! after it.

use crate::protect::trash::set_aside;
use crate::protect::{ProtectError, Site};

use crate::fs::{leads_to_file, read, read_if_there};

/// Name of the copy in the loop's directory; it exists only during an attempt.
const COPY: &str = "users.index";

/// Records the index before an attempt.
pub(super) fn take(site: Site<'_>) -> Result<(), ProtectError> {
    if site.repo.git.own_index().is_some() {
        forget(site)?;
        site.repo
            .copy_index(&site.repo.users_index(), &site.loop_file(COPY))?;
    }
    Ok(())
}

/// Puts the recorded index back, byte for byte, if it was changed.
pub(crate) async fn put_back(site: Site<'_>) -> Result<(), ProtectError> {
    let (copy, real) = (site.loop_file(COPY), site.repo.users_index());
    let Some(recorded) = read_if_there(&copy)? else {
        return Ok(());
    };
    if !leads_to_file(&real)? {
        set_aside(site, &real, &site.trash().join("damaged"))?;
    } else if read(&real)? == recorded {
        return Ok(());
    }
    Ok(site.repo.with_users_index().install_index(&copy).await?)
}

/// Forgets the record: the index is as the user left it, or restored.
pub(crate) fn forget(site: Site<'_>) -> Result<(), ProtectError> {
    Ok(site.repo.discard_index(&site.loop_file(COPY))?)
}
