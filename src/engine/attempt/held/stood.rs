//! Finds the tests and gate scripts as the user stood for them: as they were at the start of the loop, at a path's first
//! checkpoint, or after edits and changes that the user made or allowed since. What attempts made of them does not count.

use std::collections::BTreeMap;

use crate::engine::Loop;
use crate::error::Error;
use crate::git::{PathChange, StagedEntry};
use crate::names::Oid;
use crate::state::Stood;

/// A path as the user stood for it, and at the last checkpoint.
#[derive(Debug, Default, PartialEq, Eq)]
struct Version {
    stood: Option<StagedEntry>,
    last: Option<StagedEntry>,
    /// True if an attempt has moved the file here from a path that the user stood for.
    is_moved: bool,
}

/// Returns the tree of the last checkpoint with these files as the user stood for them. If an attempt has moved one, a second tree
/// lacks it at its new path, where it may be in the way of the one at the old path. Two git processes if there was a checkpoint
/// before, and more only where they differ.
pub(super) async fn trees(open: &Loop<'_>, pathspecs: &[String]) -> Result<Vec<Oid>, Error> {
    let state = &open.state;
    let last = state.checkpoint_tree().clone();
    if pathspecs.is_empty() {
        return Ok(vec![last]);
    }
    let repo = open.repo();
    let initial = state.initial();
    let history = repo
        .git
        .history_among(initial, state.checkpoint(), pathspecs)
        .await?;
    let versions = versions(initial, history, &state.common.stood);
    let differing = versions
        .iter()
        .filter(|(_, version)| version.stood != version.last);
    let changes = differing.map(|(path, version)| PathChange {
        path: path.clone(),
        was: None,
        is: version.stood.clone(),
    });
    let scratch = open.site().file("held.index");
    let mut trees = vec![repo.tree_changed(&scratch, &last, changes.collect()).await?];
    let moved = versions.into_iter().filter(|(_, version)| version.is_moved);
    let moved: Vec<Vec<u8>> = moved.map(|(path, _)| path).collect();
    if !moved.is_empty() {
        trees.push(repo.tree_with(&scratch, &trees[0], &[], &moved).await?);
    }
    Ok(trees)
}

/// Returns the versions of the paths that changed since the commit `start`: `history` has the changes of each commit, the
/// oldest first.
fn versions(
    start: &Oid,
    history: Vec<(Oid, Vec<PathChange>)>,
    stood: &[Stood],
) -> BTreeMap<Vec<u8>, Version> {
    let mut versions: BTreeMap<Vec<u8>, Version> = BTreeMap::new();
    let mut last = start.clone();
    let mut until = None;
    for (commit, changes) in history {
        until = until.or_else(|| {
            let stretch = stood.iter().rfind(|stretch| stretch.from == last)?;
            Some(stretch.to.clone())
        });
        for change in changes {
            note(&mut versions, change, until.is_some());
        }
        until = until.filter(|until| *until != commit);
        last = commit;
    }
    versions
}

