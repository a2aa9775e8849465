//! Installs the hooks in a repository and removes them again. The place depends on git's settings: git's own hooks
//! directory, beside existing hooks; if `core.hooksPath` is set, a directory of git-ralph's that also runs the hooks of
//! that one; from git 2.54 on the configuration.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

mod config;
pub(crate) mod refusal;

use self::config::{HooksPath, hooks_paths};
use self::refusal::GitHooksRefused;
use crate::async_cmd::find_program;
use crate::engine::lifecycle_hooks::TABLE;
use crate::engine::refuse_inside_attempt;
use crate::error::Error;
use crate::fs::{
    Below, Durability, FileError, file_error, is_regular, is_there, kind_of, leads_to_file, read,
    read_if_there,
};
use crate::git::Repo;
use crate::git::hooks::{self, FORMER, OWN_DIRECTORY};
use crate::guard::configuration::CONFIGURED_HOOKS;
use crate::guard::scripts::{self as guard_scripts, quoted};
use crate::names::{quoted as quoted_word, typed};
use crate::repository_hooks::scripts::{BESIDE, Before, NAMES, is_ours, program_of, script};
use crate::state::{self, Store};

/// Names of files in git-ralph's directory with the configuration before its change, and after it.
const CONFIG_BEFORE: &str = "config.before";
const CONFIG_AFTER: &str = "config.after";
/// Name of a file in git-ralph's directory that exists if git-ralph created git's own hooks directory.
const MADE: &str = "made";
/// Name of a file in git-ralph's directory that exists if hooks are in git's own hooks directory.
const FILES: &str = "files";

/// The result for a part of the installation, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was changed.
    Changed(String),
    /// It no longer belongs to git-ralph.
    LeftAlone(String),
}

/// The status of git's hooks in a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Their place; none if they are not installed.
    pub place: Option<String>,
    /// Reasons why they do not run, each in words.
    pub wrong: Vec<String>,
}

fn refused(why: String, hint: &str) -> Error {
    GitHooksRefused {
        why,
        hint: hint.to_owned(),
    }
    .into()
}

fn our_directory(repo: &Repo) -> PathBuf {
    repo.common_dir.join(OWN_DIRECTORY)
}

/// Installs the hooks. A second call renews them.
///
/// # Errors
/// If something is in the way; nothing is changed then.
pub async fn install(repo: &Repo) -> Result<Vec<Outcome>, Error> {
    refuse_inside_attempt()?;
    refuse_during_attempt(repo)?;
    let program = own_program().map_err(Error::system("find this program"))?;
    let version = repo.git.version().await?;
    if version.is_some_and(|version| version >= CONFIGURED_HOOKS) {
        return install_configured(repo, &program).await;
    }
    match hooks_paths(repo).await?.last() {
        None => install_files(repo, &program),
        Some(HooksPath { scope, value }) => match scope.as_str() {
            "local" | "global" | "system" => install_directory(repo, &program, scope, value).await,
            "worktree" => Err(refused(
                "core.hooksPath is set for this work tree alone".to_owned(),
                "git config --worktree --unset core.hooksPath, or set it with git config --local",
            )),
            _ => Err(refused(
                "core.hooksPath is set for this command alone".to_owned(),
                "run the same command without that setting",
            )),
        },
    }
}

/// Returns the path of this program on the user's PATH, if it is there: it stays valid after an upgrade.
fn own_program() -> io::Result<PathBuf> {
    let found = find_program(OsStr::new("git-ralph"), Path::new("/"));
    found
        .filter(|path| is_this_program(path))
        .map_or_else(env::current_exe, Ok)
}

fn is_this_program(path: &Path) -> bool {
    let program = env::current_exe().and_then(|program| program.canonicalize());
    matches!((path.canonicalize(), program), (Ok(path), Ok(program)) if path == program)
}

/// Refuses while an attempt is running or was interrupted: changes in `.git` are undone at its end.
fn refuse_during_attempt(repo: &Repo) -> Result<(), Error> {
    for change in state::changes(&repo.common_dir)? {
        let live = Store::new(&repo.common_dir, &change).load_live();
        if let Ok(Some(state)) = live
            && state.is_running()
        {
            return Err(refused(
                format!("an attempt of '{change}' is running, or was cut off"),
                &format!(
                    "wait until it has ended, or run git ralph status {change}, then run the same command again",
                    change = typed(change)
                ),
            ));
        }
    }
    Ok(())
}

