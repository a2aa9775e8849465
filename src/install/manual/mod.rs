//! Installs manual pages and completions where man and the shells look for them.
//!
//! Invariants: only files that an installation wrote, byte for byte, are replaced or removed, and only directories that
//! one created. Each file is written as a whole or not at all, and may be
//! written again. This module uses no repository and prints nothing.

pub mod bundled;
mod receipt;
pub mod search;

use std::io;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::fs::{
    Durability, file_error, kind_of, make_named_dir, may_exist, read, remove_named, remove_named_dir,
    seen_bytes, umask_now, write_named,
};
use crate::paths::from_environment;
use receipt::Receipt;
use serde::Serialize;

/// The result for a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Written.
    Written,
    /// The file was up to date.
    Unchanged,
    /// Removed.
    Removed,
    /// Neither written nor removed: an installation did not write it.
    LeftAlone,
}

/// Returns the `share` directory: `<prefix>/share`, or that of the user (`XDG_DATA_HOME`, else `~/.local/share`).
pub fn share_directory(prefix: Option<&Path>) -> Result<PathBuf, Error> {
    if let Some(prefix) = prefix {
        let absolute = std::path::absolute(prefix).map_err(|error| file_error("find", prefix, error))?;
        return Ok(absolute.join("share"));
    }
    let named = |name| from_environment(name).filter(|dir| dir.is_absolute());
    named("XDG_DATA_HOME")
        .or_else(|| Some(named("HOME")?.join(".local/share")))
        .ok_or_else(|| Error::System {
            what: "find a place for one user",
            source: io::Error::new(io::ErrorKind::NotFound, "HOME is not set"),
        })
}

/// Writes the files that are missing or from another version, and returns the result for each file.
///
/// # Errors
/// If a file or directory cannot be read or written; the same command continues.
pub fn install(share: &Path, tell: &mut dyn FnMut(&Path, Outcome)) -> Result<(), Error> {
    let before = Receipt::load(share)?;
    let mut receipt = before.clone().unwrap_or_default();
    let mut planned = Vec::new();
    for (place, text) in bundled::files() {
        let path = share.join(&place);
        let outcome = match on_disk(&path)? {
            OnDisk::Nothing => Outcome::Written,
            OnDisk::File(bytes) | OnDisk::Link(Some(bytes)) if bytes == text.as_bytes() => Outcome::Unchanged,
            OnDisk::File(bytes) if receipt.knows(&place, &bytes) => Outcome::Written,
            _ => Outcome::LeftAlone,
        };
        planned.push((place, text, outcome));
    }
    let written = planned
        .iter()
        .filter(|(.., outcome)| *outcome == Outcome::Written);
    let places = written
        .map(|(place, ..)| place.as_path())
        .chain([Path::new(receipt::PLACE)]);
    let made = places.flat_map(|place| missing_directories(share, place));
    receipt.directories.extend(made);
    for (place, text, outcome) in &planned {
        let texts = receipt.files.entry(place.clone()).or_default();
        if *outcome != Outcome::LeftAlone && !texts.iter().any(|known| known == text) {
            texts.push((*text).to_owned());
        }
    }
    receipt.files.retain(|_, texts| !texts.is_empty());
    // The receipt is saved first: after any interruption the files can be removed again.
    if before.as_ref() != Some(&receipt) {
        write(&share.join(receipt::PLACE), receipt.text()?.as_bytes())?;
    }
    for (place, text, outcome) in &planned {
        let path = share.join(place);
        if *outcome == Outcome::Written {
            write(&path, text.as_bytes())?;
        }
        if *outcome != Outcome::LeftAlone {
            receipt.files.insert(place.clone(), vec![(*text).to_owned()]);
        }
        tell(&path, *outcome);
    }
    let path = share.join(receipt::PLACE);
    if before.as_ref() == Some(&receipt) {
        tell(&path, Outcome::Unchanged);
    } else {
        write(&path, receipt.text()?.as_bytes())?;
        tell(&path, Outcome::Written);
    }
    Ok(())
}

/// Removes the files that installations wrote, and the directories they created that are empty then; returns the result
/// for each.
///
/// # Errors
/// If a file cannot be read or removed; the same command continues.
pub fn uninstall(share: &Path, tell: &mut dyn FnMut(&Path, Outcome)) -> Result<(), Error> {
    let receipt = Receipt::load(share)?;
    let noted = receipt.is_some();
    let mut receipt = receipt.unwrap_or_default();
    for (place, text) in bundled::files() {
        receipt.files.entry(place).or_default().push(text.to_owned());
    }
    for place in receipt.files.keys() {
        let path = share.join(place);
        match on_disk(&path)? {
            OnDisk::Nothing => {}
            OnDisk::File(bytes) if receipt.knows(place, &bytes) => remove(&path, tell)?,
            _ => tell(&path, Outcome::LeftAlone),
        }
    }
    if noted {
        remove(&share.join(receipt::PLACE), tell)?;
    }
    // A directory comes before its contents.
    let mut directories: Vec<PathBuf> = receipt.directories.iter().map(|dir| share.join(dir)).collect();
    directories.sort();
    for path in directories.iter().rev() {
        // A directory that is in use, or missing, is skipped.
        if remove_named_dir(path).is_ok() {
            tell(path, Outcome::Removed);
        }
    }
    Ok(())
}

fn remove(path: &Path, tell: &mut dyn FnMut(&Path, Outcome)) -> Result<(), Error> {
    remove_named(path)?;
    tell(path, Outcome::Removed);
    Ok(())
}

/// The present content of a path.
enum OnDisk {
    Nothing,
    File(Vec<u8>),
    /// A symlink, and the content that can be read through it.
    Link(Option<Vec<u8>>),
    Other,
}

fn on_disk(path: &Path) -> Result<OnDisk, Error> {
    Ok(match kind_of(path)? {
        None => OnDisk::Nothing,
        Some(found) if found.is_symlink() => OnDisk::Link(seen_bytes(path)),
        Some(found) if found.is_file() => OnDisk::File(read(path)?),
        Some(_) => OnDisk::Other,
    })
}

/// Lists the directories that have to be created for a file, as the receipt records them.
fn missing_directories(share: &Path, place: &Path) -> Vec<PathBuf> {
    share
        .join(place)
        .ancestors()
        .skip(1)
        .take_while(|dir| !may_exist(dir))
        .map(|dir| match dir.strip_prefix(share) {
            Ok(below) if below.as_os_str() != "" => below.to_owned(),
            _ => dir.to_owned(),
        })
        .filter(|dir| dir.to_str().is_some())
        .collect()
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let dir = path.parent().unwrap_or(Path::new("/"));
    make_named_dir(dir, 0o777)?;
    write_named(path, bytes, 0o666 & !umask_now(), Durability::Whole)?;
    Ok(())
}
