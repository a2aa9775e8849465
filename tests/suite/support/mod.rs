//! The harness: a sandbox a test, commands with nothing inherited, and what a repository looked like.
//!
//! Invariants: no command sees the environment of whoever runs the tests; nothing waits without a
//! deadline; nothing is left running or lying about.

mod boxes;
mod command;
pub mod console;
pub mod copy;
pub mod document;
pub mod print;
pub mod remote;
pub mod sandbox;
pub mod temporary;
pub mod tmux;
mod unprivileged;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};

pub use command::{Cmd, Output, Running};
pub use print::Print;
pub use sandbox::Sandbox;

/// The change of the standard repository.
pub const CHANGE: &str = "add-login";
/// Its story list.
pub const TASKS: &str = "openspec/changes/add-login/tasks.md";
/// A command with which a reviewer accepts the work, whatever that is: its prompt, on standard input, has the form.
pub const ACCEPT: &str = "grep -o '<verdict>ACCEPT [a-z0-9]*</verdict>'";

/// The promise that earns a checkpoint.
pub const COMPLETE: &str = "<promise>COMPLETE</promise>";

/// How long anything may take before it counts as hanging; far more than it does on a machine that has much else to do.
pub const DEADLINE: Duration = Duration::from_secs(300);

/// Where programs are searched: as whoever runs the tests has it, but first where the git is that
/// `GIT_RALPH_TEST_GIT` names, when another version of git shall be tested with.
pub fn search_path() -> Vec<PathBuf> {
    let git = std::env::var_os("GIT_RALPH_TEST_GIT").map(PathBuf::from);
    if let Some(git) = &git {
        let named_git = git.file_name().is_some_and(|name| name == "git");
        assert!(
            git.is_absolute() && git.is_file() && named_git,
            "GIT_RALPH_TEST_GIT is not the whole path of a git: {}",
            git.display()
        );
    }
    let own = git.and_then(|git| Some(git.parent()?.to_owned()));
    let system = std::env::var_os("PATH").unwrap_or_default();
    own.into_iter().chain(std::env::split_paths(&system)).collect()
}

/// Held while a process is started, and alone while a program is written: a program that any process has open for
/// writing cannot be run (ETXTBSY), and a child has all that we have open until it is another program.
static STARTS: RwLock<()> = RwLock::new(());

/// Writes a program that can be run at once.
pub fn write_program(path: &Path, text: &str) {
    let _nobody_starts = STARTS.write().unwrap_or_else(PoisonError::into_inner);
    fs::write(path, text).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
}

/// Waits until something is so.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !is_so() {
        assert!(Instant::now() < deadline, "waited too long until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Starts a git that works in a repository until it is ended: `git` builds its command.
pub fn working_git(git: impl FnOnce(&[&str]) -> Cmd) -> Running {
    let running = git(&["update-ref", "--stdin"]).typing("").start();
    // Before, it is the program that starts it.
    let comm = format!("/proc/{}/comm", running.pid);
    wait_until("git runs", || {
        fs::read_to_string(&comm).is_ok_and(|name| name.trim() == "git")
    });
    running
}

/// The git that the tests use.
pub fn git() -> PathBuf {
    let mut gits = search_path().into_iter().map(|dir| dir.join("git"));
    gits.find(|git| git.is_file()).unwrap()
}

/// Waits until a file is there.
pub fn wait_for(path: &Path) {
    wait_until(&format!("{} is there", path.display()), || path.exists());
}

/// The processes with this text in their command line or environment.
pub fn alive_with(text: &str) -> Vec<String> {
    let holds = |path: &Path| {
        std::fs::read(path).is_ok_and(|bytes| memchr::memmem::find(&bytes, text.as_bytes()).is_some())
    };
    living(|_, dir| holds(&dir.join("cmdline")) || holds(&dir.join("environ")))
}

/// The processes, except this one, whose `stat` from the state on, and directory in `/proc`, are wanted.
fn living(is_wanted: impl Fn(&str, &Path) -> bool) -> Vec<String> {
    let ourselves = std::process::id().to_string();
    std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| *name != ourselves && name.bytes().all(|byte| byte.is_ascii_digit()))
        .filter(|pid| {
            let dir = Path::new("/proc").join(pid);
            let stat = std::fs::read_to_string(dir.join("stat")).unwrap_or_default();
            let stat = stat.rsplit_once(") ").map_or("Z", |(_, stat)| stat);
            !stat.starts_with(['Z', 'X']) && is_wanted(stat, &dir)
        })
        .collect()
}
