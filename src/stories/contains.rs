//! Decides which changes of an attempt to a list are kept: pure.
//!
//! Compares the content that the adapter reads, and not lines: a comment, a fence or a heading that an attempt adds can
//! hide or regroup all following text.
//!
//! Invariant: in the kept list, only marks of the attempted story differ from before, and no other earlier story has
//! changed otherwise.

use std::collections::HashMap;
use std::ops::Range;

/// The content of a list as an adapter reads it, and the places of its marks.
#[derive(Debug, Default)]
pub(super) struct View {
    /// The text above the first story, or the members beside a JSON list.
    pub above: String,
    pub stories: Vec<Part>,
    /// True if marking each story as done has no other effect.
    pub can_be_ticked: bool,
}

/// One story of a list.
#[derive(Debug, Default)]
pub(super) struct Part {
    pub id: String,
    /// All of its content except the marks.
    pub all: String,
    /// The part of its content, besides the boxes, that an attempt at this story may not change either.
    pub own: String,
    /// Its boxes, each without its mark.
    pub boxes: Vec<String>,
    pub marks: Vec<Mark>,
}

/// The mark of a box, or the literal of a JSON story.
#[derive(Debug)]
pub(super) struct Mark {
    /// The text of its box.
    pub of: String,
    pub range: Range<usize>,
    pub is_done: bool,
    /// The bytes of an open mark.
    pub open: Vec<u8>,
}

/// The additions that an attempt may make to a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Additions {
    /// Stories, and boxes of the attempted story.
    Stay,
    /// Nothing.
    ArePutBack,
}

/// The list that is kept after an attempt.
#[derive(Debug, PartialEq, Eq)]
pub struct Kept {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// A description of the discarded changes; `None` if all changes are kept.
    pub put_back: Option<String>,
}

/// Settles a list: `before` the attempt at the story with the id `story`, and `after` it, if that is a list. `read` is
/// the adapter.
pub(super) fn settle<E: ToString>(
    before: &[u8],
    after: Result<&[u8], &str>,
    story: &str,
    additions: Additions,
    read: impl Fn(&[u8]) -> Result<View, E>,
) -> Kept {
    let old = |bytes: Vec<u8>, why: &str| Kept {
        bytes,
        put_back: Some(format!("the list as it was before the attempt ({why})")),
    };
    let (Ok(was), Ok(after)) = (read(before), after) else {
        return old(before.to_vec(), after.err().unwrap_or("it cannot be read"));
    };
    let is = match read(after) {
        Ok(is) => is,
        Err(why) => return old(before.to_vec(), &why.to_string()),
    };
    let kept = contains(&was, &is, story, additions).and_then(|()| {
        let (bytes, restored) = with_marks_of(before, &was, after, &is, |id| id == story);
        let kept = read(&bytes).map_err(|why| why.to_string())?;
        contains(&was, &kept, story, additions)?;
        if !kept.can_be_ticked {
            return Err("a box in it cannot be ticked".to_owned());
        }
        if with_marks_of(before, &was, &bytes, &kept, |id| id == story).0 != bytes {
            return Err("its marks are ambiguous".to_owned());
        }
        Ok(Kept {
            put_back: (!restored.is_empty()).then(|| restored.join("; ")),
            bytes,
        })
    });
    kept.unwrap_or_else(|why| old(with_own_marks(before, &was, after, &is, story), &why))
}

/// Returns why one view does not contain another, except for the changes that an attempt at `story` may make.
fn contains(was: &View, is: &View, story: &str, additions: Additions) -> Result<(), String> {
    if was.above != is.above {
        return Err("what stands beside the stories".to_owned());
    }
    let places: HashMap<&str, usize> = is.stories.iter().map(|part| part.id.as_str()).zip(0..).collect();
    let mut last = None;
    for part in &was.stories {
        let (id, place) = (&part.id, places.get(part.id.as_str()).copied());
        let Some(now) = place.and_then(|place| is.stories.get(place)) else {
            return Err(format!("story {id} was gone"));
        };
        if last >= place {
            return Err("the order of the stories".to_owned());
        }
        last = place;
        let is_same = if part.id == story {
            part.own == now.own && is_within(&part.boxes, &now.boxes)
        } else {
            part.all == now.all
                && part
                    .marks
                    .iter()
                    .map(|mark| &mark.of)
                    .eq(now.marks.iter().map(|mark| &mark.of))
        };
        if !is_same {
            return Err(format!("what story {id} says"));
        }
    }
    if additions == Additions::Stay {
        return Ok(());
    }
    let count = |view: &View| view.stories.iter().map(|part| part.boxes.len()).sum::<usize>();
    if was.stories.len() == is.stories.len() && count(was) == count(is) {
        Ok(())
    } else {
        Err("it was added to (ralph.listEdits)".to_owned())
    }
}

/// Returns whether all of `some` are in `all`, in this order.
fn is_within(some: &[String], all: &[String]) -> bool {
    let mut all = all.iter();
    some.iter().all(|wanted| all.any(|found| found == wanted))
}

