//! Decides what a process in the sandbox sees.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::git_config::{self, Place};
use super::home::{self, Belongings};
use super::returns::SHELL;
use super::trial::{Trouble, attempt};
use super::variables::is_hidden;
use super::walls::{Mount, Walls};

use crate::async_cmd::find_program;

use crate::fs::{seen_itself, seen_text};
use crate::paths::real;

/// Directories that are empty in the sandbox: others' homes, temporary files, and the sockets of services.
const EMPTY: &[&str] = &["/home", "/root", "/tmp", "/var/tmp", "/run"];

/// The files for resolving host names, if they are among the sockets.
const NAME_SERVICE: &[&str] = &[
    "/run/systemd/resolve",
    "/run/resolvconf",
    "/run/NetworkManager/resolv.conf",
];

/// The place and the process for which a sandbox is made.
#[derive(Clone, Debug)]
pub struct Site<'a> {
    /// The top directory of the work tree.
    pub top: &'a Path,
    /// The git directory of the work tree, and the one that all work trees share.
    pub git_dirs: [&'a Path; 2],
    /// Files in the git directory that may be written.
    pub written: Vec<PathBuf>,
    /// The user's additional permissions.
    pub allowed: &'a Allowed,
    /// A further readable path: a program named by its path, or the work tree from which another one is made.
    pub read: Option<PathBuf>,
    /// The agent's files in the home directory.
    pub belongings: Belongings,
}

/// The user's wish for the sandbox of processes other than agents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// True if nothing may run without a sandbox.
    pub is_required: bool,
    /// The user's additional permissions.
    pub allowed: Allowed,
}

/// The additional permissions in the sandbox: `ralph.boxAllow`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Allowed {
    /// Readable paths.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<String>,
    /// Writable paths.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub written: Vec<String>,
    /// Names of visible variables.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<String>,
}

/// Decides what is visible in the sandbox of a site.
///
/// # Errors
/// If the work tree contains the home directory: nothing could be hidden then.
pub fn plan(site: &Site<'_>) -> Result<Walls, Trouble> {
    let home = home();
    let top = real(site.top);
    if let Some(home) = home.as_ref().filter(|home| home.starts_with(&top)) {
        return Err(Trouble::HoldsHome(home.clone()));
    }
    let mut mounts: Vec<Mount> = EMPTY
        .iter()
        .map(PathBuf::from)
        .filter(|dir| seen_itself(dir).is_some_and(|found| found.is_dir()))
        .map(Mount::Empty)
        .collect();
    mounts.extend(NAME_SERVICE.iter().map(|path| Mount::Read(path.into())));
    if let Some(home) = home.as_deref().filter(|home| *home != Path::new("/")) {
        mounts.push(Mount::Empty(home.to_owned()));
        mounts.extend(home::tools(home));
        mounts.extend(on_path(&top, home));
        mounts.extend(home::keys(home));
        let variable = |name: &str| env::var_os(name).map(PathBuf::from);
        mounts.extend(site.belongings.mounts(home, variable));
    }
    let given = |path: &String| given_in(path, home.as_deref());
    mounts.extend(site.allowed.read.iter().map(given).map(Mount::Read));
    mounts.extend(site.read.clone().map(Mount::Read));
    if let Ok(ours) = env::current_exe() {
        mounts.push(Mount::Read(ours));
    }
    mounts.push(Mount::Write(top.clone()));
    mounts.extend(site.allowed.written.iter().map(given).map(Mount::Write));
    // Last, so that no earlier mount can make git's files writable.
    let dot_git = top.join(".git");
    // A symlink cannot be covered; its target is below, and the symlink itself is restored after an attempt.
    if !seen_itself(&dot_git).is_some_and(|found| found.is_symlink()) {
        mounts.push(Mount::Read(dot_git));
    }
    for dir in site.git_dirs {
        mounts.push(Mount::Read(real(dir)));
    }
    mounts.extend(alternates(site.git_dirs[1]).map(Mount::Read));
    mounts.extend(site.written.iter().map(|path| Mount::Write(real(path))));
    let [git_dir, common_dir] = site.git_dirs.map(real);
    let own = site.written.first().and_then(|file| file.parent().map(real));
    let shown = git_config::covers(
        &mounts,
        &Place {
            top: &top,
            dirs: [&git_dir, &common_dir],
            home: home.as_deref(),
            own: own.as_deref(),
            allowed: site
                .allowed
                .read
                .iter()
                .map(given)
                .map(|path| real(&path))
                .collect(),
        },
    );
    mounts.extend(shown);
    Ok(Walls {
        bwrap: maker(&mounts)?,
        mounts,
        hidden: hidden(site),
    })
}

