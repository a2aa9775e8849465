//! Finds files in the work tree that receive git-ralph's own output: `nohup.out`, or `ralph.log` of `| tee ralph.log`.

use std::collections::HashSet;
use std::fs::Metadata;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::fs::{entries_of, link_of, seen_itself, target_of};
use crate::git::Repo;
use crate::git::worktree::Reading;
use crate::paths::path_in;
use crate::state::Store;

/// Maximum number of programs of a pipeline that are followed.
const LONGEST_PIPELINE: usize = 8;

/// Returns the paths below `top` of the regular files that receive standard output and standard error, directly or
/// through a pipeline. Returns none on systems without `/proc`.
pub(super) fn files_below(top: &Path) -> Vec<Vec<u8>> {
    files_of("self", top)
}

/// Returns these files for the process that holds a loop.
pub(crate) fn files_of_holder(store: &Store, top: &Path) -> Vec<Vec<u8>> {
    let holder = store.holder().filter(|_| store.is_held());
    holder.map_or_else(Vec::new, |pid| files_of(&pid.to_string(), top))
}

fn files_of(process: &str, top: &Path) -> Vec<Vec<u8>> {
    let streams = ["1", "2"].map(|stream| Path::new("/proc").join(process).join("fd").join(stream));
    let mut files: Vec<PathBuf> = streams.iter().filter_map(|stream| written_by(stream)).collect();
    files.extend(files_behind_pipes(&streams));
    let below = files.iter().filter_map(|file| path_in(top, file));
    let mut below: Vec<Vec<u8>> = below.collect();
    below.sort();
    below.dedup();
    below
}

/// Follows the streams that are pipes: returns the files written by the programs that read these pipes, and by the
/// programs further down the pipeline.
fn files_behind_pipes(streams: &[PathBuf]) -> Vec<PathBuf> {
    let (mut files, mut known) = (Vec::new(), HashSet::new());
    let mut pipes: HashSet<PathBuf> = streams.iter().filter_map(|stream| pipe_of(stream)).collect();
    for _ in 0..LONGEST_PIPELINE {
        if pipes.is_empty() {
            break;
        }
        known.extend(pipes.iter().cloned());
        let mut next = HashSet::new();
        for process in entries_of(Path::new("/proc")).unwrap_or_default() {
            let streams = process.path().join("fd");
            if !pipe_of(&streams.join("0")).is_some_and(|pipe| pipes.contains(&pipe)) {
                continue;
            }
            for stream in entries_of(&streams).unwrap_or_default() {
                let stream = stream.path();
                match pipe_of(&stream) {
                    Some(pipe) if !known.contains(&pipe) => drop(next.insert(pipe)),
                    Some(_) => {}
                    None => files.extend(written_by(&stream)),
                }
            }
        }
        pipes = next;
    }
    files
}

/// Returns the name of the pipe behind a stream of a process.
fn pipe_of(stream: &Path) -> Option<PathBuf> {
    let name = link_of(stream).ok()?;
    name.as_os_str()
        .as_encoded_bytes()
        .starts_with(b"pipe:[")
        .then_some(name)
}

/// Returns the path of the regular file that a process writes through a stream.
fn written_by(stream: &Path) -> Option<PathBuf> {
    // The permissions of the link show how the stream is open.
    let writes = seen_itself(stream)?.permissions().mode() & 0o200 != 0;
    let open = target_of(stream).ok()?.filter(|open| writes && open.is_file())?;
    is_still_there(link_of(stream).ok()?, &open)
}

/// Removes these files from the reading of a work tree in which a loop begins, and from the index `work`, unless the
/// user's index has them.
pub(super) async fn leave_out(repo: &Repo, work: &Path, mut reading: Reading) -> Result<Reading, Error> {
    let mut files = files_below(&repo.top);
    if files.is_empty() {
        return Ok(reading);
    }
    let users = repo.read_index_or_none(&repo.index())?;
    files.retain(|path| users.index().is_some_and(|index| index.find(path).is_none()));
    repo.update_index(work, &["--force-remove"], &files).await?;
    reading.tree = repo.git.write_tree(work).await?;
    reading.changes = None;
    Ok(reading)
}

/// Returns a path if it still names the open file.
fn is_still_there(path: PathBuf, open: &Metadata) -> Option<PathBuf> {
    let there = target_of(&path).ok()??;
    ((open.dev(), open.ino()) == (there.dev(), there.ino())).then_some(path)
}
