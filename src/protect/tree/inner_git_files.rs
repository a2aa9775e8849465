//! The git files of repositories inside the work tree: of submodules, nested repositories and linked work trees that
//! existed before an attempt. The user's next `git status` runs commands of their configuration, so they are restored
//! like the files of the repository itself, whatever the verdict.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::inventory::Kind;
use super::repo_link::{Link, identity};
use super::{foreign_filters, inner_repositories, submodules};
use crate::fs::{Below, FileError, is_directory, is_there, leads_to_file, may_be_there, path_below};
use crate::git::{OwnFiles, PutBack, RepoLayout, git_directories, submodule_repositories};
use crate::paths::{first_few, path_in, path_of, shown};
use crate::protect::records::Records;
use crate::protect::trash::{free_name, move_away};
use crate::protect::{ProtectError, Site};

/// The git files of all these repositories before an attempt or a gate, in memory: an attempt could overwrite any copy.
pub(crate) struct InnerGitFiles(Vec<Inner>);

/// One of the repositories.
struct Inner {
    /// Its top directory, relative to that of the work tree.
    path: Vec<u8>,
    link: Link,
    layout: RepoLayout,
    identity: Option<(u64, u64)>,
    files: OwnFiles,
}

impl InnerGitFiles {
    /// Reads the files, after the inventory before the attempt was recorded. Reads the index only in a repository that
    /// may have a submodule.
    pub async fn read(site: Site<'_>) -> Result<Self, ProtectError> {
        let mut found = Vec::new();
        for path in known(site).await? {
            let dir = path_below(&site.repo.top, &path);
            found.extend(Inner::at(site, path, &dir)?);
        }
        for git_dir in of_main_work_tree(site)? {
            found.push(Inner::without_work_tree(site, git_dir)?);
        }
        Ok(Self(found))
    }

    /// Restores the files after `who` ran; their replacements go to directories in `trash`. Returns the files that
    /// differed.
    pub fn put_back(&self, site: Site<'_>, who: &str, trash: &Path) -> Result<Vec<PutBack>, ProtectError> {
        let mut differed = Vec::new();
        for inner in &self.0 {
            differed.extend(inner.put_back(site, who, trash)?);
        }
        Ok(differed)
    }

    /// Keeps the harmless settings of replaced files, once git can run.
    pub async fn settle(site: Site<'_>, differed: Vec<PutBack>) -> Result<(), ProtectError> {
        for PutBack { path, instead, bytes } in differed {
            let is_config = path.file_name().is_some_and(|name| name == "config");
            if let Some(instead) = instead
                && is_config
                && leads_to_file(&instead)?
            {
                let git = &site.repo.git;
                git.keep_harmless_settings(&instead, &path, &bytes).await?;
                git.keep_place(&instead, &path, &site.repo.top).await?;
            }
        }
        Ok(())
    }
}

impl Inner {
    fn at(site: Site<'_>, path: Vec<u8>, dir: &Path) -> Result<Option<Self>, ProtectError> {
        let Some(layout) = layout_at(site, dir) else {
            return Ok(None);
        };
        Ok(Some(Self {
            link: Link::at(&dir.join(".git"))?,
            identity: identity(&layout.git_dir)?,
            files: OwnFiles::read(&layout)?,
            path,
            layout,
        }))
    }

    /// Reads the files of a submodule of another work tree.
    fn without_work_tree(site: Site<'_>, git_dir: PathBuf) -> Result<Self, ProtectError> {
        let layout = RepoLayout {
            common_dir: git_dir.clone(),
            git_dir,
        };
        Ok(Self {
            path: name_of(site, &layout.git_dir),
            link: Link::None,
            identity: identity(&layout.git_dir)?,
            files: OwnFiles::read(&layout)?,
            layout,
        })
    }

    fn put_back(&self, site: Site<'_>, who: &str, trash: &Path) -> Result<Vec<PutBack>, ProtectError> {
        let shown = shown(&self.path);
        let trash = trash.join("inner").join(path_of(&self.path));
        let layout = self.put_link_back(site, (who, &shown), &trash)?;
        let Some(layout) = layout else {
            return Ok(Vec::new());
        };
        if !is_in_its_place(&layout)? {
            return Ok(Vec::new());
        }
        let door = site.door(&trash);
        let restore = || {
            let place = free_name(&trash)?;
            self.files.restore(&layout, (&door, &place), &BTreeSet::new())
        };
        let differed = restore().or_else(|_| {
            Below::new(&layout.git_dir).make_accessible(&layout.git_dir);
            restore()
        })?;
        for PutBack { path, instead, .. } in &differed {
            let kept = instead
                .as_ref()
                .map(|instead| format!(", and what was there is kept as {}", instead.display()));
            site.tell(format!(
                "{} of the repository in {shown} was changed during {who}; it is put back{}",
                path.display(),
                kept.unwrap_or_default()
            ));
        }
        Ok(differed)
    }

    /// Returns the git directories if the own one is now at `git_dir`. The common directory that the new one names does
    /// not count.
    fn moved_to(&self, git_dir: PathBuf) -> RepoLayout {
        let is_common = self.layout.common_dir == self.layout.git_dir;
        let common_dir = if is_common {
            &git_dir
        } else {
            &self.layout.common_dir
        };
        RepoLayout {
            common_dir: common_dir.clone(),
            git_dir,
        }
    }

