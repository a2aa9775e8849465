//! Restores, for a reviewer, the files that instruct agents, and that configure git's diffs, from before the attempt
//! that it judges, so that the attempt does not instruct it.
//!
//! Meanwhile `judged` keeps the judged tree, as for held tests.

use crate::engine::Loop;
use crate::error::Error;
use crate::events::Notices;
use crate::names::Oid;

/// These files and directories, at any depth.
const NAMES: &str = include_str!("instructions.txt");

/// The mode of a missing entry.
const NOTHING: &str = "000000";

/// The instruction files that the attempt changed.
#[derive(Default)]
pub(super) struct Aside {
    /// Their paths.
    pub paths: Vec<Vec<u8>>,
    /// The judged tree with the original versions of these files, if there are any.
    pub tree: Option<Oid>,
    /// The files that existed before the attempt.
    pub back: Vec<Vec<u8>>,
}

impl Aside {
    /// Restores these files in the work tree, which was just read as the tree `judged`; the `exactly` ones get the
    /// bytes and permissions of the last checkpoint. Returns the reason if that fails.
    pub async fn put(
        &self,
        open: &Loop<'_>,
        judged: &Oid,
        exactly: &[Vec<u8>],
    ) -> Result<Option<String>, Error> {
        let Some(shown) = &self.tree else {
            return Ok(None);
        };
        let checkpoint = open.checkpoint();
        let held = checkpoint.hold([judged, shown], exactly);
        if let Some(words) = held.await? {
            let why = format!("files that instruct it cannot be as they were: {words}");
            return Ok(Some(why));
        }
        let what = "the reviewer works with these files as they were before the attempt";
        open.tell_few(what, &self.paths);
        Ok(None)
    }
}

/// Finds the changes of the attempt to these files: `changes` are its differences between the tree `before` and the
/// tree `judged`.
pub(super) async fn changed(
    open: &Loop<'_>,
    judged: &Oid,
    before: &Oid,
    changes: &[(u8, Vec<u8>)],
) -> Result<Aside, Error> {
    let paths = changes.iter().map(|(_, path)| path);
    let paths: Vec<Vec<u8>> = paths.filter(|path| is_instruction(path)).cloned().collect();
    if paths.is_empty() {
        return Ok(Aside::default());
    }
    let mut was = open.repo().git.staged_between(judged, before).await?;
    was.retain(|entry| entry.mode != NOTHING && paths.contains(&entry.path));
    let back: Vec<Vec<u8>> = was.iter().map(|entry| entry.path.clone()).collect();
    let away: Vec<Vec<u8>> = paths
        .iter()
        .filter(|path| !back.contains(path))
        .cloned()
        .collect();
    let scratch = open.site().file("held.index");
    let tree = open.repo().tree_with(&scratch, judged, &was, &away).await?;
    Ok(Aside {
        paths,
        tree: Some(tree),
        back,
    })
}

/// Returns whether a path is such a file, or is in such a directory.
fn is_instruction(path: &[u8]) -> bool {
    let path = format!("/{}", String::from_utf8_lossy(path).to_lowercase());
    NAMES.lines().any(|name| {
        let name = format!("/{}", name.to_lowercase());
        if name.ends_with('/') {
            path.contains(&name)
        } else {
            path.ends_with(&name)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_known_at_any_depth() {
        for path in [
            "AGENTS.md",
            "a/b/CLAUDE.md",
            "claude.md",
            ".claude/settings.json",
            "a/.cursor/rules/x.mdc",
            ".github/copilot-instructions.md",
            "x/.gitattributes",
        ] {
            assert!(is_instruction(path.as_bytes()), "{path}");
        }
        for path in [
            "MY-AGENTS.md",
            "claude/x",
            "copilot-instructions.md",
            "a.gitattributes",
            "opencode.json5",
        ] {
            assert!(!is_instruction(path.as_bytes()), "{path}");
        }
    }
}
