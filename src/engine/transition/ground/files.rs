//! The files are those of a tree; refs, HEAD and index stay.

use super::way::Left;
use crate::engine::Loop;
use crate::error::Error;
use crate::names::Oid;
use crate::protect::{restore_from_trash, tell_links_as_files};

/// Gives the files the tree, and puts back what the directory `trash` of the loop has. Scans the work tree once.
pub(super) async fn switch(open: &Loop<'_>, tree: &Oid, trash: &str) -> Result<Left, Error> {
    let now = open.read_work_tree().await?.tree;
    let site = open.site();
    let work = site.work_index();
    // Git checks every file before it writes the first: after a refusal nothing has changed.
    let switched = site.repo.switch_work_tree(&work, &now, tree).await;
    if switched.is_ok() {
        tell_links_as_files(site, [&now, tree], open).await?;
    }
    site.repo.discard_index(&work)?;
    if switched.is_ok() && !trash.is_empty() {
        restore_from_trash(site, &site.trash().join(trash))?;
    }
    Ok(Left {
        refused: switched.err().map(Error::from),
        ..Left::default()
    })
}
