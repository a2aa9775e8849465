//! Keeps harmless settings that were added to a configuration file during an attempt when the other changes are undone:
//! settings through which git neither runs nor sends anything.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::sleep;

use super::command::{Git, GitCommand};
use super::error::GitError;
use crate::fs::is_regular;

/// Arguments of a list of settings, without those of included files.
const LIST: &[&str] = &["-z", "--no-includes", "--list"];

/// Settings that make git find another work tree, or no repository.
const PLACES: &[&str] = &["core.bare", "core.repositoryformatversion", "core.worktree"];

/// The interval between two tries to add a setting, and the number of tries.
const ADD_WAIT: Duration = Duration::from_millis(20);
const ADD_TRIES: u32 = 20;

/// A key, and its value if it has one.
pub type Setting = (String, Option<String>);

impl Git {
    /// Adds harmless settings to the configuration file `to`, which was restored to `was`: those that the replaced file
    /// `from` adds. Returns their keys.
    pub async fn keep_harmless_settings(
        &self,
        from: &Path,
        to: &Path,
        was: &[u8],
    ) -> Result<Vec<String>, GitError> {
        let listed = self.config_of(Path::new("-"), LIST).stdin(was).any_exit().await?;
        let (was, is) = (settings_of(&listed.stdout), self.settings_in(from).await?);
        let mut kept = Vec::new();
        for (key, value) in harmless_additions(&was, &is) {
            if self.add_setting(to, key, value).await? {
                kept.push(key.to_owned());
            }
        }
        Ok(kept)
    }

    /// Adds a missing setting to a configuration file; returns whether it is now there. `git remote add` writes its
    /// settings one by one, and git does not wait for a lock of the file: this function does.
    async fn add_setting(&self, to: &Path, key: &str, value: &str) -> Result<bool, GitError> {
        for _ in 0..ADD_TRIES {
            let there = self.settings_in(to).await?;
            let is_there = |(known, is): &Setting| known == key && is.as_deref() == Some(value);
            if there.iter().any(is_there)
                || self.config_of(to, &["--add", key, value]).any_exit().await?.code == Some(0)
            {
                return Ok(true);
            }
            sleep(ADD_WAIT).await;
        }
        Ok(false)
    }

    /// Returns whether the configuration file `recorded` has a setting through which git can run or send something, or
    /// a command of git-ralph's, that the file `present` lacks; also true if git cannot read `recorded`.
    pub async fn adds_what_runs(&self, recorded: &Path, present: &Path) -> Result<bool, GitError> {
        // Outside any repository: git may be unable to read the present configuration.
        let git = Self::at(Path::new("/"));
        if git.config_of(recorded, LIST).any_exit().await?.code != Some(0) {
            return Ok(true);
        }
        let (was, is) = (git.settings_in(present).await?, git.settings_in(recorded).await?);
        Ok(is.iter().any(|(key, value)| {
            let is_there = was.iter().any(|(other, there)| other == key && there == value);
            !is_there && !runs_nothing(key)
        }))
    }

    /// Returns whether the content of a configuration file differs from an earlier one only in settings that
    /// [`Git::keep_harmless_settings`] keeps.
    pub async fn adds_only_harmless(&self, was: &[u8], is: &[u8]) -> Result<bool, GitError> {
        let list = |bytes: &[u8]| self.config_of(Path::new("-"), LIST).stdin(bytes).any_exit();
        let (was, is) = (list(was).await?, list(is).await?);
        let is_read = [&was, &is].iter().all(|listed| listed.code == Some(0));
        let (was, is) = (settings_of(&was.stdout), settings_of(&is.stdout));
        let kept = harmless_additions(&was, &is);
        let is_kept = |(key, value): &&Setting| kept.contains(&(key, value.as_deref().unwrap_or_default()));
        Ok(is_read && is.iter().filter(|setting| !is_kept(setting)).eq(&was))
    }

