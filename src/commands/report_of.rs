//! The report of a local loop.

use crate::engine::Context;
use crate::engine::stories::listing_of;
use crate::error::Error;
use crate::report::{Report, Wanted, of_loop};
use crate::state::State;
use crate::stories::Listing;
use crate::ui::report::Progress;

/// Makes the report of a loop; reads its story list only if its branch is checked out in this work tree.
pub(super) async fn report_of(
    context: &Context<'_>,
    state: &State,
    wanted: &Wanted,
    progress: &mut Progress,
) -> Result<Report, Error> {
    let top = &context.repo.top;
    let is_here = state.work_tree() == top && state.is_place(&context.head);
    let listing: Option<Listing> = if is_here {
        listing_of(state, top).await.ok()
    } else {
        None
    };
    let mut show = |done, total| progress.differences(done, total);
    of_loop(&context.repo, state, listing.as_ref(), wanted, &mut show).await
}
