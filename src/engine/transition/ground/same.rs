//! The loop ends where it is: HEAD, index and files stay.

use super::way::{Left, Way};
use crate::engine::Loop;
use crate::error::Error;
use crate::names::short_branch;
use crate::paths::WorkTreePath;

pub(super) async fn stay(open: &Loop<'_>, way: &Way<'_>) -> Result<Left, Error> {
    let git = &open.context.repo.git;
    git.update_refs(&way.refs.updates, way.why).await?;
    let own = open.state.own_work_tree();
    if let Some(own) = &own {
        git.unlock_work_tree(own).await?;
    }
    let on = way.position.head.branch.as_deref();
    Ok(Left {
        branch: on.map(|branch| short_branch(branch).to_owned()),
        work_tree: own.map(|own| WorkTreePath::new(&own).to_string()),
        ..Left::default()
    })
}