    /// Returns whether two configuration files differ only in headers that git sends to a named host.
    pub async fn differ_in_headers(&self, one: &Path, other: &Path) -> Result<bool, GitError> {
        // Outside any repository: git may be unable to read the present configuration.
        let git = Self::at(Path::new("/"));
        let (one, other) = (git.settings_in(one).await?, git.settings_in(other).await?);
        let others = |settings: &[Setting]| {
            let others = settings.iter().filter(|(key, _)| !is_header_of_host(key));
            others.cloned().collect::<Vec<_>>()
        };
        let rest = others(&one);
        Ok(one != other && !rest.is_empty() && rest == others(&other))
    }

    /// Copies the place of the work tree (`core.worktree`) from one configuration file to another, if it is below
    /// `top`: a moved submodule names its new place in this setting.
    pub async fn keep_place(&self, from: &Path, to: &Path, top: &Path) -> Result<(), GitError> {
        let (was, is) = (self.place_in(to).await?, self.place_in(from).await?);
        let Some(is) = is.filter(|is| was.as_ref() != Some(is)) else {
            return Ok(());
        };
        let there = to
            .parent()
            .map(|dir| dir.join(&is))
            .and_then(|dir| dir.canonicalize().ok());
        if was.is_some() && there.is_some_and(|dir| dir != top && dir.starts_with(top)) {
            self.config_of(to, &["core.worktree", &is]).done().await?;
        }
        Ok(())
    }

    /// Returns the settings of the configuration file `present` that lead git to another work tree, or to none, and
    /// that the copy `recorded` lacks, each with its recorded value.
    pub async fn changed_places(&self, recorded: &Path, present: &Path) -> Result<Vec<Setting>, GitError> {
        // Outside any repository: git may be unable to read the present configuration.
        let git = Self::at(Path::new("/"));
        let was = git.settings_in(recorded).await?;
        let mut changed = git.settings_in(present).await?;
        changed.retain(|setting| PLACES.contains(&setting.0.as_str()) && !was.contains(setting));
        for (key, value) in &mut changed {
            let known = was.iter().rfind(|(other, _)| other == key);
            *value = known.and_then(|(_, value)| value.clone());
        }
        // Such a place in the copy may be the attempt's.
        changed.retain(|(key, value)| key != "core.worktree" || value.is_none());
        Ok(changed)
    }

    /// Gives settings in a configuration file these values, or removes them.
    pub async fn put_places_back(&self, present: &Path, places: &[Setting]) -> Result<(), GitError> {
        let git = Self::at(Path::new("/"));
        for (key, value) in places {
            let change = match value {
                Some(value) => ["--replace-all", key, value].to_vec(),
                None => ["--unset-all", key].to_vec(),
            };
            git.config_of(present, &change).done().await?;
        }
        Ok(())
    }

    /// Makes the repository at `git_dir` name `dir` as its work tree (`core.worktree`), if it names another one, as
    /// `git mv` does for a moved submodule. Both paths are absolute, and without symlinks.
    pub async fn set_place(&self, git_dir: &Path, dir: &Path) -> Result<(), GitError> {
        let config = git_dir.join("config");
        if !is_regular(&config)? {
            return Ok(());
        }
        let place = self.place_in(&config).await?;
        if place.is_none_or(|place| git_dir.join(place).canonicalize().is_ok_and(|place| place == dir)) {
            return Ok(());
        }
        let place = relative(git_dir, dir);
        let args = [OsStr::new("core.worktree"), place.as_os_str()];
        self.config_of(&config, &args).done().await
    }

    /// Builds a git command about the settings of one file.
    pub(super) fn config_of<T: AsRef<OsStr>>(&self, file: &Path, args: &[T]) -> GitCommand {
        let file = ["--file".as_ref(), file.as_os_str()];
        self.cmd("config", file.into_iter().chain(args.iter().map(AsRef::as_ref)))
    }

    /// Reads the settings of one file, without included files; returns none if git cannot read it.
    async fn settings_in(&self, file: &Path) -> Result<Vec<Setting>, GitError> {
        let listed = self.config_of(file, LIST).any_exit().await?;
        Ok(settings_of(&listed.stdout))
    }

