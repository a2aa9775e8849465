//! Submodules: an attempt may commit in one, leave it dirty or delete it. The work of a failed attempt is kept in the
//! submodule's own refs and undone. Repositories without submodules have no cost.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::foreign_filters;
use super::leftovers::untracked_beside_ignored;
use super::moment::Moment;
use super::savepoint::Savepoint;
use super::stat_changes::touched_in_same_second;
use crate::fs::{
    Below, Durability, FileError, Links, file_error, is_there, path_below, read_if_there, read_regular_text,
    umask_now,
};
use crate::git::index_file::compare;
use crate::git::layout::RepoLayout;
use crate::git::worktree::{Count, Whose};
use crate::git::{
    GitError, Head, Repo, autostashes, clear_operations, copy_objects, discover, git_directories, locks,
    shared_submodule,
};
use crate::names::{Oid, short_branch};
use crate::paths::{is_of_work_tree, percent_decode, percent_encode, shown};
use crate::protect::permissions::look_with_permissions;
use crate::protect::trash::put_away;
use crate::protect::{ProtectError, Site};
use crate::refs::{KeptRef, Update};

/// Submodules at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Submodules {
    #[serde(default)]
    submodule: Vec<Submodule>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Submodule {
    /// The path, relative to the top, percent-encoded.
    path: String,
    /// The full name of its branch; `None` if detached.
    branch: Option<String>,
    /// Its HEAD commit.
    oid: Oid,
    /// The content of its `.git` if that is a file, which names its repository.
    git_file: Option<String>,
}

/// Records the submodules when the loop begins.
pub(super) async fn record_start(site: Site<'_>) -> Result<(), ProtectError> {
    let now = read(site).await?;
    foreign_filters::record_start(site).await?;
    save(site, Moment::Start, &now)?;
    save(site, Moment::Checkpoint, &now)
}

/// The records, in memory during an attempt, which could overwrite the files.
pub(super) struct Files([Submodules; 2]);

const MOMENTS: [Moment; 2] = [Moment::Start, Moment::Checkpoint];

impl Files {
    /// Reads the records before an attempt.
    pub fn read(site: Site<'_>) -> Result<Self, FileError> {
        let [start, checkpoint] = MOMENTS.map(|moment| load(site, moment));
        Ok(Self([start?, checkpoint?]))
    }

    /// Rewrites the records after an attempt.
    pub fn write(&self, site: Site<'_>) -> Result<(), ProtectError> {
        let moments = MOMENTS.into_iter().zip(&self.0);
        moments
            .into_iter()
            .try_for_each(|(moment, submodules)| save(site, moment, submodules))
    }
}

/// Forgets which repositories belong to the submodules: an attempt could have written the record, and git would run
/// commands of its repositories.
pub(in crate::protect) fn forget_links(site: Site<'_>) -> Result<(), ProtectError> {
    let mut files = Files::read(site)?;
    for submodule in files.0.iter_mut().flat_map(|all| &mut all.submodule) {
        submodule.git_file = None;
    }
    files.write(site)
}

/// Records the submodules at a checkpoint.
pub(super) async fn record(site: Site<'_>) -> Result<(), ProtectError> {
    save(site, Moment::Checkpoint, &read(site).await?)
}

/// Returns whether the last checkpoint has a submodule.
pub(super) fn is_any(site: Site<'_>) -> Result<bool, FileError> {
    Ok(!load(site, Moment::Checkpoint)?.submodule.is_empty())
}

