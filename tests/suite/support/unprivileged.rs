//! Commands as somebody whom permissions bind: as root they prove nothing.

use std::fs;
use std::os::unix::fs::{MetadataExt, lchown};
use std::path::{Path, PathBuf};

use super::sandbox::PROGRAM;
use super::{Cmd, search_path};

/// The user and group that own nothing on any system.
const NOBODY: u32 = 65534;

/// Somebody without rights, who owns a directory and has the program in it.
#[derive(Debug)]
pub struct OtherUser {
    bin: PathBuf,
}

impl OtherUser {
    /// Gives a directory to somebody else. `None` where root cannot become anybody here.
    #[expect(clippy::print_stderr, reason = "what a test leaves out has to be told")]
    pub fn new(dir: &Path) -> Option<Self> {
        let mut other = Self {
            bin: Path::new(PROGRAM).parent().unwrap().to_owned(),
        };
        give(dir);
        if !search_path().iter().any(|dir| dir.join("setpriv").is_file()) {
            eprintln!("setpriv is not installed: what needs a user without rights is left out");
            return None;
        }
        let runs = |other: &Self, program: &str| other.cmd(program, dir).args(["--version"]).run().code == 0;
        if runs(&other, PROGRAM) {
            return Some(other);
        }
        // The program is where only root gets to.
        other.bin = dir.join("bin");
        fs::create_dir(&other.bin).unwrap();
        let copy = other.bin.join("git-ralph");
        if fs::hard_link(PROGRAM, &copy).is_err() {
            fs::copy(PROGRAM, &copy).unwrap();
        }
        if runs(&other, PROGRAM) {
            return Some(other);
        }
        eprintln!("root cannot become another user here: what needs one is left out");
        None
    }

    /// A command of that user.
    pub fn cmd(&self, program: &str, dir: &Path) -> Cmd {
        let own = self.bin.join("git-ralph");
        let program = if program == PROGRAM {
            own.as_os_str()
        } else {
            program.as_ref()
        };
        let dirs = std::iter::once(self.bin.clone()).chain(search_path());
        Cmd::new("setpriv", dir)
            .args([&format!("--reuid={NOBODY}"), &format!("--regid={NOBODY}")])
            .args(["--clear-groups", "--"])
            .args([program])
            .env("PATH", std::env::join_paths(dirs).unwrap())
    }
}

/// Gives nobody a directory with all that is in it.
pub fn give(dir: &Path) {
    let mut open = vec![dir.to_owned()];
    while let Some(path) = open.pop() {
        let metadata = path.symlink_metadata().unwrap();
        if metadata.uid() != NOBODY {
            lchown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        if metadata.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
}
