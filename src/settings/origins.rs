//! The origins of sandbox settings: an attempt can have written a file of the work tree that the configuration
//! includes.

use std::path::Path;

use crate::git::git_directories;
use crate::paths::path_of;

/// The prefix of the origin of a setting in a file.
const FILE: &[u8] = b"file:";

/// Removes the origins from a listing of `git config -z --show-scope --show-origin`. A sandbox setting in a file of the
/// work tree around `dir` gets this file as its scope.
pub(super) fn scopes(listing: &[u8], dir: &Path) -> Vec<u8> {
    let fields: Vec<&[u8]> = listing.split(|byte| *byte == 0).collect();
    let mut left = Vec::new();
    for entry in fields.chunks_exact(3) {
        let [scope, origin, entry] = entry else { continue };
        let file = origin
            .strip_prefix(FILE)
            .filter(|_| entry.starts_with(b"ralph.box"));
        let is_of_tree = file.is_some_and(|file| is_in_tree(path_of(file), dir));
        for field in [if is_of_tree { origin } else { scope }, entry] {
            left.extend_from_slice(field);
            left.push(0);
        }
    }
    left
}

/// Returns whether a scope is a file of the work tree.
pub(super) fn is_of_tree(scope: &[u8]) -> bool {
    scope.starts_with(FILE)
}

/// Returns whether a file is in the work tree around `dir`, or is reached by a symlink in it; true if unknown. Git
/// names a file relative to the top of the work tree.
fn is_in_tree(file: &Path, dir: &Path) -> bool {
    let Some((top, layout)) = git_directories(dir) else {
        return false;
    };
    let real = |path: &Path| path.canonicalize().ok();
    let ours = [real(&layout.git_dir), real(&layout.common_dir)];
    let is_inside = |path: &Path| {
        let is_ours = ours.iter().flatten().any(|ours| path.starts_with(ours));
        path != top && path.starts_with(&top) && !is_ours
    };
    let file = top.join(file);
    let mut steps = file
        .ancestors()
        .filter_map(|step| Some((step.parent()?, step.file_name()?)));
    real(&file).is_none_or(|file| is_inside(&file))
        || steps.any(|(parent, name)| real(parent).is_none_or(|parent| is_inside(&parent.join(name))))
}