/// Notes a change, which `counts` if the user stands for it. A file that an attempt moves keeps its version at its old path: under the
/// new name, no gate may run it.
fn note(versions: &mut BTreeMap<Vec<u8>, Version>, change: PathChange, counts: bool) {
    let PathChange { path, was, is } = change;
    let from = was
        .as_ref()
        .map(|entry| entry.path.clone())
        .filter(|from| *from != path);
    let Some(from) = from else {
        let version = versions.entry(path).or_insert_with(|| Version {
            stood: was.or_else(|| is.clone()),
            ..Version::default()
        });
        if counts {
            (version.stood, version.is_moved) = (is.clone(), false);
        }
        version.last = is;
        return;
    };
    let gone = versions.entry(from).or_insert_with(|| Version {
        stood: was,
        ..Version::default()
    });
    let is_moved = !counts && (gone.is_moved || gone.stood.is_some());
    if counts || gone.is_moved {
        gone.stood = None;
    }
    (gone.last, gone.is_moved) = (None, false);
    let version = versions.entry(path).or_insert_with(|| Version {
        stood: is.clone(),
        is_moved,
        ..Version::default()
    });
    if counts {
        (version.stood, version.is_moved) = (is.clone(), false);
    }
    version.last = is;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn oid(digit: char) -> Oid {
        Oid::parse(&digit.to_string().repeat(40)).unwrap()
    }

    fn entry(path: &str, version: char) -> Option<StagedEntry> {
        (version != '-').then(|| StagedEntry {
            mode: "100644".to_owned(),
            oid: oid(version),
            path: path.as_bytes().to_vec(),
        })
    }

    /// A change: the path, or the old and the new one; and the versions before and after.
    fn change(paths: &str, versions: &str) -> PathChange {
        let (old, new) = paths.split_once('>').unwrap_or((paths, paths));
        let mut versions = versions.chars();
        PathChange {
            path: new.as_bytes().to_vec(),
            was: entry(old, versions.next().unwrap()),
            is: entry(new, versions.next().unwrap()),
        }
    }

    /// A commit, and its changes.
    type Commit<'a> = (char, &'a [(&'a str, &'a str)]);

    /// Each path with the version that the user stood for, and that of the last checkpoint.
    fn stood_for(history: &[Commit<'_>], stood: &[(char, char)]) -> String {
        let history = history.iter().map(|(commit, changes)| {
            let changes = changes.iter().map(|(paths, versions)| change(paths, versions));
            (oid(*commit), changes.collect())
        });
        let stood: Vec<Stood> = stood
            .iter()
            .map(|(from, to)| Stood {
                from: oid(*from),
                to: oid(*to),
            })
            .collect();
        let name = |entry: &Option<StagedEntry>| {
            let entry = entry.as_ref();
            entry.map_or("-".to_owned(), |entry| entry.oid.as_str()[..1].to_owned())
        };
        let stood_for = versions(&oid('0'), history.collect(), &stood);
        let stood_for = stood_for.iter().map(|(path, version)| {
            let path = String::from_utf8_lossy(path);
            let moved = if version.is_moved { " moved" } else { "" };
            format!("{path}:{}{}{moved}", name(&version.stood), name(&version.last))
        });
        stood_for.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn first_version_of_a_test_holds_until_the_user_accepts_another() {
        let weakened: &[Commit<'_>] = &[('1', &[("t", "ab")]), ('2', &[("t", "bc")])];
        assert_eq!(stood_for(weakened, &[]), "t:ac");
        assert_eq!(stood_for(weakened, &[('0', '1')]), "t:bc");
        assert_eq!(stood_for(weakened, &[('1', '2')]), "t:cc");
        assert_eq!(stood_for(weakened, &[('0', '2')]), "t:cc");
        assert_eq!(
            stood_for(&[('1', &[("t", "ab")]), ('2', &[("t", "ba")])], &[]),
            "t:aa"
        );
        // A commit stands for what it changed itself alone.
        let two: &[Commit<'_>] = &[('1', &[("t", "ab")]), ('2', &[("u", "ab")])];
        assert_eq!(stood_for(two, &[('1', '2')]), "t:ab u:bb");
    }

    #[test]
    fn new_path_holds_its_first_version_and_a_moved_file_that_of_its_old_path() {
        assert_eq!(
            stood_for(&[('1', &[("t", "-a")]), ('2', &[("t", "ab")])], &[]),
            "t:ab"
        );
        assert_eq!(
            stood_for(&[('1', &[("t", "-a")]), ('2', &[("t", "a-")])], &[]),
            "t:a-"
        );
        assert_eq!(stood_for(&[('1', &[("t", "a-")])], &[('0', '1')]), "t:--");
        let moved: &[Commit<'_>] = &[('1', &[("t", "ab")]), ('2', &[("t>u", "bc")])];
        assert_eq!(stood_for(moved, &[]), "t:a- u:cc moved");
        assert_eq!(stood_for(moved, &[('1', '2')]), "t:-- u:cc");
        // Moved on, and back.
        let on: &[Commit<'_>] = &[('1', &[("t>u", "aa")]), ('2', &[("u>v", "ab")])];
        assert_eq!(stood_for(on, &[]), "t:a- u:-- v:bb moved");
        let back: &[Commit<'_>] = &[('1', &[("t>u", "aa")]), ('2', &[("u>t", "ab")])];
        assert_eq!(stood_for(back, &[]), "t:ab u:--");
    }
}
