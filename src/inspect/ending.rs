//! Finds how a loop was closed.

use crate::events::What;
use crate::events::log::read_events;
use crate::git::Repo;
use crate::state::{State, Store};

/// Returns how a loop was closed: cleanup, keep, abort or aside. If an earlier version closed it, reads its events;
/// `None` if these do not say.
pub(super) fn how_closed(repo: &Repo, state: &State) -> Option<String> {
    if let Some(closed) = state.here.closed {
        return Some(closed.to_string());
    }
    let store = Store::new(&repo.common_dir, &state.change);
    let events = read_events(&store.file("events.jsonl")).ok()?;
    events.into_iter().rev().find_map(|event| match event.what {
        What::Finished { how, .. } => Some(how),
        _ => None,
    })
}
