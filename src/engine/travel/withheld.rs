//! Failed attempts that do not travel: a commit of theirs has a file that git ignored when the loop began, such as `.env`.

use crate::engine::Loop;
use crate::error::Error;
use crate::refs::KeptRef;

/// Splits the kept attempts into those that travel, and those that stay here. One git process, and one more for each
/// attempt if one stays.
pub async fn without_ignored(
    open: &Loop<'_>,
    attempts: Vec<KeptRef>,
) -> Result<(Vec<KeptRef>, Vec<KeptRef>), Error> {
    let state = &open.state;
    let own = [state.initial(), state.checkpoint()];
    let has_ignored = async |attempts: &[KeptRef]| -> Result<bool, Error> {
        let tips: Vec<_> = attempts.iter().map(|kept| &kept.oid).collect();
        let added = open.git().added_above(&own, &tips).await?;
        Ok(!open.site().ignored_at_start(added.iter())?.is_empty())
    };
    if attempts.is_empty() || !has_ignored(&attempts).await? {
        return Ok((attempts, Vec::new()));
    }
    let (mut travel, mut stay) = (Vec::new(), Vec::new());
    for kept in attempts {
        if has_ignored(std::slice::from_ref(&kept)).await? {
            stay.push(kept);
        } else {
            travel.push(kept);
        }
    }
    Ok((travel, stay))
}
