//! The agents' notes for later stories: a file of the loop that attempts and reverts leave alone.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::engine::Loop;
use crate::error::Error;
use crate::fs::{Below, file_error, kind_of};

/// Name of the file in the loop's directory.
pub(crate) const FILE: &str = "learnings.md";

/// Number of bytes that are read from its end: more than a prompt takes.
const READ: i64 = 64 * 1024;

/// Returns the path of the file.
pub(crate) fn file(open: &Loop<'_>) -> PathBuf {
    open.file(FILE)
}

/// Makes the file, if there is none.
pub(crate) fn make_file(open: &Loop<'_>) -> Result<(), Error> {
    let path = file(open);
    let failed = |error| file_error("make", &path, error);
    if !is_ours(&path).map_err(failed)? {
        open.store.door().make_file(&path, 0o600).map_err(failed)?;
    }
    Ok(())
}

/// Reads the newest learnings of a file; returns none if there are none, or if it is no regular file.
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
    file.seek(SeekFrom::End(-length.min(READ)))?;
    let mut end = Vec::new();
    file.take(READ.unsigned_abs()).read_to_end(&mut end)?;
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
