//! Tests with small lists, and with random lists that are worked through in random order.

use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::*;
use crate::engine::stories::{Upcoming, upcoming};

/// Returns a list of open stories, each with its dependencies, if it names any.
fn list(stories: &[(&str, Option<&[&str]>)]) -> Listing {
    let story = |(id, names): &(&str, Option<&[&str]>)| Story {
        id: (*id).to_owned(),
        title: (*id).to_owned(),
        depends_on: names.map(|names| names.iter().map(|name| (*name).to_owned()).collect()),
        ..Story::default()
    };
    Listing {
        stories: stories.iter().map(story).collect(),
        ..Listing::default()
    }
}

fn ids<'a>(stories: &[&'a Story]) -> Vec<&'a str> {
    stories.iter().map(|story| story.id.as_str()).collect()
}

fn owned(ids: &[&str]) -> Vec<String> {
    ids.iter().map(|id| (*id).to_owned()).collect()
}

#[test]
fn order_says_which_stories_wait_for_all_before_them() {
    let listing = list(&[
        ("a", None),
        ("b", Some(&[])),
        ("c", None),
        ("d", Some(&["a", "closed"])),
    ]);
    let of = |order, running: &[&str]| ids(&may_begin(&listing, &[], &[], order, &owned(running)));
    for (order, alone, beside) in [
        (Some(Order::List), vec!["a"], vec![]),
        (Some(Order::Dependencies), vec!["a", "b"], vec!["b"]),
        (Some(Order::Free), vec!["a", "b", "c"], vec!["b", "c"]),
        (None, vec!["a", "b"], vec!["b"]),
    ] {
        assert_eq!(of(order, &[]), alone, "{order:?}");
        assert_eq!(of(order, &["a"]), beside, "{order:?}");
    }
    assert!(!says_nothing(&listing, None) && says_nothing(&listing, Some(Order::List)));
    let silent = list(&[("a", None), ("b", None)]);
    assert!(says_nothing(&silent, None) && !says_nothing(&silent, Some(Order::Free)));
    assert_eq!(ids(&may_begin(&silent, &[], &[], None, &[])), ["a"]);
    assert!(!says_nothing(&list(&[("a", None), ("b", Some(&[]))]), None));
}

#[test]
fn story_that_waits_for_a_later_one_stops_none_before_that() {
    let listing = list(&[("a", Some(&["c"])), ("b", None), ("c", None)]);
    for order in [Order::List, Order::Dependencies] {
        assert_eq!(ids(&may_begin(&listing, &[], &[], Some(order), &[])), ["b"]);
        assert!(may_begin(&listing, &[], &[], Some(order), &owned(&["b"])).is_empty());
    }
    let beside_later = may_begin(&listing, &[], &[], Some(Order::List), &owned(&["c"]));
    assert!(beside_later.is_empty(), "{beside_later:?}");
}

#[test]
fn skipped_story_is_awaited_unless_it_counts_as_fulfilled() {
    let listing = list(&[("a", None), ("b", Some(&["a"])), ("c", None)]);
    let skipped = owned(&["a"]);
    assert_eq!(ids(&may_begin(&listing, &skipped, &[], None, &[])), ["c"]);
    assert_eq!(ids(&may_begin(&listing, &skipped, &skipped, None, &[])), ["b"]);
}

#[test]
fn unknown_dependencies_and_circles_are_refused_in_words() {
    let refused = |stories: &[(&str, Option<&[&str]>)]| refuse(&list(stories));
    assert_eq!(
        refused(&[("a", Some(&["c"])), ("b", None), ("c", Some(&["b"]))]),
        None
    );
    let unknown = refused(&[("a", None), ("b", Some(&["a", "x"]))]);
    assert_eq!(
        unknown.as_deref(),
        Some("story b depends on 'x', which is not in the list")
    );
    let circle = refused(&[("z", Some(&["a"])), ("a", Some(&["b"])), ("b", Some(&["a"]))]);
    assert_eq!(circle.as_deref(), Some("story a waits for b, which waits for a"));
    assert_eq!(
        refused(&[("a", Some(&["a"]))]).as_deref(),
        Some("story a waits for a")
    );

    let mut over = list(&[("a", Some(&["b", "gone"])), ("b", Some(&["a", "x"]))]);
    over.gone = owned(&["gone"]);
    over.stories[1].done = true;
    assert_eq!(refuse(&over), None);
}

const MOST: usize = 7;

/// Generates a list in which stories name any others, or only those before them.
fn any_list() -> impl Strategy<Value = Listing> {
    let names = prop::option::weighted(0.6, prop::collection::vec(any::<Index>(), 0..3));
    let stories = prop::collection::vec((names, prop::bool::weighted(0.1)), 0..=MOST);
    (stories, any::<bool>()).prop_map(|(stories, backward)| {
        let (mut listing, count) = (Listing::default(), stories.len());
        for (at, (names, done)) in stories.into_iter().enumerate() {
            let among = if backward { at } else { count };
            let name = |name: Index| (among > 0).then(|| format!("s{}", name.index(among)));
            listing.stories.push(Story {
                id: format!("s{at}"),
                done,
                depends_on: names.map(|names| names.into_iter().filter_map(name).collect()),
                ..Story::default()
            });
        }
        listing
    })
}

proptest! {
    #[test]
    fn all_stories_are_completed_and_none_before_its_dependencies(
        mut listing in any_list(),
        order in select(vec![None, Some(Order::List), Some(Order::Dependencies), Some(Order::Free)]),
        jobs in 1..4_usize,
        ends in prop::collection::vec(any::<Index>(), MOST),
    ) {
        let mut running: Vec<String> = Vec::new();
        for end in ends {
            while running.len() < jobs {
                let may = may_begin(&listing, &[], &[], order, &running);
                if running.is_empty() && order == Some(Order::List) {
                    let alone = may.first().map(|story| Upcoming::Story(story));
                    let next = upcoming(&listing, &[]);
                    prop_assert!(alone.map_or(!matches!(next, Upcoming::Story(_)), |alone| alone == next));
                }
                let Some(story) = may.get(end.index(may.len().max(1))) else { break };
                for story in &may {
                    let names = story.depends_on.iter().flatten();
                    let open = listing.stories.iter().filter(|other| !other.done);
                    let waits: Vec<_> = open.filter(|other| names.clone().any(|id| *id == other.id)).collect();
                    prop_assert!(waits.is_empty() && !story.done && !running.contains(&story.id), "{story:?}");
                }
                prop_assert!(running.is_empty() || !says_nothing(&listing, order));
                running.push(story.id.clone());
            }
            if running.is_empty() {
                break;
            }
            let ended = running.swap_remove(end.index(running.len()));
            listing.stories.iter_mut().filter(|story| story.id == ended).for_each(|story| story.done = true);
        }
        let are_done = listing.stories.iter().all(|story| story.done);
        prop_assert_eq!(are_done, refuse(&listing).is_none(), "{:?}", listing);
    }
}
