//! Accesses paths of the work tree although an attempt removed permissions from the directories above them.

use std::io;
use std::path::Path;

use crate::fs::{Below, FileError, file_error, seen_itself};

/// Runs `act` on a path below `top`; if permissions forbid it, gives the owner access to the directories above it, and
/// runs it once more.
pub(super) fn with_permissions<T>(
    top: &Path,
    path: &Path,
    mut act: impl FnMut() -> io::Result<T>,
) -> io::Result<T> {
    match act() {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let mut above: Vec<&Path> = path.ancestors().take_while(|dir| *dir != top).collect();
            above.reverse();
            // Moving a directory also writes to it.
            for dir in above {
                if !seen_itself(dir).is_some_and(|found| found.is_dir()) {
                    break;
                }
                Below::new(top).give(dir, 0o700);
            }
            act()
        }
        other => other,
    }
}

/// Reads a path below `top`, as [`with_permissions`] does.
pub(super) fn look_with_permissions<T>(
    top: &Path,
    path: &Path,
    look: impl Fn(&Path) -> Result<T, FileError>,
) -> Result<T, FileError> {
    with_permissions(top, path, || look(path).map_err(|error| error.source))
        .map_err(|source| file_error("look at", path, source))
}
