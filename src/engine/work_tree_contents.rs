//! Handles files that the preparation of a loop's new work tree made or changed: none is work of the loop. Reports what
//! the work tree lacks.

use std::path::Path;

use super::work_tree_place::OwnTree;
use crate::error::Error;
use crate::events::Notices;
use crate::fs::{Below, Durability, entries_of, may_exist, path_below, read_if_there};
use crate::git::worktree::{Count, Whose};
use crate::git::{PathChange, Repo, StagedEntry, index, split_z};
use crate::paths::{first_few, ignoring, path_of};

/// File in the work tree's git directory: the command that prepared it, then the untracked paths, each with a NUL.
const PREPARED: &str = "ralph/prepared";

/// Reports empty submodules, and the ignored files that the new work tree lacks and the user's work tree has.
pub(super) async fn tell_lacking(own: OwnTree<'_>, made: &Repo) -> Result<(), Error> {
    let mut empty = made.git.submodules(None).await?;
    empty.retain(|path| entries_of(&made.top.join(path_of(path))).is_ok_and(|found| found.is_empty()));
    own.tell_between(
        "submodules are empty in the loop's work tree",
        &first_few(&empty),
        "; to have them filled: git config ralph.worktreeSetup 'git submodule update --init --recursive'",
    );
    let args = ["-z", "--others", "--ignored", "--exclude-standard", "--directory"];
    let mut ignored = own.context.repo.git.cmd("ls-files", args).fields().await?;
    ignored.retain(|path| !may_exist(&path_below(&made.top, path)));
    own.tell_between(
        "ignored here, and not in the loop's work tree",
        &first_few(&ignored),
        "; to have one copied: git config --add ralph.worktreeCopy <path>",
    );
    Ok(())
}

/// Restores the tracked files that `ralph.worktreeSetup` changed, and returns the new files that it made and git does
/// not ignore: they stay out of the loop's commits. Reports both.
pub(super) async fn settle(own: OwnTree<'_>, made: &Repo) -> Result<Vec<StagedEntry>, Error> {
    let scratch = made.git_dir.join("set-up.index");
    let (head, base) = (made.head().await?.oid, made.git.tree_of_name("HEAD").await?);
    let index = made.private_index(&scratch, head.as_ref()).await?;
    let mut hidden = index.entries.hidden();
    made.show_paths(&scratch, &hidden).await?;
    let reading = made
        .read_work_tree(&scratch, &base, None, Whose::Users, Count::Nothing)
        .await?;
    index::discard(&Below::new(&made.git_dir), &scratch)?;
    let changes = made.git.changes_among(&base, &reading.tree, &[]).await?;
    let (new, changed): (Vec<_>, Vec<_>) = changes.into_iter().partition(|change| change.was.is_none());
    if !changed.is_empty() {
        hidden.retain(|path| changed.iter().any(|change| change.path == *path));
        made.show_paths(&made.index(), &hidden).await?;
        let args = ["--reset", "-u", "HEAD"];
        made.git.cmd("read-tree", args).done().await?;
    }
    let few = |changes: &[PathChange]| first_few(changes.iter().map(|change| &change.path));
    own.tell_names(
        "the preparation of the work tree changed files that are committed; they are put back",
        &few(&changed),
    );
    let rules = ignoring(new.iter().map(|change| &change.path));
    own.tell_between(
        "the preparation of the work tree made new files, which stay out of the checkpoints",
        &few(&new),
        &format!("; to ignore them, add to .gitignore: {rules}"),
    );
    Ok(new.into_iter().filter_map(|change| change.is).collect())
}

/// Records all untracked files of a work tree as made by its preparation.
pub(super) async fn note_prepared(own: OwnTree<'_>, made: &Repo) -> Result<(), Error> {
    let args = ["-z", "--others", "--directory"];
    let untracked = made.git.cmd("ls-files", args).bytes().await?;
    let noted = [command(own), b"\0", &untracked].concat();
    let door = Below::new(&made.git_dir);
    door.make_dir(Path::new("ralph"), 0o700)?;
    Ok(door.write(Path::new(PREPARED), &noted, 0o600, Durability::Atomic)?)
}

/// Returns the recorded paths, directories with a final slash; `None` without a record, or if the command has changed.
pub(super) fn prepared_in(own: OwnTree<'_>, made: &Repo) -> Result<Option<Vec<Vec<u8>>>, Error> {
    let noted = read_if_there(&made.git_dir.join(PREPARED))?;
    let noted = noted.map(|noted| split_z(&noted)).unwrap_or_default();
    let untracked = noted
        .split_first()
        .filter(|(by, _)| by.as_slice() == command(own));
    Ok(untracked.map(|(_, untracked)| untracked.to_vec()))
}

fn command(own: OwnTree<'_>) -> &[u8] {
    own.settings
        .worktree_setup
        .as_deref()
        .unwrap_or_default()
        .as_bytes()
}
