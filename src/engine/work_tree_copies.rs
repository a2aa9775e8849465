//! Copies ignored files of the work tree in which a command was typed into a loop's new work tree
//! (`ralph.worktreeCopy`).

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::work_tree_place::OwnTree;
use crate::engine::steps::start_refusal::StartRefusal;
use crate::error::{Error, refuse};
use crate::events::Notices;
use crate::fs::{Below, Links, link_of, may_exist, open_regular, path_below, seen_itself};
use crate::git::Repo;
use crate::paths::{path_of, shown};

/// Maximum number of files to copy.
const MOST_FILES: usize = 50_000;
/// Maximum number of bytes to copy.
const MOST_BYTES: u64 = 1 << 30;
/// The file that identifies a virtual environment of Python (PEP 405): its programs contain the path of the original.
const ENVIRONMENT: &[u8] = b"pyvenv.cfg";

/// Copies the ignored files that match these pathspecs. Symlinks into the source work tree are redirected to the new
/// one; scripts whose first line names a program there are reported.
///
/// # Errors
/// If they exceed a limit, include a virtual environment, or cannot be copied.
pub(super) async fn copy_ignored(own: OwnTree<'_>, made: &Repo) -> Result<(), Error> {
    let (from, pathspecs) = (&own.context.repo, &own.settings.worktree_copy);
    if pathspecs.is_empty() {
        return Ok(());
    }
    let list = ["-z", "--others", "--ignored", "--exclude-standard", "--"];
    let args = list.into_iter().chain(pathspecs.iter().map(String::as_str));
    let paths = from.git.cmd("ls-files", args).fields().await?;
    if paths.is_empty() {
        own.tell_names("no ignored file here matches ralph.worktreeCopy", pathspecs);
    }
    refuse_copy(&from.top, &paths)?;
    let (mut scripts, mut nested) = (Vec::new(), Vec::new());
    for path in paths {
        if path.ends_with(b"/") {
            nested.push(path);
        } else if !copy(&from.top, &made.top, &path)? {
            scripts.push(path);
        }
    }
    own.tell_few("repositories of their own are not copied", &nested);
    let what = format!("copied scripts still run programs of {}", from.top.display());
    own.tell_few(&what, &scripts);
    Ok(())
}

/// Refuses files that a command should make in the new work tree instead.
fn refuse_copy(top: &Path, paths: &[Vec<u8>]) -> Result<(), Error> {
    let is_environment = |path: &&Vec<u8>| path.rsplit(|byte| *byte == b'/').next() == Some(ENVIRONMENT);
    if let Some(found) = paths.iter().find(is_environment) {
        return refuse(StartRefusal::EnvironmentCopied(shown(found)));
    }
    let sizes = paths
        .iter()
        .filter_map(|path| seen_itself(&path_below(top, path)));
    let bytes = sizes.map(|found| found.len()).sum();
    if paths.len() > MOST_FILES || bytes > MOST_BYTES {
        let files = paths.len();
        return refuse(StartRefusal::TooMuchCopied { files, bytes });
    }
    Ok(())
}

/// Copies one file or symlink, unless its place is taken. Returns false for a script that runs a program of the source
/// work tree.
fn copy(from: &Path, made: &Path, path: &[u8]) -> Result<bool, Error> {
    let (source, to, door) = (path_below(from, path), path_of(path), Below::new(made));
    let Some(found) = seen_itself(&source).filter(|_| !may_exist(&made.join(to))) else {
        return Ok(true);
    };
    make_dirs(from, &door, to)?;
    if found.is_symlink() {
        let target = link_of(&source)?;
        let inside = target.strip_prefix(from).map(|rest| made.join(rest));
        door.link(&inside.unwrap_or(target), to)?;
    } else if found.is_file() {
        door.copy(&source, to)?;
        let is_program = found.permissions().mode() & 0o111 != 0;
        return Ok(!is_program || !first_line_leads(&source, from));
    }
    Ok(true)
}

/// Makes the directories above a path, each with the permissions of its source.
fn make_dirs(from: &Path, door: &Below, path: &Path) -> Result<(), Error> {
    let above: Vec<&Path> = path
        .ancestors()
        .skip(1)
        .filter(|dir| !dir.as_os_str().is_empty())
        .collect();
    for dir in above.into_iter().rev().filter(|dir| !may_exist(&door.path(dir))) {
        let mode = seen_itself(&from.join(dir)).map_or(0, |found| found.permissions().mode() & 0o777);
        // The copy must be able to make files in it.
        door.make_dir(dir, mode | 0o700)?;
    }
    Ok(())
}

/// Returns whether a script's first line names a program below this directory.
fn first_line_leads(script: &Path, top: &Path) -> bool {
    let mut begins = Vec::new();
    let read = open_regular(script, Links::Refused).map(|file| file.take(512).read_to_end(&mut begins));
    let line = begins.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let program = line.strip_prefix(b"#!").map(<[u8]>::trim_ascii);
    read.is_ok() && program.is_some_and(|program| path_of(program).starts_with(top))
}
