//! Extracts the content of a checklist as words, and the places of its marks.
//!
//! Blanks, line ends, list markers and indentation do not count, and marks do not belong to the content.

use std::ops::Range;

use super::Plan;
use super::boxes::{BLANK, behind_marker};
use super::document::Document;
use super::outline::CheckBox;
use super::tick::tick_all;
use crate::stories::contains::{Mark, Part, View};

/// The mark of an open box.
const OPEN: &[u8] = b" ";

impl Plan {
    /// Returns the content of the bytes from which this plan was parsed.
    pub(in crate::stories) fn view(&self, bytes: &[u8]) -> View {
        let document = Document::new(bytes);
        let (_, start) = document.markdown();
        let first = self.stories.first();
        let end = first.map_or(bytes.len(), |first| document.line_start(first.line));
        let parts = self.stories.iter().zip(&self.members).zip(&self.bodies);
        View {
            above: words(&document, start..end.max(start), &[]),
            stories: parts
                .map(|((story, members), body)| {
                    let boxes = self.boxes.get(members.clone()).unwrap_or_default();
                    let after = story.depends_on.iter().flatten();
                    let after = after.map(String::as_str).collect::<Vec<_>>().join(", ");
                    Part {
                        id: story.id.clone(),
                        all: format!(
                            "{}\n{after}\n{}",
                            story.title,
                            words(&document, body.clone(), boxes)
                        ),
                        own: after,
                        marks: boxes.iter().map(mark).collect(),
                        boxes: boxes.iter().map(said).collect(),
                    }
                })
                .collect(),
            can_be_ticked: tick_all(bytes, self).is_ok(),
        }
    }
}

fn said(found: &CheckBox) -> String {
    let star = if found.optional { "*" } else { "" };
    format!("{star} {}", found.text)
}

fn mark(found: &CheckBox) -> Mark {
    Mark {
        of: said(found),
        range: found.mark.clone(),
        is_done: found.done,
        open: OPEN.to_vec(),
    }
}

/// Returns the words of a part of the file, each box as one word.
fn words(document: &Document<'_>, range: Range<usize>, boxes: &[CheckBox]) -> String {
    let text = document.text().get(range.clone()).unwrap_or_default();
    let mut bare = String::with_capacity(text.len());
    let mut from = 0;
    for found in boxes.iter().filter(|found| range.contains(&found.mark.start)) {
        let (start, end) = (found.mark.start - range.start, found.mark.end - range.start);
        let before = text.get(from..start).unwrap_or_default();
        let before = before.trim_end_matches(BLANK);
        bare.push_str(before.strip_suffix('[').unwrap_or(before));
        bare.push_str(" [] ");
        let behind = text.get(end..).unwrap_or_default().trim_start_matches(BLANK);
        let behind = behind.strip_prefix(']').unwrap_or(behind);
        from = text.len() - behind.len();
    }
    bare.push_str(text.get(from..).unwrap_or_default());
    let words = bare
        .split(['\n', '\r'])
        .flat_map(|line| without_markers(line).split_whitespace());
    words.collect::<Vec<_>>().join(" ")
}

/// Returns a line without list markers at its beginning.
fn without_markers(line: &str) -> &str {
    let mut line = line.trim_start();
    loop {
        match behind_marker(line) {
            Some(rest) if rest.is_empty() || rest.starts_with(char::is_whitespace) => {
                line = rest.trim_start();
            }
            _ => return line,
        }
    }
}
