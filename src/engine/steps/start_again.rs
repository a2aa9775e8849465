//! `start` on a change that may already have a live loop: keeps it, or aborts it first.

use super::abort::abort;
use super::preflight::{BegunFor, StartOptions};
use super::start::begin;
use crate::engine::own_work_tree::make_again;
use crate::engine::steps::start_refusal::StartRefusal;
use crate::engine::stories::{Upcoming, list_of_new_loop, nothing_to_begin, upcoming};
use crate::engine::story_source::wanted;
use crate::engine::work_tree_place::OwnTree;
use crate::engine::work_tree_removal::remove_new;
use crate::engine::{Context, Loop, Place, judged, open, refuse_inside_attempt, refuse_side};
use crate::error::Error;
use crate::fs::may_exist;
use crate::git::RefInfo;
use crate::names::{Change, Oid};
use crate::paths::is_of_work_tree;
use crate::state::{State, Store};
use crate::stories::{Source, SourceError, resolve_typed};

/// The result of `start`.
pub struct Started<'o> {
    /// The loop.
    pub open: Loop<'o>,
    /// True if it was already live, and nothing was changed.
    pub already: bool,
}

/// Begins a loop, or returns the live one. `refs` are all refs, if they are known. `before_gates` shows a new loop
/// before its first gate runs.
///
/// # Errors
/// All refusals of `start`; nothing is changed then.
pub async fn start<'o>(
    mut context: Context<'o>,
    change: &Change,
    options: &StartOptions,
    mut refs: Option<Vec<RefInfo>>,
    before_gates: impl AsyncFn(&Loop<'_>),
) -> Result<Started<'o>, Error> {
    refuse_inside_attempt()?;
    if !options.begun_for.is_of_side() {
        refuse_side(&context, change)?;
    }
    let store = Store::new(&context.repo.common_dir, change);
    let state = store.load()?;
    let mut place = options.own_work_tree.clone();
    let mut options = options.clone();
    // A side reuses the work tree that it has left.
    let is_side = matches!(options.begun_for, BegunFor::Side);
    if let Some(state) = state.filter(|state| state.is_live() || state.is_leaving() && !is_side) {
        if state.is_live() && options.restart {
            let top = &context.repo.top;
            let name = change.as_str();
            if options.settings.stories.is_none() {
                options.settings.stories = state.source().to_name(top, name);
            }
            // If the list is missing, the loop stays.
            let wanted = wanted(&options.settings, change, &context.below_top);
            let source = resolve_typed(top, name, &wanted)?;
            if !source.is_by_command() {
                source.list(top).await?;
                require_list_before(&context, &state, &source, place.is_some()).await?;
            }
            if let Some(place) = &place {
                let settings = &options.settings;
                let own = OwnTree {
                    context: &context,
                    change,
                    place,
                    settings,
                };
                own.refuse_taken(&state).await?;
            }
        }
        let mut set_up = Vec::new();
        if place.is_some() {
            let _alone = store.lock_making()?;
            set_up = Box::pin(make_again(&context, &state, &options.settings)).await?;
        }
        let typed_in = context.repo.top.clone();
        let open = open(context, change).await?;
        judged::leave_out_of_work(&open, &set_up).await?;
        if open.state.is_live() && !options.restart {
            return Ok(Started { open, already: true });
        }
        context = Box::pin(abort_for_restart(open)).await?;
        refs = None;
        if state.has_own_work_tree() {
            // It gets a new work tree in the old place, made from the user's work tree.
            place = place.or(Some(Place::Named(state.work_tree().to_owned())));
            if may_exist(&typed_in) {
                context = context.at(&typed_in).await?;
            }
        }
    }
    let open = match &place {
        Some(place) => Box::pin(begin_in_own(context, change, &options, place, before_gates)).await?,
        None => Box::pin(begin(context, change, &options, refs, before_gates)).await?,
    };
    Ok(Started { open, already: false })
}