fn make_our_directory(repo: &Repo) -> Result<PathBuf, Error> {
    let dir = our_directory(repo);
    repo.door(&dir).make_dir(&dir, 0o700)?;
    Ok(dir)
}

/// Writes a file as a whole, replacing an existing one.
fn put(repo: &Repo, path: &Path, bytes: &[u8], mode: u32) -> Result<(), Error> {
    Ok(repo.door(path).write(path, bytes, mode, Durability::Atomic)?)
}

/// The present content of a hook's path.
enum There {
    Nothing,
    Ours(Vec<u8>),
    Others,
}

fn there(path: &Path) -> Result<There, Error> {
    match kind_of(path)? {
        None => Ok(There::Nothing),
        Some(found) if found.is_file() => {
            let ours = Some(read(path)?).filter(|bytes| is_ours(bytes));
            Ok(ours.map_or(There::Others, There::Ours))
        }
        Some(found) if found.is_symlink() && leads_to_file(path)? => Ok(There::Others),
        Some(_) => Err(refused(
            format!("{} is not a file", path.display()),
            "move it away, then run the same command again",
        )),
    }
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(BESIDE);
    name.into()
}

/// Returns git's own hooks directory, which must be in the repository.
fn own_hooks(repo: &Repo) -> Result<PathBuf, Error> {
    let hooks = repo.common_dir.join("hooks");
    let inside = match (hooks.canonicalize(), repo.common_dir.canonicalize()) {
        (Ok(hooks), Ok(common_dir)) => hooks.parent() == Some(&common_dir),
        _ => !is_there(&hooks)?,
    };
    if inside {
        return Ok(hooks);
    }
    Err(refused(
        format!("{} leads outside the repository", hooks.display()),
        "git config core.hooksPath <that directory>, and make .git/hooks a directory",
    ))
}

fn install_files(repo: &Repo, program: &Path) -> Result<Vec<Outcome>, Error> {
    let hooks = own_hooks(repo)?;
    let mut plan = Vec::new();
    for name in NAMES {
        let path = hooks.join(name);
        let found = there(&path)?;
        let kept = beside(&path);
        if matches!(found, There::Others) && is_there(&kept)? {
            let kept = kept.to_string_lossy();
            return Err(refused(
                format!("{kept} already exists, from before {name} was replaced"),
                &format!(
                    "rm {}, or put it back, then run the same command again",
                    quoted_word(&kept)
                ),
            ));
        }
        plan.push((path, kept, found, script(name, program, Before::Beside)));
    }
    let dir = make_our_directory(repo)?;
    put(repo, &dir.join(FILES), b"", 0o600)?;
    if !is_there(&hooks)? {
        put(repo, &dir.join(MADE), b"", 0o600)?;
        repo.door(&hooks).make_dir(&hooks, 0o777)?;
    }
    let mut outcomes = Vec::new();
    for (path, kept, found, script) in plan {
        let mut words = path.display().to_string();
        match found {
            There::Ours(bytes) if bytes == script => continue,
            There::Others => {
                // So the hook exists at every moment.
                repo.door(&path)
                    .add_name(&path, &kept)
                    .map_err(|error| file_error("keep", &path, error))?;
                words = format!("{words} (what was there: {})", kept.display());
            }
            _ => {}
        }
        put(repo, &path, &script, 0o755)?;
        outcomes.push(Outcome::Changed(words));
    }
    Ok(outcomes)
}

async fn install_directory(
    repo: &Repo,
    program: &Path,
    scope: &str,
    value: &str,
) -> Result<Vec<Outcome>, Error> {
    let is_installed = hooks::is_ours(value);
    let dir = make_our_directory(repo)?;
    // All that git, or git-ralph, may look for in a hooks directory.
    let ours = TABLE.iter().map(|row| row.hook.name());
    for name in guard_scripts::NAMES.iter().copied().chain(ours) {
        let script = script(name, program, Before::Elsewhere);
        put(repo, &dir.join(name), &script, 0o755)?;
    }
    if is_installed {
        return Ok(Vec::new());
    }
    let former = dir.join(FORMER);
    if scope == "local" {
        put(repo, &former, format!("{value}\n").as_bytes(), 0o600)?;
    } else {
        let _ = repo.door(&former).remove_file(&former);
    }
    let ours = ("core.hooksPath".to_owned(), dir.clone().into_os_string());
    configure(repo, &dir, vec![ours]).await?;
    Ok(vec![Outcome::Changed(format!(
        "core.hooksPath = {} (before, and still run: {value})",
        dir.display()
    ))])
}