    /// Reads the place of the work tree in one file.
    async fn place_in(&self, file: &Path) -> Result<Option<String>, GitError> {
        let mut settings = self.settings_in(file).await?.into_iter().rev();
        Ok(settings.find_map(|(key, value)| (key == "core.worktree").then_some(value?)))
    }
}

/// Parses git's list of settings.
fn settings_of(listed: &[u8]) -> Vec<Setting> {
    let text = String::from_utf8_lossy(listed);
    let setting = |entry: &str| match entry.split_once('\n') {
        Some((key, value)) => (key.to_owned(), Some(value.to_owned())),
        None => (entry.to_owned(), None),
    };
    let entries = text.split('\0').filter(|entry| !entry.is_empty());
    entries.map(setting).collect()
}

/// Returns whether a setting is a header for one host: a CI system writes a new one for each job.
fn is_header_of_host(key: &str) -> bool {
    let host = key
        .strip_prefix("http.")
        .and_then(|rest| rest.strip_suffix(".extraheader"));
    host.is_some_and(|host| !host.is_empty())
}

/// Returns whether a setting, whatever its value, makes git neither run nor send anything. Only certain and common
/// settings are listed.
fn runs_nothing(key: &str) -> bool {
    let Some((section, name)) = key.rsplit_once('.') else {
        return false;
    };
    match section.split_once('.').map_or(section, |(section, _)| section) {
        "user" | "author" | "committer" => matches!(name, "name" | "email"),
        "branch" => matches!(name, "remote" | "merge" | "rebase" | "description"),
        "core" => CORE.contains(&name),
        "extensions" => matches!(name, "objectformat" | "refstorage"),
        "color" | "advice" | "init" | "status" => true,
        "ralph" => section == "ralph" && LIMITS.contains(&name),
        _ => false,
    }
}

/// Settings of the section `core` that run nothing.
const CORE: &[&str] = &[
    "abbrev",
    "autocrlf",
    "bare",
    "checkstat",
    "eol",
    "filemode",
    "ignorecase",
    "logallrefupdates",
    "precomposeunicode",
    "protecthfs",
    "protectntfs",
    "quotepath",
    "repositoryformatversion",
    "safecrlf",
    "sharedrepository",
    "sparsecheckout",
    "sparsecheckoutcone",
    "splitindex",
    "symlinks",
    "trustctime",
    "untrackedcache",
];

/// git-ralph's own settings that are not commands.
const LIMITS: &[&str] = &[
    "commandtimeout",
    "guard",
    "idletimeout",
    "keepattempts",
    "mark",
    "maxattempts",
    "maxcost",
    "maxduration",
    "maxretries",
    "maxwait",
    "onfailure",
    "retryoutput",
    "strategy",
    "timeout",
    "verifytimeout",
    "view",
];

/// Returns the harmless settings that `is` has and `was` lacks: remotes with a new name, and tools' notes on branches.
fn harmless_additions<'a>(was: &[Setting], is: &'a [Setting]) -> Vec<(&'a str, &'a str)> {
    let remote = |key: &str| {
        key.strip_prefix("remote.")?
            .rsplit_once('.')
            .map(|(name, _)| name.to_owned())
    };
    let is_harmless = |key: &str, value: &str| {
        let Some((section, name)) = key.rsplit_once('.') else {
            return false;
        };
        // A URL can name a program, or an option of one.
        if value.contains("::") || value.starts_with('-') {
            return false;
        }
        match (section.split_once('.'), name) {
            (Some(("remote", new)), "url" | "fetch" | "tagopt") => {
                // A second URL of a known remote would receive pushes to the first.
                !was.iter().any(|(key, _)| remote(key).as_deref() == Some(new))
            }
            (Some(("branch", _)), "remote" | "merge" | "rebase" | "description" | "vscode-merge-base") => {
                !was.iter().any(|(known, _)| known == key)
            }
            _ => false,
        }
    };
    // A remote is kept completely or not at all.
    let is_split = |new: &str| {
        let its = |key: &str| remote(key).as_deref() == Some(new);
        is.iter()
            .any(|(key, value)| its(key) && !is_harmless(key, value.as_deref().unwrap_or("::")))
    };
    let settings = is
        .iter()
        .filter_map(|(key, value)| Some((key.as_str(), value.as_deref()?)));
    let stays = |(key, value): &(&str, &str)| {
        is_harmless(key, value) && !remote(key).is_some_and(|name| is_split(&name))
    };
    settings.filter(stays).collect()
}

