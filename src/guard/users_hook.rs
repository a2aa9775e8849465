//! Finds the user's own hooks, which the guard's hooks replace for git.

use std::io;
use std::path::{Path, PathBuf, absolute};

use memchr::memmem;

use super::configuration::can_name;
use super::rail::HOOKS;
use super::rules;
use super::scripts::{self, USERS, is_program};
use crate::async_cmd::{self, Command};
use crate::fs::{Links, read_regular, seen};
use crate::git::RepoLayout;
use crate::git::layout::{is_same_dir, path_in};
use crate::paths::from_environment;
use crate::slot::Slot;

/// Returns the directory of the user's own hooks; `ours` is the directory of the guard's hooks.
pub(super) async fn users_hooks(layout: Option<&RepoLayout>, ours: &Path) -> Option<PathBuf> {
    let dir = match layout.and_then(plain_hooks) {
        Some(dir) => dir,
        None => ask_git().await?,
    };
    (!is_same_dir(ours, &dir)).then_some(dir)
}

/// Adapts the guard's hooks to the user's, which may have changed since the attempt began. A step that fails is left
/// for the next call.
pub(super) fn follow(users: &Path, slot: &Slot) {
    let Ok(users) = absolute(users) else { return };
    // Without the file, each hook asks git-ralph.
    if seen(&slot.file(USERS)).is_some() && can_name(&users) {
        let _ = scripts::write_users(slot, &users);
    }
    let door = slot.door();
    let _ = scripts::add(&door, &slot.file(HOOKS), |name| is_program(&users.join(name)));
    // From now on only later changes are newer.
    let _ = door.touch(&slot.file(rules::FILE));
}

/// Returns the default hooks directory if no configuration can name another: none of the files that git would read
/// contains the setting's name or an include.
fn plain_hooks(layout: &RepoLayout) -> Option<PathBuf> {
    if !cfg!(target_os = "linux") || from_environment("GIT_CONFIG_PARAMETERS").is_some() {
        return None;
    }
    let home = from_environment("HOME")?;
    let mut files = vec![
        layout.common_dir.join("config"),
        layout.git_dir.join("config.worktree"),
    ];
    match from_environment("GIT_CONFIG_GLOBAL") {
        Some(file) => files.push(file),
        None => {
            let config = from_environment("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
            files.extend([config.join("git/config"), home.join(".gitconfig")]);
        }
    }
    match from_environment("GIT_CONFIG_SYSTEM") {
        Some(file) => files.push(file),
        None => {
            let programs = from_environment("GIT_EXEC_PATH")?;
            let prefix = ["libexec/git-core", "lib/git-core"]
                .iter()
                .find(|end| programs.ends_with(end))
                .and_then(|end| programs.ancestors().nth(Path::new(end).iter().count()))?;
            files.extend([prefix.join("etc/gitconfig"), PathBuf::from("/etc/gitconfig")]);
        }
    }
    let plain = files.iter().all(|file| says_nothing_of_hooks(file));
    plain.then(|| layout.common_dir.join("hooks"))
}

/// Asks git for its hooks directory, without the guard's settings.
async fn ask_git() -> Option<PathBuf> {
    let command = Command::new("git")
        .args(["rev-parse", "--git-path", "hooks"])
        .env("GIT_CONFIG_COUNT", "0");
    let output = async_cmd::run(command).await.ok()?;
    (output.code == Some(0)).then(|| path_in(&output.stdout))
}

fn says_nothing_of_hooks(file: &Path) -> bool {
    // A configuration is set to this path so that none is read.
    if file == Path::new("/dev/null") {
        return true;
    }
    match read_regular(file, Links::Followed, 1 << 20) {
        Ok(mut text) => {
            text.make_ascii_lowercase();
            memmem::find(&text, b"hookspath").is_none() && memmem::find(&text, b"include").is_none()
        }
        Err(error) => matches!(
            error.kind(),
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
        ),
    }
}
