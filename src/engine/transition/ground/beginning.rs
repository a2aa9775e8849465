//! All is as before the loop.

use super::way::{Left, Way};
use crate::engine::Loop;
use crate::engine::transition::original::install_original_index;
use crate::error::Error;
use crate::git::worktree::Reading;
use crate::paths::first_few;
use crate::protect::{Moment, Savepoint};

/// Name of the directory in the trash for files that are not of the beginning of the loop.
const ABORTED: &str = "abort";

/// Goes back to the savepoint of the beginning. `now` is the work tree, if the working index was just read from it.
pub(super) async fn go_to(open: &Loop<'_>, way: &Way<'_>, now: Option<Reading>) -> Result<Left, Error> {
    let git = &open.context.repo.git;
    git.update_refs(&way.refs.updates, way.why).await?;
    let initial = open.state.initial().clone();
    let start = Savepoint {
        tree: git.tree_of(&initial).await?,
        commit: initial,
        moment: Moment::Start,
        ..open.checkpoint()
    };
    let kept = open.change().ralph_ref("finished");
    let site = open.site();
    let trash = site.trash().join(ABORTED);
    let made: Vec<Vec<u8>> = start.gate_files.keys().cloned().collect();
    start.go_to(site, now, &trash, &kept, open).await?;
    if !made.is_empty() {
        let names = first_few(&made).join(", ");
        open.tell(format!(
            "files that only gates made are in {}: {names}",
            trash.display()
        ));
    }
    open.view.drop_all();
    let original = open.state.original_place();
    let repo = &open.context.repo;
    if repo.head().await? != original {
        repo.set_head(&original, way.why).await?;
    }
    install_original_index(open).await?;
    Ok(Left {
        branch: open.state.common.original_branch.clone(),
        ..Left::default()
    })
}
