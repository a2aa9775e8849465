//! Linked work trees (git-worktree(1)) that an attempt leaves inside the work tree, as agents make them for subagents.
//! They do not belong to the work: their files are committed and kept by a ref, and they are moved to the trash with
//! git's records of them, so that a retry can make the same ones.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::fs::{
    FileError, Links, entries_of, is_there, may_exist, path_below, read_regular, read_regular_text,
};
use crate::git::layout::registered_top;
use crate::git::worktree::{Count, Whose};
use crate::git::{Head, Repo, discover, git_directories, is_same_dir, oid_of};
use crate::names::{Oid, ref_component};
use crate::paths::{path_in, shown};
use crate::protect::repository::UserRefs;
use crate::protect::repository::linked_work_trees::was_there;
use crate::protect::trash::{free_name, move_away, put_away};
use crate::protect::{ProtectError, Site};
use crate::refs::{KeptRef, Update, free_names};

/// The prefix of the reason for which a loop's work tree is locked: another loop may have begun meanwhile.
const OF_LOOP: &str = "git ralph: ";
/// Maximum length of a file in which git describes a work tree, in bytes.
const MOST: u64 = 1 << 16;

/// A linked work tree inside the work tree.
struct Inner {
    /// Its top directory, relative to that of the work tree.
    path: Vec<u8>,
    /// Git's directory for it (gitrepository-layout(5), `worktrees/<id>`).
    registration: PathBuf,
    id: OsString,
}

impl Site<'_> {
    /// Removes the work trees that the attempt made; `refs` are the user's refs before it. Keeps their work below the
    /// ref `kept`, and moves their files to the directory `trash`.
    ///
    /// # Errors
    /// If a work tree cannot be read, kept or moved; it stays then.
    pub async fn take_out_work_trees(
        self,
        refs: Option<&UserRefs>,
        kept: &str,
        trash: &Path,
    ) -> Result<(), ProtectError> {
        for registration in half_taken(self, trash)? {
            take_registration(self, &registration, trash)?;
        }
        for inner in find(self)? {
            inner.take_out(self, refs, kept, trash).await?;
        }
        Ok(())
    }
}

/// Finds the registrations of work trees whose directories a killed git-ralph has moved to the trash.
fn half_taken(site: Site<'_>, trash: &Path) -> Result<Vec<PathBuf>, FileError> {
    let is_half_taken = |registration: &PathBuf| {
        let dir = registered_top(registration)?;
        let path = dir.strip_prefix(&site.repo.top).ok()?;
        Some(!may_exist(&dir) && may_exist(&trash.join(path)))
    };
    let registrations = entries_of(&site.repo.common_dir.join("worktrees"))?.into_iter();
    let registrations = registrations.map(|entry| entry.path());
    Ok(registrations
        .filter(|registration| is_half_taken(registration).unwrap_or(false))
        .collect())
}

/// Moves git's record of a work tree to the trash.
fn take_registration(site: Site<'_>, registration: &Path, trash: &Path) -> Result<(), ProtectError> {
    let id = registration.file_name().unwrap_or_default();
    let place = trash.join("registrations").join(id);
    Ok(move_away(site, registration, &free_name(&place)?)?)
}

/// Finds these work trees, innermost first. The work tree and its registration must name each other.
fn find(site: Site<'_>) -> Result<Vec<Inner>, FileError> {
    let mut found = Vec::new();
    for entry in entries_of(&site.repo.common_dir.join("worktrees"))? {
        let registration = entry.path();
        let Some(named) = registered_top(&registration) else {
            continue;
        };
        let locked = read_regular(&registration.join("locked"), Links::Refused, MOST);
        let is_loops = locked.is_ok_and(|reason| reason.starts_with(OF_LOOP.as_bytes()));
        let Some(dir) = named.canonicalize().ok().filter(|_| !is_loops) else {
            continue;
        };
        let Some(path) = path_in(&site.repo.top, &dir) else {
            continue;
        };
        let agrees = git_directories(&dir).is_some_and(|(top, layout)| {
            top == dir
                && is_same_dir(&layout.git_dir, &registration)
                && is_same_dir(&layout.common_dir, &site.repo.common_dir)
        });
        let is_file = read_regular_text(&dir.join(".git"), Links::Refused, MOST).is_ok();
        if agrees && is_file && !was_there(site, &named)? {
            found.push(Inner {
                path,
                registration,
                id: entry.file_name(),
            });
        }
    }
    found.sort_by(|one, other| other.path.cmp(&one.path));
    Ok(found)
}

