//! Checks whether man and the installed shells find the installed files, and what to add if they do not.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::async_cmd::{self, Command, find_program};
use crate::fs::{is_seen_as_file, may_exist, remove_named_dir, seen_text};
use crate::names::typed_path;
use crate::paths::{of_user, real};

/// Time limit for a program to print its search path.
const LIMIT: Duration = Duration::from_secs(10);

/// Returns the lines to add so that files below `share` are found; empty if none is known to be necessary.
pub async fn advice(share: &Path) -> Vec<String> {
    let words = [man(share).await, bash(share), zsh(share).await, fish(share).await];
    words.into_iter().flatten().collect()
}

/// Finds the manual page that man shows; returns `None` if man is not installed.
pub async fn manual() -> Option<Option<PathBuf>> {
    find_program(OsStr::new("man"), Path::new("/"))?;
    let printed = ask("man", &["-w", "git-ralph"]).await.unwrap_or_default();
    let page = printed.lines().next().map(PathBuf::from);
    Some(page.filter(|page| is_seen_as_file(page)))
}

/// Returns whether the user works with this shell: it is the login shell, or has a start file.
pub fn is_used(shell: &str) -> bool {
    let login = env::var_os("SHELL").unwrap_or_else(|| "bash".into());
    if Path::new(&login).file_name() == Some(OsStr::new(shell)) {
        return true;
    }
    let start_file = match shell {
        "zsh" => return zshrc().is_some(),
        "fish" => ".config/fish/config.fish",
        _ => ".bashrc",
    };
    home().is_some_and(|home| is_seen_as_file(&home.join(start_file)))
}

/// Finds the completion that each installed shell loads.
pub async fn completions() -> Vec<(&'static str, Option<PathBuf>)> {
    let is_file = |path: &PathBuf| is_seen_as_file(path);
    let mut found = Vec::new();
    if find_program(OsStr::new("bash"), Path::new("/")).is_some() {
        let mut places = bash_places();
        let mut files = places.by_ref().map(|dir| dir.join("completions/git-ralph"));
        found.push(("bash", files.find(is_file)));
    }
    if let Some(printed) = ask("zsh", &["-c", ZSH_PLACES]).await {
        let mut files = printed.lines().map(|dir| Path::new(dir).join("_git-ralph"));
        let installed = || {
            let dir = user_data()?.join("zsh/site-functions");
            let is_named = names(&zshrc().unwrap_or_default(), home().as_deref(), &dir);
            Some(dir.join("_git-ralph")).filter(|file| is_named && is_seen_as_file(file))
        };
        found.push(("zsh", files.find(is_file).or_else(installed)));
    }
    if let Some(printed) = ask_fish("string join \\n -- $fish_complete_path").await {
        let mut files = printed.lines().map(|dir| Path::new(dir).join("git-ralph.fish"));
        found.push(("fish", files.find(is_file)));
    }
    found
}

/// Shell code that prints zsh's search path, apart from additions in a user's .zshrc.
const ZSH_PLACES: &str = "print -rl -- $fpath";

async fn man(share: &Path) -> Option<String> {
    let printed = ask("man", &["-w"]).await?;
    let dir = share.join("man");
    // Only some versions of man print their search path, as a line of directories.
    let line = printed.trim_end();
    if line.contains('\n') || !line.starts_with('/') {
        return None;
    }
    (!holds(env::split_paths(line), &dir)).then(|| {
        format!(
            "man does not look in {0}: add to ~/.profile\n    export MANPATH=\"$MANPATH:\"{1}",
            dir.display(),
            typed_path(&dir)
        )
    })
}

fn bash(share: &Path) -> Option<String> {
    find_program(OsStr::new("bash"), Path::new("/"))?;
    let has_loader = data_directories()
        .iter()
        .any(|dir| is_seen_as_file(&dir.join("bash-completion/bash_completion")));
    let looked_in = holds(bash_places(), &share.join("bash-completion"));
    let file = share.join("bash-completion/completions/git-ralph");
    (!looked_in || !has_loader).then(|| {
        format!(
            "bash does not load {}: add to ~/.bashrc\n    source {}",
            file.display(),
            typed_path(&file)
        )
    })
}

/// Lists the directories of bash-completion, the user's own first.
fn bash_places() -> impl Iterator<Item = PathBuf> {
    let named = env::var_os("BASH_COMPLETION_USER_DIR").map(PathBuf::from);
    let own = named.or_else(|| Some(user_data()?.join("bash-completion")));
    let all = data_directories().into_iter();
    own.into_iter().chain(all.map(|dir| dir.join("bash-completion")))
}

