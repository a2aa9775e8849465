//! Commits that something removed before a ref kept them, as `git gc --prune=now` does while git-ralph works.

use crate::error::Error;
use crate::events::Notices;
use crate::git::Repo;
use crate::names::Oid;
use crate::refs::KeptRef;

/// Splits the commits to keep into existing commits and missing ones, and reports the missing ones. One git process at
/// most.
pub(super) async fn split_lost(
    repo: &Repo,
    notices: &impl Notices,
    wanted: &[KeptRef],
) -> Result<(Vec<KeptRef>, Vec<KeptRef>), Error> {
    let oids: Vec<&Oid> = wanted.iter().map(|kept| &kept.oid).collect();
    let missing = repo.missing(&oids).await?;
    let is_there = |kept: &KeptRef| !missing.contains(&kept.oid);
    let (there, lost): (Vec<KeptRef>, Vec<KeptRef>) = wanted.iter().cloned().partition(is_there);
    for KeptRef { name, oid } in &lost {
        notices.tell(format!(
            "{} cannot be kept as {name}: the commit is gone, as after git gc --prune=now while git-ralph works",
            oid.short()
        ));
    }
    Ok((there, lost))
}