impl Savepoint<'_> {
    /// Restores the submodules; returns whether any differed. Their content is kept in their own repositories under the
    /// ref `kept`.
    pub(super) async fn put_back_submodules(&self, kept: &str, trash: &Path) -> Result<bool, ProtectError> {
        let mut changed = false;
        for was in load(self.site, self.moment)?.submodule {
            let put = self.put_back(&was, kept, trash).await;
            let notice = match put {
                Ok(notice) => notice,
                Err(error) => Some(self.put_back_objects(&was, kept, trash, error).await?),
            };
            if let Some(notice) = notice {
                self.site.tell(notice);
                changed = true;
            }
        }
        Ok(changed)
    }

    /// Restores a submodule that git cannot read, if another repository has the missing objects; returns a report.
    /// Passes on every other error.
    async fn put_back_objects(
        &self,
        was: &Submodule,
        kept: &str,
        trash: &Path,
        error: ProtectError,
    ) -> Result<String, ProtectError> {
        let (repo, path) = (self.site.repo, percent_decode(&was.path));
        let shown = shown(&path);
        let found = repo.look_at_submodule(path.clone()).await?;
        if found.is_none_or(|found| found.unreadable.is_none()) {
            return Err(error);
        }
        if let Some(own) = RepoLayout::of_work_tree(&path_below(&repo.top, &path))
            && let Some(shared) = shared_submodule(&own.common_dir, [&repo.git_dir, &repo.common_dir], None)
            && shared != own.common_dir
            && copy_objects(&shared, &own.common_dir, &was.oid, None)
                .await
                .is_ok()
            && let Ok(notice) = self.put_back(was, kept, trash).await
        {
            let copied = || format!("objects that were missing in the submodule {shown} are copied to it");
            return Ok(notice.unwrap_or_else(copied));
        }
        Ok(format!(
            "git cannot read the submodule {shown}, which stays as it is; to get its objects again: git -C {shown} fetch \
             --refetch"
        ))
    }

    /// Restores a submodule; returns a report if it had changed.
    async fn put_back(
        &self,
        was: &Submodule,
        kept: &str,
        trash: &Path,
    ) -> Result<Option<String>, ProtectError> {
        let path = percent_decode(&was.path);
        let shown = shown(&path);
        let Some((repo, head)) = self.open(was, &path, trash).await? else {
            return Ok(Some(format!(
                "the submodule {shown} is gone, and git-ralph cannot say for certain where its repository is: look for it in \
                 {}, or check it out again: git submodule update --init {shown}",
                trash.display()
            )));
        };
        let mut stale = locks::of_git(&repo);
        stale.extend(
            was.branch
                .iter()
                .map(|name| repo.common_dir.join(format!("{name}.lock"))),
        );
        locks::remove_stale(&repo, &stale).await?;
        let git = &repo.git;
        let work = self.site.file("submodule.index");
        let base = head.oid.clone().unwrap_or_else(|| was.oid.clone());
        let made = repo.private_index(&work, Some(&base)).await?;
        let known = repo.read_index(&work)?;
        let unseen = touched_in_same_second(&repo, &known, self.since);
        repo.forget_times(&work, &unseen)?;
        repo.show_paths(&work, &made.entries.hidden()).await?;
        let target = git.tree_of(&was.oid).await?;
        let whose = Whose::Loops { nested: &[] };
        let now = repo
            .read_work_tree(&work, &target, None, whose, Count::Nothing)
            .await?;
        let stands = Head::new(was.branch.clone(), Some(was.oid.clone()));
        if head == stands && now.tree == target && is_indexed(&repo, &work)? {
            return Ok(None);
        }
        let why = format!("ralph: {kept}");
        let commit = repo.commit_tree(&now.tree, &[&base], &why).await?;
        let mut to_keep = vec![KeptRef::new(kept.to_owned(), commit.clone())];
        let aside = autostashes(&repo).await?;
        to_keep.extend(aside.iter().map(|oid| KeptRef::beside(kept, oid)));
        let mut updates = Vec::new();
        if let Some(branch) = &was.branch
            && let Some(tip) = git.oid_at(branch).await?.filter(|tip| *tip != was.oid)
        {
            to_keep.push(KeptRef::beside(kept, &tip));
            updates.push(Update::Move {
                name: branch.clone(),
                new: was.oid.clone(),
                old: Some(tip),
            });
        }
        git.keep(&to_keep, &why).await?;
        git.update_refs(&updates, &why).await?;
        clear_operations(&repo).await?;
        repo.switch_work_tree(&work, &now.tree, &target).await?;
        repo.install_index(&work).await?;
        repo.set_head(&stands, &why).await?;
        for left in untracked_beside_ignored(&repo, &work).await? {
            put_away(self.site, &self.nested, &[&path[..], b"/", &left].concat(), trash)?;
        }
        self.site.repo.discard_index(&work)?;
        let at = was.branch.as_deref().map_or(was.oid.short(), short_branch);
        Ok(Some(format!(
            "the submodule {shown} was changed; it is back at {at}, and what was there is kept: git -C {shown} show {}",
            commit.short()
        )))
    }

    /// Opens the repository of a submodule; recreates its directory if only the repository is left. Returns `None` if
    /// both are gone.
    async fn open(
        &self,
        was: &Submodule,
        path: &[u8],
        trash: &Path,
    ) -> Result<Option<(Repo, Head)>, ProtectError> {
        let dir = path_below(&self.site.repo.top, path);
        if !look_with_permissions(&self.site.repo.top, &dir.join(".git"), is_there)? {
            let Some(text) = &was.git_file else {
                return Ok(None);
            };
            if is_there(&dir)? {
                put_away(self.site, &self.nested, path, trash)?;
            }
            let door = Below::new(&self.site.repo.top);
            door.make_dir(&dir, 0o777)?;
            let mode = 0o666 & !umask_now();
            door.write(&dir.join(".git"), text.as_bytes(), mode, Durability::Atomic)?;
        }
        lead_back(self.site, &dir).await?;
        let Ok((mut repo, head)) = discover(&dir).await else {
            return Ok(None);
        };
        if repo.top.canonicalize().ok() != dir.canonicalize().ok() {
            return Ok(None);
        }
        let settings = self.site.repo.git.settings();
        repo.git = repo.git.offline().with_own_identity(true).with_settings(settings);
        Ok(Some((repo, head)))
    }
}

