//! Reads from git the changes that attempts and edits made, with few processes and limited sizes.
//!
//! The changes of a kept attempt that was pruned are unknown. Patches are read only while there is room to show them.

use std::collections::BTreeMap;

use super::{FileChange, FileTotal, Patch, Redaction, Report};
use crate::git::{FileStat, Git, GitError};
use crate::names::{Oid, counted};

/// The detail in which changes are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Diffs {
    /// Nothing.
    None,
    /// The files, with the number of changed lines.
    Stat,
    /// The files and the lines.
    #[default]
    Full,
}

/// Maximum number of lines of one difference, and maximum length of a line, in characters.
const MOST_LINES: usize = 2000;
const LONGEST_LINE: usize = 400;
/// Maximum size of all differences of a report together, in bytes.
const MOST_BYTES: usize = 3 << 20;
/// Room below which no more patches are read, in bytes.
const LITTLE: usize = 16 << 10;
/// Maximum number of files listed for one difference.
const MOST_FILES: usize = 1000;
/// Maximum size of the files that one process compares, in bytes.
const BATCH: u64 = 16 << 20;
/// Maximum size of a file whose lines are shown in a difference that is too large, in bytes; and maximum number of such
/// files.
const LARGE: u64 = 1 << 20;
const MOST_PATHS: usize = 500;
/// Maximum number of pairs that one process compares.
const PAIRS: usize = 50;

/// The part of the report that a difference belongs to.
#[derive(Clone, Copy)]
enum Place {
    /// An attempt: the index of its story, and its index in the story.
    Attempt(usize, usize),
    /// An event: its index.
    Happening(usize),
}

/// The part that a difference belongs to, and the trees to compare.
type Pending = (Place, (Oid, Oid));

