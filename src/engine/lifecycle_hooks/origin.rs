//! Hooks in the work tree (`core.hooksPath = .githooks`): an attempt can write them like any other file, and they run
//! outside the sandbox and the guard. So a hook runs only if it is unchanged since the loop began.

use std::path::PathBuf;

use super::Hook;
use crate::engine::Loop;
use crate::error::Error;
use crate::fs::{Links, is_there, read_regular};

/// Maximum size of a hook, in bytes.
const MOST: u64 = 16 << 20;

/// Returns why a hook is not run: it is in the work tree, and has changed since the loop began.
pub(super) async fn refusal(open: &Loop<'_>, hook: Hook) -> Result<Option<String>, Error> {
    let Some(path) = path_in_work_tree(open, hook) else {
        return Ok(None);
    };
    let was = open.git().file_of(open.state.initial(), &path).await?;
    let file = open.repo().top.join(&path);
    // A directory or a pipe is no hook that the loop could have begun with.
    let is = is_there(&file)?.then(|| read_regular(&file, Links::Refused, MOST).unwrap_or_default());
    Ok((was != is).then(|| format!("{path} is not the hook that the loop began with, and was not run")))
}

/// Returns the file of a hook, as far as the configuration is known.
pub(super) fn file_of(open: &Loop<'_>, hook: Hook) -> Option<PathBuf> {
    let hooks = open.context.configuration.hooks.borrow();
    hooks.as_ref()?.file(open.repo(), hook.name())
}

/// Returns the path of the hook relative to the top, if its directory is in the work tree.
fn path_in_work_tree(open: &Loop<'_>, hook: Hook) -> Option<String> {
    let file = file_of(open, hook)?;
    let real = |path: PathBuf| path.canonicalize().ok();
    let (dir, top) = (real(file.parent()?.to_owned())?, real(open.repo().top.clone())?);
    let is_gits = [&open.repo().git_dir, &open.repo().common_dir]
        .into_iter()
        .filter_map(|git| real(git.clone()))
        .any(|git| dir.starts_with(git));
    let below = dir.strip_prefix(&top).ok().filter(|_| !is_gits)?;
    below.join(hook.name()).to_str().map(ToOwned::to_owned)
}