async fn install_configured(repo: &Repo, program: &Path) -> Result<Vec<Outcome>, Error> {
    let dir = make_our_directory(repo)?;
    let mut settings = Vec::new();
    for name in NAMES {
        let path = dir.join(name);
        put(repo, &path, &script(name, program, Before::ByGit), 0o755)?;
        let command = OsString::from_vec(quoted(&path));
        settings.push((format!("hook.git-ralph-{name}.command"), command));
        settings.push((format!("hook.git-ralph-{name}.event"), name.into()));
    }
    configure(repo, &dir, settings).await?;
    Ok(NAMES
        .iter()
        .map(|name| Outcome::Changed(format!("hook.git-ralph-{name}")))
        .collect())
}

/// Sets values in the repository's configuration, and saves its former bytes.
async fn configure(repo: &Repo, dir: &Path, settings: Vec<(String, OsString)>) -> Result<(), Error> {
    let path = config::file(&repo.common_dir);
    let before = read(&path)?;
    if !is_unchanged(&before, dir)? {
        put(repo, &dir.join(CONFIG_BEFORE), &before, 0o600)?;
    }
    for (key, value) in settings {
        let args = ["--local".into(), "--replace-all".into(), key.into(), value];
        repo.git.cmd("config", args).done().await?;
    }
    put(repo, &dir.join(CONFIG_AFTER), &read(&path)?, 0o600)
}

/// Returns whether the configuration is unchanged since git-ralph wrote it.
fn is_unchanged(config: &[u8], dir: &Path) -> Result<bool, FileError> {
    let after = read_if_there(&dir.join(CONFIG_AFTER))?;
    Ok(after.is_some_and(|after| after == config) && is_there(&dir.join(CONFIG_BEFORE))?)
}

/// Removes the hooks, and restores the former state.
///
/// # Errors
/// If a file cannot be read or changed; the same command continues.
pub async fn uninstall(repo: &Repo) -> Result<Vec<Outcome>, Error> {
    refuse_inside_attempt()?;
    refuse_during_attempt(repo)?;
    let dir = our_directory(repo);
    let mut outcomes = Vec::new();
    uninstall_files(repo, &dir, &mut outcomes)?;
    uninstall_settings(repo, &dir, &mut outcomes).await?;
    let door = repo.door(&dir);
    door.remove(&dir)?;
    // Succeeds only if there has never been a loop.
    let _ = door.remove_empty_dir(Path::new("ralph"));
    Ok(outcomes)
}

fn uninstall_files(repo: &Repo, dir: &Path, outcomes: &mut Vec<Outcome>) -> Result<(), Error> {
    let (door, hooks) = (Below::new(&repo.common_dir), repo.common_dir.join("hooks"));
    for name in NAMES {
        let path = hooks.join(name);
        let kept = beside(&path);
        let is_ours = is_regular(&path)? && is_ours(&read(&path)?);
        match (is_ours, is_there(&kept)?) {
            (true, true) => {
                door.rename(&kept, &door, &path)
                    .map_err(|error| file_error("rename", &kept, error))?;
                outcomes.push(Outcome::Changed(format!(
                    "{} is what it was before",
                    path.display()
                )));
            }
            (true, false) => {
                door.remove_file(&path)?;
                outcomes.push(Outcome::Changed(format!("{} is removed", path.display())));
            }
            (false, true) => outcomes.push(Outcome::LeftAlone(format!(
                "left alone: {} is not git-ralph's any more; what was there before is {}",
                path.display(),
                kept.display()
            ))),
            (false, false) => {}
        }
    }
    if is_there(&dir.join(MADE))? {
        // Succeeds only if the directory is empty.
        let _ = door.remove_empty_dir(&hooks);
    }
    Ok(())
}

