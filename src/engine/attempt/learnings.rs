//! The agents' notes for later stories: a file of the loop that attempts and reverts leave alone.
//!
//! Each note begins with its attempt, so that a prompt can mark notes about undone work. After an agent has ended, each
//! line that it added to the file gets this beginning.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::engine::Loop;
use crate::error::Error;
use crate::fs::{Below, Durability, file_error, kind_of};
use crate::prompt::origin;

/// Name of the file in the loop's directory.
pub(crate) const FILE: &str = "learnings.md";

/// Name of the copy of the notes' end from before an attempt, among the files of the attempt.
const BEFORE: &str = "learnings.md";

/// Number of bytes that are read from the end of the notes: more than a prompt takes.
const READ: usize = 64 * 1024;

/// Maximum size in bytes up to which notes are appended.
const MOST: u64 = 16 << 20;

/// Returns the path of the file.
pub(crate) fn file(open: &Loop<'_>) -> PathBuf {
    open.file(FILE)
}

/// Makes the file, if it is missing.
pub(crate) fn make_file(open: &Loop<'_>) -> Result<(), Error> {
    let path = file(open);
    let failed = |error| file_error("make", &path, error);
    if !is_ours(&path).map_err(failed)? {
        open.store.door().make_file(&path, 0o600).map_err(failed)?;
    }
    Ok(())
}

/// Reads the newest notes of a file; returns an empty text if there are none, or the file is not regular.
pub(crate) fn newest_in(path: &Path) -> String {
    read_end(path).unwrap_or_default()
}

/// Appends the notes of an agent's final message, with the attempt that wrote them. If that fails, the loop continues.
pub(crate) fn learn(open: &Loop<'_>, story: &str, attempt: u32, learned: &[String]) {
    if learned.is_empty() {
        return;
    }
    let origin = |text: &String| format!("[{story}@{attempt}] {text}");
    let learned: Vec<String> = learned.iter().map(origin).collect();
    if let Err(error) = append(&open.store.door(), &open.file(FILE), &learned) {
        open.tell(format!("what the agent learned cannot be kept: {error}"));
    }
}

/// Copies the notes from before an attempt. If that fails, the loop continues.
pub(crate) fn remember(open: &Loop<'_>) {
    let (door, copy, notes) = (
        open.store.door(),
        open.site().file(BEFORE),
        newest_in(&file(open)),
    );
    let done = match notes.as_str() {
        "" => door.remove_file(&copy),
        notes => door.write_private(&copy, notes),
    };
    if let Err(error) = done {
        open.tell(format!(
            "the notes of earlier attempts cannot be remembered: {error}"
        ));
    }
}

/// Puts the attempt before the notes that its agent wrote into the file. If that fails, the loop continues.
pub(crate) fn claim(open: &Loop<'_>, story: &str, attempt: u32) {
    let before = newest_in(&open.site().file(BEFORE));
    if let Err(error) = claim_in(&open.store.door(), &file(open), &before, (story, attempt)) {
        open.tell(format!(
            "what the agent learned does not name its attempt: {error}"
        ));
    }
}

fn claim_in(door: &Below, path: &Path, before: &str, of: (&str, u32)) -> io::Result<()> {
    if !is_ours(path)? {
        return Ok(());
    }
    let file = File::open(path)?;
    let mut notes = Vec::new();
    if file.metadata()?.len() > MOST || file.take(MOST).read_to_end(&mut notes)? == 0 {
        return Ok(());
    }
    let Ok(notes) = String::from_utf8(notes) else {
        return Ok(());
    };
    let named = with_origin(&notes, before, of);
    if named == notes {
        return Ok(());
    }
    let written = door.write(path, named.as_bytes(), 0o600, Durability::Atomic);
    written.map_err(|error| error.source)
}

/// Returns the notes, with this attempt before each new line at the end.
fn with_origin(notes: &str, before: &str, (story, attempt): (&str, u32)) -> String {
    let known: HashSet<&str> = before.lines().collect();
    let end = notes.len().saturating_sub(READ);
    // A line of which `before` may have only a part counts as old.
    let from = match end {
        0 => 0,
        end => notes.as_bytes()[end..]
            .iter()
            .position(|byte| *byte == b'\n')
            .map_or(notes.len(), |at| end + at + 1),
    };
    let (old, new) = notes.split_at(from);
    let mut named = old.to_owned();
    for line in new.split_inclusive('\n') {
        let text = line.trim_end_matches(['\r', '\n']);
        let is_own = || origin(text).is_some_and(|(of, number, _)| (of, number) == (story, attempt));
        if !text.trim().is_empty() && !known.contains(text) && !is_own() {
            named.push_str(&format!("[{story}@{attempt}] "));
        }
        named.push_str(line);
    }
    named
}

/// Returns whether the file exists as a regular file. Agents may put anything in its place: a pipe would block forever,
/// a symlink may lead anywhere.
fn is_ours(path: &Path) -> io::Result<bool> {
    match kind_of(path).map_err(|error| error.source)? {
        Some(found) if found.is_file() => Ok(true),
        Some(_) => Err(io::Error::other("learnings.md is no file")),
        None => Ok(false),
    }
}

fn read_end(path: &Path) -> io::Result<String> {
    if !is_ours(path)? {
        return Ok(String::new());
    }
    let mut file = File::open(path)?;
    let length = i64::try_from(file.metadata()?.len()).unwrap_or(i64::MAX);
    let most = i64::try_from(READ).unwrap_or(i64::MAX);
    file.seek(SeekFrom::End(-length.min(most)))?;
    let mut end = Vec::new();
    file.take(most.unsigned_abs()).read_to_end(&mut end)?;
    Ok(String::from_utf8_lossy(&end).into_owned())
}

fn append(door: &Below, path: &Path, learned: &[String]) -> io::Result<()> {
    let known = read_end(path)?;
    let mut text = String::new();
    if !known.is_empty() && !known.ends_with('\n') {
        text.push('\n');
    }
    for learning in learned {
        text.push_str(learning);
        text.push('\n');
    }
    door.append(path, text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_were_not_there_before_begin_with_their_attempt() {
        let named = |notes: &str| with_origin(notes, "mine\n[1@1] known\n", ("2", 3));
        for (notes, wanted) in [
            ("mine\n[1@1] known\n", "mine\n[1@1] known\n"),
            (
                "mine\n[1@1] known\nnew\r\n\n- more",
                "mine\n[1@1] known\n[2@3] new\r\n\n[2@3] - more",
            ),
            // A mark of another attempt that the agent wrote is part of its note.
            (
                "[2@3] own\n[1@1] other\nmine\n",
                "[2@3] own\n[2@3] [1@1] other\nmine\n",
            ),
            ("", ""),
        ] {
            assert_eq!(named(notes), wanted);
            assert_eq!(named(wanted), wanted);
        }
        // Of a long file only the end is known.
        let old = "é: old\n".repeat(20_000);
        let end = &old[old.len() - READ..];
        let wanted = format!("{old}[2@3] new\n");
        assert_eq!(with_origin(&format!("{old}new\n"), end, ("2", 3)), wanted);
    }
}