/// Adds changed files and patches to a report. Confidential text is replaced before lines are cut. `kept` has the commits of
/// refs that are not here; `progress` is called with the numbers of done and of all differences.
pub(super) async fn add(
    report: &mut Report,
    git: &Git,
    (diffs, redaction): (Diffs, &Redaction),
    kept: &BTreeMap<String, Oid>,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<(), GitError> {
    if diffs == Diffs::None {
        return Ok(());
    }
    let (pending, gone) = pending(report, git, kept).await?;
    let mut pruned = 0;
    for place in gone {
        if let Place::Attempt(story, attempt) = place {
            let entry = &mut report.stories[story].attempts[attempt].entry;
            // It can no longer be shown.
            pruned += usize::from(entry.checkpoint.is_none() && entry.kept.take().is_some());
        }
    }
    if pruned > 0 {
        let attempts = counted(pruned, "failed attempt", "failed attempts");
        report
            .dropped
            .push(format!("the work of {attempts}, which is no longer kept"));
    }
    let (mut left, mut without) = (MOST_BYTES, 0);
    let total = pending.len();
    for (number, batch) in pending.chunks(PAIRS).enumerate() {
        progress(number * PAIRS, total);
        let pairs: Vec<_> = batch.iter().map(|(_, pair)| pair.clone()).collect();
        let stats = git.changed_files(&pairs).await?;
        let patches = if diffs == Diffs::Full && left > LITTLE {
            patches(git, &pairs, &stats).await?
        } else {
            vec![None; pairs.len()]
        };
        for (((place, _), files), patch) in batch.iter().zip(&stats).zip(patches) {
            if files.len() > MOST_FILES {
                let rest = files.len() - MOST_FILES;
                report.dropped.push(format!("{rest} files of one difference"));
            }
            let shown = files.iter().take(MOST_FILES).map(change_of).collect();
            let patch = patch.and_then(|(bytes, lacks_files)| {
                let mut patch = patch_of(&redaction.bytes(bytes), left)?;
                patch.is_cut |= lacks_files;
                left = left.saturating_sub(patch.text.len());
                Some(patch)
            });
            without += usize::from(patch.is_none() && !files.is_empty());
            match *place {
                Place::Attempt(story, attempt) => {
                    let attempt = &mut report.stories[story].attempts[attempt];
                    (attempt.diff, attempt.patch) = (Some(shown), patch);
                }
                Place::Happening(event) => {
                    let event = &mut report.events[event];
                    (event.diff, event.patch) = (Some(shown), patch);
                }
            }
        }
    }
    if without > 0 && diffs == Diffs::Full {
        report
            .dropped
            .push(format!("the lines of {without} of {total} differences"));
    }
    Ok(())
}

/// Adds up the changes of checkpoints by file.
pub(super) fn add_up(report: &mut Report) {
    let mut files: BTreeMap<&str, FileTotal> = BTreeMap::new();
    let of_stories = report.stories.iter().flat_map(|story| {
        let accepted = story.attempts.iter().filter(|one| one.entry.checkpoint.is_some());
        accepted.map(|attempt| (Some(&story.id), &attempt.diff))
    });
    let of_people = report.events.iter().map(|event| (None, &event.diff));
    for (story, diff) in of_stories.chain(of_people) {
        for file in diff.iter().flatten() {
            let total = files.entry(&file.path).or_insert_with(|| FileTotal {
                path: file.path.clone(),
                insertions: Some(0),
                deletions: Some(0),
                ..FileTotal::default()
            });
            match story {
                Some(id) if !total.stories.contains(id) => total.stories.push(id.clone()),
                Some(_) => {}
                None => total.by_person = true,
            }
            let sum = |sum: Option<u64>, more: Option<u64>| Some(sum?.saturating_add(more?));
            total.insertions = sum(total.insertions, file.insertions);
            total.deletions = sum(total.deletions, file.deletions);
        }
    }
    let all = files.len();
    report.files = files.into_values().take(MOST_FILES).collect();
    if all > MOST_FILES {
        let rest = all - MOST_FILES;
        report.dropped.push(format!("{rest} files of the table by file"));
    }
}

/// Finds the trees to compare: those of checkpoints first, then of failed attempts, the newest first in each group; and
/// the places whose work git no longer has.
async fn pending(
    report: &Report,
    git: &Git,
    kept: &BTreeMap<String, Oid>,
) -> Result<(Vec<Pending>, Vec<Place>), GitError> {
    let mut wanted = Vec::new();
    for (s, story) in report.stories.iter().enumerate() {
        for (a, attempt) in story.attempts.iter().enumerate() {
            let entry = &attempt.entry;
            let oid = entry.checkpoint.as_ref().map(ToString::to_string);
            let rank = (oid.is_none(), std::cmp::Reverse(entry.attempt.started));
            if let Some((end, (base, _))) = oid.or_else(|| entry.kept.clone()).zip(entry.range.as_ref()) {
                wanted.push((rank, Place::Attempt(s, a), base, end));
            }
        }
    }
    for (e, event) in report.events.iter().enumerate() {
        if let Some((base, oid)) = event.base.as_ref().zip(event.checkpoint.as_ref()) {
            let rank = (false, std::cmp::Reverse(event.t));
            wanted.push((rank, Place::Happening(e), base, oid.to_string()));
        }
    }
    wanted.sort_by_key(|(rank, ..)| *rank);
    let known = wanted.into_iter().map(|(_, place, base, end)| {
        let end = kept.get(&end).map_or(end, ToString::to_string);
        (place, base.to_string(), end)
    });
    let known: Vec<_> = known.collect();
    let names: Vec<String> = known
        .iter()
        .flat_map(|(_, base, end)| [base.clone(), end.clone()])
        .collect();
    let mut trees = git.trees_of(&names).await?.into_iter();
    let (mut pending, mut gone) = (Vec::new(), Vec::new());
    for (place, ..) in known {
        let (base, end) = (trees.next().flatten(), trees.next().flatten());
        match (base, end) {
            (Some(base), Some(end)) => pending.push((place, (base, end))),
            (None, Some(_)) => {}
            (_, None) => gone.push(place),
        }
    }
    Ok((pending, gone))
}

/// Returns the patch of each pair, and true if large files are left out of it; `None` if all files are too large.
async fn patches(
    git: &Git,
    pairs: &[(Oid, Oid)],
    stats: &[Vec<FileStat>],
) -> Result<Vec<Option<(Vec<u8>, bool)>>, GitError> {
    let blobs = stats.iter().flatten().flat_map(|file| &file.blobs);
    let sizes = git.sizes_of(blobs).await?;
    let mut sizes = sizes.chunks_exact(2).map(|two| two.iter().sum::<u64>());
    let sizes: Vec<Vec<u64>> = stats
        .iter()
        .map(|files| sizes.by_ref().take(files.len()).collect())
        .collect();
    let mut patches = vec![None; pairs.len()];
    let mut together = Vec::new();
    let mut size = 0;
    for (number, pair) in pairs.iter().enumerate() {
        let whole: u64 = sizes[number].iter().sum();
        if whole > BATCH / 4 {
            let small = stats[number].iter().zip(&sizes[number]);
            let small = small.filter(|(_, size)| **size <= LARGE).take(MOST_PATHS);
            let paths = small.flat_map(|(file, _)| file.old_path.iter().chain([&file.path]));
            let paths: Vec<&[u8]> = paths.map(Vec::as_slice).collect();
            if !paths.is_empty() {
                patches[number] = Some((git.patch_of(pair, &paths).await?, true));
            }
            continue;
        }
        if size + whole > BATCH {
            together_into(git, pairs, &mut together, &mut patches).await?;
            size = 0;
        }
        together.push(number);
        size += whole;
    }
    together_into(git, pairs, &mut together, &mut patches).await?;
    Ok(patches)
}

/// Compares the pairs with these indices in one process.
async fn together_into(
    git: &Git,
    pairs: &[(Oid, Oid)],
    numbers: &mut Vec<usize>,
    patches: &mut [Option<(Vec<u8>, bool)>],
) -> Result<(), GitError> {
    let some: Vec<_> = numbers.iter().map(|number| pairs[*number].clone()).collect();
    if !some.is_empty() {
        let found = git.patches(&some).await?;
        for (number, patch) in numbers.drain(..).zip(found) {
            patches[number] = Some((patch, false));
        }
    }
    Ok(())
}

/// Cuts a patch to the limits and to `room` bytes; returns `None` if no line fits.
fn patch_of(bytes: &[u8], room: usize) -> Option<Patch> {
    let mut patch = Patch::default();
    for (number, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        // A character has at most four bytes; a longer line is not read completely.
        let begin = &line[..line.len().min(4 * LONGEST_LINE)];
        let begin = String::from_utf8_lossy(begin);
        let mut shown: String = begin.chars().take(LONGEST_LINE).collect();
        if shown.len() < line.len() {
            shown.push('…');
            patch.is_cut = true;
        }
        if number >= MOST_LINES || patch.text.len() + shown.len() >= room {
            patch.is_cut = true;
            break;
        }
        patch.text.push_str(&shown);
        patch.text.push('\n');
    }
    (bytes.is_empty() || !patch.text.is_empty()).then_some(patch)
}

fn change_of(file: &FileStat) -> FileChange {
    let text = |path: &Vec<u8>| String::from_utf8_lossy(path).into_owned();
    FileChange {
        path: text(&file.path),
        old_path: file.old_path.as_ref().map(text),
        status: match file.status {
            b'A' => "added",
            b'D' => "deleted",
            b'R' => "renamed",
            b'C' => "copied",
            b'T' => "retyped",
            _ => "modified",
        },
        insertions: file.lines.map(|(added, _)| added),
        deletions: file.lines.map(|(_, removed)| removed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_is_cut_to_what_is_shown() {
        let long = format!("+{}\n", "é".repeat(10 << 20));
        let patch = patch_of(long.as_bytes(), 1 << 20).unwrap();
        assert!(patch.is_cut && patch.text.chars().count() == LONGEST_LINE + 2);
        let many = "+x\n".repeat(MOST_LINES + 1);
        let patch = patch_of(many.as_bytes(), 1 << 20).unwrap();
        assert_eq!((patch.text.lines().count(), patch.is_cut), (MOST_LINES, true));
        let all = patch_of(b"+\xff\0\n-y", 100).unwrap();
        assert_eq!((all.text.as_str(), all.is_cut), ("+\u{fffd}\0\n-y\n", false));
        assert_eq!(patch_of(b"+x\n", 1), None);
    }
}