async fn uninstall_settings(repo: &Repo, dir: &Path, outcomes: &mut Vec<Outcome>) -> Result<(), Error> {
    let path = config::file(&repo.common_dir);
    let now = read(&path)?;
    let unchanged = format!("{} is what it was before", path.display());
    if is_unchanged(&now, dir)? {
        let before = read(&dir.join(CONFIG_BEFORE))?;
        if config::replace(&repo.door(&path), &path, &now, &before)? {
            outcomes.push(Outcome::Changed(unchanged));
            return Ok(());
        }
    }
    let local = hooks_paths(repo)
        .await?
        .into_iter()
        .rfind(|path| path.scope == "local");
    if local.is_some_and(|path| hooks::is_ours(&path.value)) {
        let former = hooks::former(&dir.to_string_lossy());
        let args = match &former {
            Some(former) => vec!["--local", "--replace-all", "core.hooksPath", former],
            None => vec!["--local", "--unset-all", "core.hooksPath"],
        };
        repo.git.cmd("config", args).done().await?;
        outcomes.push(Outcome::Changed(
            "core.hooksPath is what it was before".to_owned(),
        ));
    }
    for name in NAMES {
        let section = format!("hook.git-ralph-{name}");
        let removed = repo
            .git
            .cmd("config", ["--local", "--remove-section", &section])
            .any_exit();
        if removed.await?.code == Some(0) {
            outcomes.push(Outcome::Changed(format!("{section} is removed")));
        }
    }
    Ok(())
}

/// Reports the status of the hooks, and changes to them by other programs.
pub async fn report(repo: &Repo) -> Result<Report, Error> {
    let dir = our_directory(repo);
    let hooks = repo.common_dir.join("hooks");
    let paths = hooks_paths(repo).await?;
    let now = paths.last().map(|path| path.value.as_str());
    let is_current = |bytes: &[u8], name: &str, before: Before| {
        // A path that is not UTF-8 is compared as a whole.
        let program = program_of(bytes).or_else(|| own_program().ok());
        let program = program.filter(|path| is_this_program(path));
        program.is_some_and(|program| bytes == script(name, &program, before))
    };
    let mut report = Report::default();
    let mut check = |dir: &Path, before: Before| {
        for name in NAMES {
            let path = dir.join(name);
            let why = match read_if_there(&path) {
                Ok(Some(bytes)) if is_current(&bytes, name, before) => continue,
                Ok(Some(bytes)) if is_ours(&bytes) => "is of another git-ralph",
                Ok(Some(_)) => "was overwritten",
                Ok(None) => "is gone",
                Err(_) => "cannot be read",
            };
            report.wrong.push(format!("{} {why}", path.display()));
        }
    };
    if is_there(&dir.join(CONFIG_AFTER))? || now.is_some_and(hooks::is_ours) {
        let key = format!("hook.git-ralph-{}.event", guard_scripts::PUSH);
        let configured = repo
            .git
            .cmd("config", ["--local", "--get", &key])
            .any_exit()
            .await?;
        if configured.code == Some(0) {
            check(&dir, Before::ByGit);
            report.place = Some("the repository's configuration (hook.git-ralph-*)".to_owned());
        } else {
            check(&dir, Before::Elsewhere);
            if let Some(now) = now.filter(|now| !hooks::is_ours(now)) {
                report.wrong.push(format!("core.hooksPath is {now} since"));
            } else if now.is_none() {
                report.wrong.push("core.hooksPath is not set any more".to_owned());
            }
            report.place = Some(dir.display().to_string());
        }
    } else if is_there(&dir.join(FILES))? {
        check(&hooks, Before::Beside);
        if let Some(now) = now {
            report.wrong.push(format!(
                "core.hooksPath is {now} since, so that git does not look there"
            ));
        }
        report.place = Some(hooks.display().to_string());
    }
    Ok(report)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn unreadable_copy_of_the_configuration_is_an_error_and_no_change() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        assert!(!is_unchanged(b"x", dir.path()).unwrap());
        fs::write(at(CONFIG_BEFORE), "").unwrap();
        fs::write(at(CONFIG_AFTER), "x").unwrap();
        assert!(is_unchanged(b"x", dir.path()).unwrap() && !is_unchanged(b"y", dir.path()).unwrap());
        fs::remove_file(at(CONFIG_AFTER)).unwrap();
        fs::create_dir(at(CONFIG_AFTER)).unwrap();
        assert!(is_unchanged(b"x", dir.path()).is_err());
    }
}
