//! The user's own hooks, which the guard's hooks stand in front of.

use std::env;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use memchr::memmem;

use crate::async_cmd::{self, Command};
use crate::fs::{Links, read_regular};
use crate::git::RepoLayout;
use crate::git::layout::{is_same_dir, path_in};

/// Finds the user's own hook of this name, if git would run it; `ours` is the directory of the guard's hooks.
pub(super) async fn users_hook(layout: Option<&RepoLayout>, name: &str, ours: &Path) -> Option<PathBuf> {
    let dir = match layout.and_then(plain_hooks) {
        Some(dir) => dir,
        None => ask_git().await?,
    };
    if is_same_dir(ours, &dir) {
        return None;
    }
    let hook = dir.join(name);
    let metadata = hook.metadata().ok()?;
    (metadata.is_file() && metadata.permissions().mode() & 0o111 != 0).then_some(hook)
}

/// Returns the hooks directory where no configuration can name another: no file that git would read contains the
/// setting's name or includes another file.
fn plain_hooks(layout: &RepoLayout) -> Option<PathBuf> {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
    if !cfg!(target_os = "linux") || set("GIT_CONFIG_PARAMETERS").is_some() {
        return None;
    }
    let home = PathBuf::from(set("HOME")?);
    let mut files = vec![
        layout.common_dir.join("config"),
        layout.git_dir.join("config.worktree"),
    ];
    match set("GIT_CONFIG_GLOBAL") {
        Some(file) => files.push(file.into()),
        None => {
            let config = set("XDG_CONFIG_HOME").map_or_else(|| home.join(".config"), PathBuf::from);
            files.extend([config.join("git/config"), home.join(".gitconfig")]);
        }
    }
    match set("GIT_CONFIG_SYSTEM") {
        Some(file) => files.push(file.into()),
        None => {
            let programs = PathBuf::from(set("GIT_EXEC_PATH")?);
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

/// Asks git for its hooks directory without the guard's settings.
async fn ask_git() -> Option<PathBuf> {
    let command = Command::new("git")
        .args(["rev-parse", "--git-path", "hooks"])
        .env("GIT_CONFIG_COUNT", "0");
    let output = async_cmd::run(command).await.ok()?;
    (output.code == Some(0)).then(|| path_in(&output.stdout))
}

fn says_nothing_of_hooks(file: &Path) -> bool {
    // What a configuration is set to that shall not be read.
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
