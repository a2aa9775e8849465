//! The index of the work tree, if git can no longer read it.

use super::savepoint::Savepoint;
use crate::fs::{is_there, leads_to_file};
use crate::protect::ProtectError;
use crate::protect::trash::set_aside;

/// Replaces a damaged index by the checkpoint's: git would otherwise treat missing entries as deleted.
pub(in crate::protect) async fn replace(checkpoint: &Savepoint<'_>) -> Result<(), ProtectError> {
    let site = checkpoint.site;
    let (real, saved) = (site.repo.index(), checkpoint.index());
    let is_file = leads_to_file(&real)?;
    if !is_there(&real)? || (is_file && site.repo.is_intact(&real)?) {
        return Ok(());
    }
    if !is_file {
        set_aside(site, &real, &site.trash().join("damaged"))?;
    }
    if site.repo.is_intact(&saved)? {
        site.repo.install_index(&saved).await?;
        site.tell("the index was damaged: it is put back as it was at the checkpoint".to_owned());
        return Ok(());
    }
    // If there is no index, one is made from the checkpoint.
    Ok(site.door(&real).remove_file(&real)?)
}