/// Returns the path from one directory to another one; both are absolute.
fn relative(from: &Path, to: &Path) -> PathBuf {
    let same = from.iter().zip(to.iter()).take_while(|(one, other)| one == other);
    let same = same.count();
    let up = from.iter().skip(same).map(|_| OsStr::new(".."));
    up.chain(to.iter().skip(same)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_new_entries_that_run_nothing_are_harmless() {
        let known = [("remote.origin.url", "a"), ("branch.main.remote", "origin")];
        for (key, value, stays) in [
            ("remote.fork.url", "https://example.org/f.git", true),
            ("remote.a.b.fetch", "+refs/heads/*:refs/remotes/a.b/*", true),
            ("remote.fork.url", "ext::sh -c evil", false),
            ("remote.fork.url", "--upload-pack=evil", false),
            ("remote.fork.uploadpack", "evil", false),
            ("remote.fork.proxy", "evil", false),
            ("remote.origin.url", "b", false),
            ("remote.origin.fetch", "b", false),
            ("remote.pushdefault", "fork", false),
            ("branch.main.merge", "refs/heads/main", true),
            ("branch.main.remote", "fork", false),
            ("branch.main.pushremote", "fork", false),
            ("branch.a.b.remote", "origin", true),
            ("branch.autosetuprebase", "always", false),
            ("user.name", "Evil", false),
            ("core.hookspath", "evil", false),
            ("include.path", "evil", false),
            ("url.evil.insteadof", "https://", false),
        ] {
            let setting = |(key, value): (&str, &str)| (key.to_owned(), Some(value.to_owned()));
            let was: Vec<_> = known.into_iter().map(setting).collect();
            let is = [was.clone(), vec![setting((key, value))]].concat();
            let found = harmless_additions(&was, &is);
            let wanted = [(key, value)];
            assert_eq!(found, if stays { &wanted[..] } else { &[] }, "{key}");
        }
        let sly = [
            ("remote.sly.url", "ext::evil"),
            ("remote.sly.fetch", "+refs/heads/*:refs/x/*"),
        ];
        let sly = sly.map(|(key, value)| (key.to_owned(), Some(value.to_owned())));
        assert_eq!(harmless_additions(&[], &sly), []);
    }

    #[tokio::test]
    async fn a_remote_is_kept_whole_although_git_writes_the_rest_of_it_meanwhile() {
        let temp = tempfile::tempdir().unwrap();
        let (replaced, config) = (temp.path().join("replaced"), temp.path().join("config"));
        let before = "[core]\n\tbare = false\n";
        let url = "[remote \"fork\"]\n\turl = https://example.org/fork.git\n";
        let fetch = "[remote \"fork\"]\n\tfetch = +refs/heads/*:refs/remotes/fork/*\n";
        std::fs::write(&replaced, [before, url].concat()).unwrap();
        std::fs::write(&config, [before, fetch].concat()).unwrap();
        let git = Git::at(temp.path());
        let kept = git.keep_harmless_settings(&replaced, &config, before.as_bytes());
        assert_eq!(kept.await.unwrap(), ["remote.fork.url"]);
        let there = git.settings_in(&config).await.unwrap();
        let keys: Vec<_> = there.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys, ["core.bare", "remote.fork.fetch", "remote.fork.url"]);
    }
}