/// Finds bwrap on PATH in a place that is read-only in the sandbox: an attempt could replace another one.
fn maker(mounts: &[Mount]) -> Result<PathBuf, Trouble> {
    let path = env::var_os("PATH").unwrap_or_default();
    let dirs: Vec<PathBuf> = env::split_paths(&path).filter(|dir| dir.is_absolute()).collect();
    let candidates = dirs.iter().map(|dir| dir.join("bwrap"));
    let programs = candidates.filter_map(|file| find_program(file.as_os_str(), Path::new("/")));
    let programs: Vec<PathBuf> = programs.filter_map(|file| file.canonicalize().ok()).collect();
    let is_written = |file: &Path| {
        let mut written = mounts.iter().filter_map(|mount| match mount {
            Mount::Write(path) | Mount::Returned(path) => Some(real(path)),
            _ => None,
        });
        written.any(|path| file.starts_with(path))
    };
    let found = programs.iter().find(|file| !is_written(file));
    match (found, programs.first()) {
        (Some(_), _) if is_written(&real(Path::new(SHELL))) => Err(Trouble::CanWrite(SHELL.into())),
        (Some(found), _) => Ok(found.clone()),
        (None, Some(other)) => Err(Trouble::CanWrite(other.clone())),
        (None, None) => Err(Trouble::NotInstalled),
    }
}

/// Makes the sandbox of a site, and tests it.
pub async fn made(site: &Site<'_>) -> Result<Walls, Trouble> {
    let walls = plan(site)?;
    attempt(&walls, site.top).await.map(|()| walls)
}

/// Returns a path that a user typed; `~/` is the home directory.
pub fn given(path: &str) -> PathBuf {
    given_in(path, home().as_deref())
}

/// Returns the home directory, without symlinks in its path.
fn home() -> Option<PathBuf> {
    let home = env::var_os("HOME")
        .map(PathBuf::from)
        .filter(|home| home.is_absolute());
    home.and_then(|home| home.canonicalize().ok())
}

fn given_in(path: &str, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~/"), home) {
        (Some(below), Some(home)) => home.join(below),
        _ => path.into(),
    }
}

/// Returns the installations of programs on PATH that would otherwise be hidden.
fn on_path(top: &Path, home: &Path) -> Vec<Mount> {
    let path = env::var_os("PATH").unwrap_or_default();
    let dirs = env::split_paths(&path).filter_map(|dir| dir.canonicalize().ok());
    let is_hidden = |dir: &Path| {
        let hidden = EMPTY.iter().copied().chain(["/dev"]).map(Path::new);
        hidden.chain([home]).any(|hidden| dir.starts_with(hidden)) && !dir.starts_with(top)
    };
    let mut found: Vec<Mount> = Vec::new();
    for dir in dirs.filter(|dir| is_hidden(dir)) {
        let installed = home::installation(&dir, home);
        let seen = Mount::Read(installed.to_owned());
        if top.starts_with(installed) || installed == home || found.contains(&seen) {
            continue;
        }
        found.push(seen);
        if installed != dir {
            found.extend(home::beside(installed, home));
        }
    }
    // Subdirectories must follow their parents.
    found.sort_by(|one, other| one.path().cmp(other.path()));
    found
}

/// Returns the object directories from which a repository borrows (gitrepository-layout(5), `objects/info/alternates`).
fn alternates(common_dir: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let objects = common_dir.join("objects");
    let text = seen_text(&objects.join("info/alternates")).unwrap_or_default();
    let paths: Vec<PathBuf> = text
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| objects.join(line))
        .collect();
    paths.into_iter().filter_map(|path| path.canonicalize().ok())
}

/// Returns the variables of this process that are hidden.
fn hidden(site: &Site<'_>) -> Vec<OsString> {
    let named = &site.allowed.variables;
    let is_named = |name: &OsStr| named.iter().any(|other| name == OsStr::new(other));
    let own = site.belongings.variables;
    let is_hidden =
        |name: &OsStr, value: &OsStr| is_hidden(&name.to_string_lossy(), &value.to_string_lossy(), own);
    let hidden = env::vars_os().filter(|(name, value)| is_hidden(name, value) && !is_named(name));
    hidden.map(|(name, _)| name).collect()
}
