//! Makes the values of a diff: its files, one per line, and its lines in blocks of the same kind.

use serde_json::{Value, json};

use super::room::{LINE, Room, weight};
use super::{in_line, lines, size};
use crate::report::{FileChange, Patch};
use crate::ui::shown::plain;

/// Returns a diff with these files, within the limits; `None` if there are none, or they are unknown.
pub(super) fn difference_of(
    files: Option<&[FileChange]>,
    patch: Option<&Patch>,
    room: &mut Room,
) -> Option<Value> {
    let files = files.filter(|files| !files.is_empty())?;
    let rows = files.iter().take(room.files).map(|file| {
        let path = match &file.old_path {
            Some(old) => format!("{old} → {}", file.path),
            None => file.path.clone(),
        };
        let (added, removed) = (lines(file.insertions), lines(file.deletions));
        format!(
            "{:8} +{added} -{removed}  {}\n",
            file.status,
            in_line(&path, LINE)
        )
    });
    let mut stat: String = rows.collect();
    if files.len() > room.files {
        stat.push_str(&format!("and {} more\n", files.len() - room.files));
    }
    let fitting = patch.filter(|patch| weight(&patch.text) <= room.lines);
    room.beyond(
        usize::from(patch.is_some() && fitting.is_none()),
        0,
        "differences line by line",
    );
    room.lines -= fitting.map_or(0, |patch| weight(&patch.text));
    let insertions = files.iter().filter_map(|file| file.insertions).sum();
    let deletions = files.iter().filter_map(|file| file.deletions).sum();
    Some(json!({
        "size": size(u64::try_from(files.len()).ok(), Some(insertions), Some(deletions)),
        "stat": stat,
        "lines": fitting.map(|patch| plain(&patch.text)),
        "is_cut": fitting.is_some_and(|patch| patch.is_cut),
    }))
}

/// Joins neighbouring lines of the same kind: a browser draws a page with fewer elements faster.
pub(super) fn blocks_of(patch: &str) -> Vec<(&'static str, String)> {
    let mut blocks: Vec<(&'static str, String)> = Vec::new();
    let mut is_head = false;
    for line in patch.lines() {
        if line.starts_with("diff --git ") {
            is_head = true;
        } else if line.starts_with("@@") {
            is_head = false;
        }
        let kind = match line.as_bytes().first() {
            _ if line.starts_with("diff --git ") => "file",
            _ if is_head => "head",
            Some(b'+') => "add",
            Some(b'-') => "del",
            Some(b'@') => "hunk",
            _ => "same",
        };
        match blocks.last_mut() {
            Some((last, text)) if *last == kind && kind != "file" => {
                text.push_str(line);
                text.push('\n');
            }
            _ => blocks.push((kind, format!("{line}\n"))),
        }
    }
    blocks
}