impl Inner {
    async fn take_out(
        &self,
        site: Site<'_>,
        refs: Option<&UserRefs>,
        kept: &str,
        trash: &Path,
    ) -> Result<(), ProtectError> {
        // It can name filters, which git would run.
        let config = self.registration.join("config.worktree");
        if is_there(&config)? {
            let place = trash.join("registrations").join(&self.id);
            let place = place.with_extension("config.worktree");
            move_away(site, &config, &free_name(&place)?)?;
        }
        let dir = path_below(&site.repo.top, &self.path);
        let Ok((mut repo, head)) = discover(&dir).await else {
            site.tell(format!(
                "the linked work tree {} stays where the attempt has left it: git cannot read it",
                shown(&self.path)
            ));
            return Ok(());
        };
        repo.git = repo
            .git
            .offline()
            .with_own_identity(true)
            .with_settings(site.repo.git.settings());
        let made = head
            .branch
            .clone()
            .filter(|name| refs.is_some_and(|refs| refs.at(name).is_none()));
        let mut wanted = Vec::new();
        if let Some(oid) = commit(site, &repo, &head).await? {
            let name = format!("{kept}/worktrees/{}", ref_component(&self.id.to_string_lossy()));
            wanted.push(KeptRef { name, oid });
        }
        if let (Some(name), Some(oid)) = (&made, &head.oid) {
            let short = name.trim_start_matches("refs/heads/");
            wanted.push(KeptRef::new(format!("{kept}/branches/{short}"), oid.clone()));
        }
        let git = &site.repo.git;
        let there = git.refs(&[kept]).await?;
        let (mut updates, names) = free_names(&wanted, |name| oid_of(&there, name));
        // In one transaction: a kill in between would leave a branch of unknown origin.
        if let (Some(name), Some(old)) = (made, head.oid) {
            updates.push(Update::Delete { name, old });
        }
        git.update_refs(&updates, "ralph: a work tree inside an attempt's")
            .await?;
        put_away(site, &[], &self.path, trash)?;
        take_registration(site, &self.registration, trash)?;
        let names: Vec<&str> = names.iter().map(|kept| kept.name.as_str()).collect();
        site.tell(format!(
            "the attempt left a linked work tree in {}, which is no part of its work: it is moved to {}, and its work is kept as {}",
            shown(&self.path),
            trash.display(),
            names.join(", ")
        ));
        Ok(())
    }
}

/// Commits the files of a work tree, on top of its HEAD and of the staged content, if that differs.
async fn commit(site: Site<'_>, repo: &Repo, head: &Head) -> Result<Option<Oid>, ProtectError> {
    let work = site.file("inner.index");
    let made = repo.private_index(&work, head.oid.as_ref()).await?;
    repo.show_paths(&work, &made.entries.hidden()).await?;
    let base = repo.tree_at(head.oid.as_ref()).await?;
    // An index with conflicts has no tree.
    let staged = repo.git.write_tree(&work).await.ok();
    let whose = Whose::Loops { nested: &[] };
    let now = repo
        .read_work_tree(&work, &base, None, whose, Count::Nothing)
        .await?;
    repo.discard_index(&work)?;
    let why = "ralph: what a work tree inside an attempt's held";
    let mut parents: Vec<Oid> = head.oid.iter().cloned().collect();
    if let Some(staged) = staged.filter(|staged| *staged != base && *staged != now.tree) {
        parents.push(
            repo.commit_tree(&staged, &parents.iter().collect::<Vec<_>>(), why)
                .await?,
        );
    } else if now.tree == base {
        return Ok(head.oid.clone());
    }
    let parents: Vec<&Oid> = parents.iter().collect();
    Ok(Some(repo.commit_tree(&now.tree, &parents, why).await?))
}
