//! Repairs a repository that git cannot read: restores the directories that git needs, and HEAD and the loop's branch from the
//! loop's state.

use std::cell::RefCell;
use std::path::Path;

use crate::engine::open_refusal::OpenRefusal;
use crate::error::{Error, refuse};
use crate::events::{Observer, tell};
use crate::fs::is_regular;
use crate::git::{Git, Repo, git_directories};
use crate::paths::real;
use crate::protect::{Site, recorded_config};
use crate::state::{self, Phase, State, Store};

/// Restores git's directories, and HEAD and the branch of the only live loop in the work tree around `dir`, if they are
/// damaged. `words` is git's message.
///
/// # Errors
/// If there is nothing to restore: [`OpenRefusal::Damaged`] if there is a repository around `dir`, else
/// [`OpenRefusal::NoWorkTree`].
pub(super) async fn repair(dir: &Path, words: &str, observer: &dyn Observer) -> Result<(), Error> {
    let not_here = || OpenRefusal::NoWorkTree(words.trim().to_owned());
    let (top, layout) = git_directories(dir).ok_or_else(not_here)?;
    let live = live_loops(&top, &layout.common_dir);
    if let [state] = live.as_slice() {
        let store = Store::new(&layout.common_dir, &state.change);
        let _lock = store.lock()?;
        let repo = Repo::new(top, layout.clone(), state.checkpoint().as_str().len() / 2);
        let slot = store.slot();
        let messages: RefCell<Vec<String>> = RefCell::default();
        let site = Site::new(&repo, &slot, &messages);
        let repaired = site.restore_directories()? | repair_position(site, state).await?;
        for message in messages.take() {
            tell(observer, state.change.as_str(), message);
        }
        if repaired {
            return Ok(());
        }
    }
    // The repository around `dir` exists, although git cannot read it.
    refuse(OpenRefusal::Damaged {
        git_dir: layout.git_dir,
        words: words.trim().to_owned(),
    })
}

/// Rewrites HEAD, its branch and the loop's tip if git cannot read them; returns true if that failed.
pub(super) async fn repair_position(site: Site<'_>, state: &State) -> Result<bool, Error> {
    let (head, tip) = (state.loop_head(), state.tip_ref());
    let tip = (tip.as_str(), state.checkpoint());
    let in_attempt = state.phase() == Phase::Running;
    let trash = site.trash().join("damaged");
    Ok(site.repair_position(&head, tip, in_attempt, &trash).await?)
}

/// Removes settings that keep git from finding the work tree around `dir`, if an attempt, a gate or a reviewer made
/// them while a git-ralph that was killed had a copy of the configuration. Returns whether there were any.
pub(super) async fn repair_places(dir: &Path, observer: &dyn Observer) -> Result<bool, Error> {
    let Some((_, layout)) = git_directories(dir) else {
        return Ok(false);
    };
    let mut are_back = false;
    for change in state::changes(&layout.common_dir).unwrap_or_default() {
        let store = Store::new(&layout.common_dir, &change);
        let copy = recorded_config(&store.slot());
        let (git, config) = (Git::at(dir), layout.common_dir.join("config"));
        // Git would wait for a pipe.
        if !is_regular(&copy)? || !is_regular(&config)? {
            continue;
        }
        let changed = git.changed_places(&copy, &config).await?;
        if changed.is_empty() {
            continue;
        }
        // A live process restores its settings itself.
        let Ok(_lock) = store.lock() else { continue };
        git.put_places_back(&config, &changed).await?;
        let keys: Vec<&str> = changed.iter().map(|(key, _)| key.as_str()).collect();
        let message = format!(
            "settings with which git finds no work tree here came before git-ralph was cut off; they are put back: {}",
            keys.join(", ")
        );
        tell(observer, change.as_str(), message);
        are_back = true;
    }
    Ok(are_back)
}

fn live_loops(top: &Path, common_dir: &Path) -> Vec<State> {
    let changes = state::changes(common_dir).unwrap_or_default();
    let states = changes
        .iter()
        .filter_map(|change| Store::new(common_dir, change).load().ok().flatten());
    let top = real(top);
    states
        .filter(|state| state.is_live() && state.work_tree() == top)
        .collect()
}