    /// Restores the `.git` of the directory if it names another place; returns the present place of the git files.
    fn put_link_back(
        &self,
        site: Site<'_>,
        (who, shown): (&str, &str),
        trash: &Path,
    ) -> Result<Option<RepoLayout>, ProtectError> {
        let dot_git = [&self.path[..], b"/.git"].concat();
        let path = path_below(&site.repo.top, &dot_git);
        if !Records::of(site).has_only_directories_above(&dot_git)? || !is_there(&path)? {
            // A missing repository runs nothing. A submodule is restored with its work tree.
            let is_same = identity(&self.layout.git_dir)? == self.identity;
            return Ok(is_same.then(|| self.layout.clone()));
        }
        let now = path.parent().and_then(|dir| layout_at(site, dir));
        // The git directory itself may have moved (git submodule absorbgitdirs). If it has not, a `.git` that leads to
        // it on another way, through a path that an attempt can change later, is not the original one.
        let is_in_its_place = identity(&self.layout.git_dir)? == self.identity;
        if let Some(now) = now
            && identity(&now.git_dir)? == self.identity
            && (self.link == Link::None || !is_in_its_place || Link::at(&path)? == self.link)
        {
            return Ok(Some(self.moved_to(now.git_dir)));
        }
        // A new repository that replaces a deleted one gets the old configuration and hooks.
        if self.link == Link::None && is_directory(&path)? {
            return Ok(path.canonicalize().ok().map(|path| self.moved_to(path)));
        }
        let place = free_name(&trash.join("dot-git"))?;
        move_away(site, &path, &place)?;
        let is_back = self.link != Link::None;
        self.link.make(&site.door(&path), &path)?;
        site.tell(format!(
            "the .git of {shown} was replaced during {who}; it is {}, and what was there is kept as {}",
            if is_back { "put back" } else { "gone" },
            place.display()
        ));
        Ok(Some(self.layout.clone()))
    }
}

/// Returns whether the git directories exist: their paths had no symlinks, and a symlink may lead anywhere.
fn is_in_its_place(layout: &RepoLayout) -> Result<bool, FileError> {
    for dir in [&layout.git_dir, &layout.common_dir] {
        if !is_directory(dir)? || dir.canonicalize().is_ok_and(|found| found != *dir) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the git directories of the repository whose top is `dir`; of a linked work tree of the repository itself,
/// only its own directory.
fn layout_at(site: Site<'_>, dir: &Path) -> Option<RepoLayout> {
    let (top, mut layout) = git_directories(dir)?;
    for part in [&mut layout.git_dir, &mut layout.common_dir] {
        *part = part.canonicalize().ok()?;
    }
    if top != dir.canonicalize().ok()?
        || identity(&layout.git_dir).ok()? == identity(&site.repo.git_dir).ok()?
    {
        return None;
    }
    if identity(&layout.common_dir).ok()? == identity(&site.repo.common_dir).ok()? {
        layout.common_dir.clone_from(&layout.git_dir);
    }
    Some(layout)
}

/// Lists the repositories that are known to be inside the work tree; relative to the top.
async fn known(site: Site<'_>) -> Result<BTreeSet<Vec<u8>>, ProtectError> {
    let mut paths: BTreeSet<Vec<u8>> = BTreeSet::new();
    if may_have_submodules(site) {
        paths.extend(foreign_filters::repositories(site).await?);
    }
    let inventory = Records::of(site).inventory_before_attempt()?.unwrap_or_default();
    let nested = inventory
        .iter()
        .filter(|(_, item)| item.kind == Kind::NestedRepository);
    paths.extend(nested.map(|(path, _)| path.clone()));
    paths.extend(inner_repositories::recorded(site)?);
    let linked = site.repo.layout().linked_work_trees()?;
    paths.extend(linked.filter_map(|dir| path_in(&site.repo.top, &dir.canonicalize().ok()?)));
    Ok(paths)
}

/// Lists the repositories of the main work tree's submodules, if this is a linked work tree: the user's next git also
/// runs commands of their configuration.
fn of_main_work_tree(site: Site<'_>) -> Result<Vec<PathBuf>, ProtectError> {
    let common_dir = &site.repo.common_dir;
    if identity(&site.repo.git_dir)? == identity(common_dir)? {
        return Ok(Vec::new());
    }
    let found = submodule_repositories(&common_dir.canonicalize().unwrap_or_else(|_| common_dir.clone()))?;
    Ok(found)
}

/// Returns the name of such a repository, as seen from the main work tree: a linked one has no such path.
fn name_of(site: Site<'_>, git_dir: &Path) -> Vec<u8> {
    let common_dir = site.repo.common_dir.canonicalize();
    let below = common_dir
        .ok()
        .and_then(|common_dir| path_in(&common_dir, git_dir));
    [b".git/", below.unwrap_or_default().as_slice()].concat()
}

/// Returns whether the index may have a submodule, without reading it.
fn may_have_submodules(site: Site<'_>) -> bool {
    may_be_there(&site.repo.top.join(".gitmodules")) || may_be_there(&site.repo.common_dir.join("modules"))
}

/// Reports the repositories inside the work tree that stay as the attempt left them, because no proof of their former
/// state exists; only their places are restored.
pub(in crate::protect) async fn tell_unproven(site: Site<'_>) -> Result<(), ProtectError> {
    let mut paths = known(site).await?;
    for path in &paths {
        let dir = path_below(&site.repo.top, path);
        submodules::lead_back(site, &dir).await?;
    }
    let others = of_main_work_tree(site)?;
    paths.extend(others.iter().map(|git_dir| name_of(site, git_dir)));
    if !paths.is_empty() {
        site.tell(format!(
            "the configuration and the hooks of repositories inside the work tree are as the attempt left them; to look \
             at them before you use git there: git config --file <.git>/config --list, in {}",
            first_few(&paths).join(", ")
        ));
    }
    Ok(())
}
