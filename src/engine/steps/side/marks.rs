//! Keeps the marks of the loop's list while sides run.

use crate::engine::Loop;
use crate::engine::stories::follow_source;
use crate::error::Error;
use crate::names::typed;
use crate::refs::KeptRef;

/// Puts back the marks of open stories that changed in the loop's own list since the last checkpoint: while sides run, an attempt
/// may have changed them, and only what was judged is done. The list as it was is kept.
pub(super) async fn put_marks_back(open: &mut Loop<'_>) -> Result<(), Error> {
    follow_source(open);
    let source = open.state.source().clone();
    let before = open.git().file_of(open.state.checkpoint(), &source.path).await?;
    let now = open.site().read_story_list(&source)?;
    let (Some(before), Some(now)) = (before, now) else {
        return Ok(());
    };
    let completed = &open.state.progress().completed;
    let is_complete = |id: &str| completed.iter().any(|done| done.id == id);
    let Some(kept) = source.restore_marks(&before, &now.bytes, is_complete) else {
        return Ok(());
    };
    let (message, list) = (
        "marks that changed in the story list while attempts ran",
        &source.path,
    );
    let tree = open.read_work_tree().await?.tree;
    let commit = open.commit_on_checkpoint(&tree, message).await?;
    let name = open.change().ralph_ref(&format!("replaced/{}", commit.short()));
    let refs = open
        .keep_refs(&[KeptRef::new(name, commit)], &format!("ralph: {message}"))
        .await?;
    now.write(open.site(), &source, &kept.bytes)?;
    open.view.drop_all();
    let (what, change) = (kept.put_back.unwrap_or_default(), typed(open.change()));
    let names: Vec<_> = refs.iter().map(|kept| typed(&kept.name)).collect();
    open.tell(format!(
        "{list}: put back while attempts run: {what}; 'git ralph skip {change} <story>' leaves a story out (kept: git show {})",
        names.join(" ")
    ));
    Ok(())
}