impl Site<'_> {
    /// Makes a submodule of the user's work tree check out the commit that the loop has brought; HEAD is then detached.
    /// Returns why it stays unchanged, if it does: only a submodule that is unchanged since `was` moves.
    ///
    /// # Errors
    /// If its files cannot be read or written.
    pub async fn move_submodule(
        self,
        path: &[u8],
        was: Option<&Oid>,
        to: &Oid,
    ) -> Result<Option<String>, ProtectError> {
        let dir = path_below(&self.repo.top, path);
        let stays = |why: &str| Ok(Some(why.to_owned()));
        if !is_there(&dir.join(".git"))? {
            return stays("it is not checked out there");
        }
        let Ok((mut repo, head)) = discover(&dir).await else {
            return stays("git cannot read it");
        };
        if head.oid.as_ref() == Some(to) {
            return Ok(None);
        }
        let Some(was) = was.filter(|was| head.oid.as_ref() == Some(*was)) else {
            return stays("another commit is checked out in it");
        };
        repo.git = repo.git.offline().with_settings(self.repo.git.settings());
        let stale = locks::of_git(&repo);
        if locks::remove_stale(&repo, &stale).await.is_err() {
            return stays("another git works in it");
        }
        let work = self.file("submodule.index");
        let made = repo.private_index(&work, Some(was)).await?;
        repo.show_paths(&work, &made.entries.hidden()).await?;
        let staged = repo.git.write_tree(&work).await?;
        let Ok([old, new]) = repo.git.existing_trees([was, to]).await else {
            repo.discard_index(&work)?;
            return stays("it has not all that this commit needs");
        };
        let whose = Whose::Loops { nested: &[] };
        let now = repo
            .read_work_tree(&work, &old, None, whose, Count::Nothing)
            .await?
            .tree;
        // A killed git-ralph has written a part of it.
        let wanted = repo.git.changes_among(&old, &new, &[]).await?;
        let found = repo.git.changes_among(&old, &now, &[]).await?;
        let is_changed = ![&old, &new].contains(&&staged) || found.iter().any(|one| !wanted.contains(one));
        if is_changed
            || !repo
                .in_the_way(&repo.git.diff_trees(&now, &new).await?)?
                .is_empty()
        {
            repo.discard_index(&work)?;
            return stays("files in it were changed");
        }
        repo.switch_work_tree(&work, &now, &new).await?;
        repo.install_index(&work).await?;
        repo.set_head(&Head::new(None, Some(to.clone())), "ralph: finish")
            .await?;
        repo.discard_index(&work)?;
        Ok(None)
    }
}

