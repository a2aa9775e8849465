//! Holds a loop on a remote before a run works on it.

use crate::engine::{self, Context, StartOptions, adopt, adopt_apart};
use crate::error::Error;
use crate::events::What;
use crate::names::Change;
use crate::remote::{Server, Taken, Tenure, Watch, require_branch};
use crate::settings::Strategy;
use crate::state::Store;

/// Takes the loop on the typed or configured remote, and checks it out in this repository. Does nothing without a
/// remote. Returns `None` if the loop is closed, and only the remote had to be updated.
pub(super) async fn hold<'o>(
    context: Context<'o>,
    change: &Change,
    options: &StartOptions,
    remote: Option<&str>,
    watch: &mut Watch,
) -> Result<Option<(Context<'o>, Option<Tenure>)>, Error> {
    let settings = &options.settings;
    if remote.is_none() && settings.remote.is_none() {
        return Ok(Some((context, None)));
    }
    let server = Server::new(&context.repo, settings, remote)?;
    require_possible(&context, change, settings.strategy).await?;
    let taken = Box::pin(take(context, server, change, options, watch)).await?;
    let left = Box::pin(tell_of_its_end(taken, change)).await?;
    Ok(left.map(|(context, tenure)| (context, Some(tenure))))
}

/// Takes a loop on a remote, and checks it out if this repository does not have its state.
async fn take<'o>(
    context: Context<'o>,
    server: Server,
    change: &Change,
    options: &StartOptions,
    watch: &mut Watch,
) -> Result<(Context<'o>, Tenure, bool), Error> {
    let remote = server.name().to_owned();
    let place = options.own_work_tree.as_ref();
    let Taken {
        tenure,
        portable,
        from,
        was_complete,
    } = Tenure::take(&context, server, change, watch, place.is_some()).await?;
    let Some(portable) = portable else {
        return Ok((context, tenure, was_complete));
    };
    let adopted = match place {
        Some(place) => Box::pin(adopt_apart(context, change, portable, options, place)).await,
        None => Box::pin(adopt(context, change, portable, &options.settings)).await,
    };
    match adopted {
        Ok(open) => {
            open.emit(What::HandedOver { from, remote });
            Ok((open.into_context().await?, tenure, was_complete))
        }
        Err(error) => {
            tenure.give_back().await?;
            Err(error)
        }
    }
}

/// Publishes the end of a loop whose run was killed in its `finish`, or between `finish` and its last push; completes
/// the `finish` first. Returns `None` if nothing else was left to do.
async fn tell_of_its_end<'o>(
    (context, tenure, was_complete): (Context<'o>, Tenure, bool),
    change: &Change,
) -> Result<Option<(Context<'o>, Tenure)>, Error> {
    let state = Store::new(&context.repo.common_dir, change).load()?;
    let may_be_closed = state.is_some_and(|state| {
        let is_live = state.is_live();
        is_live && state.intent.is_some() || !is_live && was_complete
    });
    if !may_be_closed {
        return Ok(Some((context, tenure)));
    }
    let open = engine::open(context, change).await?;
    if !open.state.is_live() {
        tenure.release(&open).await?;
        open.tell(format!(
            "{change} is closed here already; its end is on the remote now"
        ));
        return Ok(None);
    }
    Ok(Some((open.into_context().await?, tenure)))
}

/// Refuses a loop whose checkpoints cannot travel, and one that is active here while HEAD is at another commit: the
/// list of that commit lacks marks.
async fn require_possible(context: &Context<'_>, change: &Change, strategy: Strategy) -> Result<(), Error> {
    let live = Store::new(&context.repo.common_dir, change).load_live()?;
    let strategy = live.as_ref().map_or(strategy, |state| state.common.strategy);
    require_branch(change, strategy)?;
    match live {
        Some(state) if state.work_tree() == context.repo.top && state.is_at_rest() => {
            engine::require_place(&context.repo.git, &state, &context.head).await
        }
        _ => Ok(()),
    }
}