/// Returns a list with the marks of another version, except for the stories that are `free`; `None` if the marks are
/// the same, or one of the versions cannot be read.
pub(super) fn restore_marks<E>(
    before: &[u8],
    after: &[u8],
    free: impl Fn(&str) -> bool,
    read: impl Fn(&[u8]) -> Result<View, E>,
) -> Option<Kept> {
    let (was, is) = (read(before).ok()?, read(after).ok()?);
    let (bytes, restored) = with_marks_of(before, &was, after, &is, free);
    (!restored.is_empty()).then(|| Kept {
        bytes,
        put_back: Some(restored.join("; ")),
    })
}

/// Returns whether two lists have the same content apart from their marks and their layout.
pub(super) fn is_same<E>(one: &[u8], other: &[u8], read: impl Fn(&[u8]) -> Result<View, E>) -> bool {
    let (Ok(one), Ok(other)) = (read(one), read(other)) else {
        return false;
    };
    let says = |part: &Part| (part.id.clone(), part.all.clone(), part.boxes.clone());
    one.above == other.above && one.stories.iter().map(says).eq(other.stories.iter().map(says))
}

/// Returns whether a story has the same content in two lists apart from its marks and its layout.
pub(super) fn has_same_story<E>(
    one: &[u8],
    other: &[u8],
    story: &str,
    read: impl Fn(&[u8]) -> Result<View, E>,
) -> bool {
    let says = |list: &[u8]| {
        let part = read(list)
            .ok()?
            .stories
            .into_iter()
            .find(|part| part.id == story)?;
        Some((part.all, part.boxes))
    };
    says(one).is_some_and(|one| Some(one) == says(other))
}

/// Returns the list `after`, which contains the list `before`, with the earlier marks except in the stories that are
/// `free`, and with new stories open; and a description of the differences.
fn with_marks_of(
    before: &[u8],
    was: &View,
    after: &[u8],
    is: &View,
    free: impl Fn(&str) -> bool,
) -> (Vec<u8>, Vec<String>) {
    let known: HashMap<&str, &Part> = was.stories.iter().map(|part| (part.id.as_str(), part)).collect();
    let mut edits: Vec<(Range<usize>, Vec<u8>)> = Vec::new();
    let (mut ticked, mut added) = (Vec::new(), Vec::new());
    for part in is.stories.iter().filter(|part| !free(&part.id)) {
        let before_it = edits.len();
        match known.get(part.id.as_str()) {
            Some(old) => {
                for (mark, old) in part.marks.iter().zip(&old.marks) {
                    let old = before.get(old.range.clone()).unwrap_or_default();
                    if after.get(mark.range.clone()) != Some(old) {
                        edits.push((mark.range.clone(), old.to_vec()));
                    }
                }
                if edits.len() > before_it {
                    ticked.push(part.id.clone());
                }
            }
            None => {
                let done = part.marks.iter().filter(|mark| mark.is_done);
                edits.extend(done.map(|mark| (mark.range.clone(), mark.open.clone())));
                if edits.len() > before_it {
                    added.push(part.id.clone());
                }
            }
        }
    }
    let restored = [("marks of ", ticked), ("marks of new stories: ", added)].into_iter();
    let restored = restored.filter(|(_, ids)| !ids.is_empty());
    let restored = restored
        .map(|(what, ids)| format!("{what}{}", few(&ids)))
        .collect();
    (overwrite(after, edits), restored)
}

/// Returns the list `before`, with one story's marks as the attempt made them, as far as they can be found.
fn with_own_marks(before: &[u8], was: &View, after: &[u8], is: &View, story: &str) -> Vec<u8> {
    let of_story = |view: &View| view.stories.iter().position(|part| part.id == story);
    let (Some(was), Some(is)) = (
        of_story(was).and_then(|at| was.stories.get(at)),
        of_story(is).and_then(|at| is.stories.get(at)),
    ) else {
        return before.to_vec();
    };
    let mut edits = Vec::new();
    let mut marks = is.marks.iter();
    for old in &was.marks {
        let rest = marks.clone();
        match marks.find(|mark| mark.of == old.of) {
            Some(mark) => {
                let new = after.get(mark.range.clone()).unwrap_or_default();
                edits.push((old.range.clone(), new.to_vec()));
            }
            None => marks = rest,
        }
    }
    overwrite(before, edits)
}

/// Replaces parts of a text, which do not overlap.
pub(super) fn overwrite(text: &[u8], mut edits: Vec<(Range<usize>, Vec<u8>)>) -> Vec<u8> {
    edits.sort_by_key(|(range, _)| range.start);
    let mut result = Vec::with_capacity(text.len());
    let mut copied = 0;
    for (range, new) in edits {
        result.extend_from_slice(text.get(copied..range.start).unwrap_or_default());
        result.extend_from_slice(&new);
        copied = range.end;
    }
    result.extend_from_slice(text.get(copied..).unwrap_or_default());
    result
}

/// Names the first few ids.
pub(super) fn few(names: &[String]) -> String {
    const MOST: usize = 5;
    let named = names.get(..names.len().min(MOST)).unwrap_or_default().join(", ");
    match names.len().saturating_sub(MOST) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

#[cfg(test)]
mod tests;
