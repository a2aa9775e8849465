//! Reports what a new work tree of a loop lacks, and what its preparation adds to the loop's commits.

use super::Context;
use crate::error::Error;
use crate::fs::entries_of;
use crate::git::Repo;
use crate::git::index_file::GITLINK;
use crate::names::Change;
use crate::paths::{first_few, path_of};
use crate::settings::Settings;

/// Reports empty submodules, and what `ralph.worktreeSetup` made or changed and git does not ignore.
pub(super) async fn tell_contents(
    context: &Context<'_>,
    change: &Change,
    made: &Repo,
    settings: &Settings,
) -> Result<(), Error> {
    let index = made.read_index_if_there(&made.index())?;
    let is_empty =
        |path: &[u8]| entries_of(&made.top.join(path_of(path))).is_ok_and(|found| found.is_empty());
    let submodules = index.entries().filter(|entry| entry.mode == GITLINK);
    let empty: Vec<Vec<u8>> = submodules
        .map(|entry| entry.path.to_vec())
        .filter(|path| is_empty(path))
        .collect();
    if !empty.is_empty() {
        let names = first_few(&empty).join(", ");
        let fill = "git config ralph.worktreeSetup 'git submodule update --init --recursive'";
        context.tell(
            change,
            format!("submodules are empty in the loop's work tree: {names}; to have them filled: {fill}"),
        );
    }
    if settings.worktree_setup.is_none() {
        return Ok(());
    }
    let args = ["--porcelain", "-z", "--no-renames"];
    let lines = made.git.cmd("status", args).fields().await?;
    let paths: Vec<Vec<u8>> = lines
        .iter()
        .filter_map(|line| line.get(3..))
        .map(<[u8]>::to_vec)
        .collect();
    if !paths.is_empty() {
        let names = first_few(&paths).join(", ");
        context.tell(
            change,
            format!(
                "ralph.worktreeSetup made or changed what git does not ignore, so the loop commits it: {names}; to \
                 leave it out, add it to .gitignore"
            ),
        );
    }
    Ok(())
}
