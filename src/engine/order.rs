//! Decides which stories may begin beside the running ones: pure.

use std::collections::{HashMap, HashSet};

use crate::settings::Order;
use crate::stories::{Listing, Story};

/// Returns the open stories that may begin now, all beside each other and beside the `running` ones, in list order. No
/// story waits for a story that is missing from the list, or `fulfilled`.
pub(crate) fn may_begin<'a>(
    listing: &'a Listing,
    skipped: &[String],
    fulfilled: &[String],
    order: Option<Order>,
    running: &[String],
) -> Vec<&'a Story> {
    let order = order_of(listing, order);
    let incomplete = listing.stories.iter();
    let incomplete = incomplete.filter(|story| !story.done && !fulfilled.contains(&story.id));
    let incomplete: HashSet<&str> = incomplete.map(|story| story.id.as_str()).collect();
    let mut may_begin = Vec::new();
    // As with one job, a story does not wait for a waiting story before it: each could wait for the other.
    let mut has_before = false;
    for story in listing.open().filter(|story| !skipped.contains(&story.id)) {
        let runs = running.contains(&story.id);
        let mut names = story.depends_on.iter().flatten();
        if !runs && names.any(|id| incomplete.contains(id.as_str())) {
            continue;
        }
        let may = match order {
            Order::List => !has_before && running.is_empty(),
            Order::Dependencies => !has_before || story.depends_on.is_some(),
            Order::Free => true,
        };
        if may && !runs {
            may_begin.push(story);
        }
        has_before = true;
    }
    may_begin
}

/// Returns whether no story may begin beside another, because the list names no dependencies.
pub(crate) fn says_nothing(listing: &Listing, order: Option<Order>) -> bool {
    order_of(listing, order) == Order::List
}

/// Returns why the dependencies of a list are unreliable: one is unknown, or stories wait for each other.
pub(crate) fn refuse(listing: &Listing) -> Option<String> {
    let incomplete = listing.stories.iter().filter(|story| !story.done);
    let by_id: HashMap<&str, &Story> = listing.stories.iter().map(|story| (&*story.id, story)).collect();
    for story in incomplete.clone() {
        let mut names = story.depends_on.iter().flatten();
        let is_known = |id: &String| by_id.contains_key(id.as_str()) || listing.gone.contains(id);
        if let Some(unknown) = names.find(|id| !is_known(id)) {
            return Some(format!(
                "story {} depends on '{unknown}', which is not in the list",
                story.id
            ));
        }
    }
    let mut seen: HashSet<&str> = HashSet::new();
    for story in incomplete {
        let mut path = vec![(story, story.depends_on.iter().flatten())];
        while let Some((story, names)) = path.last_mut() {
            seen.insert(&story.id);
            let Some(next) = names.next() else {
                path.pop();
                continue;
            };
            let Some(next) = by_id.get(next.as_str()).filter(|next| !next.done) else {
                continue;
            };
            if !seen.contains(next.id.as_str()) {
                path.push((next, next.depends_on.iter().flatten()));
            } else if let Some(at) = path.iter().position(|(story, _)| story.id == next.id) {
                let knot = path.iter().skip(at + 1).map(|(story, _)| story.id.as_str());
                let knot: Vec<&str> = knot.chain([next.id.as_str()]).collect();
                return Some(format!(
                    "story {} waits for {}",
                    next.id,
                    knot.join(", which waits for ")
                ));
            }
        }
    }
    None
}

/// Returns the order that applies to a list.
fn order_of(listing: &Listing, order: Option<Order>) -> Order {
    let says = || listing.stories.iter().any(|story| story.depends_on.is_some());
    order.unwrap_or_else(|| if says() { Order::Dependencies } else { Order::List })
}

#[cfg(test)]
mod tests;
