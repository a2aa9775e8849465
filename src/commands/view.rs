//! The view of loops for `git ralph watch` and `git ralph run --view`.

use std::path::Path;

use crate::engine::Context;
use crate::inspect::follow::{LoopFollower, stories_of};
use crate::inspect::status_line;
use crate::names::{Change, typed};
use crate::settings::BoxMode;
use crate::state::Store;
use crate::ui::view::{Model, Setup, ViewThread, Viewed, terminal};
use crate::ui::{Screen, pager};

/// Returns whether the view can be shown; reports why not, if the user requested it.
pub(super) fn can_be_shown(screen: Screen, is_asked: bool) -> bool {
    let is_possible = !screen.quiet && !screen.json && terminal::is_there();
    if is_asked && !is_possible {
        screen.say("the view needs a terminal of its own; here are lines instead\n");
    }
    is_possible
}

/// Returns the data for a view of these changes.
pub(super) async fn setup(context: &Context<'_>, changes: &[Change], is_owner: bool) -> Setup {
    let common_dir = &context.repo.common_dir;
    let mut loops = Vec::new();
    for change in changes {
        let follower = LoopFollower::new(common_dir, change);
        let state = follower.store().load().ok().flatten();
        let stories = state.as_ref().map(stories_of).unwrap_or_default();
        let mut model = Model::new(change.as_str(), &stories);
        let mut boxed = BoxMode::Off;
        if let Some(state) = &state {
            let settings = state.settings_in(&context.configuration);
            let longest = settings.max_duration;
            model.ends = longest.and_then(|longest| state.common.started.checked_add(longest).ok());
            (model.max_cost, model.idle) = (settings.max_cost, settings.idle_timeout);
            boxed = settings.boxing.mode;
        }
        loops.push(Viewed {
            follower,
            model,
            top: state.map_or_else(|| context.repo.top.clone(), |state| state.work_tree().to_owned()),
            boxed,
        });
    }
    Setup {
        loops,
        is_owner,
        pager: pager::name(&context.repo.top).await,
        is_replay: false,
    }
}

/// Begins the view of the loop that this process drives; prints the state of the loop when the user leaves the view.
pub(super) async fn begin(screen: Screen, context: &Context<'_>, change: &Change) -> Option<ViewThread> {
    let setup = setup(context, std::slice::from_ref(change), true).await;
    let (common_dir, change) = (context.repo.common_dir.clone(), change.clone());
    let after = move || {
        let purpose = "to see the view again, here or in another terminal";
        tell(screen, &common_dir, &change, purpose);
    };
    ViewThread::begin(setup, after).ok()
}

/// Prints the state of a loop, and how to watch it: the lines that stay after the view is closed.
pub(super) fn tell(screen: Screen, common_dir: &Path, change: &Change, purpose: &str) {
    if let Ok(Some(state)) = Store::new(common_dir, change).load() {
        screen.say(&format!(
            "{}\n  (use \"git ralph watch {change}\" {purpose})\n",
            status_line::of(common_dir, &state),
            change = typed(change)
        ));
    }
}