/// Begins a loop in its own work tree. A refused start leaves none behind.
async fn begin_in_own<'o>(
    context: Context<'o>,
    change: &Change,
    options: &StartOptions,
    place: &Place,
    before_gates: impl AsyncFn(&Loop<'_>),
) -> Result<Loop<'o>, Error> {
    if options.settings.strategy.leaves_head() {
        return Err(StartRefusal::StashInWorkTree.into());
    }
    if !matches!(options.begun_for, BegunFor::Landing(_)) {
        refuse_done(&context, change, options).await?;
    }
    in_own_work_tree(context, change, options, place, async |context, options| {
        Box::pin(begin(context, change, options, None, before_gates)).await
    })
    .await
}

/// Makes the loop's own work tree at HEAD, and begins the loop in it. If it does not begin, no new work tree stays.
pub(super) async fn in_own_work_tree<'o>(
    context: Context<'o>,
    change: &Change,
    options: &StartOptions,
    place: &Place,
    begin: impl AsyncFnOnce(Context<'o>, &StartOptions) -> Result<Loop<'o>, Error>,
) -> Result<Loop<'o>, Error> {
    let store = Store::new(&context.repo.common_dir, change);
    let _alone = store.lock_making()?;
    let repo = context.repo.clone();
    let own = OwnTree {
        context: &context,
        change,
        place,
        settings: &options.settings,
    };
    let prepared = own.prepare().await?;
    let top = prepared.top;
    let options = StartOptions {
        linked: Some(prepared.linked),
        set_up: prepared.set_up,
        ..options.clone()
    };
    let begun = async { begin(context.at(&top).await?, &options).await };
    match Box::pin(begun).await {
        Err(error) if prepared.is_new && store.load_live()?.is_none() => {
            remove_new(&repo, &top, &options.settings).await?;
            Err(error)
        }
        begun => begun,
    }
}

/// Refuses, before the work tree is made, a change without an open story, or whose list the work tree would lack.
async fn refuse_done(context: &Context<'_>, change: &Change, options: &StartOptions) -> Result<(), Error> {
    let (source, listing) = list_of_new_loop(context, change, &options.settings, options.restart).await?;
    if !source.is_by_command() {
        let head = context.head.oid.as_ref().map_or("HEAD", Oid::as_str);
        let in_head = format!("{head}:{}", source.path);
        let found = context.repo.git.cmd("cat-file", ["-e", &in_head]);
        if found.any_exit().await?.code != Some(0) {
            return Err(StartRefusal::ListNotCommitted(source.path.clone()).into());
        }
    }
    if listing.stories.is_empty() || upcoming(&listing, &[]) != Upcoming::Nothing {
        return Ok(());
    }
    Err(nothing_to_begin(&context.repo.top, change, &source, &listing))
}

/// Refuses a list whose additions since the loop's start the abort would remove: `is_apart` is true if the new loop
/// gets its own work tree. Work trees other than the loop's stay unchanged.
async fn require_list_before(
    context: &Context<'_>,
    state: &State,
    source: &Source,
    is_apart: bool,
) -> Result<(), Error> {
    let (repo, path) = (&context.repo, &source.path);
    if state.work_tree() != repo.top || !is_of_work_tree(path.as_bytes()) {
        return Ok(());
    }
    let is_apart = is_apart || state.has_own_work_tree();
    let before = match &state.common.original_head {
        Some(head) if is_apart => head,
        _ => state.initial(),
    };
    let in_it = format!("{before}:{path}");
    if repo.git.cmd("cat-file", ["-e", &in_it]).any_exit().await?.code == Some(0) {
        return Ok(());
    }
    let path = path.clone();
    let paths = [path.clone().into_bytes()];
    if !is_apart && !repo.ignored_among(&repo.index(), &paths).await?.is_empty() {
        return Ok(());
    }
    context.tell(
        &state.change,
        format!(
            "{path} came after the loop began, and --restart would first take it away with the work of the loop; copy it to a \
             place outside of the repository, abort the loop, and put it back"
        ),
    );
    Err(SourceError::Missing { path }.into())
}

/// Aborts a live loop so that a new one can begin; returns the repository afterwards.
async fn abort_for_restart(mut open: Loop<'_>) -> Result<Context<'_>, Error> {
    if open.state.is_live() {
        abort(&mut open).await?;
    }
    // The loop may have used its own index.
    open.context.repo = open.repo().with_users_index();
    open.into_context().await
}