async fn zsh(share: &Path) -> Option<String> {
    let printed = ask("zsh", &["-c", ZSH_PLACES]).await?;
    let dir = share.join("zsh/site-functions");
    let (home, zshrc) = (home(), zshrc());
    let text = zshrc.as_deref().unwrap_or_default();
    if holds(printed.lines().map(PathBuf::from), &dir) || names(text, home.as_deref(), &dir) {
        return None;
    }
    // Without that file there is no completion yet, apart from what the system has set up.
    let begin = match zshrc {
        Some(_) => "",
        None => "\n    autoload -Uz compinit && compinit",
    };
    Some(format!(
        "zsh does not look in {}: add to ~/.zshrc, before compinit\n    fpath=({} $fpath){begin}",
        dir.display(),
        typed_path(&dir)
    ))
}

fn home() -> Option<PathBuf> {
    env::var_os("HOME").map(PathBuf::from)
}

/// Reads the user's .zshrc.
fn zshrc() -> Option<String> {
    let place = env::var_os("ZDOTDIR").map(PathBuf::from).or_else(home)?;
    seen_text(&place.join(".zshrc"))
}

/// Returns whether a line of .zshrc names the directory. The file is only read: running it might do anything.
fn names(text: &str, home: Option<&Path>, dir: &Path) -> bool {
    let mut names = vec![dir.to_path_buf()];
    if let Some(below) = home.and_then(|home| Some(dir.strip_prefix(home).ok()?.to_owned())) {
        names.extend(["~", "$HOME", "${HOME}"].map(|home| Path::new(home).join(&below)));
    }
    let mut lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    lines.any(|line| names.iter().any(|name| line.contains(&*name.to_string_lossy())))
}

async fn fish(share: &Path) -> Option<String> {
    let printed = ask_fish("echo $version; string join \\n -- $fish_complete_path").await?;
    let (version, dirs) = printed.split_once('\n')?;
    let dir = share.join("fish/vendor_completions.d");
    let found = holds(dirs.lines().map(PathBuf::from), &dir);
    if found && !loads_by_program_alone(version) {
        return None;
    }
    let file = dir.join("git-ralph.fish");
    let reason = if found {
        format!("fish {version} loads it for git-ralph, but not for git ralph")
    } else {
        format!("fish does not look in {}", dir.display())
    };
    Some(format!(
        "{reason}: add to ~/.config/fish/config.fish\n    source {}",
        typed_path(&file)
    ))
}

/// Returns whether this fish is 3.6 or older: its completion of git does not look for those of git's subcommands.
fn loads_by_program_alone(version: &str) -> bool {
    let mut numbers = version.split('.').map(|number| number.parse::<u32>().ok());
    match (numbers.next().flatten(), numbers.next().flatten()) {
        (Some(major), Some(minor)) => (major, minor) <= (3, 6),
        _ => false,
    }
}

/// Runs a script in fish, which creates directories of its own when it starts; those that were not there are removed
/// again.
async fn ask_fish(script: &str) -> Option<String> {
    let config = of_user("XDG_CONFIG_HOME", ".config");
    let both = config.into_iter().chain(user_data()).map(|dir| dir.join("fish"));
    let missing = |dir: PathBuf| -> Vec<PathBuf> {
        let above = dir.ancestors().map(Path::to_owned);
        above.take_while(|dir| !may_exist(dir)).collect()
    };
    let made: Vec<PathBuf> = both.flat_map(missing).collect();
    let printed = ask("fish", &["-c", script]).await;
    for dir in made {
        // Succeeds only if it is empty.
        let _ = remove_named_dir(&dir);
    }
    printed
}

/// Returns a program's output, if it is installed and succeeds.
async fn ask(program: &str, args: &[&str]) -> Option<String> {
    find_program(OsStr::new(program), Path::new("/"))?;
    let command = Command::new(program).args(args).limit(LIMIT);
    let output = async_cmd::run(command).await.ok()?;
    (output.code == Some(0)).then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns whether a directory is one of several, whatever paths name them.
fn holds(dirs: impl Iterator<Item = PathBuf>, dir: &Path) -> bool {
    let wanted = real(dir);
    dirs.into_iter().any(|one| real(&one) == wanted)
}

fn user_data() -> Option<PathBuf> {
    of_user("XDG_DATA_HOME", ".local/share")
}

/// Returns the system's data directories.
fn data_directories() -> Vec<PathBuf> {
    let named = env::var_os("XDG_DATA_DIRS").filter(|dirs| !dirs.is_empty());
    let dirs = named.unwrap_or_else(|| "/usr/local/share:/usr/share".into());
    env::split_paths(&dirs).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn search_distinguishes_old_fish_from_new() {
        for old in ["3.6.0", "3.6.4", "3.1.2", "2.7.1"] {
            assert!(loads_by_program_alone(old), "{old}");
        }
        for new in ["3.7.0", "4.0.1", "4.0b1", "unknown"] {
            assert!(!loads_by_program_alone(new), "{new}");
        }
    }
}
