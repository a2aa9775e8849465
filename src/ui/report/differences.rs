//! Writes the differences of a page: the files, and their lines in blocks of a kind.

use serde_json::{Value, json};

use super::room::{LINE, Room, weight};
use super::{short, size};
use crate::report::{FileChange, Patch};
use crate::ui::shown::plain;

/// Returns a difference with these files, if they are known, as far as there is room.
pub(super) fn difference_of(
    id: &str,
    title: &str,
    known: Option<&[FileChange]>,
    patch: Option<&Patch>,
    room: &mut Room,
) -> Value {
    let files = known.unwrap_or_default();
    let insertions = files.iter().filter_map(|file| file.insertions).sum();
    let deletions = files.iter().filter_map(|file| file.deletions).sum();
    let count = known.and_then(|files| u64::try_from(files.len()).ok());
    let more = files.len().saturating_sub(room.files);
    let rows = files.iter().take(room.files).map(|file| {
        let path = short(&file.path, LINE);
        let old = file.old_path.as_ref().map(|old| short(old, LINE));
        json!({
            "path": old.map_or(path.clone(), |old| format!("{old} → {path}")),
            "status": file.status,
            "lines": match (file.insertions, file.deletions) {
                (Some(added), Some(removed)) => format!("+{added} -{removed}"),
                _ => "binary".to_owned(),
            },
        })
    });
    let fitting = patch.filter(|patch| weight(&patch.text) <= room.lines);
    let note = match (patch, fitting) {
        (Some(_), Some(patch)) if patch.is_cut => Some("Long lines, or lines at the end, are left out."),
        (Some(_), None) => Some("The lines are left out: there are too many on this page."),
        _ => None,
    };
    room.lines -= fitting.map_or(0, |patch| weight(&patch.text));
    json!({
        "id": id,
        "more": more,
        "title": title,
        "size": size(count, Some(insertions), Some(deletions)).unwrap_or_default(),
        "files": rows.collect::<Vec<_>>(),
        "lines": fitting.map(|patch| blocks_of(&patch.text)).unwrap_or_default(),
        "note": note,
        "accepted": true,
        "words": [],
        "command": null,
    })
}

/// Joins neighbouring lines of the same kind: a browser draws a page with fewer elements faster.
fn blocks_of(patch: &str) -> Vec<(&'static str, String)> {
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
        let line = plain(line);
        match blocks.last_mut() {
            Some((last, text)) if *last == kind && kind != "file" => {
                text.push_str(&line);
                text.push('\n');
            }
            _ => blocks.push((kind, format!("{line}\n"))),
        }
    }
    blocks
}
