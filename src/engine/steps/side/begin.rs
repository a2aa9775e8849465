//! Starts a side.

use super::settings_of_side;
use crate::engine::attempt::learnings;
use crate::engine::{BegunFor, Context, Loop, Place, StartOptions, start, stories};
use crate::error::Error;
use crate::git::Head;
use crate::state::{Phase, Progress, State, Store};

/// Starts the side in this place for a story of a loop with this state. `context` is any work tree of the repository.
///
/// # Errors
/// All refusals of `start`; nothing is changed then.
pub async fn begin_side<'o>(
    context: Context<'o>,
    of: &State,
    (story, place): (&str, u16),
    options: &StartOptions,
) -> Result<Loop<'o>, Error> {
    let side = of.change.side(place)?;
    let mut context = context.at(of.work_tree()).await?;
    context.head = Head::new(None, Some(of.checkpoint().clone()));
    let mut settings = settings_of_side(&options.settings);
    settings.stories = of.source().to_name(&context.repo.top, side.as_str());
    let options = StartOptions {
        settings,
        own_work_tree: Some(Place::Configured),
        begun_for: BegunFor::Side,
        ..options.clone()
    };
    let common_dir = context.repo.common_dir.clone();
    let mut open = Box::pin(start(context, &side, &options, None, async |_: &Loop<'_>| {}))
        .await?
        .open;
    let listing = stories::read_list(&mut open).await?;
    let is_other = |id: &str| id != story;
    let open_now = listing.stories.iter().filter(|one| !one.done);
    let mut progress = Progress {
        phase: Phase::Ready,
        skipped: open_now
            .map(|one| one.id.clone())
            .filter(|id| is_other(id))
            .collect(),
        put_off: Vec::new(),
        ..of.progress().clone()
    };
    progress.story = progress.failed(story).cloned();
    progress.beside.clear();
    open.state.common.progress = progress;
    open.advance(|progress| progress.limit(of.progress().max_retries))?;
    open.state.here.messages.clone_from(&of.here.messages);
    let notes = learnings::newest_in(&Store::new(&common_dir, &of.change).file(learnings::FILE));
    open.store.door().write_private(&learnings::file(&open), &notes)?;
    open.save()?;
    Ok(open)
}
