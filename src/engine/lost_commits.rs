//! Commits that something removed before a ref kept them, as `git gc --prune=now` does while git-ralph works.

use crate::error::Error;
use crate::events::Notices;
use crate::git::Repo;
use crate::names::Oid;
use crate::refs::KeptRef;

/// Selects the commits that are still there, and names the others; `None` if all are. One git process at most.
pub(super) async fn still_there(
    repo: &Repo,
    notices: &impl Notices,
    wanted: &[KeptRef],
) -> Result<Option<Vec<KeptRef>>, Error> {
    let oids: Vec<&Oid> = wanted.iter().map(|kept| &kept.oid).collect();
    let lost = repo.missing(&oids).await?;
    if lost.is_empty() {
        return Ok(None);
    }
    let (lost, there): (Vec<KeptRef>, _) = wanted.iter().cloned().partition(|kept| lost.contains(&kept.oid));
    for KeptRef { name, oid } in lost {
        notices.tell(format!(
            "{} cannot be kept as {name}: the commit is gone, as after git gc --prune=now while git-ralph works",
            oid.short()
        ));
    }
    Ok(Some(there))
}
