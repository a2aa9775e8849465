//! The loop's own directory and its slot, which contain only regular files and directories. A symlink that an attempt
//! created there would redirect git-ralph's writes, and a pipe would block it for ever.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::fs::{Below, FileError, is_regular, is_special, may_exist, seen, target_of};
use crate::protect::trash::{free_name, move_away};
use crate::protect::{ProtectError, Site};

/// Restores the directory before any write to it. Targets of symlinks are not touched.
pub(in crate::protect) fn restore(site: Site<'_>) -> Result<(), ProtectError> {
    let (door, mut removed) = (site.own_door(), Vec::new());
    let mut made = false;
    let root = site.repo.common_dir.join("ralph");
    for dir in [root.as_path()].into_iter().chain(site.slot.dirs()) {
        if is_special(dir) {
            door.remove_file(dir)?;
            removed.push(dir.to_owned());
        } else {
            clear_place(site, dir)?;
        }
        made |= !may_exist(dir);
        door.make_dir(dir, 0o700)?;
    }
    // `chmod -R` also affects the copies of ignored secrets.
    make_private(&door, site.slot.loop_dir());
    for dir in site.slot.dirs() {
        removed.extend(door.remove_specials(dir)?);
    }
    let records = site.file("unversioned");
    if target_of(&records)?.is_some() {
        removed.extend(door.remove_specials(&records)?);
    }
    for dir in [site.loop_file("attempts"), site.trash()] {
        made |= !may_exist(&dir);
        door.make_dir(&dir, 0o700)?;
    }
    if !removed.is_empty() {
        let names: Vec<String> = removed.iter().map(|path| path.display().to_string()).collect();
        let what = "links or pipes were put into the loop's directory below .git; they are removed";
        site.notices.tell_names(what, &names);
    } else if made {
        site.tell("the loop's directory below .git was deleted; it is recreated".to_owned());
    }
    Ok(())
}

/// Moves a file in the place of a directory aside.
fn clear_place(site: Site<'_>, dir: &Path) -> Result<(), FileError> {
    if !is_regular(dir)? {
        return Ok(());
    }
    let aside = free_name(dir)?;
    site.tell(format!(
        "a file was put in the place of {}; it is moved to {}",
        dir.display(),
        aside.display()
    ));
    move_away(site, dir, &aside)
}

/// Removes the permissions of other users from a directory.
fn make_private(door: &Below, dir: &Path) {
    let mode = seen(dir).map_or(0o700, |found| found.permissions().mode());
    if mode & 0o077 != 0 {
        let _ = door.set_mode(dir, mode & 0o7700);
    }
}
