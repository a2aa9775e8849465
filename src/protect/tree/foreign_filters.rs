//! Disables filters that were added since the loop began to the configuration of a submodule, or of any repository that
//! the index names: an agent can write there, and git-ralph's git would run them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::fs::{Links, is_there, leads_to_file, path_below, read_regular};
use crate::git::index_file::{GITLINK, IndexFile};
use crate::git::{Git, GitError, git_directories};
use crate::paths::first_few;
use crate::protect::records::{Paths, Records};
use crate::protect::{ProtectError, Site};

/// Name of the record of the filters at the start, as lines of git's configuration.
const FILTERS: &str = "submodule-filters";

/// Records the filters in the configurations of submodules when the loop begins.
pub(super) async fn record_start(site: Site<'_>) -> Result<(), ProtectError> {
    let mut named = Paths::new();
    for path in repositories(site).await? {
        named.extend(
            filters(site, &path)
                .await?
                .into_iter()
                .map(|(key, value)| line(&key, &value)),
        );
    }
    if !named.is_empty() {
        Records::of(site).save_paths(FILTERS, &named)?;
    }
    Ok(())
}

/// The known filters of the user; `None` in a loop without submodules.
pub(super) struct Known(Option<Paths>);

/// Reads the record before an attempt, which could overwrite it.
pub(super) fn known(site: Site<'_>) -> Result<Known, ProtectError> {
    let records = Records::of(site);
    let known = records.knows(FILTERS).then(|| records.paths(FILTERS));
    Ok(Known(known.transpose()?))
}

/// Rewrites the record after an attempt.
pub(super) fn write(site: Site<'_>, known: &Known) -> Result<(), ProtectError> {
    match &known.0 {
        Some(known) => Ok(Records::of(site).save_paths(FILTERS, known)?),
        None => forget(site),
    }
}

/// Forgets the record: from then on, every filter in the configuration of a submodule is unknown.
pub(in crate::protect) fn forget(site: Site<'_>) -> Result<(), ProtectError> {
    Ok(site
        .own_door()
        .remove_file(&Records::of(site).dir.join(FILTERS))?)
}

impl Site<'_> {
    /// Returns the settings that prevent git from running filters added since the start. Runs no git in a repository
    /// without submodules.
    pub async fn switched_off_filters(self) -> Result<Vec<String>, ProtectError> {
        let repositories = repositories(self).await?;
        let mut settings = BTreeMap::new();
        let mut skipped = BTreeSet::new();
        if repositories.is_empty() {
            return Ok(Vec::new());
        }
        let known = Records::of(self).paths(FILTERS)?;
        for path in repositories {
            for (key, value) in filters(self, &path).await? {
                if known.contains(&line(&key, &value)) {
                    continue;
                }
                // A filter of this name in the main repository stays enabled.
                let plain = self.repo.git.clone().with_settings(Vec::new());
                let own = plain.cmd("config", ["--get", &key]).any_exit().await?;
                let own = String::from_utf8_lossy(&own.stdout)
                    .trim_end_matches('\n')
                    .to_owned();
                let is_new = !self.repo.git.has_setting(&key);
                if own != value && is_new {
                    skipped.insert(path.clone());
                }
                settings.insert(key, own);
            }
        }
        if !skipped.is_empty() {
            self.tell(format!(
                "filters that are not known to be configured since before the loop are not run in {}",
                first_few(&skipped).join(", ")
            ));
        }
        Ok(settings
            .into_iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect())
    }
}

fn line(key: &str, value: &str) -> Vec<u8> {
    format!("{key}={value}").into_bytes()
}

/// Lists the repositories that the index names, including nested ones; relative to the top.
pub(super) async fn repositories(site: Site<'_>) -> Result<Vec<Vec<u8>>, GitError> {
    let repo = site.repo;
    if !leads_to_file(&repo.index())? {
        return Ok(Vec::new());
    }
    let mut open = match repo.index_entries(&repo.index()).await {
        Ok(entries) => entries.submodules,
        // A damaged index is replaced before git reads it.
        Err(_) => return Ok(Vec::new()),
    };
    let mut found = Vec::new();
    while let Some(path) = open.pop() {
        let dir = path_below(&repo.top, &path);
        if !is_there(&dir.join(".git"))? {
            continue;
        }
        open.extend(
            links_in(&dir)
                .into_iter()
                .map(|below| [&path[..], b"/", &below].concat()),
        );
        found.push(path);
    }
    Ok(found)
}

/// Lists the submodules in the index of a repository.
fn links_in(dir: &Path) -> Vec<Vec<u8>> {
    let Some((_, layout)) = git_directories(dir) else {
        return Vec::new();
    };
    let index = layout.git_dir.join("index");
    let bytes = read_regular(&index, Links::Followed, u64::MAX).unwrap_or_default();
    let mut file = IndexFile::new(bytes, 20);
    if file.index().is_none() {
        file = IndexFile::new(file.bytes().to_vec(), 32);
    }
    let links = file.entries().filter(|entry| entry.mode == GITLINK);
    links.map(|entry| entry.path.to_vec()).collect()
}

/// Returns the filters in the own configuration of a repository, with their values.
async fn filters(site: Site<'_>, path: &[u8]) -> Result<Vec<(String, String)>, GitError> {
    let dir = path_below(&site.repo.top, path);
    let args = ["-z", "--show-scope", "--get-regexp", r"^filter\."];
    let asked = Git::at_top(&dir).cmd("config", args).any_exit().await?;
    let fields: Vec<&[u8]> = asked.stdout.split(|byte| *byte == 0).collect();
    let own = fields.chunks_exact(2).filter_map(|pair| {
        let [scope, entry] = pair else { return None };
        let text = String::from_utf8_lossy(entry).into_owned();
        let (key, value) = text.split_once('\n').unwrap_or((&text, ""));
        matches!(*scope, b"local" | b"worktree").then(|| (key.to_owned(), value.to_owned()))
    });
    Ok(own.collect())
}