/// Returns whether the index of a repository has the same content as this one.
fn is_indexed(repo: &Repo, work: &Path) -> Result<bool, GitError> {
    let (was, is) = (repo.read_index_or_none(&repo.index())?, repo.read_index(work)?);
    let mut same = true;
    compare(&was, &is, |was, is| {
        same &= was.map(|was| (was.mode, was.oid)) == is.map(|is| (is.mode, is.oid));
    });
    Ok(same)
}

/// Makes the submodule's repository name this directory as its work tree again: otherwise git fails in it, and in the
/// repository around it. Changes only repositories that git keeps in its own directory.
pub(super) async fn lead_back(site: Site<'_>, dir: &Path) -> Result<(), ProtectError> {
    let whole = |path: &Path| path.canonicalize().ok();
    let found = || {
        let (top, layout) = git_directories(dir)?;
        let (dir, git_dir) = (whole(dir)?, whole(&layout.git_dir)?);
        let keeping = [&site.repo.common_dir, &site.repo.git_dir].map(|kept| whole(kept));
        let mut keeping = keeping.into_iter().flatten();
        let is_kept_by_git = keeping.any(|kept| git_dir.starts_with(kept.join("modules")));
        (top == dir && is_kept_by_git).then_some((git_dir, dir))
    };
    if let Some((git_dir, dir)) = found() {
        site.repo.git.set_place(&git_dir, &dir).await?;
    }
    Ok(())
}

/// Returns the content of a directory's `.git`, if it is a file.
fn git_file(dir: &Path) -> Option<String> {
    read_regular_text(&dir.join(".git"), Links::Refused, 1 << 16).ok()
}

/// Reads the submodules that are checked out now, each before its nested ones.
async fn read(site: Site<'_>) -> Result<Submodules, ProtectError> {
    let mut found = Submodules::default();
    let mut left = submodules_of(site.repo, b"").await?;
    while let Some(path) = left.pop() {
        let dir = path_below(&site.repo.top, &path);
        let (repo, head) = discover(&dir).await?;
        if let Some(oid) = head.oid {
            found.submodule.push(Submodule {
                path: percent_encode(&path),
                branch: head.branch,
                oid,
                git_file: git_file(&dir),
            });
        }
        if repo.top.canonicalize().ok() == dir.canonicalize().ok() {
            left.extend(submodules_of(&repo, &path).await?);
        }
    }
    Ok(found)
}

/// Returns the paths of a repository's submodules that are checked out, below the path of the repository itself, in
/// reverse order.
async fn submodules_of(repo: &Repo, at: &[u8]) -> Result<Vec<Vec<u8>>, ProtectError> {
    // Without this file no submodule is registered, and no index has to be read.
    if !is_there(&repo.top.join(".gitmodules"))? {
        return Ok(Vec::new());
    }
    let mut paths = Vec::new();
    for path in repo.index_entries(&repo.index()).await?.submodules {
        if is_there(&path_below(&repo.top, &path).join(".git"))? {
            paths.push(if at.is_empty() {
                path
            } else {
                [at, b"/", &path].concat()
            });
        }
    }
    paths.reverse();
    Ok(paths)
}

fn save(site: Site<'_>, moment: Moment, submodules: &Submodules) -> Result<(), ProtectError> {
    let path = record_file(site, moment);
    if submodules.submodule.is_empty() {
        return Ok(site.own_door().remove_file(&path)?);
    }
    if load(site, moment)? == *submodules {
        return Ok(());
    }
    let text = toml::to_string(submodules).map_err(io::Error::other);
    let text = text.map_err(|error| file_error("write", &path, error))?;
    Ok(site.own_door().write_private(&path, &text)?)
}

fn load(site: Site<'_>, moment: Moment) -> Result<Submodules, FileError> {
    // The records may have been deleted with the loop's directory.
    let text = read_if_there(&record_file(site, moment))?.unwrap_or_default();
    let mut found: Submodules = toml::from_slice(&text).unwrap_or_default();
    found
        .submodule
        .retain(|submodule| is_of_work_tree(&percent_decode(&submodule.path)));
    Ok(found)
}

fn record_file(site: Site<'_>, moment: Moment) -> PathBuf {
    site.file(&format!("{}.toml", moment.name("submodules")))
}
