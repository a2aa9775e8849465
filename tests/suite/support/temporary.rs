//! The directories of the tests.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use assert_fs::TempDir;

/// The file system in memory, where there is one.
pub const MEMORY: &str = "/dev/shm";
/// The space that must be free there, in bytes; all tests together take less than a fifth of it.
#[cfg(target_os = "linux")]
const SPACE: u64 = 512 << 20;

/// Makes a directory where `TMPDIR` says, else in memory if programs can run there, else where the system has temporary
/// files. The tests make and remove files for most of their time, which takes two thirds of the time there.
pub fn directory() -> TempDir {
    static PLACE: OnceLock<PathBuf> = OnceLock::new();
    let place = PLACE.get_or_init(|| match env::var_os("TMPDIR") {
        None if is_roomy(Path::new(MEMORY)) => PathBuf::from(MEMORY),
        _ => env::temp_dir(),
    });
    TempDir::new_in(place).unwrap()
}

/// Tells if a file system has space for the tests, and runs programs.
#[cfg(target_os = "linux")]
fn is_roomy(place: &Path) -> bool {
    use nix::sys::statvfs::{FsFlags, statvfs};
    statvfs(place).is_ok_and(|found| {
        let free = found.blocks_available() * found.fragment_size();
        free >= SPACE && !found.flags().contains(FsFlags::ST_NOEXEC)
    })
}

#[cfg(not(target_os = "linux"))]
fn is_roomy(_place: &Path) -> bool {
    false
}
