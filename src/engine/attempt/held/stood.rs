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
}

/// Returns the tree of the last checkpoint with these files as the user stood for them. Two git processes if there was a
/// checkpoint before, and more only where they differ.
pub(super) async fn tree(open: &Loop<'_>, pathspecs: &[String]) -> Result<Oid, Error> {
    let state = &open.state;
    let last = state.checkpoint_tree().clone();
    if pathspecs.is_empty() {
        return Ok(last);
    }
    let repo = open.repo();
    let initial = state.initial();
    let history = repo
        .git
        .history_among(initial, state.checkpoint(), pathspecs)
        .await?;
    let versions = versions(initial, history, &state.common.stood);
    let differing = versions
        .into_iter()
        .filter(|(_, version)| version.stood != version.last);
    let changes = differing.map(|(path, version)| PathChange {
        path,
        was: None,
        is: version.stood,
    });
    let scratch = open.site().file("held.index");
    Ok(repo.tree_changed(&scratch, &last, changes.collect()).await?)
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

/// Notes a change, which `counts` if the user stands for it. A renamed file takes its version along.
fn note(versions: &mut BTreeMap<Vec<u8>, Version>, change: PathChange, counts: bool) {
    let PathChange { path, was, is } = change;
    let before = was.as_ref().map_or(&path, |entry| &entry.path);
    let known = versions.remove(before);
    let stood = match known {
        _ if counts => is.clone(),
        Some(version) => version.stood,
        None => was.or_else(|| is.clone()),
    };
    let stood = stood.map(|entry| StagedEntry {
        path: path.clone(),
        ..entry
    });
    versions.insert(path, Version { stood, last: is });
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
            format!("{path}:{}{}", name(&version.stood), name(&version.last))
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
    fn new_path_holds_its_first_version_and_a_renamed_one_keeps_its_own() {
        assert_eq!(
            stood_for(&[('1', &[("t", "-a")]), ('2', &[("t", "ab")])], &[]),
            "t:ab"
        );
        assert_eq!(
            stood_for(&[('1', &[("t", "-a")]), ('2', &[("t", "a-")])], &[]),
            "t:a-"
        );
        assert_eq!(stood_for(&[('1', &[("t", "a-")])], &[('0', '1')]), "t:--");
        assert_eq!(
            stood_for(&[('1', &[("t", "ab")]), ('2', &[("t>u", "bc")])], &[]),
            "u:ac"
        );
    }
}
