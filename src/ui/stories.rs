//! Prints a story list as text.

use std::fmt::Write;

use super::style::{bold, green};
use super::width::hang;
use crate::inspect::stories::Stories;
use crate::names::is_made_of;

/// Formats `git ralph stories` for a terminal with so many columns.
pub fn table(stories: &Stories, columns: Option<usize>) -> String {
    let mut text = String::new();
    let first = format!(
        "{} ({}): {} of {} complete",
        bold(stories.change.as_str()),
        stories.source,
        stories.done,
        stories.total
    );
    let _ = writeln!(text, "{}", hang(&first, 2, columns));
    let rows: Vec<_> = stories
        .stories
        .iter()
        .map(|listed| {
            let tasks = &listed.story.tasks;
            let done = tasks.iter().filter(|task| task.done).count();
            (listed, format!("{done}/{}", tasks.len()))
        })
        .collect();
    let names: Vec<_> = rows
        .iter()
        .zip(1..)
        .map(|((listed, _), at)| name_of(&listed.story.id, &listed.story.title, at))
        .collect();
    let ids = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let counts = rows.iter().map(|(_, count)| count.len()).max().unwrap_or(0);
    let title_at = "  [x] ".len() + ids + 2 + counts + 2;
    for ((listed, count), name) in rows.iter().zip(&names) {
        let story = &listed.story;
        let mark = match (story.done, listed.skipped) {
            (true, _) => green("x"),
            (false, true) => "-".to_owned(),
            (false, false) => " ".to_owned(),
        };
        let note = if listed.put_off {
            " (failed, put off)"
        } else if listed.skipped {
            " (skipped)"
        } else if story.optional {
            " (optional)"
        } else {
            ""
        };
        // The formatting macros would take most of the time of a long list.
        let mut line = String::with_capacity(title_at + story.title.len() + 16);
        for part in ["  [", &mark, "] ", name] {
            line.push_str(part);
        }
        line.extend(std::iter::repeat_n(
            ' ',
            ids.saturating_sub(name.chars().count()) + 2,
        ));
        line.extend(std::iter::repeat_n(' ', counts - count.len()));
        for part in [count, "  ", &story.title, note] {
            line.push_str(part);
        }
        text.push_str(&hang(&line, title_at, columns));
        text.push('\n');
    }
    text
}

/// Returns the shortest name of a story that commands take: its id, or its position if the id only repeats the title.
fn name_of(id: &str, title: &str, position: usize) -> String {
    if is_made_of(id, title) {
        position.to_string()
    } else {
        id.to_owned()
    }
}

/// Formats the warnings of a story list.
pub fn warnings(stories: &Stories) -> String {
    stories
        .warnings
        .iter()
        .map(|warning| {
            format!(
                "warning: {}:{}: {}\n",
                stories.source, warning.line, warning.message
            )
        })
        .collect()
}
